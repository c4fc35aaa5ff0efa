"""Events: everything in the logs that may be a fault, with its time, place and weight.

An event is a hit of an entry, or an episode that no entry covers. Its tier says
how much it can explain, before time and causes are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from assistant.diagnosis.attempts import Attempts, restarts_of, second_starts
from assistant.diagnosis.covered import Known
from assistant.diagnosis.machines import named_machine
from assistant.diagnosis.moments import moment_of, onset_of
from assistant.diagnosis.reading import Run
from assistant.logs.cancelled import read_cancelled
from assistant.logs.clock import Moment, RunClock
from assistant.logs.episodes import Episode
from assistant.logs.filenames import first_parts
from assistant.logs.layout import Places, bus_id
from corpus.head import Head
from corpus.match import Hit, Unmet
from corpus.record import Record

QUIET_LEVELS = frozenset({"INFO", "DEBUG", "WARNING"})
_KERNEL_PCI = re.compile(
    r"^.*(?:\(PCI:|\bGPU (?:at PCI:)?(?=[0-9a-fA-F]{4}))([0-9a-fA-F]{0,8}:?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?)(?![0-9a-fA-F]).*$"
)
_KERNEL_PID = re.compile(r"^.*\bpid=(\d{1,10})\b.*$")
_PEER_LOST = re.compile(
    r"Connection closed by (?:remote )?peer|Connection was likely closed|[Ff]ailed to recv|got 0 bytes|recvValue failed"
    r"|pair\.cc:\d{1,6}\] (?:Read|Write) (?:timeout|error) \["
    r"|communicator was aborted|remote process exited|Connection reset by peer.{0,40}$|Socket (?:closed|Timeout)"
    r"|peer (?:rank )?\S{1,40} (?:is gone|has died|disconnected)|should dump|[Bb]roken pipe$|wait timeout after"
    r"|Coordination agent is in ERROR|(?:task|Task) \S{1,60} heartbeat timeout|Timed out (?:initializing|waiting)|[Bb]arrier timed out|timed out after \d+ ?(?:ms|milliseconds|seconds)"
    r"|Watchdog caught collective|Stack trace of the failed collective|First PG on this rank to signal dumping"
    r"|preparing to dump debug info|[Rr]eceived a dump signal|flight recorder dump signal|Failed to check the .should dump. flag"
)
"""Wording by which a process says that another one went away or did not come."""
_DIGITS = re.compile(r"\d+")
LONGEST_GRACE_S = 3600.0
"""A job that is preempted is told so, and ended at the latest after so long."""
MAX_WORDINGS = 40
"""Different wordings of uncovered error lines that become events, for each source."""
_ON_RANK = re.compile(r"\bon rank (\d{1,6})\b|\[Rank (\d{1,6})\]")
_FIELD = re.compile(r" rank=(\d{1,6})$")
"""The launcher of text-generation-inference names the shard that it speaks of in a field at the end."""
_SRUN_ENDED = re.compile(r"srun: error: ([\w\-]+): task (\d{1,6}): |srun: error: .{0,80}\bfailed on node ([\w\-]+)[:,]")
_STOOD = re.compile(r"\bblocked for more than (\d{1,7}) seconds|\bstuck for (\d{1,7})s!")
"""How long the kernel had already seen a task or a CPU stand when it said so."""
_OF_THE_STEP = re.compile(
    r"CANCELLED AT |[Jj]ob step aborted|Terminating (?:StepId|Job)|TIME LIMIT|PREEMPT|NODE FAILURE"
)
"""What Slurm says of a whole job or step: it has no rank, and the tasks that srun names below it were ended by it."""
LAUNCHER_DISTANCE = 15
"""Lines below a step's error in which srun says where it ended."""


class Tier(IntEnum):
    """How much an event can explain; lower explains more."""

    FAILURE = 1
    CLASS = 2
    EXCEPTION = 3
    ERROR_LINE = 4
    CONSEQUENCE = 5
    WRAPPER = 6


