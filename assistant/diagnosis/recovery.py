"""What the job survived: it went on after a fault, or it finished.

Where lines carry times, the times decide and not the place in the file: files
are put together from ranks' buffers, and a step that stands below a fault may
have been made before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from assistant.diagnosis.events import Event, Tier
from assistant.diagnosis.progress import Progress
from assistant.diagnosis.reading import Run
from assistant.diagnosis.window import GRACE_S, last_words
from assistant.logs.cancelled import read_cancelled
from assistant.logs.clock import Moment, RunClock

_ROTATED = re.compile(r"\.\d{1,3}(?:\.(?:gz|bz2|xz|zst))?$")
FEWEST_WAITERS = 2
LAST_LINES = 200
"""Lines between a fault and the start of the next attempt: tracebacks of all ranks and the launcher's words."""


def mark_recovered(run: Run, events: Sequence[Event], progress: Progress, clock: RunClock) -> None:
    """Mark faults that the job survived: it went on, or it finished afterwards."""
    ends = [max((record.number for record in source.records if record.message), default=0) for source in run.sources]
    parts = _older_parts(run.paths)
    own: dict[tuple[str, int], set[int]] = {}
    for event in events:
        if event.head is not None:
            own.setdefault((event.head.id, event.source), set()).add(event.line)
    progress = progress.with_done(last_words(progress.done, events))
    disordered = {index for index, source in enumerate(clock.sources) if source.is_disordered}
    later = _LaterMarks(progress, clock)
    last = {_stretch(event): event for event in events if _stretch(event) is not None}
    for each in events:
        event = last.get(_stretch(each), each)
        if not each.unrelated:
            lines = own.get((event.head.id, event.source), set()) if event.head is not None else set()
            at_end = (
                _ROTATED.search(run.paths[event.source]) is None
                and ends[event.source] <= (event.episode.last if event.episode else event.line) + 2
            )
            mine = progress
            if event.source in disordered:
                early = _made_before(event, progress, clock)
                lines = lines | early
                mine = progress.with_done(
                    [one for one in progress.done if one[0] != event.source or one[1].number not in early]
                )
            each.recovered = _survived(event, mine, clock, later, frozenset(lines), parts[event.source], at_end=at_end)
            each.ended_run = each.recovered and _ended_run(each, progress)
            each.recovered = each.recovered or _is_teardown(each, progress)
    _take_back(events, progress)
    _supersede(events, progress)
    current = [event for event in events if not event.superseded and not event.quiet and not event.unrelated]
    if not any(event.tier <= Tier.ERROR_LINE and not event.recovered for event in current):
        for event in events:
            event.recovered = event.recovered or event.superseded


def _supersede(events: Sequence[Event], progress: Progress) -> None:
    """Take a fault for history where a later run of the job, in a file of its own, said that it had completed.

    While that run has not, what ended the one before is still what is asked for.
    """
    completed = {source for source, _ in progress.done}
    for event in events:
        if not event.later_runs.isdisjoint(completed) and not event.superseded:
            event.superseded = True
            event.earlier_run = event.earlier_run or "a later run of the job, in a file of its own, completed"


def _stretch(event: Event) -> tuple[object, ...] | None:
    """The stretch of step lines that an event is one of, by its stream; None for other events.

    It lasts to the end of its stream, so what other ranks did before that end is no proof that it was got over.
    """
    is_number = event.hit is None and event.head is not None
    return (event.source, event.attempt, event.record.stream) if is_number else None


def _made_before(event: Event, progress: Progress, clock: RunClock) -> set[int]:
    """Lines of steps and completion that stand below a fault but were printed before it."""
    if event.moment is None:
        return set()
    places = [mark.line for mark in progress.marks_of.get(event.source, ())]
    places += [record.number for source, record in progress.done if source == event.source]
    early = set()
    for line in places:
        moment = clock.at(event.source, line) if line > event.line else None
        gap = event.moment.before(moment) if moment is not None else None
        if gap is not None and gap < 0:
            early.add(line)
    return early


def _older_parts(paths: Sequence[str]) -> list[frozenset[int]]:
    """Each source with the rotated parts of the same log that were written before it."""
    of_base: dict[str, list[int]] = {}
    parts = []
    for index, path in enumerate(paths):
        same = of_base.setdefault(_ROTATED.sub("", path), [])
        same.append(index)
        parts.append(frozenset(same) if len(same) < 200 else frozenset({index}))
    return parts


