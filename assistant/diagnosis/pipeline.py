"""From paths to a verdict: read, scan, fold, resolve, place, order, report.

Design section 6 gives the steps and section 7 the order of events. This module
only calls them one after the other; each lives in a module of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from assistant.diagnosis.attribution import attribute, order_is_open
from assistant.diagnosis.broad import name_broadly
from assistant.diagnosis.causes import CausalGraph
from assistant.diagnosis.chains import mark_chains
from assistant.diagnosis.collectives import CollectiveState, read_collectives
from assistant.diagnosis.dumping import mark_dumps
from assistant.diagnosis.ending import last_lines
from assistant.diagnosis.events import Event, Tier, build_events, stood_seconds
from assistant.diagnosis.fetch import fetch_next
from assistant.diagnosis.findings import FindingBuilder, strength_of
from assistant.diagnosis.fingerprints import is_comparison, out_of_step
from assistant.diagnosis.groups import Ordered, group_events
from assistant.diagnosis.handled import mark_handled
from assistant.diagnosis.harmless import mark_harmless
from assistant.diagnosis.jobs import Job, jobs_of, part_of
from assistant.diagnosis.misses import near_misses, unexplained
from assistant.diagnosis.numbers import nonfinite_events
from assistant.diagnosis.others import beside, doubt_shared, failed_at, said_of
from assistant.diagnosis.peers import lost_peers, named_by_address
from assistant.diagnosis.progress import Progress, read_progress
from assistant.diagnosis.reading import ProgressCallback, Run, read_run
from assistant.diagnosis.recorded import add_dumps
from assistant.diagnosis.recovery import mark_recovered
from assistant.diagnosis.runinfo import run_info, source_infos
from assistant.diagnosis.scopes import mark_scopes
from assistant.diagnosis.signalled import mark_signalled
from assistant.diagnosis.skew import Skew, put_right
from assistant.diagnosis.stall import Stall, mark_stalled, stalled_ranks
from assistant.diagnosis.standing import read_standings, stack_suspects
from assistant.diagnosis.starting import mark_starting
from assistant.diagnosis.status import decide_status, slowing, without_bystander
from assistant.diagnosis.suspects import exited_first, find_suspects, linked, missing_ranks, not_silent, unique
from assistant.diagnosis.window import mark_unrelated, read_pods_spoken_of
from assistant.logs.clock import RunClock, build_clock
from assistant.logs.episodes import Episode, find_episodes
from assistant.logs.layout import Places, find_places
from assistant.logs.stacks import read_stacks
from assistant.surroundings import with_surroundings
from assistant.verdict import Attempt, CorpusInfo, Diagnosis, Finding, SourceInfo, Suspect, VerdictStatus
from corpus.catalogue import Catalogue
from corpus.match import Resolution


@dataclass(frozen=True)
class Options:
    """What a caller may choose about a diagnosis."""

    version: str = ""
    max_near_misses: int = 5
    baseline: tuple[str, ...] = ()
    """Logs of a run that went well, to hold this one against."""


@dataclass
class Outcome:
    """A verdict with the run it rests on, for callers that show lines around it."""

    diagnosis: Diagnosis
    run: Run

    def lines_around(self, source: str, line: int, count: int) -> list[tuple[int, str]]:
        """Up to `count` kept lines before and after a line, as (number, text)."""
        index = self.run.paths.index(source)
        numbers = range(max(1, line - count), line + count + 1)
        window = self.run.sources[index].scan.windows
        return [(number, self.run.raw_line(index, number)) for number in numbers if window.get(number) is not None]


@dataclass
class Facts:
    """Everything that was read from the logs before anything is judged."""

    places: Places
    clock: RunClock
    episodes: list[list[Episode]]
    skews: dict[str, Skew]
    progress: Progress
    resolution: Resolution
    collectives: CollectiveState
    hung: list[Suspect]
    """Ranks that stand elsewhere while the others wait, as stacks and the runtimes' own checks say."""
    events: list[Event]
    stall: Stall | None = None
    """How long the run had stood still when a time limit ended it; None where it had not."""


