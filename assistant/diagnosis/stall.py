"""A run that stood still long before its time limit ended it.

A limit that is reached while steps go on is the cause of the end. Where the last
step lies hours before it, the limit only ended what had hung: it is a consequence,
and what the ranks waited for is not in these logs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from assistant.diagnosis.events import Event, Tier
from assistant.diagnosis.groups import template
from assistant.diagnosis.progress import Progress
from assistant.diagnosis.reading import ReadSource, Run
from assistant.diagnosis.zones import ZONES_S
from assistant.logs.cancelled import read_cancelled
from assistant.logs.clock import Moment, RunClock, spoken
from assistant.logs.layout import Places
from assistant.verdict import Suspect
from corpus.late import late
from corpus.record import Record

STILL_INTERVALS, STILL_S = 20, 600.0
"""A run that made no step for so many usual intervals, and for so many seconds, stood still."""
FEWEST_INTERVALS = 3
"""With fewer intervals between steps nobody knows what is usual."""
HEARTBEATS = 5
"""A wording that came so often while steps were made, and no more often afterwards, is no sign of progress."""
TEARDOWN_S = 60.0
"""What is printed so shortly before the end may be of the end."""
LIMIT_DISTANCE = 400
"""Lines below the notice of a limit in which the job's own clock is looked for."""
MAX_BEHIND = 8

_LIMIT = late(
    r"DUE TO TIME LIMIT|walltime \d+ exceeded limit|TERM_RUNLIMIT|DeadlineExceeded|active (?:on the node )?longer than (?:the )?specified deadline"
)
_OF_THE_END = late(r"^(?:srun|slurmstepd|slurmd|scancel)\b|SIGTERM|\bsignal\b")


@dataclass(frozen=True, slots=True)
class Stall:
    """The time without a step before a limit."""

    place: str
    """Where the last sign of progress stands."""
    step: int | None
    seconds: float
    usual: float
    """Seconds between two steps until then."""
    behind: tuple[int, ...] = ()
    """Ranks whose last step is below the others'."""

    def __str__(self) -> str:
        what = f"step {self.step}" if self.step is not None else "sign of progress"
        return f"the last {what} stands at {self.place}, {spoken(self.seconds)} before it, and steps had come every {spoken(self.usual)}"


def mark_stalled(
    run: Run, events: Sequence[Event], progress: Progress, places: Places, clock: RunClock
) -> Stall | None:
    """Take time limits that ended a run which stood still for consequences; returns how long it had."""
    stall = None
    for event in events:
        is_limit = event.tier == Tier.FAILURE and _LIMIT.search(event.record.text) is not None
        if not is_limit or event.recovered or event.unrelated or event.unplaced:
            continue
        found = _before(event, run, progress, places, clock)
        if found is not None:
            event.tier = Tier.CONSEQUENCE
            event.notes.append(str(found))
            stall = stall or found
    return stall


def stalled_ranks(stall: Stall, places: Places) -> list[Suspect]:
    """The ranks that stopped before the others, when the steps of each rank are printed."""
    because = f"its last step is below the others', and no rank made another one after {stall.place}"
    return [
        Suspect(rank=rank, host=places.host_of_rank.get(rank), reason="silent", because=because)
        for rank in stall.behind
    ]


def _before(limit: Event, run: Run, progress: Progress, places: Places, clock: RunClock) -> Stall | None:
    ended = _ended(limit, run, clock)
    if ended is None:
        return None
    timed = [
        (moment.seconds, mark)
        for mark in progress.marks
        if (moment := clock.at(mark.source, mark.line)) is not None
        and (gap := moment.before(ended)) is not None
        and gap >= 0
    ]
    if not timed:
        return None
    firsts: dict[object, float] = {}
    for seconds, mark in timed:
        key = mark.step if mark.step is not None else seconds
        firsts[key] = min(firsts.get(key, seconds), seconds)
    times = sorted(set(firsts.values()))
    intervals = [later - earlier for earlier, later in pairwise(times)]
    if len(intervals) < FEWEST_INTERVALS:
        return None
    usual = median(intervals)
    last, mark = max(timed, key=lambda one: (one[0], -one[1].source, -one[1].line))
    alive = max(
        last,
        *(_last_life(source, index, clock, times[0], last, ended, limit) for index, source in enumerate(run.sources)),
    )
    seconds, still = ended.seconds - alive, max(STILL_S, STILL_INTERVALS * usual)
    if seconds <= still or _may_go_on(limit, progress, clock, Moment(ended.axis, last + still)):
        return None
    if _is_other_clock(limit, progress, ended) and any(0 <= seconds - zone <= still for zone in ZONES_S if zone > 0):
        return None
    return Stall(
        f"{run.paths[mark.source]}:{mark.line}", mark.step, ended.seconds - last, usual, _behind(progress, run, places)
    )