@dataclass(eq=False)
class Event:
    """One fault candidate on one record."""

    source: int
    record: Record
    tier: Tier
    head: Head | None = None
    hit: Hit | None = None
    episode: Episode | None = None
    moment: Moment | None = None
    own_time: bool = False
    """True when the line, or the block of facts it stands in, gives the moment; else the last stamped line does."""
    onset: Moment | None = None
    rank: int | None = None
    host: str | None = None
    attempt: int = 1
    kernel: bool = False
    recovered: bool = False
    unrelated: str = ""
    """Why it has nothing to do with this job; empty when it may."""
    unplaced: str = ""
    """Why it cannot be placed in time; empty when it can."""
    quiet: bool = False
    """Printed at a level, or in a block, that says it was expected or handled."""
    superseded: bool = False
    """True when another job's log starts below it in the same source."""
    log: int = -1
    """The first part of its log, where rotation cut that into several sources; its source otherwise."""
    later_runs: frozenset[int] = frozenset()
    """Sources that hold runs of the job after its own."""
    next_start: int = 0
    """The line at which another attempt starts below it in the same source; 0 where none does."""
    runs_again: bool = False
    """True when another attempt starts below it in the same source."""
    ended_run: bool = False
    """True when no step of its own attempt follows before the next one starts: only later attempts went on."""
    earlier_run: str = ""
    """Why it belongs to a run before the one that these logs are of; no proof that this one is well."""
    harmless: str = ""
    """Why the corpus knows its line to be harmless; empty when it does not."""
    pod: str = ""
    """The pod that an event of the platform speaks of; empty where it names none."""
    quoted: str = ""
    """What quotes it, so that nothing is reported here; empty when it is no quotation."""
    notes: list[str] = field(default_factory=list)

    @property
    def line(self) -> int:
        """Line number of the record."""
        return self.record.number


def build_events(
    run: Run,
    hits: Sequence[Hit],
    episodes: Sequence[Sequence[Episode]],
    places: Places,
    clock: RunClock,
    others: Sequence[Event] = (),
    unmet: Sequence[Unmet] = (),
) -> list[Event]:
    """All events of a run, in order of source and line.

    `others` were found by no signature and want their place; `unmet` are the hits that their context refused.
    """
    by_line = [_by_line(found) for found in episodes]
    events = [_from_hit(run, hit, by_line[hit.source].get(hit.record.number, ())) for hit in hits]
    events += others
    covered, known = _covered(events), Known(run, hits, unmet)
    for source, found in enumerate(episodes):
        bare = [one for one in found if (source, id(one)) not in covered and not known.covers(source, one)]
        events += [_from_episode(source, one) for one in _distinct(bare) if not known.was_cleared(source, one)]
    starts = [second_starts(records) for records in run.records]
    restarts = restarts_of(run, starts)
    attempts = Attempts(run, places, clock, restarts)
    for event in events:
        event.superseded = any(line >= event.line for line in starts[event.source])
        event.rank = _rank(event, places, run.paths)
        _ask_text(event)
        _ask_failure_table(event, places)
        event.host = event.host or _host(event, places)
        _ask_launcher(event, run)
    _share_by_address(events)
    logs = first_parts(run.paths)
    for event in events:
        event.log = logs[event.source]
        event.moment, event.own_time = moment_of(clock, event.source, event.record, run)
        event.onset = onset_of(event.moment, event.record, event.hit, stood_seconds(event))
        event.next_start = min((line for line in restarts.get(event.source, ()) if line >= event.line), default=0)
        event.runs_again = event.next_start > 0
        waits = event.onset if event.tier == Tier.CONSEQUENCE else None
        event.attempt = attempts.of(event.source, event.line, event.moment, waits)
        event.later_runs = attempts.after(event.source)
    _share_cancellation(events)
    events.sort(key=lambda event: (event.source, event.line, event.tier))
    return events


def _share_cancellation(events: Sequence[Event]) -> None:
    """What Slurm says of one job's cancellation began with the first of its lines: a grace period lies between them."""
    first: dict[str, Moment] = {}
    told = [(event, found.job) for event in events if (found := read_cancelled(event.record.text)) and found.job]
    for event, job in told:
        known = first.get(job)
        if event.moment is not None and event.own_time and (known is None or (known.before(event.moment) or 0) < 0):
            first[job] = event.moment
    for event, job in told:
        gap = first[job].before(event.onset) if job in first and event.onset is not None else None
        if gap is not None and 0 < gap <= LONGEST_GRACE_S:
            event.onset = first[job]


