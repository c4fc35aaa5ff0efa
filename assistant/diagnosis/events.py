"""Events: everything in the logs that may be a fault, with its time, place and weight.

An event is a hit of an entry, or an episode that no entry covers. Its tier says
how much it can explain, before time and causes are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise

from assistant.diagnosis.moments import moment_of, onset_of
from assistant.diagnosis.reading import Run
from assistant.logs.clock import Moment, RunClock
from assistant.logs.episodes import Episode, read_exception
from assistant.logs.layout import Places, attempt_from_path
from corpus.head import Head
from corpus.match import Hit
from corpus.record import Record
from corpus.timestamp import read_stamp

QUIET_LEVELS = frozenset({"INFO", "DEBUG", "WARNING"})
_HOST = re.compile(r"[A-Za-z][\w.\-]*")
_KERNEL_PCI = re.compile(r"^.*\(PCI:([0-9a-fA-F:.]{7,16})\).*$")
_KERNEL_PID = re.compile(r"^.*\bpid=(\d{1,10})\b.*$")
_PEER_LOST = re.compile(
    r"Connection closed by (?:remote )?peer|Connection was likely closed|[Ff]ailed to recv|got 0 bytes|recvValue failed"
    r"|communicator was aborted|remote process exited|Connection reset by peer.{0,40}$|Socket (?:closed|Timeout)"
    r"|peer (?:rank )?\S{1,40} (?:is gone|has died|disconnected)|should dump|[Bb]roken pipe$|wait timeout after"
    r"|Timed out (?:initializing|waiting)|[Bb]arrier timed out|timed out after \d+ ?(?:ms|milliseconds|seconds)"
    r"|Watchdog caught collective|Stack trace of the failed collective|First PG on this rank to signal dumping"
    r"|preparing to dump debug info|[Rr]eceived a dump signal|flight recorder dump signal|Failed to check the .should dump. flag"
)
"""Wording by which a process says that another one went away or did not come."""
_START = re.compile(r"\b(?:start|begin|launch|submit|run(?:ning)?|job|host|boot|prolog)", re.I)
_STEPS = re.compile(r"\b(?:steps?|iter(?:ation)?s?|epochs?|loss)\b", re.I)
_DIGITS = re.compile(r"\d+")
_RANK_NUMBER = re.compile(r"\b(?:local_|global_)?(?:rank|process|worker|task)(?:_index| index)?[ =:]{1,2}\d{1,6}", re.I)
_AS_LETTERS = str.maketrans("0123456789", "abcdefghij")
_CANCELLED = re.compile(r"\*\*\* (?:JOB|STEP) (\d{1,12})\S* ON \S+ CANCELLED AT (\S+)")
LONGEST_GRACE_S = 3600.0
"""A job that is preempted is told so, and ended at the latest after so long."""
NEXT_RUN_S = 60.0
"""A job that prints so long after it was cancelled was started again."""
MAX_WORDINGS = 40
"""Different wordings of uncovered error lines that become events, for each source."""
_PROMPT = re.compile(r"^(?:\([\w.\-]+\) )?\[?[\w.\-]+@[\w.\-]+[: ]\S{0,200}?\]?[$#%] ")
MIN_START, MAX_STARTS = 12, 12
"""Length of a first line that can be recognised, and how often it may stand in a source."""
_ON_RANK = re.compile(r"\bon rank (\d{1,6})\b|\[Rank (\d{1,6})\]")
_SRUN_ENDED = re.compile(r"srun: error: ([\w\-]+): task (\d{1,6}): |srun: error: .{0,80}\bfailed on node ([\w\-]+)[:,]")
LAUNCHER_DISTANCE = 15
"""Lines below a step's error in which srun says where it ended."""
_RESTART = (
    "will restart worker group",
    "Restarting worker group",
    "attempts left; will restart",
    "Requeued job",
    "requeueing",
)


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
    earlier_run: str = ""
    """Why it belongs to a run before the one that these logs are of; no proof that this one is well."""
    harmless: str = ""
    """Why the corpus knows its line to be harmless; empty when it does not."""
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
) -> list[Event]:
    """All events of a run, in order of source and line; `others` were found by no signature and want their place."""
    by_line = [_by_line(found) for found in episodes]
    events = [_from_hit(run, hit, by_line[hit.source].get(hit.record.number, ())) for hit in hits]
    events += others
    covered = _covered(events)
    for source, found in enumerate(episodes):
        bare = [episode for episode in found if (source, id(episode)) not in covered]
        events += [_from_episode(source, episode) for episode in _distinct(bare)]
    starts = [_second_starts(records) for records in run.records]
    restarts = _restarts(run, starts)
    for event in events:
        event.superseded = any(line >= event.line for line in starts[event.source])
        event.rank = _rank(event, places, run.paths)
        _ask_text(event)
        _ask_failure_table(event, places)
        event.host = event.host or _host(event, places)
        _ask_launcher(event, run)
        event.moment, event.own_time = moment_of(clock, event.source, event.record, run.records[event.source])
        event.onset = onset_of(event.moment, event.record, event.hit)
        event.attempt = _attempt(event, run, restarts)
    _share_cancellation(events)
    events.sort(key=lambda event: (event.source, event.line, event.tier))
    return events