def _ended(limit: Event, run: Run, clock: RunClock) -> Moment | None:
    """When the limit came, by the job's own clock: the scheduler's may be of another zone."""
    if limit.record.time is not None:
        return limit.moment
    below = run.around(limit.source, limit.line + 1, limit.line + LIMIT_DISTANCE)
    following = next((clock.at(limit.source, record.number) for record in below if record.time is not None), None)
    if following is not None:
        return following
    said = read_cancelled(limit.record.text)
    is_zoned = any(r.time is not None and r.time.zoned for source in run.sources for r in source.records)
    return Moment("wall", said.at.seconds) if said is not None and said.at is not None and not is_zoned else None


def _may_go_on(limit: Event, progress: Progress, clock: RunClock, until: Moment) -> bool:
    """Whether a step without a time may have been made later than that: it stands below the last stamp."""
    dated: list[int] = []
    open_ended: list[int | None] = []
    for mark in progress.marks:
        if mark.source == limit.source and mark.line > limit.line:
            continue
        moment = clock.at(mark.source, mark.line)
        if moment is None or moment.axis != until.axis or moment.seconds + moment.late > until.seconds:
            open_ended.append(mark.step)
        elif mark.step is not None:
            dated.append(mark.step)
    highest = max(dated, default=-1)
    return any(step is None or step > highest for step in open_ended)


def _is_other_clock(limit: Event, progress: Progress, ended: Moment) -> bool:
    """Whether the end is told by Slurm's clock alone, which prints the local time of its host without a zone."""
    stamp = limit.record.time
    if read_cancelled(limit.record.text) is None or (stamp is not None and stamp.zoned):
        return False
    if stamp is None:
        return limit.moment is None or limit.moment.seconds == ended.seconds
    return all(mark.source != limit.source for mark in progress.marks)


def _last_life(
    source: ReadSource, index: int, clock: RunClock, first: float, last: float, ended: Moment, limit: Event
) -> float:
    """The last time, after the last step, at which a source may have printed something that is no heartbeat and no complaint."""
    before: Counter[str] = Counter()
    after: dict[str, list[float]] = {}
    at_gap = last
    line = 0
    for record in source.records:
        moment = clock.at(index, record.number)
        if moment is None or moment.axis != ended.axis or record.program == "kernel":
            continue
        if moment.seconds > ended.seconds - TEARDOWN_S:
            continue
        if record.number > line + 1 and moment.seconds > last:
            at_gap = moment.seconds  # what stands between the parts that were decoded may have been progress
        line = record.number
        if not _is_ordinary(record):
            continue
        text = template(record.message)
        if moment.late and (
            _OF_THE_END.search(record.message) or (index == limit.source and record.number > limit.line)
        ):
            continue
        # A line without a stamp was printed at any time before the next stamp, or before the end.
        seconds = min(moment.seconds + moment.late, ended.seconds)
        if seconds <= last:
            before[text] += 1
        else:
            after.setdefault(text, []).append(seconds)
    trained, still = max(last - first, 1.0), max(ended.seconds - last, 1.0)
    lively = [
        max(times)
        for text, times in after.items()
        if before[text] < HEARTBEATS or len(times) / still > 2 * before[text] / trained
    ]
    return max([at_gap, *lively])


def _is_ordinary(record: Record) -> bool:
    return (
        bool(record.message)
        and record.level not in {"WARNING", "ERROR", "FATAL"}
        and _LIMIT.search(record.text) is None
    )


def _behind(progress: Progress, run: Run, places: Places) -> tuple[int, ...]:
    """Ranks that print their own steps and whose last one is below that of most others."""
    of_line = [{record.number: record for record in source.records} for source in run.sources]
    reached: dict[int, int] = {}
    for mark in progress.marks:
        record = of_line[mark.source].get(mark.line)
        rank = places.rank_of(mark.source, record) if record is not None else None
        if rank is not None and mark.step is not None:
            reached[rank] = max(reached.get(rank, 0), mark.step)
    highest = max(reached.values(), default=0)
    behind = sorted(rank for rank, step in reached.items() if step < highest)
    return tuple(behind) if 0 < len(behind) <= min(MAX_BEHIND, len(reached) // 2) else ()