def _by_line(episodes: Sequence[Episode]) -> dict[int, list[Episode]]:
    """The episodes that have a record on each line."""
    found: dict[int, list[Episode]] = {}
    for episode in episodes:
        for number in {record.number for record in (*episode.lines, episode.decisive)}:
            found.setdefault(number, []).append(episode)
    return found


def _from_hit(run: Run, hit: Hit, episodes: Sequence[Episode]) -> Event:
    head = run.catalogue.heads[hit.entry]
    episode = next((item for item in episodes if _holds(item, hit)), None)
    text = hit.record.text
    kernel = hit.record.program == "kernel" or "NVRM:" in text or _STOOD.search(text) is not None
    if head.kind == "wrapper":
        tier = Tier.WRAPPER
    elif head.kind == "class":
        tier = Tier.CLASS
    else:
        tier = Tier.CONSEQUENCE if head.role == "downstream" else Tier.FAILURE
    # A raised exception is loud whatever level its relay gave to the line (`assistant.logs.episodes`).
    raised = episode is not None and episode.kind == "exception"
    # The kernel's `INFO:` before a blocked task is a word of its text and no level.
    quiet = (hit.record.level in QUIET_LEVELS and not raised and not kernel) or (
        episode is not None and episode.kind == "warning"
    )
    quiet = quiet and head.kind != "failure" and not _is_borne_out(head, hit)
    return Event(hit.source, hit.record, tier, head, hit, episode, kernel=kernel, quiet=quiet)


def _is_borne_out(head: Head, hit: Hit) -> bool:
    """Whether a signature only stands beside its consequence in the same log, so that its level says nothing."""
    signature = next((one for one in head.signatures if one.name == hit.signature), None)
    return (
        head.kind == "class"
        and signature is not None
        and any(context.within in {"source", "run"} for context in signature.requires)
    )


def _holds(episode: Episode, hit: Hit) -> bool:
    """Whether a hit lies in an episode: on its decisive record, or in its stream's lines."""
    return episode.decisive.number == hit.record.number or episode.stream == hit.record.stream


def _distinct(episodes: Sequence[Episode]) -> Iterable[Episode]:
    """Every block, but of plain error lines only the first of each wording, and not endlessly many."""
    seen: set[str] = set()
    for episode in episodes:
        if episode.kind != "error":
            yield episode
            continue
        wording = _DIGITS.sub("#", episode.decisive.message)[:120]
        if wording not in seen and len(seen) < MAX_WORDINGS:
            seen.add(wording)
            yield episode


def _covered(events: Sequence[Event]) -> set[tuple[int, int]]:
    """Episodes that a hit explains: they are not events of their own.

    A wrapper's hit covers only an episode whose decisive line it is on, because
    the exception that the wrapper carries must not be lost.
    """
    covered = set()
    for event in events:
        if event.episode is None:
            continue
        on_decisive = event.episode.decisive.number == event.record.number
        if event.tier < Tier.WRAPPER or on_decisive:
            covered.add((event.source, id(event.episode)))
    return covered


def _from_episode(source: int, episode: Episode) -> Event:
    tier = Tier.ERROR_LINE
    if episode.carrier or episode.kind == "teardown":
        tier = Tier.WRAPPER
    elif _PEER_LOST.search(episode.decisive.message):
        tier = Tier.CONSEQUENCE
    elif episode.kind in {"exception", "fatal"}:
        tier = Tier.EXCEPTION
    return Event(source, episode.decisive, tier, episode=episode, quiet=episode.kind == "warning")


def _rank(event: Event, places: Places, paths: Sequence[str]) -> int | None:
    rank = places.rank_of(event.source, event.record)
    if event.hit is None:
        return rank
    captures = event.hit.captures
    for name in ("rank", "task", "tasks"):
        if name in captures and captures[name].text.isdigit() and len(captures[name].text) < 7:
            return int(captures[name].text)
    address = captures["pci"].text if "pci" in captures else _KERNEL_PCI.sub(r"\1", event.record.message)
    if rank is None and len(address) < 20:
        rank = places.rank_of_pci(places.host_of(event.source, event.record), address)
        if rank is not None:
            source, line = places.bus_line_of(rank, address)
            event.notes.append(f"{paths[source]}:{line} maps PCI address {address} to rank {rank}")
    if rank is None:
        named = next((name for name in ("pid", "task_pid", "worker_pid") if name in captures), None)
        pid = captures[named].text if named is not None else _KERNEL_PID.sub(r"\1", event.record.message)
        rank = places.rank_of_pid.get(int(pid)) if pid.isdigit() and len(pid) < 11 else None
        said, known = (
            places.host_of(event.source, event.record),
            places.host_of_rank.get(rank) if rank is not None else None,
        )
        if said is not None and known is not None and said.split(".")[0] != known.split(".")[0]:
            rank = None  # the same number on another host is another process
        if rank is not None:
            event.notes.append(f"process {pid} is rank {rank}")
    return rank


