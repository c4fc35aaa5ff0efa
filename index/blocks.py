"""Reading a stream as blocks of whole lines, in bounded memory.

A literal never crosses the border of a block, because blocks end where lines
end. Lines longer than the cap are cut: progress bars redraw with carriage
returns, so such a line goes on in the next block after its last `\\r`; without
one, its first part is kept and the rest skipped.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

KIB = 1024
MIB = 1024 * 1024

# The same escapes that corpus.record takes off a record; \n ends an unfinished title sequence.
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)?|[@-Z\\-_]|[()][A-Z0-9])")

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
PART = 8 * KIB
"""Newlines are counted in parts of this size, so that the number of a line costs a count of a part."""
HALF = 32 * KIB
"""When every piece of this size has a newline, no line is twice as long."""
SAMPLE = 4096
"""Bytes that are looked at for an encoding without a mark."""


def encoding_from(start: bytes) -> tuple[str, int]:
    """The encoding that the first bytes tell, and the length of its mark."""
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            return encoding, len(mark)
    even, odd = start[0:SAMPLE:2], start[1:SAMPLE:2]
    # ASCII in UTF-16: every other byte is NUL. A hole of NULs in a UTF-8 log fills both halves.
    for encoding, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if len(zeros) >= 8 and zeros.count(0) > 0.8 * len(zeros) and others.count(0) <= 0.02 * len(others):
            return encoding, 0
    return "utf-8", 0


class Readable(Protocol):
    """The one thing the scan needs of a stream."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Fill the buffer and say how much of it; 0 or None at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one scan, in bytes, lines and hits."""

    block: int = 512 * KIB
    line_cap: int = MIB
    """Longer lines are cut to this."""
    keep: int = 32
    """Hits kept of each text from the start of a source."""
    keep_last: int = 16
    """Hits kept of each text from the end of a source."""
    before: int = 40
    after: int = 60
    """Lines kept before and after a kept hit."""
    head: int = 300
    tail: int = 600
    whole: int = 512 * KIB
    """A smaller source is kept whole."""
    memory: int = 16 * MIB
    """Bytes of text kept of one source."""
    total: int = 48 * MIB
    """Bytes of text kept of all sources of one scanner; then each keeps only its ends and hits."""


class Block:
    """Whole lines of a source.

    `text` is what is scanned: it starts and ends with a newline, escapes and
    NUL bytes are taken off. `raw` is what stands in the source.
    """

    __slots__ = ("_counts", "_known", "cuts", "ends_line", "first", "lines", "raw", "starts_line", "text")

    def __init__(self, raw: bytes, first: int, *, starts_line: bool, ends_line: bool) -> None:
        self.raw = raw
        self.first = first
        """Line number of the first line."""
        self.starts_line = starts_line
        """False when an over-long line goes on from the block before."""
        self.ends_line = ends_line
        """False when an over-long line goes on in the next block."""
        self.cuts: dict[int, bytes] = {}
        """Parts that stand for over-long lines, by the place of the line."""
        self.text = raw
        if b"\x1b" in raw or b"\0" in raw:
            self.text = _ANSI.sub(b"", raw).replace(b"\0", b"")
        # The first newline of the text ends the line before the block.
        self._counts = [first - 1]
        """Lines that end before each part of the text."""
        self._known: dict[int, int] = {}
        for start in range(0, len(self.text), PART):
            self._counts.append(self._counts[-1] + count_lines(self.text[start : start + PART]))
        self.lines = self._counts[-1] - first - (not ends_line)
        """Lines that end in the block."""

    def number_at(self, place: int) -> int:
        """The number of the line that starts after the newline at this place of the text."""
        number = self._known.get(place)
        if number is None:
            part = place // PART
            number = self._counts[part] + count_lines(self.text[part * PART : place + 1])
            self._known[place] = number
        return number

    def is_simple(self) -> bool:
        """Whether every line is surely one record: no braces of JSON, no redraws, no line of more than 64 KiB."""
        text = self.text
        if b"{" in text or b"\r" in text:
            return False
        return all(text.find(b"\n", start, start + HALF) >= 0 for start in range(0, len(text) - HALF, HALF))

    def raw_line(self, index: int) -> bytes:
        """The line at this index of the block, as it stands in the source."""
        return self.raw.split(b"\n", index + 2)[index + 1]


def count_lines(data: bytes) -> int:
    """Count newlines; `replace` finds them by memchr, which is three times as fast as `count`."""
    return len(data) - len(data.replace(b"\n", b""))