def diagnose(
    paths: Sequence[str],
    *,
    catalogue: Catalogue,
    options: Options | None = None,
    stdin: BinaryIO | None = None,
    progress: ProgressCallback | None = None,
) -> Diagnosis:
    """Diagnose logs; raises FirstfaultError when nothing can be read."""
    return diagnose_run(paths, catalogue=catalogue, options=options, stdin=stdin, progress=progress).diagnosis


def diagnose_run(
    paths: Sequence[str],
    *,
    catalogue: Catalogue,
    options: Options | None = None,
    stdin: BinaryIO | None = None,
    progress: ProgressCallback | None = None,
) -> Outcome:
    """Like `diagnose`, and keeps the run so that lines can be shown in context."""
    started = time.perf_counter()
    run = read_run(paths, catalogue, stdin=stdin, progress=progress)
    read = time.perf_counter()
    options = options or Options()
    jobs = jobs_of(run)
    diagnosis = _verdict_on_one_of(run, jobs, options) if jobs else _verdict_on(run, options)
    judged = time.perf_counter()
    diagnosis = with_surroundings(diagnosis, run)
    timings = {"read": _ms(read - started), "judge": _ms(judged - read)}
    if options.baseline:
        from assistant.diagnosis.baseline import compare

        diagnosis = diagnosis.model_copy(update={"baseline": compare(paths, options.baseline, diagnosis)})
        timings["baseline"] = _ms(time.perf_counter() - judged)
    timings["total"] = _ms(time.perf_counter() - started)
    return Outcome(diagnosis.model_copy(update={"timings_ms": timings}), run)


def _verdict_on(run: Run, options: Options) -> Diagnosis:
    facts = gather(run)
    return compose(run, facts, judge(run, facts), options)


def _verdict_on_one_of(run: Run, jobs: Sequence[Job], options: Options) -> Diagnosis:
    """The verdict on the job whose failure is the latest, with the first faults of the others beside it."""
    parts = [part_of(run, job.sources) for job in jobs]
    facts = [gather(part) for part in parts]
    for number, job in enumerate(jobs):
        doubt_shared(job, facts[number], [other for other in facts if other is not facts[number]])
    orders = [judge(part, found) for part, found in zip(parts, facts, strict=True)]
    chosen = max(range(len(jobs)), key=lambda number: failed_at(orders[number]))
    diagnosis = compose(parts[chosen], facts[chosen], orders[chosen], options)
    for number, job in enumerate(jobs):
        if number != chosen:
            diagnosis = beside(diagnosis, job, parts[number], orders[number])
    infos = {
        info.path: info for part, found in zip(parts, facts, strict=True) for info in source_infos(part, found.places)
    }
    everything = [infos.get(path, SourceInfo(path=path)) for path in (*run.paths, *(item.path for item in run.unread))]
    warning = said_of(jobs, jobs[chosen], failed=any(failed_at(order)[0] for order in orders))
    return diagnosis.model_copy(update={"sources": tuple(everything), "warnings": (warning, *diagnosis.warnings)})


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def gather(run: Run) -> Facts:
    """Read places, times, episodes, progress, hits and collectives from the decoded records."""
    places = find_places(run.paths, run.records)
    for index, dump in run.dumps:
        if dump.rank is not None:
            places.source_rank.setdefault(index, dump.rank)
    clock = build_clock(run.timed_records())
    episodes = [find_episodes(records) for records in run.records]
    progress = read_progress(run.records, [_lines_of(found) for found in episodes])
    skews = put_right(run.records, run.paths, places, clock, progress)
    resolution = run.matcher.resolve(run.atom_hits(), counts=run.counts(), progress=progress.lines())
    collectives = read_collectives(run.records, places)
    add_dumps(collectives, run.dumps)
    stood = read_standings(read_stacks(run.records), places, run.paths)
    hung = out_of_step(run.records, places, run.paths) + stack_suspects(stood)
    numbers = nonfinite_events(run, progress, resolution.hits)
    events = build_events(run, resolution.hits, episodes, places, clock, numbers, resolution.unmet)
    return Facts(places, clock, episodes, skews, progress, resolution, collectives, hung, events)


