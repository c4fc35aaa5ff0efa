"""Lines that a scan keeps: the neighbourhood of what it found, and both ends of the source.

Text is kept as bytes and parsed into records only when somebody looks at it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, islice

from corpus.record import Record, read_records
from index.blocks import MIB, Block, Limits, count_lines

CACHED_LINES = 4096
"""Parsed lines remembered; neighbourhoods of several findings overlap."""
NEAR = 512
"""Lines from an end of a chunk within which a line is looked for from that end."""
FREE_WINDOWS = 64
"""Windows around later hits that are kept at once; after them one for each MiB read."""


class _Chunk:
    """Consecutive lines, each with its newline."""

    __slots__ = ("_offsets", "data", "first", "stop")

    def __init__(self, first: int, data: bytes, lines: int) -> None:
        self.first = first
        self.stop = first + lines
        self.data = data
        self._offsets: array[int] | None = None

    def lines(self, start: int, stop: int) -> list[bytes]:
        """Some of its lines, without their newlines."""
        low = self._offset(start)
        return self.data[low : _forward(self.data, low, stop - start) - 1].split(b"\n")

    def _offset(self, number: int) -> int:
        """Where a line starts; near an end of the chunk it is looked for from there, and the others are not indexed."""
        data, index = self.data, number - self.first
        if self._offsets is None:
            if index <= NEAR:
                return _forward(data, 0, index)
            if self.stop - number <= NEAR:
                return _backward(data, len(data), self.stop - number)
            self._offsets = array("q", accumulate(map(len, data.split(b"\n")), initial=0))
        return self._offsets[index] + index

    def without_lines_before(self, number: int) -> _Chunk | None:
        """The part from this line on, or None when nothing is left."""
        if number <= self.first:
            return self
        if number >= self.stop:
            return None
        start = 0
        for _ in range(number - self.first):
            start = self.data.find(b"\n", start) + 1
        return _Chunk(number, self.data[start:], self.stop - number)


class LineStore:
    """The kept lines of one source, by line number."""

    def __init__(self, chunks: Iterable[_Chunk] = ()) -> None:
        self._chunks: list[_Chunk] = []
        for chunk in sorted(chunks, key=lambda chunk: (chunk.first, -chunk.stop)):
            done = self._chunks[-1].stop if self._chunks else 0
            rest = chunk.without_lines_before(done)
            if rest is not None and rest.stop > rest.first:
                self._chunks.append(rest)
        self._firsts = [chunk.first for chunk in self._chunks]
        self._parsed: dict[int, list[Record]] = {}

    def get(self, number: int) -> bytes | None:
        """The line without its newline, or None when it was not kept."""
        index = bisect_right(self._firsts, number) - 1
        if index < 0 or number >= self._chunks[index].stop:
            return None
        return self._chunks[index].lines(number, number + 1)[0]

    def span(self, start: int, stop: int) -> list[bytes]:
        """The lines from `start` up to, not including, `stop`, without their newlines; empty ones where none was kept."""
        lines = [b""] * max(0, stop - start)
        for chunk in self._chunks:
            low, high = max(start, chunk.first), min(stop, chunk.stop)
            if low < high:
                lines[low - start : high - start] = chunk.lines(low, high)
        return lines

    def records(self, start: int, stop: int) -> Iterator[Record]:
        """The records of the kept lines from `start` up to, not including, `stop`."""
        for chunk in self._chunks[max(0, bisect_right(self._firsts, start) - 1) :]:
            if chunk.first >= stop:
                return
            low, high = max(start, chunk.first), min(stop, chunk.stop)
            if low < high:
                for number, line in enumerate(chunk.lines(low, high), start=low):
                    yield from self._read(number, line)

    def remember(self, parsed: Mapping[int, list[Record]]) -> None:
        """Take the records of lines that were parsed already."""
        self._parsed.update(islice(parsed.items(), CACHED_LINES))

    def _read(self, number: int, line: bytes) -> list[Record]:
        records = self._parsed.get(number)
        if records is None:
            records = read_records(line, number)
            if len(self._parsed) < CACHED_LINES:
                self._parsed[number] = records
        return records

    def ranges(self) -> list[tuple[int, int]]:
        """Which lines are kept, as (first, stop) in ascending order, neighbours joined."""
        joined: list[tuple[int, int]] = []
        for chunk in self._chunks:
            if joined and joined[-1][1] == chunk.first:
                joined[-1] = (joined[-1][0], chunk.stop)
            else:
                joined.append((chunk.first, chunk.stop))
        return joined

    @property
    def size(self) -> int:
        """Bytes of text kept."""
        return sum(len(chunk.data) for chunk in self._chunks)


class LineKeeper:
    """Collects the lines to keep while the blocks of a source go by.

    A small source is kept whole. Of a larger one: its first lines, its last
    lines, windows around early hits until their share of the memory is used,
    and a ring of windows around later ones.
    """

    def __init__(self, limits: Limits, *, is_frugal: bool = False) -> None:
        self._limits = limits
        self._before = limits.before // 4 if is_frugal else limits.before
        self._after = limits.after // 4 if is_frugal else limits.after
        self._head = limits.head // 8 if is_frugal else limits.head
        self._tail = limits.tail // 8 if is_frugal else limits.tail
        self._whole: list[_Chunk] | None = None if is_frugal else []
        self._whole_size = 0
        self._fixed: list[_Chunk] = []
        self._early_room = limits.memory * 5 // 8
        self._ring: deque[_Chunk] = deque()
        self._ring_room = limits.memory // 4
        self._last: deque[Block] = deque(maxlen=2)
        self._windows = 0
        self._read = 0
        self._pending = 0
        self._pending_early = False

    @property
    def has_time(self) -> bool:
        """Whether one more window around a later hit costs little against what was read."""
        return self._windows < FREE_WINDOWS + self._read // MIB

    def keep_line(self, number: int, line: bytes) -> None:
        """Keep one line, whatever else is kept."""
        self._fixed.append(_Chunk(number, line + b"\n", 1))

    def add(self, block: Block, early: Iterable[tuple[int, int]], late: Iterable[tuple[int, int]]) -> None:
        """Take a counted block; early and late hits are given as (line number, start of the line in `raw`)."""
        self._read += len(block.raw)
        if not block.starts_line:
            shift = block.raw.find(b"\n", 1)
            block = _tail_of(block, shift)
            early = [(number, start - shift) for number, start in early if start > shift]
            late = [(number, start - shift) for number, start in late if start > shift]
        if self._whole is not None:
            self._keep_whole(block)
        elif self._head > 0:
            self._keep_head(block)
        if self._whole is None:
            done = self._finish_window(block)
            for number, start in early:
                done = self._window(block, number, start, done, is_early=True)
            for number, start in late:
                if self.has_time:
                    done = self._window(block, number, start, done, is_early=False)
        else:
            # What is kept whole so far may turn out to end in the middle of a window.
            ends = [self._after - (block.first + block.lines - number) for number, _ in early]
            self._pending, self._pending_early = max(0, self._pending - block.lines, *ends), True
        self._last.append(block)

    def _keep_whole(self, block: Block) -> None:
        assert self._whole is not None
        self._whole_size += len(block.raw)
        if self._whole_size <= self._limits.whole:
            self._whole.append(_Chunk(block.first, block.raw[1:], _held(block)))
            return
        # Too large to be kept whole: what was kept so far becomes its beginning.
        self._fixed += self._whole
        self._head -= sum(chunk.stop - chunk.first for chunk in self._whole)
        self._whole = None
        self._keep_head(block)

    def _keep_head(self, block: Block) -> None:
        if self._head > 0:
            self._put(block, 1, _forward(block.raw, 1, self._head), block.first, is_early=True)
            self._head -= block.lines

    def _finish_window(self, block: Block) -> int:
        """Keep the lines that the last window of the block before still lacks; returns where they end."""
        if not self._pending:
            return 1
        end = _forward(block.raw, 1, self._pending)
        self._put(block, 1, end, block.first, is_early=self._pending_early)
        self._pending = max(0, self._pending - block.lines)
        self._pending_early &= self._pending > 0
        return end

    def _window(self, block: Block, number: int, start: int, done: int, *, is_early: bool) -> int:
        """Keep the lines around one hit, as far as they are not kept yet (`done`)."""
        raw = block.raw
        low = max(_backward(raw, start, self._before), min(done, start))
        high = _forward(raw, start, self._after)
        if high == len(raw):
            lacking = self._after - (block.first + block.lines - number)
            self._pending, self._pending_early = max(self._pending, lacking), self._pending_early or is_early
        if high <= done:
            return done
        first = number - count_lines(raw[low:start])
        if low == 1 and done == 1 and self._last:
            self._before_block(self._before - (number - block.first), is_early=is_early)
        self._put(block, low, high, first, is_early=is_early)
        self._windows += 1
        return high

    def _before_block(self, lines: int, *, is_early: bool) -> None:
        last = self._last[-1]
        if lines <= 0:
            return
        low = _backward(last.raw, len(last.raw), lines)
        first = last.first + _held(last) - count_lines(last.raw[low:])
        self._put(last, low, len(last.raw), first, is_early=is_early)

    def _put(self, block: Block, low: int, high: int, first: int, *, is_early: bool) -> None:
        data = block.raw[low:high]
        if not data:
            return
        chunk = _Chunk(first, data, count_lines(data))
        if is_early and len(data) <= self._early_room:
            self._early_room -= len(data)
            self._fixed.append(chunk)
            return
        self._ring.append(chunk)
        self._ring_room -= len(data)
        while self._ring_room < 0 and len(self._ring) > 1:
            self._ring_room += len(self._ring.popleft().data)

    def finish(self) -> LineStore:
        """The store, once all blocks are in."""
        if self._whole is not None:
            return LineStore([*self._whole, *self._fixed])
        chunks = [*self._fixed, *self._ring]
        wanted = self._tail
        for block in reversed(self._last):
            low = _backward(block.raw, len(block.raw), wanted)
            data = block.raw[low:]
            lines = count_lines(data)
            chunks.append(_Chunk(block.first + _held(block) - lines, data, lines))
            wanted -= lines
        return LineStore(chunks)


def _held(block: Block) -> int:
    """Lines in the text of a block, with the one that goes on in the next block."""
    return block.lines if block.ends_line else block.lines + 1


def _tail_of(block: Block, end: int) -> Block:
    """A block without the rest of an over-long line up to `end`: that line is kept by its first part."""
    is_all_one_line = end == len(block.raw) - 1
    rest = Block(block.raw[end:], block.first + 1, starts_line=True, ends_line=block.ends_line or is_all_one_line)
    rest.lines = max(0, block.lines - 1)
    return rest


def _backward(raw: bytes, position: int, lines: int) -> int:
    """Where the line starts that stands so many lines before `position`, which is the start of a line."""
    for _ in range(lines):
        if position <= 1:
            return 1
        position = raw.rfind(b"\n", 0, position - 1) + 1
    return position


def _forward(raw: bytes, position: int, lines: int) -> int:
    """Where the line starts that stands so many lines after `position`."""
    for _ in range(lines):
        end = raw.find(b"\n", position)
        if end < 0:
            return len(raw)
        position = end + 1
    return position