BUFFERED_STEPS = 5
"""Steps that other ranks may still print after a fault, because they ran ahead or their output was buffered."""


def _take_back(events: Sequence[Event], progress: Progress) -> None:
    """A fault was not survived that only other ranks' last steps follow, and then their timeouts.

    Nor was one of the very rank that all the others waited for, wherever its lines stand.
    """
    opened = [event for event in events if not (event.recovered or event.unrelated or event.quiet)]
    waiting = [event for event in opened if event.tier == Tier.CONSEQUENCE]
    # How a process ended, by a signal or an exit code, is no cause that could stand for the fault.
    if not waiting or any(
        event.tier <= Tier.EXCEPTION and not (event.head is not None and event.head.ends) for event in opened
    ):
        return
    waiters = {event.rank for event in waiting if event.rank is not None}
    for event in events:
        may_cause = event.head is not None and event.head.kind == "failure" and event.head.role != "downstream"
        if not (event.recovered and may_cause and event.tier == Tier.FAILURE):
            continue
        steps = {
            mark.step
            for mark in progress.marks_of.get(event.source, ())
            if event.line < mark.line and mark.step is not None
        }
        own_source = [other for other in waiting if other.source == event.source and other.line > event.line]
        is_missed = event.rank is not None and event.rank not in waiters and len(waiters) >= FEWEST_WAITERS
        if (own_source and 0 < len(steps) <= BUFFERED_STEPS) or (
            is_missed and event.source in {w.source for w in waiting}
        ):
            event.recovered = False


def _ended_run(event: Event, progress: Progress) -> bool:
    """Whether an attempt made no step more below a fault, and was started again near it."""
    if not 0 <= event.next_start - event.line <= LAST_LINES:
        return False
    return not any(event.line < mark.line < event.next_start for mark in progress.marks_of.get(event.source, ()))


def _is_teardown(event: Event, progress: Progress) -> bool:
    """Whether peers only lost each other after the source had said that the job completed."""
    said = [record.number for source, record in progress.done if source == event.source]
    return event.tier == Tier.CONSEQUENCE and bool(said) and min(said) < event.line


class _LaterMarks:
    """Times of the signs of progress, so that those after an event are counted without a look at each of them."""

    def __init__(self, progress: Progress, clock: RunClock) -> None:
        self._all: dict[str, list[float]] = {}
        self._own: dict[tuple[str, int], list[float]] = {}
        for mark in progress.marks:
            moment = clock.at(mark.source, mark.line)
            if moment is not None:
                self._all.setdefault(moment.axis, []).append(moment.seconds)
                self._own.setdefault((moment.axis, mark.source), []).append(moment.seconds)
        for seconds in (*self._all.values(), *self._own.values()):
            seconds.sort()

    def elsewhere(self, sources: frozenset[int], moment: Moment, gap: float) -> int:
        """How many signs outside of these sources are more than `gap` seconds after a moment."""
        after = moment.seconds + moment.late + gap
        mine = (self._own.get((moment.axis, source), []) for source in sources)
        return _count_after(self._all.get(moment.axis, []), after) - sum(_count_after(own, after) for own in mine)


def _count_after(seconds: Sequence[float], after: float) -> int:
    return len(seconds) - bisect_right(seconds, after)


def _ends_later(event: Event) -> bool:
    """Whether an event tells of an end that comes after a time of grace, so that further steps prove nothing."""
    is_told = event.head is not None and (event.head.announces or read_cancelled(event.record.text) is not None)
    return is_told and not event.runs_again


def _survived(
    event: Event,
    progress: Progress,
    clock: RunClock,
    later: _LaterMarks,
    own: frozenset[int],
    same_log: frozenset[int],
    *,
    at_end: bool,
) -> bool:
    is_notice = _ends_later(event)
    # What stands below a line says nothing where nobody knows when that line was printed.
    is_adrift = event.line in clock.sources[event.source].adrift
    if not is_notice and not is_adrift and progress.goes_on_after(event.source, event.line, ignoring=own):
        return True
    for source, record in progress.done:
        if source == event.source and record.number > event.line:
            return True
    if event.moment is None or (at_end and not event.kernel):
        # What others print later says nothing of a process whose own output ends with its fault.
        return False
    if not is_notice and later.elsewhere(same_log, event.moment, GRACE_S / 2) >= 3:
        return True
    for source, record in progress.done:
        moment = clock.at(source, record.number)
        gap = event.moment.before(moment) if moment is not None and source != event.source else None
        if gap is not None and gap > event.moment.late:
            return True
    return False
