"""Exact counts of each text in one source, and which of its lines are kept.

Lines are given as places: offsets of the newline before the line in the text
of the block being scanned. Numbers of lines are asked for only where a line is
kept, because each costs a count of newlines.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from index.blocks import Block, Limits

SETTLE_AT = 8
"""Below so many places in a block their lines are copied at once, and the block need not be held."""


@dataclass(slots=True)
class Tally:
    """What is known exactly of one text in one source."""

    count: int = 0
    """Lines on which it was found."""
    ranks: set[int] = field(default_factory=set)
    first: int = 0
    last: int = 0


class LateLines:
    """The last lines of one text: settled ones as bytes, the newest as places in held blocks."""

    __slots__ = ("_held", "_keep", "_open", "_settled")

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._settled: deque[tuple[int, bytes]] = deque(maxlen=keep)
        self._open: deque[tuple[Block, list[int]]] = deque()
        self._held = 0

    def is_sparse(self, places: list[int]) -> bool:
        """Whether so few places are not worth holding their block for."""
        return not self._open and len(places) < SETTLE_AT

    def add(self, block: Block, places: list[int]) -> None:
        """Take the places of one block, in ascending order."""
        if self.is_sparse(places):
            self._settle(block, places)
            return
        last = places[-self._keep :]
        self._open.append((block, last))
        self._held += len(last)
        while self._held - len(self._open[0][1]) >= self._keep:
            self._held -= len(self._open.popleft()[1])

    def let_go(self, line: int) -> None:
        """Settle what is held of blocks that start before this line, so that they can be freed."""
        while self._open and self._open[0][0].first < line:
            block, places = self._open.popleft()
            self._held -= len(places)
            self._settle(block, places)

    def lines(self) -> list[tuple[int, bytes]]:
        """Number and bytes of the last lines, in ascending order."""
        while self._open:
            self._settle(*self._open.popleft())
        self._held = 0
        return list(self._settled)

    def _settle(self, block: Block, places: list[int]) -> None:
        self._settled.extend([(block.number_at(place), line_at(block, place)) for place in places])


def line_at(block: Block, place: int) -> bytes:
    """The line after the newline at this place, as it stands in the source."""
    cut = block.cuts.get(place)
    if cut is not None:
        return cut
    if block.text is block.raw:
        return block.raw[place + 1 : block.raw.find(b"\n", place + 1)]
    return block.raw_line(block.number_at(place) - block.first)


def raw_start(block: Block, place: int) -> int:
    """Where that line starts in the raw bytes of the block."""
    if block.text is block.raw:
        return place + 1
    position = 0
    for _ in range(block.number_at(place) - block.first + 1):
        position = block.raw.find(b"\n", position) + 1
    return position


@dataclass(slots=True)
class Track:
    """A text or a marker while its source is scanned."""

    keep: int
    late: LateLines
    tally: Tally = field(default_factory=Tally)
    ranked: list[int] = field(default_factory=list)
    """Places in the present block that bring a new rank."""
    early: list[int] = field(default_factory=list)
    """Numbers of the first lines and of those that brought a new rank."""

    @classmethod
    def start(cls, limits: Limits) -> Track:
        """Nothing seen yet."""
        return cls(limits.keep, LateLines(limits.keep_last))

    @property
    def room(self) -> int:
        """How many more lines are kept as early ones."""
        return max(0, self.keep - self.tally.count)

    def choose(self, places: list[int]) -> list[int]:
        """Which places of a block are kept as early ones."""
        first = places[: self.room]
        return first if not self.ranked else sorted({*first, *self.ranked})

    def count_only(self, block: Block, places: list[int]) -> bool:
        """Count the places of a block of which none is kept but perhaps as a last one; the common case in a storm."""
        if self.tally.count < self.keep or self.ranked or self.late.is_sparse(places):
            return False
        self.tally.count += len(places)
        self.late.add(block, places)
        return True

    def update(self, block: Block, places: list[int], chosen: list[int]) -> None:
        """Count the places of a block, of which `chosen` are kept as early ones."""
        if not self.tally.count:
            self.tally.first = block.number_at(places[0])
        self.tally.count += len(places)
        if chosen:
            self.early += [block.number_at(place) for place in chosen]
            self.ranked.clear()
        self.late.add(block, places)

    def finish(self) -> list[tuple[int, bytes]]:
        """Number and bytes of the last lines; the last of them completes the tally."""
        late = self.late.lines()
        self.tally.last = late[-1][0]
        return late
