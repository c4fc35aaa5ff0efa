"""How ranks, times, places and owners are put into words; used by text and Markdown alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from assistant.verdict import CodeFrame, Diagnosis, Finding, RunInfo, Suspect

STATUS_WORDS: Final = {
    "identified": "This came first",
    "classified": "This came first, but only its class is known; the checks below narrow it",
    "unexplained": "This came first, and no entry explains it",
    "symptom-only": "These logs hold only consequences; the cause is not in them",
    "degraded": "The run goes on, but a fault slows it",
    "inconclusive": "No fault was found, and nothing proves that the run finished: the log just ends",
    "healthy": "No fault",
}
HEADINGS: Final = {
    "survived": "RECOVERED",
    "handled": "HANDLED",
    "only-slows": "ONLY SLOWS",
    "earlier-run": "EARLIER RUN",
    "harmless": "NOT A FAULT",
    "quoted": "NOT A FAULT",
}
"""Labels of what is not blamed, by the reason, in the order of the report."""
_NO_FAULT: Final = frozenset({"harmless", "quoted"})
MOST_RANGES: Final = 8
"""Ranks are named one by one, or range by range, up to so many."""
_ERROR: Final = re.compile(r"\b(\w*(?:Error|Exception|Interrupt|Exit|Failure|Timeout|Expired))(?=[:(]|$)")
_OWNERS: Final = {"workload": "the workload", "node": "the node", "platform": "the platform", "unknown": "unknown"}
_RESTART: Final = {
    "safe": "a restart is safe",
    "after-fix": "restart only after the fix",
    "other-node": "restart on another node",
    "never": "do not restart",
}


def ranges(ids: Iterable[int]) -> str:
    """Numbers as ranges: 0-4,6,7."""
    parts: list[list[int]] = []
    for number in sorted(set(ids)):
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(
        f"{part[0]}-{part[-1]}" if len(part) > 2 else ",".join(str(number) for number in part) for part in parts
    )


def named(ids: Sequence[int]) -> str:
    """`rank 5`, `ranks 0-4,6,7`, `33 ranks (7,19,41,...)`."""
    numbers = sorted(set(ids))
    text = ranges(numbers)
    if len(numbers) == 1:
        return f"rank {text}"
    if text.count(",") < MOST_RANGES:
        return f"ranks {text}"
    return f"{len(numbers)} ranks ({','.join(map(str, numbers[:3]))},...)"


def finding_ids(ids: Sequence[str]) -> str:
    """`f1`, `f1,3`, `f2-5`."""
    numbers = [name[1:] for name in ids]
    if all(name.startswith("f") for name in ids) and all(number.isdigit() for number in numbers):
        return f"f{ranges(map(int, numbers))}"
    return ",".join(ids)


def listing(items: Sequence[str], most: int = 3) -> str:
    """`a`, `a and b`, `a, b and 5 more`."""
    if len(items) > most:
        return f"{', '.join(items[: most - 1])} and {len(items) - most + 1} more"
    return " and ".join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def plural(count: int, noun: str, nouns: str = "") -> str:
    """`1 line`, `2 lines`, `12,345 lines`."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def who(ranks: Sequence[int], hosts: Sequence[str], run: RunInfo) -> str:
    """Where it happened: ranks and hosts as far as they are known, empty when neither is."""
    if not ranks:
        return listing(hosts)
    if run.world_size and run.world_size == len(set(ranks)) > 1:
        return f"all {run.world_size} ranks"
    return f"{named(ranks)} on {hosts[0]}" if len(hosts) == 1 else named(ranks)


def place(finding: Finding, run: RunInfo) -> str:
    """Where a finding happened; a fault of a node hit one of its ranks even where none is named."""
    known = who(finding.ranks, finding.hosts, run)
    distributed = (run.world_size or len(run.ranks_seen)) > 1
    is_nodes = finding.owner == "node" and finding.role == "initiating"
    return f"one of the ranks on {known}" if known and not finding.ranks and distributed and is_nodes else known