def _lines_of(episodes: Sequence[Episode]) -> set[int]:
    """Numbers of the lines that belong to error blocks."""
    return {record.number for episode in episodes for record in episode.lines}


def judge(run: Run, facts: Facts) -> Ordered:
    """Decide which events are this job's, which it survived, and which came first."""
    mark_harmless(run, facts.events)
    mark_starting(run, facts.events, facts.clock)
    read_pods_spoken_of(facts.events)
    mark_unrelated(run, facts.events, facts.places, facts.clock, facts.progress)
    mark_recovered(run, facts.events, facts.progress, facts.clock)
    mark_scopes(run, facts.events, facts.progress, facts.clock)
    mark_handled(run, facts.events, [_lines_of(found) for found in facts.episodes], facts.clock)
    facts.stall = mark_stalled(run, facts.events, facts.progress, facts.places, facts.clock)
    mark_chains(facts.events)
    mark_signalled(run, facts.events, facts.progress)
    mark_dumps(run, facts.events)
    groups = group_events(facts.events)
    return attribute(groups, CausalGraph(run.catalogue.heads))


def compose(run: Run, facts: Facts, ordered: Ordered, options: Options) -> Diagnosis:
    """Put the verdict together."""
    seen = {event.rank for event in facts.events if event.rank is not None}
    info = run_info(run, facts.places, facts.clock, facts.progress, facts.events, ordered, facts.skews)
    ordered = without_bystander(ordered)
    status = decide_status(facts.progress, ordered)
    if status == "inconclusive" and facts.hung:
        status = "symptom-only"  # ranks were seen to wait for others; why those did not come is not in these logs
    suspects = _suspects(run, facts, status, seen | set(info.ranks_seen), ordered)
    if status == "degraded" and ordered.initiating is None:
        ordered = slowing(ordered)
    if status in {"symptom-only", "inconclusive", "healthy"}:
        ordered.initiating = None
    name_broadly(run, ordered)
    if status == "unexplained":
        status = decide_status(facts.progress, ordered)
    if status == "inconclusive":
        ends = last_lines(run, facts.places, facts.clock, facts.progress)
        info = info.model_copy(update={"last_lines": ends})
    builder = FindingBuilder(run, CausalGraph(run.catalogue.heads), info.names)
    findings, independent = builder.build(ordered)
    initiating = findings[0] if ordered.initiating is not None else None
    suspects = [linked(suspect, findings) for suspect in suspects]
    wants_misses = status not in {"identified", "degraded", "healthy"}
    misses = near_misses(run, facts, builder, options.max_near_misses) if wants_misses else ()
    return Diagnosis(
        version=options.version,
        corpus=CorpusInfo(
            digest=run.catalogue.digest, entries=len(run.catalogue.heads), overlays=run.catalogue.overlays
        ),
        status=status,
        initiating=initiating,
        independent=tuple(independent),
        findings=tuple(findings),
        unexplained=unexplained(run, ordered, builder),
        near_misses=misses,
        suspects=tuple(suspects),
        fetch_next=fetch_next(run, ordered, status, suspects, facts.stall, info.names),
        warnings=_warnings(run, facts, ordered),
        run=info.model_copy(update={"attempts": _attempts(info.attempts, findings)}),
        collectives=facts.collectives.table(),
        sources=source_infos(run, facts.places),
    )


def _attempts(attempts: Sequence[Attempt], findings: Sequence[Finding]) -> tuple[Attempt, ...]:
    """The attempts with the finding that ended each, where one is known."""
    ended: dict[int, str] = {}
    for finding in findings:
        if finding.role == "initiating":
            ended.setdefault(finding.attempt, finding.id)
    return tuple(Attempt(n=attempt.n, initiating=ended.get(attempt.n)) for attempt in attempts)


