"""Exact counts of each text in one source, and which of its lines are kept.

Lines are given as places: offsets of the newline before the line in the text
of the block being scanned. Line numbers cost a count of newlines, so they are
made only for the places that are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from index.blocks import Block, Limits, count_lines

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


class Numbers:
    """Line numbers of some places in a block; counts every byte of it once."""

    def __init__(self, block: Block, places: Iterable[int] = ()) -> None:
        text = block.text
        number, done = block.first - 1, 0
        self._known: dict[int, int] = {}
        for place in sorted(set(places)):
            number += count_lines(text[done : place + 1])
            done = place + 1
            # The first newline of the text ends the line before the block.
            self._known[place] = number
        number += count_lines(text[done:])
        self.lines = number - block.first - (not block.ends_line)
        """Lines that end in the block."""

    def at(self, place: int) -> int:
        """The number of the line that starts after the newline at this place."""
        return self._known[place]


class LateLines:
    """The last lines of one text: settled ones as bytes, the newest as places in held blocks."""

    __slots__ = ("_held", "_is_idle", "_keep", "_open", "_settled")

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._settled: deque[tuple[int, bytes]] = deque(maxlen=keep)
        self._open: deque[tuple[Block, list[int]]] = deque()
        self._held = 0
        self._is_idle = False

    def is_sparse(self, places: list[int]) -> bool:
        """Whether these places are settled at once, so that `add` asks for their numbers."""
        return not self._open and len(places) < SETTLE_AT

    def add(self, block: Block, places: list[int], numbers: Numbers) -> None:
        """Take the places of one block, in ascending order."""
        if self.is_sparse(places):
            self._settled.extend([(numbers.at(place), line_at(block, place, numbers)) for place in places])
            return
        self.hold(block, places)

    def hold(self, block: Block, places: list[int]) -> None:
        """Take the places of one block, and the block with them."""
        last = places[-self._keep :]
        self._is_idle = False
        self._open.append((block, last))
        self._held += len(last)
        while self._held - len(self._open[0][1]) >= self._keep:
            self._held -= len(self._open.popleft()[1])

    def let_go(self) -> None:
        """Settle what is held if nothing was taken since the last call, so that old bursts hold no blocks."""
        if self._open and self._is_idle:
            self.lines()
        self._is_idle = True

    def lines(self) -> list[tuple[int, bytes]]:
        """Number and bytes of the last lines, in ascending order."""
        for block, places in self._open:
            numbers = Numbers(block, places)
            self._settled.extend([(numbers.at(place), line_at(block, place, numbers)) for place in places])
        self._open.clear()
        self._held = 0
        return list(self._settled)


def line_at(block: Block, place: int, numbers: Numbers) -> bytes:
    """The line after the newline at this place, as it stands in the source."""
    cut = block.cuts.get(place)
    if cut is not None:
        return cut
    if block.text is block.raw:
        return block.raw[place + 1 : block.raw.find(b"\n", place + 1)]
    return block.raw_line(numbers.at(place) - block.first)


def raw_start(block: Block, place: int, numbers: Numbers) -> int:
    """Where that line starts in the raw bytes of the block."""
    if block.text is block.raw:
        return place + 1
    position = 0
    for _ in range(numbers.at(place) - block.first + 1):
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
        self.late.hold(block, places)
        return True

    def update(self, block: Block, places: list[int], chosen: list[int], numbers: Numbers) -> None:
        """Count the places of a block, of which `chosen` are kept as early ones."""
        if not self.tally.count:
            self.tally.first = numbers.at(places[0])
        self.tally.count += len(places)
        if chosen:
            self.early += [numbers.at(place) for place in chosen]
            self.ranked.clear()
        self.late.add(block, places, numbers)

    def finish(self) -> list[tuple[int, bytes]]:
        """Number and bytes of the last lines; the last of them completes the tally."""
        late = self.late.lines()
        self.tally.last = late[-1][0]
        return late