class BlockReader:
    """Cuts a stream into blocks; counts what it saw."""

    def __init__(self, stream: Readable, limits: Limits, buffer: bytearray) -> None:
        self.bytes = 0
        self.lines = 0
        self.long_lines = 0
        self.nul_bytes = 0
        self._limits = limits
        self._buffer = buffer
        self._stream = stream
        self._filled = 1
        self._at_end = False
        self._starts_line = True
        self._buffer[0:1] = b"\n"

    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks."""
        self._fill()
        self._detect_encoding()
        while self._filled > 1:
            cut = self._buffer.rfind(b"\n", 1, self._filled) + 1
            if cut:
                yield self._take(cut)
            elif self._at_end:
                yield self._take(self._filled, closed=False)
            elif len(self._buffer) <= self._limits.line_cap:
                self._buffer.extend(bytes(min(len(self._buffer), self._limits.line_cap + 2 - len(self._buffer))))
            else:
                yield self._take_long()
            self._fill()
        self.lines += not self._starts_line

    def _fill(self) -> None:
        while self._filled < len(self._buffer) and not self._at_end:
            with memoryview(self._buffer) as view, view[self._filled :] as rest:
                count = self._stream.readinto(rest)
            if not count:
                self._at_end = True
                return
            self._filled += count
            self.bytes += count

    def _detect_encoding(self) -> None:
        encoding, mark = encoding_from(bytes(self._buffer[1 : min(self._filled, SAMPLE + 1)]))
        if encoding == "utf-8":
            if mark:
                self._drop(1 + mark)
            return
        self._stream = Transcoder(bytes(self._buffer[1 + mark : self._filled]), self._stream, encoding)
        self._filled, self.bytes, self._at_end = 1, 0, False
        self._fill()

    def _take(self, cut: int, *, closed: bool = True) -> Block:
        """Take the bytes up to `cut` as a block; the first byte of the buffer is the newline before it."""
        with memoryview(self._buffer) as view:
            raw = bytes(view[:cut]) if closed else bytes(view[:cut]) + b"\n"
        return self._block(raw, cut, ends_line=True)

    def _take_long(self) -> Block:
        if self._starts_line:
            self.long_lines += 1
        redraw = self._buffer.rfind(b"\r", 1, self._filled) + 1
        if redraw:
            return self._block(bytes(self._buffer[:redraw]) + b"\n", redraw, ends_line=False)
        part = bytes(self._buffer[: self._limits.line_cap + 1])
        block = self._block(part + b"\n", self._filled, ends_line=True)
        self._skip_line()
        return block

    def _block(self, raw: bytes, cut: int, *, ends_line: bool) -> Block:
        block = Block(raw, self.lines + 1, starts_line=self._starts_line, ends_line=ends_line)
        self.lines += block.lines
        if block.text is not raw:
            self.nul_bytes += raw.count(b"\0")
        self._starts_line = ends_line
        self._drop(cut)
        return block

    def _drop(self, cut: int) -> None:
        rest = bytes(self._buffer[cut : self._filled])
        if len(self._buffer) > self._limits.block + 1 and len(rest) < self._limits.block:
            self._buffer = bytearray(self._limits.block + 1)
        self._buffer[0:1] = b"\n"
        self._buffer[1 : 1 + len(rest)] = rest
        self._filled = 1 + len(rest)

    def _skip_line(self) -> None:
        """Throw away the rest of an over-long line, with its newline."""
        while not self._at_end:
            self._filled = 1
            self._fill()
            end = self._buffer.find(b"\n", 1, self._filled)
            if end >= 0:
                self._drop(end + 1)
                return
        self._filled = 1


class Transcoder:
    """A stream in another encoding, read as UTF-8."""

    def __init__(self, start: bytes, stream: Readable, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = self._encode(start)
        self._stream = stream
        self._chunk = bytearray(64 * KIB)
        self._done = False

    def _encode(self, data: bytes, *, final: bool = False) -> bytes:
        return self._decoder.decode(data, final).encode("utf-8", "replace")

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with UTF-8."""
        while not self._ready and not self._done:
            with memoryview(self._chunk) as view:
                count = self._stream.readinto(view) or 0
            self._done = count == 0
            self._ready = self._encode(bytes(self._chunk[:count]), final=self._done)
        part = self._ready[: len(buffer)]
        buffer[: len(part)] = part
        self._ready = self._ready[len(part) :]
        return len(part)


def as_utf8(stream: Readable) -> Readable:
    """A stream read as UTF-8, whatever encoding its first bytes tell; bytes that are none are replaced."""
    start = bytearray(SAMPLE)
    filled = 0
    with memoryview(start) as view:
        while filled < SAMPLE and (count := stream.readinto(view[filled:])):
            filled += count
    encoding, mark = encoding_from(bytes(start[:filled]))
    return Transcoder(bytes(start[mark:filled]), stream, encoding)