def _suspects(run: Run, facts: Facts, status: VerdictStatus, seen: set[int], ordered: Ordered) -> list[Suspect]:
    """Ranks in which the cause probably lies; those that the verdict already names are left out."""
    if status == "healthy":
        # A job that lives or finished waits for nobody, whatever its stacks show.
        return _unplaced(facts.events, run.paths)
    suspects = find_suspects(facts.collectives, facts.places, seen)
    certain = {suspect.rank for suspect in suspects if suspect.reason not in {"absent", "silent"}}
    if facts.hung and not certain:
        # What was seen of a rank says more than that it reported nothing.
        suspects = []
    suspects = facts.hung + not_silent(suspects, run, facts.events, facts.places, facts.clock)
    if status in {"symptom-only", "classified"} and not suspects:
        lost = lost_peers(facts.events, run.records, run.paths, facts.places)
        suspects = named_by_address(missing_ranks(facts.places, seen), lost) or exited_first(facts.places)
        if facts.stall is not None:
            suspects = stalled_ranks(facts.stall, facts.places) + suspects
    suspects += _unplaced(facts.events, run.paths)
    first = ordered.initiating
    # How a process ended, or that it stands in the kernel, is no cause: the rank stays a suspect.
    explained = (
        first is not None and not (first.head is not None and first.head.ends) and not stood_seconds(first.first)
    )
    known = set(first.ranks) if first is not None and explained else set()
    # Where all ranks print the same, or a check compares ranks, the one that is seen out of step among them is news.
    compares = first is not None and is_comparison(first.first.record.text)
    odd = {suspect.rank for suspect in facts.hung} if len(known) > 1 or compares else set()
    return unique(suspect for suspect in suspects if suspect.rank not in known - odd or suspect.rank is None)


def _unplaced(events: Sequence[Event], paths: Sequence[str]) -> list[Suspect]:
    suspects = []
    for event in events:
        if event.unplaced and not event.unrelated and event.tier == Tier.FAILURE and event.head is not None:
            place = f"{paths[event.source]}:{event.line}"
            because = f"{event.head.title} ({place}): {event.unplaced}"
            suspects.append(
                Suspect(rank=event.rank, host=event.host, reason="unplaced-event", because=because, finding=place)
            )
    return suspects[:8]


def _warnings(run: Run, facts: Facts, ordered: Ordered) -> tuple[str, ...]:
    warnings = [f"{item.path} was not read: {item.reason}." for item in run.unread]
    warnings += [f"{note}." for note in run.notes]
    for source in run.sources:
        warnings += [f"{source.path}: {text}." for text in (*source.problems, *source.notes)]
    warnings += [f"{conflict}." for conflict in facts.places.conflicts]
    if run.catalogue.overridden:
        warnings.append(f"own entries override bundled ones: {', '.join(run.catalogue.overridden)}.")
    first = ordered.initiating
    if first is not None:
        rivals = [
            group for group in ordered.independent if order_is_open(first, group) and strength_of(group) == "verified"
        ]
        warnings += [
            f"{group.head.id if group.head else 'another fault'} is verified as well, and nothing here tells which came first."
            for group in rivals
        ]
    if first is not None and first.head is not None and first.first.hit is not None:
        signature = next(s for s in first.head.signatures if s.name == first.first.hit.signature)
        if signature.spec_only:
            others = ", ".join(first.head.related[:1] + first.head.confused_with[:1])
            warnings.append(
                f"the wording of {first.head.id} comes from a specification; no public software was seen to print it"
                + (f" (see also {others})." if others else ".")
            )
        if strength_of(first) != "verified" and first.head.status == "draft":
            warnings.append(f"{first.head.id} is a draft: its match is listed, not verified.")
    return tuple(warnings)
