"""One clock for all sources: what each record's time is worth, and in which order events began.

Stamps of one run come with a full date, without year (glog, syslog, vLLM), as
time of day, or as seconds since boot. They are placed on one axis where that
can be done; times on different axes are never compared. A record without a
stamp has the time that its message gives for what it tells (Slurm's `CANCELLED
AT`), else it inherits the last one of its source.
"""

from __future__ import annotations

import calendar
import math
import re
import time as _time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from assistant.logs.adrift import DISORDER_S, adrift_lines
from corpus.record import Record
from corpus.timestamp import BASE_YEAR, read_inside

DAY = 86_400.0
LATEST = 4.2e9
"""Seconds since 1970 beyond which no log was written; a wait that long before is nonsense as well."""

_BOTH = re.compile(r"kernel: \[ {0,8}(\d{1,9}\.\d{6})\] ")
"""syslog's copy of a kernel line gives the time of day and the seconds since boot."""
_RTC = re.compile(r"setting system clock to \S+ \S+ \((\d{9,11})\)")


@dataclass(frozen=True, slots=True)
class Moment:
    """A time on an axis: `wall` (UTC seconds), `day` (time of day) or `boot:<source>`."""

    axis: str
    seconds: float
    dated: bool = True
    """False when the year is a guess, so that the time must not be shown as a date."""
    shift: float = 0.0
    """Seconds that were taken off because the host's clock is ahead; shown times are as they were printed."""
    clock: str = ""
    """The host whose clock it is, where that is known."""
    error: float | None = None
    """Seconds by which it may be wrong against other hosts' times; None when nothing tells."""
    late: float = 0.0
    """Seconds by which it may be later: a line without a stamp was printed after the one above, nobody knows how long."""

    def before(self, other: Moment) -> float | None:
        """Seconds by which this lies before the other; None when they cannot be compared."""
        return other.seconds - self.seconds if self.axis == other.axis else None

    def iso(self) -> str | None:
        """ISO 8601 with milliseconds where the date is known, else None."""
        if self.axis != "wall" or not self.dated:
            return None
        seconds = self.seconds + self.shift
        if not 0 <= seconds < LATEST:
            return None
        moment = datetime.fromtimestamp(seconds, tz=UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class SourceClock:
    """Times of one source by line number, for records that print none."""

    lines: list[int] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    own: set[int] = field(default_factory=set)
    """Lines that print their time themselves, before the message or inside it."""
    adrift: frozenset[int] = frozenset()
    """Lines without a stamp in a file that is not in the order of time: nothing says when they were printed."""
    exact: set[int] = field(default_factory=set)
    """Lines that carry a stamp, or go on with a message that does."""
    marks: list[int] = field(default_factory=list)
    """Positions in `lines` of those that carry one."""

    def at(self, line: int) -> Moment | None:
        """The moment of a line; one inherited from the last stamped line above it is only the earliest."""
        if line in self.adrift:
            return None
        position = bisect_right(self.lines, line)
        if not position:
            return None
        moment = self.moments[position - 1]
        return moment if line in self.exact else replace(moment, late=self._until(position) - moment.seconds)

    def _until(self, position: int) -> float:
        """When the next stamped line was printed; infinity where the file ends before, or its order says nothing."""
        moment = self.moments[position - 1]
        below = bisect_left(self.marks, position)
        if below == len(self.marks):
            return math.inf
        following = self.moments[self.marks[below]]
        is_after = following.axis == moment.axis and following.seconds >= moment.seconds
        return following.seconds if is_after else math.inf

    @property
    def is_disordered(self) -> bool:
        """Whether the lines are not in the order of their times."""
        latest = None
        for moment in self.moments:
            if moment.axis != "wall":
                continue
            if latest is not None and moment.seconds < latest - DISORDER_S:
                return True
            latest = moment.seconds if latest is None else max(latest, moment.seconds)
        return False

    @property
    def span(self) -> tuple[Moment, Moment] | None:
        """First and last moment on the axis that most of the source uses."""
        if not self.moments:
            return None
        axis = self.moments[-1].axis
        mine = [moment for moment in self.moments if moment.axis == axis]
        return min(mine, key=lambda m: m.seconds), max(mine, key=lambda m: m.seconds)


@dataclass
class RunClock:
    """The clocks of all sources of a run."""

    sources: list[SourceClock]

    def at(self, source: int, line: int) -> Moment | None:
        """The moment of a line of a source."""
        return self.sources[source].at(line)

    def is_own(self, source: int, line: int) -> bool:
        """Whether a line prints its time itself; else it has that of a line above."""
        return line in self.sources[source].own

    def span(self, sources: Iterable[int]) -> tuple[Moment, Moment] | None:
        """First and last moment on the wall axis (else the first axis found) over some sources."""
        spans = [span for index in sources if (span := self.sources[index].span) is not None]
        if not spans:
            return None
        axis = "wall" if any(span[0].axis == "wall" for span in spans) else spans[0][0].axis
        mine = [span for span in spans if span[0].axis == axis]
        return min((s[0] for s in mine), key=lambda m: m.seconds), max((s[1] for s in mine), key=lambda m: m.seconds)


def build_clock(sources: Sequence[Sequence[Record]]) -> RunClock:
    """Place the stamps of all sources' records on their axes."""
    anchor = _anchor(sources)
    both = _both_times(sources, anchor)
    clocks = []
    for index, records in enumerate(sources):
        clock = SourceClock()
        only_clock = not any(r.time is not None and r.time.kind in {"absolute", "yearless"} for r in records)
        wall: Moment | None = None
        boot = _booted_at(records, both)
        stamped: Moment | None = None
        last_of: dict[tuple[object, ...], Moment] = {}
        printed: dict[int, float] = {}
        days = _Days()
        block = 0
        for record in records:
            rtc = _RTC.search(record.message) if record.time is not None and record.time.kind == "monotonic" else None
            if rtc is not None and record.time is not None:
                # The kernel says what time it was when the clock showed these seconds since boot.
                boot = int(rtc.group(1)) - record.time.seconds
            moment = _moment(record, index, anchor, wall, only_clock)
            if moment is not None and moment.axis == "day":
                moment = replace(moment, seconds=days.place(moment.seconds))
            moment = moment or _inside(record)
            if moment is not None and boot is not None and moment.axis.startswith("boot:"):
                moment = Moment("wall", boot + moment.seconds)
            block = _block_left(record, block, is_stamped=moment is not None)
            if moment is not None or block:
                clock.exact.add(record.number)
            if moment is None:
                moment = _inherited(record, last_of, stamped)
                if moment is None or moment is clock.moments[-1]:
                    continue
            else:
                stamped = moment
                clock.marks.append(len(clock.lines))
                last_of[_owner(record)] = moment
                clock.own.add(record.number)
                if moment.axis == "wall" and record.time is not None:
                    wall = moment
                    printed.setdefault(record.number, moment.seconds)
            clock.lines.append(record.number)
            clock.moments.append(moment)
        clock.adrift = adrift_lines(records, printed)
        clocks.append(clock)
    _past_midnight(clocks)
    return RunClock(clocks)


MAX_BLOCK = 400
"""Lines without a stamp below a logged error that may be the rest of its message."""


def _block_left(record: Record, left: int, *, is_stamped: bool) -> int:
    """How many further lines may belong to the error that was logged last, this one included."""
    if not is_stamped:
        return max(0, left - 1)
    return MAX_BLOCK if record.level in {"ERROR", "FATAL"} or "Traceback (most recent" in record.message else 0


class _Days:
    """Counts the days of a source that prints times of day only."""

    def __init__(self) -> None:
        self.past = 0.0
        self.last: float | None = None

    def place(self, seconds: float) -> float:
        """Seconds since the midnight before the first stamp; a time that jumps back by half a day has passed one."""
        here = seconds + self.past
        if self.last is not None and here < self.last - DAY / 2:
            self.past += DAY
            here += DAY
        elif self.last is not None and self.past and here > self.last + DAY / 2:
            here -= DAY  # a line from before midnight that was flushed after it
        self.last = here
        return here


NEAR_MIDNIGHT_S = 600.0
"""A log that ends so shortly before midnight is followed by one that begins so shortly after it."""


def _past_midnight(clocks: Sequence[SourceClock]) -> None:
    """Move sources that begin after the midnight that others passed, or came close to, to the same day."""
    spans = {index: span for index, clock in enumerate(clocks) if (span := clock.span) and span[0].axis == "day"}
    near = [span for span in spans.values() if span[1].seconds >= DAY - NEAR_MIDNIGHT_S]
    passed = [span for span in near if span[1].seconds >= DAY] or near
    if not passed:
        return
    first, last = min(span[0].seconds for span in passed), max(span[1].seconds for span in passed)
    for index, (begin, end) in spans.items():
        follows = begin.seconds + DAY <= max(last, DAY + NEAR_MIDNIGHT_S)
        if follows and begin.seconds + DAY - last < first - end.seconds:
            moved = [replace(m, seconds=m.seconds + DAY) if m.axis == "day" else m for m in clocks[index].moments]
            clocks[index].moments = moved


def _both_times(sources: Sequence[Sequence[Record]], anchor: float | None) -> dict[float, float]:
    """Seconds since boot and the wall time of lines that give both."""
    found = {}
    for index, records in enumerate(sources):
        for record in records:
            if "kernel: [" not in record.text or record.time is None or record.time.kind == "monotonic":
                continue
            both = _BOTH.search(record.text)
            moment = _moment(record, index, anchor, None, False)
            if both is not None and moment is not None and moment.axis == "wall":
                found[float(both.group(1))] = moment.seconds
    return found


def _booted_at(records: Sequence[Record], both: dict[float, float]) -> float | None:
    """When the host of a kernel log booted: a stamp to the microsecond that another log has too is the same line."""
    for record in records if both else ():
        if record.time is not None and record.time.kind == "monotonic" and record.time.seconds in both:
            return both[record.time.seconds] - record.time.seconds
    return None


def _owner(record: Record) -> tuple[object, ...]:
    return (record.container, record.rank if record.container is None else None, record.task)


def _inherited(record: Record, last_of: dict[tuple[object, ...], Moment], stamped: Moment | None) -> Moment | None:
    """The time of a line that has none: not before the last line of its own rank or pod, nor before the line above it.

    In a file of several pods the line above may come from one whose output lags behind.
    """
    own = last_of.get(_owner(record))
    if own is None or stamped is None or own.axis != stamped.axis:
        return stamped
    return own if own.seconds > stamped.seconds else stamped


def _anchor(sources: Sequence[Sequence[Record]]) -> float | None:
    """An absolute time of the run, by which stamps without year find theirs."""
    last = None
    for records in sources:
        for record in records:
            stamp = read_inside(record.text) if record.time is None else record.time
            if stamp is not None and stamp.kind == "absolute":
                last = stamp.seconds if last is None else max(last, stamp.seconds)
    return last


def _moment(record: Record, source: int, anchor: float | None, wall: Moment | None, only_clock: bool) -> Moment | None:
    stamp = record.time
    if stamp is None:
        return None
    if stamp.kind == "absolute":
        return Moment("wall", stamp.seconds)
    if stamp.kind == "yearless":
        return Moment("wall", _with_year(stamp.seconds, anchor), dated=anchor is not None)
    if stamp.kind == "monotonic":
        return Moment(f"boot:{source}", stamp.seconds)
    if wall is not None:
        midnight = wall.seconds - wall.seconds % DAY
        seconds = midnight + stamp.seconds
        # A time of day that jumps back by half a day has passed midnight.
        return Moment("wall", seconds + DAY if seconds < wall.seconds - DAY / 2 else seconds, wall.dated)
    return Moment("day", stamp.seconds) if only_clock else None


def _inside(record: Record) -> Moment | None:
    """The time that a message without a stamp gives for what it tells."""
    stamp = read_inside(record.text) if record.time is None else None
    return Moment("wall", stamp.seconds) if stamp is not None else None


def _with_year(seconds: float, anchor: float | None) -> float:
    """The time in the year that brings it nearest to the anchor."""
    if anchor is None:
        return seconds
    date = _time.gmtime(seconds)
    year = _time.gmtime(anchor).tm_year
    candidates = []
    for candidate in (year - 1, year, year + 1):
        day = min(date.tm_mday, calendar.monthrange(candidate, date.tm_mon)[1])
        start = calendar.timegm((candidate, date.tm_mon, day, date.tm_hour, date.tm_min, date.tm_sec, 0, 0, 0))
        candidates.append(start + seconds % 1)
    return min(candidates, key=lambda value: abs(value - anchor))


def spoken(seconds: float) -> str:
    """A length of time as people say it: 0.31 s, 48 s, 32 min, 5.2 h."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


__all__ = ["BASE_YEAR", "Moment", "RunClock", "SourceClock", "build_clock", "spoken"]
