"""When an event happened: by its own line, by the block it stands in, else by the last stamped line above."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from assistant.diagnosis.collectives import timeout_seconds
from assistant.diagnosis.reading import Run
from assistant.logs.clock import Moment, RunClock
from corpus.match import Hit
from corpus.record import Record

_ROW = re.compile(r"[\"']?[A-Za-z][\w ]{1,30}[\"']?\s{0,12}:\s")
"""A row of a block of facts, as `kubectl describe` and torchrun's table print them."""
_TELLS_TIME = re.compile(r"[\"']?(?:Finished|finishedAt|time)[\"']?\s{0,12}:\s")
MOST_ROWS = 8


def moment_of(clock: RunClock, source: int, record: Record, run: Run) -> tuple[Moment | None, bool]:
    """The moment of a record of a source, and whether it is its own; else it is that of the last stamped line."""
    if not clock.is_own(source, record.number) and _ROW.match(record.message):
        for row in _rows_beside(record, run.around(source, record.number - MOST_ROWS, record.number + MOST_ROWS)):
            if _TELLS_TIME.match(row.message) and clock.is_own(source, row.number):
                return clock.at(source, row.number), True
    return clock.at(source, record.number), clock.is_own(source, record.number)


def _rows_beside(record: Record, near: Sequence[Record]) -> Iterator[Record]:
    """The other rows of the block of facts that a record is one of: as deep, and next to each other."""
    below = [other for other in near if other.number > record.number]
    above = [other for other in reversed(near) if other.number < record.number]
    for side in (below, above):
        for other in side:
            if other.indent != record.indent or _ROW.match(other.message) is None:
                break
            yield other


def onset_of(moment: Moment | None, record: Record, hit: Hit | None, stood: float = 0.0) -> Moment | None:
    """When it began: a timeout began as long before its line as it had waited, a stall `stood` seconds before."""
    if moment is None:
        return None
    waited = timeout_seconds(record.text) or stood
    if not waited and hit is not None:
        for name in ("ran_ms", "waited_ms", "timeout_ms"):
            text = hit.captures[name].text if name in hit.captures else ""
            if text.isdigit() and len(text) < 13:
                waited = int(text) / 1000
                break
    return replace(moment, seconds=moment.seconds - waited) if waited else moment