def _share_cancellation(events: Sequence[Event]) -> None:
    """What Slurm says of one job's cancellation began with the first of its lines: a grace period lies between them."""
    first: dict[str, Moment] = {}
    told = [(event, found[1]) for event in events if (found := _CANCELLED.search(event.record.text))]
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
    kernel = hit.record.program == "kernel" or "NVRM:" in hit.record.text
    if head.kind == "wrapper":
        tier = Tier.WRAPPER
    elif head.kind == "class":
        tier = Tier.CLASS
    else:
        tier = Tier.CONSEQUENCE if head.role == "downstream" else Tier.FAILURE
    # A raised exception is loud whatever level its relay gave to the line (`assistant.logs.episodes`).
    raised = episode is not None and episode.kind == "exception"
    quiet = (hit.record.level in QUIET_LEVELS and not raised) or (episode is not None and episode.kind == "warning")
    return Event(
        hit.source, hit.record, tier, head, hit, episode, kernel=kernel, quiet=quiet and head.kind != "failure"
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


def _host(event: Event, places: Places) -> str | None:
    """The host of an event: what its line says, then the failure table of its attempt, then the rank's host."""
    said = _captured_host(event) or places.host_of(event.source, event.record)
    if event.rank is None:
        return said
    from_table = places.host_of_failure(event.source, event.line, event.rank)
    if event.record.host is None and from_table is not None:
        return from_table
    return said or places.host_of_rank.get(event.rank)


def _ask_text(event: Event) -> None:
    """A message that says `on rank 3` speaks of its own rank."""
    found = _ON_RANK.search(event.record.message) if event.rank is None else None
    if found is not None:
        event.rank = int(found.group(1) or found.group(2))


def _ask_launcher(event: Event, run: Run) -> None:
    """srun names host and task of the step that ended just below the line that says why."""
    is_known = event.host is not None and event.rank is not None
    if is_known or ("slurmstepd" not in event.record.text and "srun:" not in event.record.text):
        return
    for record in run.sources[event.source].records:
        if not 0 <= record.number - event.line <= LAUNCHER_DISTANCE:
            continue
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


def _captured_host(event: Event) -> str | None:
    """The host that a launcher's or scheduler's line names; a list of hosts names none."""
    if event.hit is None:
        return None
    for name in ("host", "hosts", "node"):
        capture = event.hit.captures.get(name)
        if capture is not None and not capture.redacted and _HOST.fullmatch(capture.text):
            return capture.text
    return None


def _restarts(run: Run, starts: Sequence[list[int]]) -> dict[int, list[int]]:
    """Lines per source after which another attempt starts; `starts` are those of logs appended to others."""
    found: dict[int, list[int]] = {}
    for index, records in enumerate(run.records):
        lines = [record.number for record in records if any(text in record.message for text in _RESTART)]
        lines += starts[index]
        lines += _cancelled_before(records)
        # Every agent announces the same restart; lines close together are one.
        lines.sort()
        merged = [line for position, line in enumerate(lines) if position == 0 or line - lines[position - 1] > 3]
        if merged:
            found[index] = merged
    return found


def _second_starts(records: Sequence[Record]) -> list[int]:
    """Where the first line of a source stands again: another job's log was appended to it.

    Ranks that all print the same first line are no restart: the line must come
    again from the same process, rank and pod, as far as it says, and be no error.
    """
    first = next((record for record in records if len(record.message) >= MIN_START), None)
    if first is None or first.number > 5 or not _START.search(first.message):
        return []
    if first.level in {"ERROR", "FATAL"} or _STEPS.search(first.message) or read_exception(first) is not None:
        return []
    wanted = _start_of(first)
    places = [
        record.number for record in records if record.message[:4] == first.message[:4] and _start_of(record) == wanted
    ]
    if len(places) > MAX_STARTS:
        return []
    return [line - 1 for before, line in pairwise(places) if line - before > 1]


def _cancelled_before(records: Sequence[Record]) -> list[int]:
    """Lines by which Slurm ended a job whose next run wrote on into the same file."""
    found = []
    for position, record in enumerate(records):
        cancelled = _CANCELLED.search(record.text)
        if cancelled is None:
            continue
        stamp = read_stamp(cancelled.group(2))
        ended = stamp.stamp.seconds if stamp is not None else record.time.seconds if record.time is not None else None
        later = [
            other
            for other in records[position + 1 :]
            if other.time is not None and other.level not in {"ERROR", "FATAL"} and other.time.kind == "absolute"
        ]
        if (
            ended is not None
            and len(later) >= 2
            and later[0].time is not None
            and later[0].time.seconds > ended + NEXT_RUN_S
        ):
            found.append(record.number)
    return found


def _start_of(record: Record) -> tuple[object, ...]:
    """By what a first line is known again: who prints it, and its text without the numbers that change."""
    typed = _PROMPT.sub("", record.message[:400])  # of a command typed at a prompt, the command
    kept = _RANK_NUMBER.sub(lambda found: found.group().translate(_AS_LETTERS), typed)
    return (record.rank, record.task, record.container, record.host, _DIGITS.sub("#", kept)[:60])


def _attempt(event: Event, run: Run, restarts: dict[int, list[int]]) -> int:
    from_path = attempt_from_path(run.sources[event.source].path)
    if from_path is not None:
        return from_path + 1
    return 1 + sum(line < event.line for line in restarts.get(event.source, ()))
