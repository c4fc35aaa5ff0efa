"""Where logs end that tell of no fault: the lines that were looked at last.

Without a fault the end is all there is: the last step that was made, and what each
log that tells of the end printed last. The one that ended first is shown with the one
that ended last: a rank that was killed stopped before the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.diagnosis.progress import Progress
from assistant.diagnosis.reading import Run
from assistant.diagnosis.window import kernel_sources, platform_sources
from assistant.logs.clock import RunClock
from assistant.logs.layout import Places
from assistant.verdict import Line
from corpus.record import Record

MOST_LINES = 5
"""Last lines of the only log that is shown."""
MOST_OF_EACH = 3
"""And of each of two."""


def last_lines(run: Run, places: Places, clock: RunClock, progress: Progress) -> tuple[Line, ...]:
    """The last step and the last lines of the job's own logs, in order of source and line."""
    aside = kernel_sources(run) | platform_sources(run)
    own = [index for index, records in enumerate(run.records) if any(r.message for r in records)]
    own = [index for index in own if index not in aside] or own
    if not own:
        return ()
    ends = sorted(own, key=lambda index: _ended(run.records[index], index, clock))
    chosen = list(dict.fromkeys([ends[0], ends[-1]]))
    count = MOST_LINES if len(chosen) == 1 else MOST_OF_EACH
    shown: dict[tuple[int, int], Record] = {}
    for index in chosen:
        said = [record for record in run.records[index] if record.message]
        shown |= {(index, record.number): record for record in said[-count:]}
        step = max((mark.line for mark in progress.marks if mark.source == index), default=0)
        shown |= {(index, record.number): record for record in run.around(index, step, step)}
    return tuple(_line(run, places, clock, index, record) for (index, _), record in sorted(shown.items()))


def _ended(records: Sequence[Record], index: int, clock: RunClock) -> float:
    moment = clock.at(index, max((record.number for record in records if record.message), default=0))
    return moment.seconds if moment is not None else 0.0


def _line(run: Run, places: Places, clock: RunClock, index: int, record: Record) -> Line:
    moment = clock.at(index, record.number)
    return Line(
        source=run.paths[index],
        line=record.number,
        text=run.raw_line(index, record.number) or record.raw,
        rank=places.rank_of(index, record),
        host=places.host_of(index, record),
        time=moment.iso() if moment is not None else None,
        time_inherited=moment is not None and not clock.is_own(index, record.number),
    )