def suspected(suspect: Suspect, run: RunInfo) -> str:
    """Who is suspected of what: `rank 5: absent`; an event that has no place has only its reason."""
    ranks = () if suspect.rank is None else (suspect.rank,)
    where = who(ranks, () if suspect.host is None else (suspect.host,), run)
    reason = suspect.reason.replace("-", " ")
    return f"{where}: {reason}" if where else f"an {reason}"


def parse_time(text: str | None) -> datetime | None:
    """An ISO 8601 time, or None where there is none."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


INHERITED: Final = "last stamped line"
"""What `~` before a time means: the deciding line gives none, so it is that of the last line above that does."""


def inherited(finding: Finding) -> str:
    """`~` where the deciding line gives no time itself, else nothing."""
    return "~" if finding.evidence and finding.evidence[0].time_inherited else ""


def began(finding: Finding) -> str:
    """The onset in full, with a word on where it comes from if the deciding line gives no time."""
    mark = inherited(finding)
    return f"{mark}{finding.onset} ({INHERITED})" if mark else finding.onset or ""


class Clock:
    """Shows the times of one verdict: with the day only where it is not the day of the first fault."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        first = diagnosis.initiating
        times = [first.evidence[0].time if first and first.evidence else None, first.onset if first else None]
        times += [diagnosis.run.last_time, diagnosis.run.first_time]
        times += [finding.onset for finding in diagnosis.findings]
        known = next((time for time in map(parse_time, times) if time is not None), None)
        self._day = known.date() if known else None
        self._told = False

    def show(self, text: str | None) -> str:
        """The time of day, with the date where it is another day."""
        time = parse_time(text)
        if time is None:
            return text or ""
        return time.strftime("%H:%M:%S" if time.date() == self._day else "%Y-%m-%d %H:%M:%S")

    def when(self, finding: Finding) -> str:
        """When the deciding line was printed, or the onset where it has no time; `~` before a time that is not its own."""
        printed = finding.evidence[0].time if finding.evidence else None
        return inherited(finding) + self.show(printed or finding.onset)

    def when_told(self, finding: Finding, *, always: bool = False) -> str:
        """The same; beside the first `~` of a report (or beside each) stands what it means."""
        shown = self.when(finding)
        if shown.startswith("~") and (always or not self._told):
            self._told = True
            return f"{shown} ({INHERITED})"
        return shown

    def began(self, finding: Finding) -> str:
        """`began 12:42:11` where the fault is older than its line."""
        printed = finding.evidence[0].time if finding.evidence else None
        if not printed or not finding.onset:
            return ""
        shown = self.show(finding.onset)
        return f"began {inherited(finding)}{shown}" if shown != self.show(printed) else ""


def title(finding: Finding) -> str:
    """The entry's title; for a fault without an entry the name of its exception, where it has one."""
    if finding.entry is not None:
        return finding.entry.title
    named_error = _ERROR.search(finding.evidence[0].text) if finding.evidence else None
    return f"{named_error.group(1)}, which no entry covers" if named_error else "a fault that no entry covers"


def heading(finding: Finding) -> str:
    """The label of a finding, in the singular and in capitals; at most eleven letters."""
    return HEADINGS.get(finding.set_aside or "", "RECOVERED") if finding.role == "recovered" else finding.role.upper()


def tag(finding: Finding, *, explained: str = "explained by") -> str:
    """How far the finding is proven, and what explains it."""
    # `verified` would read as if the fault were; what stands in such a line is no fault.
    words: str = finding.set_aside if finding.set_aside in _NO_FAULT else finding.strength
    if finding.entry is not None and finding.entry.status == "draft":
        words += " (draft entry)"
    if finding.explained_by:
        words += f", {explained} {finding_ids(finding.explained_by)}"
    return f"{finding.id} {words}"


def called(code: CodeFrame) -> str:
    """Where a traceback stands in the reader's own code: `train.py:112 in step (job.log:40)`."""
    function = f" in {code.function}" if code.function not in {"", "<module>"} else ""
    return f"{code.place}{function} ({code.at.place})"