def pci_address(event: Event) -> str:
    """The PCI address that a hit's line names, as NCCL writes it; empty when it names none."""
    named = event.hit.captures.get("pci") if event.hit is not None else None
    found = named.text if named is not None else _KERNEL_PCI.sub(r"\1", event.record.message)
    return bus_id(found) if ":" in found and len(found) < 20 else ""


def _share_by_address(events: Sequence[Event]) -> None:
    """Kernel lines of one GPU in one source are of one rank: only some of them name the process or the host."""
    known: dict[tuple[int, str], set[tuple[int | None, str | None]]] = {}
    for event in events:
        if event.kernel and event.rank is not None and (address := pci_address(event)):
            known.setdefault((event.source, address), set()).add((event.rank, event.host))
    for event in events:
        if event.kernel and event.rank is None and known:
            places = known.get((event.source, pci_address(event)), set())
            if len(places) == 1:
                ((event.rank, host),) = places
                event.host = event.host or host


def _host(event: Event, places: Places) -> str | None:
    """The host of an event: what its line says, then the failure table of its attempt, then the rank's host."""
    said = _captured_host(event, places) or places.host_of(event.source, event.record)
    if event.rank is None:
        return said
    from_table = places.host_of_failure(event.source, event.line, event.rank)
    if event.record.host is None and from_table is not None:
        return from_table
    return said or places.host_of_rank.get(event.rank)


def _ask_text(event: Event) -> None:
    """A message that says `on rank 3` speaks of its own rank."""
    if event.rank is None and "_launcher: " in event.record.text:
        found = _FIELD.search(event.record.message)
        event.rank = int(found.group(1)) if found is not None else None
    found = _ON_RANK.search(event.record.message) if event.rank is None else None
    if found is not None:
        event.rank = int(found.group(1) or found.group(2))


def _ask_launcher(event: Event, run: Run) -> None:
    """srun names host and task of the step that ended just below the line that says why."""
    is_known = event.host is not None and event.rank is not None
    if is_known or ("slurmstepd" not in event.record.text and "srun:" not in event.record.text):
        return
    if _OF_THE_STEP.search(event.record.text) is not None:
        return
    for record in run.around(event.source, event.line, event.line + LAUNCHER_DISTANCE):
        found = _SRUN_ENDED.search(record.text)
        if found is not None:
            event.host = event.host or found.group(1) or found.group(3)
            if event.rank is None and found.group(2):
                event.rank = int(found.group(2))
            return


def _ask_failure_table(event: Event, places: Places) -> None:
    """A fault without a rank in a launcher's output belongs to the worker that its table names first."""
    if event.rank is not None or event.kernel or event.tier not in {Tier.FAILURE, Tier.CLASS, Tier.EXCEPTION}:
        return
    root = places.root_failure(event.source, event.line)
    if root is not None:
        event.rank, event.host = root.rank, root.host
        event.notes.append(f"the launcher's table names rank {root.rank} as the first observed failure")


def _captured_host(event: Event, places: Places) -> str | None:
    """The host that a launcher's or scheduler's line names."""
    if event.hit is None or event.head is None:
        return None
    texts = [text for one in event.head.signatures if one.name == event.hit.signature for text in one.texts]
    return named_machine(event.hit, texts, places.hosts)


def stood_seconds(event: Event) -> float:
    """Seconds for which a task or a CPU had stood by the kernel's word; 0 where it says nothing of the kind."""
    found = _STOOD.search(event.record.message) if event.kernel else None
    return float(found.group(1) or found.group(2)) if found is not None else 0.0
