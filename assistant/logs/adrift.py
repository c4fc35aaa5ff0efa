"""Unstamped lines whose place in a file says nothing of when they were printed.

A line without a time has that of the line above it, as long as the file was
written in the order of time. Where ranks' buffers were pasted together, or lines
were sorted by something else, a line at a seam belongs to either side, and among
lines in no order at all it belongs anywhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from corpus.record import Record

DISORDER_S = 5.0
"""A stamp so much earlier than one above it says that a file is not in the order of time."""
FEWEST_SEAMS, SCATTERED_SHARE = 3, 0.1
"""A file in which so many stamps, and so large a share of them, jump back is in no order at all ..."""
LONG_RUN = 10
"""... but where so many of them in a row go forward, which chance does not do."""


class _Runs:
    """Stamped lines cut where the time jumps back."""

    def __init__(self, lines: Sequence[int], seconds: Mapping[int, float]) -> None:
        self.lines = lines
        self.run: list[int] = []
        self.sizes: list[int] = []
        latest = float("-inf")
        for line in lines:
            if not self.sizes or seconds[line] < latest - DISORDER_S:
                self.sizes.append(0)
                latest = seconds[line]
            latest = max(latest, seconds[line])
            self.sizes[-1] += 1
            self.run.append(len(self.sizes) - 1)
        seams = len(self.sizes) - 1
        self.is_scattered = seams >= FEWEST_SEAMS and seams >= SCATTERED_SHARE * len(lines)

    def holds(self, line: int) -> bool:
        """Whether a line without a stamp lies within lines that are in order."""
        if len(self.sizes) == 1:
            return True
        below = bisect_right(self.lines, line)
        if below == 0 or (below < len(self.lines) and self.run[below - 1] != self.run[below]):
            return False
        return not self.is_scattered or self.sizes[self.run[below - 1]] >= LONG_RUN


def adrift_lines(records: Sequence[Record], seconds: Mapping[int, float]) -> frozenset[int]:
    """Numbers of the unstamped lines that have no place in time; `seconds` are those of the stamped lines."""
    everyone = _Runs([record.number for record in records if record.number in seconds], seconds)
    if len(everyone.sizes) < 2:
        return frozenset()
    stamped_by: dict[tuple[object, ...], list[int]] = {}
    for record in records:
        if record.number in seconds:
            stamped_by.setdefault(_owner(record), []).append(record.number)
    runs: dict[tuple[object, ...], _Runs] = {}
    adrift: set[int] = set()
    above_is_adrift = False
    for record in records:
        owner = _owner(record)
        if record.number in seconds:
            above_is_adrift = False
            continue
        if any(part is not None for part in owner):
            if owner not in runs:
                runs[owner] = _Runs(stamped_by[owner], seconds) if owner in stamped_by else everyone
            above_is_adrift = not runs[owner].holds(record.number)
        # A bare line goes on with the one above it.
        if above_is_adrift:
            adrift.add(record.number)
    return frozenset(adrift)


def _owner(record: Record) -> tuple[object, ...]:
    return (record.container, record.rank if record.container is None else None, record.task)