def owner(finding: Finding) -> str:
    """Whose it is, and whether a restart makes sense."""
    if finding.owner == "unknown" and finding.entry is None:
        return "unknown; no entry covers this fault"
    where = listing(finding.hosts)
    text = _OWNERS[finding.owner]
    restart = finding.entry.restart if finding.entry else None
    if restart is None:
        return text
    if restart in {"other-node", "never"} and finding.owner == "node":
        there = " there" if restart == "other-node" else ""
        return f"{text}: drain {where or 'it'}, do not restart{there}"
    return f"{text}: {_RESTART[restart]}"


def headline(diagnosis: Diagnosis) -> str:
    """One sentence that says what the status means for this run."""
    sentence = STATUS_WORDS[diagnosis.status]
    followed = sum(finding.role == "downstream" for finding in diagnosis.findings)
    if diagnosis.status == "healthy":
        return f"{sentence}: {_progress(diagnosis.run)}."
    if diagnosis.status == "degraded" and diagnosis.run.completed:
        sentence = "The run finished, but a fault slowed it"
    first = diagnosis.initiating
    if diagnosis.status == "degraded" and first is not None and first.entry and first.entry.family == "numerics":
        sentence = f"The run {'finished' if diagnosis.run.completed else 'goes on'}, but a fault spoils its numbers"
    if diagnosis.status == "identified" and followed:
        sentence += f"; {plural(followed, 'other finding follows', 'other findings follow')} from it"
    return f"{sentence}."


def _progress(run: RunInfo) -> str:
    verb = "the run finished" if run.completed else "the run makes progress to the end of the log"
    return f"{verb} (last step {run.last_step})" if run.last_step is not None else verb


def run_facts(diagnosis: Diagnosis, clock: Clock) -> list[str]:
    """World size, progress, span and versions, as phrases."""
    run = diagnosis.run
    facts = []
    count = run.world_size or len(run.ranks_seen)
    if count:
        seen = f" ({len(run.ranks_seen)} seen)" if run.world_size and 0 < len(run.ranks_seen) < run.world_size else ""
        facts.append(f"{plural(count, 'rank')}{seen}" + (f" on {plural(len(run.hosts), 'host')}" if run.hosts else ""))
    elif run.hosts:
        facts.append(f"on {listing(run.hosts)}")
    if len(run.attempts) > 1:
        facts.append(plural(len(run.attempts), "attempt"))
    if run.last_step is not None:
        facts.append(f"last step {run.last_step}")
    if run.phase and not run.completed:
        facts.append(f"phase {run.phase}")
    if run.completed and diagnosis.status != "healthy":
        facts.append("completed")
    if run.first_time and run.last_time:
        first, last = clock.show(run.first_time), clock.show(run.last_time)
        facts.append(f"{first} to {last}" if first != last else f"at {first}")
    return facts


def versions(run: RunInfo) -> str:
    """`torch 2.4.0, NCCL 2.20.5`."""
    return ", ".join(f"{name} {version}" for name, version in run.versions.items())


def skew(run: RunInfo) -> str:
    """Clocks that differ, as far as the events prove it, with the error of the estimate."""
    said = []
    for host, seconds in run.skew_s.items():
        if abs(seconds) >= 0.5:
            error = run.skew_error_s.get(host)
            said.append(f"{host} {seconds:+.1f} s" + (f" (± {error:.1f} s)" if error is not None else ""))
    return ", ".join(said)


def same_story(finding: Finding) -> tuple[str, ...]:
    """What findings have in common that a reader wants to see once, with a count."""
    if finding.entry is not None:
        return (finding.entry.id, finding.strength, finding.set_aside or "", *finding.explained_by)
    text = finding.evidence[0].text if finding.evidence else ""
    return (re.sub(r"0x[0-9a-fA-F]+|\d+", "#", text), finding.strength, finding.set_aside or "", *finding.explained_by)


def grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings that tell the same story together, in the order of their first member."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(same_story(finding), []).append(finding)
    return list(groups.values())
