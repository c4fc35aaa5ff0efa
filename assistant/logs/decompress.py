"""Opening compressed bytes as a stream: by content, with limits, and never losing what was read.

A stream that turns out to be truncated, corrupt or a bomb ends there. What
came before is diagnosed, and the reason stands in `problems`.
"""

from __future__ import annotations

import bz2
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

KIB = 1024
MIB = 1024 * 1024
OUTPUT = 512 * KIB
"""Bytes that are decompressed at once."""

_MAGIC = (
    (b"\x1f\x8b", "gz"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zst"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
)
RESCUED = 512
"""Bytes that are decompressed at once near damage; so many before it may be lost."""
KEPT = 8 * MIB
"""Compressed bytes that are kept of an input that cannot be read again."""
TAR_MAGIC = slice(257, 262)
ARCHIVES = frozenset({"tar", "zip"})
SNIFF = 8192
"""Bytes from the start of an input by which its kind is told."""


@dataclass
class Caps:
    """How far inputs may expand; shared by all inputs of a run."""

    ratio: int = 500
    """Bytes out for each byte in ..."""
    after: int = 256 * MIB
    """... once so many bytes came out of one input."""
    total: int = 64 * 1024 * MIB
    """Bytes that may come out of all compressed inputs together."""
    used: int = 0


class Input(Protocol):
    """What a stream is read from."""

    def readinto(self, buffer: Any, /) -> int | None:
        """Fill the buffer and say how much of it; 0 or None at the end."""
        ...


class Closeable(Protocol):
    """What holds a file open."""

    def close(self) -> None:
        """Give it back."""
        ...


def kind_of(start: bytes) -> str | None:
    """gz, bz2, xz, zst, zip or tar, from the first bytes; None when they are none of these."""
    for magic, kind in _MAGIC:
        if start.startswith(magic):
            return kind
    return "tar" if start[TAR_MAGIC] == b"ustar" else None


class Prefixed(io.RawIOBase):
    """A stream some of whose bytes were already read; counts what went through it, and closes what it owns."""

    def __init__(self, start: bytes, rest: Input, owned: Closeable | None = None) -> None:
        self._first = start
        self._start = start
        self._rest = rest
        self._origin = _position(rest)
        self._kept: bytearray | None = None if self._origin is not None else bytearray()
        self._owned = owned
        self.keeps: object = None
        """Something that must live as long as this."""
        self.count = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Give the bytes read before, then the others."""
        size = min(len(self._start), len(buffer))
        if size:
            buffer[:size] = self._start[:size]
            self._start = self._start[size:]
        else:
            size = self._rest.readinto(buffer) or 0
        self.count += size
        if self._kept is not None:
            self._kept += memoryview(buffer)[:size]
            if len(self._kept) > KEPT:
                self._kept = None
        return size

    def again(self, start: int, stop: int) -> Iterator[bytes]:
        """The bytes of this stream between two positions once more, or nothing where they cannot be had; ends the stream."""
        if self._kept is not None:
            yield bytes(self._kept[start:stop])
        elif self._origin is not None:
            yield self._first[start:stop]
            first = len(self._first)
            self._rest.seek(self._origin + max(0, start - first))  # type: ignore[attr-defined]
            left = stop - max(start, first)
            view = memoryview(bytearray(64 * KIB))
            while left > 0 and (size := self._rest.readinto(view[:left])):
                yield bytes(view[:size])
                left -= size

    def close(self) -> None:
        """Close the stream below, if this one owns it."""
        if self._owned is not None:
            self._owned.close()
            self._owned = None
        super().close()


def _position(stream: object) -> int | None:
    """Where a stream stands that can be read again from there; None for pipes and members of archives."""
    return stream.tell() if isinstance(stream, io.IOBase) and stream.seekable() else None


class Owner:
    """Closes a file when nothing refers to it any longer: members of an archive share one file."""

    def __init__(self, file: Closeable) -> None:
        self._file = file

    def __del__(self) -> None:
        self._file.close()


class _Decoder(Protocol):
    """One compressed member or frame, as bz2 and lzma of the standard library offer it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _ZstdDecoder:
    """A frame of zstandard; it cannot bound its output, so it is fed in small pieces."""

    def __init__(self) -> None:
        import zstandard

        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._frame.decompress(data)


def _gz_decoder() -> _Decoder:
    from isal import igzip_lib

    decoder: _Decoder = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    return decoder


_DECODERS: dict[str, tuple[Callable[[], _Decoder], int]] = {
    "gz": (_gz_decoder, 64 * KIB),
    "bz2": (bz2.BZ2Decompressor, 64 * KIB),
    "xz": (lzma.LZMADecompressor, 64 * KIB),
    "zst": (_ZstdDecoder, 2 * KIB),
}
"""For each kind a maker, and how many bytes it is fed at once."""


class _Unpacker:
    """Decompresses members one after the other; everything that was decoded is given before an error is raised."""

    def __init__(self, kind: str, raw: Prefixed) -> None:
        self._make, size = _DECODERS[kind]
        self._kind = kind
        self._raw = raw
        self._began = 0
        """Where the current member starts in the compressed bytes, and ..."""
        self._given = 0
        """... how many bytes of it came out."""
        self._rescue: Iterator[bytes] | None = None
        self._chunk = memoryview(bytearray(size))
        self._input = b""
        self._decoder: _Decoder | None = None
        self._ready = memoryview(b"")
        self._members = 0

    def readinto(self, buffer: Any, /) -> int:
        if not self._ready:
            self._ready = memoryview(self._next())
        size = min(len(self._ready), len(buffer))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _next(self) -> bytes:
        if self._rescue is not None:
            return next(self._rescue)
        while True:
            decoder = self._decoder
            if not self._input and (decoder is None or decoder.needs_input):
                count = self._raw.readinto(self._chunk) or 0
                self._input = bytes(self._chunk[:count])
                if not count:
                    if decoder is None and self._members:
                        return b""
                    raise EOFError("the end of the compressed data is missing")
            if decoder is None:
                if self._members and not self._input.strip(b"\0"):
                    self._input = b""
                    continue  # padding, as tape archives have it
                decoder = self._decoder = self._make()
                self._began, self._given = self._raw.count - len(self._input), 0
            try:
                data = decoder.decompress(self._input, OUTPUT)
            except failures() as error:
                self._rescue = self._rescued(error)
                return next(self._rescue)
            self._input = b""
            self._given += len(data)
            if decoder.eof:
                self._input = decoder.unused_data
                self._decoder = None
                self._members += 1
            if data:
                return data

    def _rescued(self, error: BaseException) -> Iterator[bytes]:
        """What a slower decoder still gives of a damaged gz member, then the error: the fast one loses what it holds."""
        if self._kind == "gz":
            decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
            skipped = 0
            try:
                for packed in self._raw.again(self._began, self._raw.count):
                    left = packed
                    while left or decoder.unconsumed_tail:
                        data = decoder.decompress(left, RESCUED if skipped >= self._given else 64 * KIB)
                        left = decoder.unconsumed_tail
                        news = data[max(0, self._given - skipped) :]
                        skipped += len(data)
                        if news:
                            yield news
                        if decoder.eof or not (data or left):
                            break
            except (zlib.error, OSError):
                pass
        raise error


def failures() -> tuple[type[BaseException], ...]:
    """What decompressors raise on bad data, whichever of them are loaded."""
    found: list[type[BaseException]] = [
        EOFError,
        OSError,
        zlib.error,
        lzma.LZMAError,
        zipfile.BadZipFile,
        ValueError,
        RuntimeError,
    ]
    for module, name in (("isal.igzip_lib", "IsalError"), ("zstandard", "ZstdError"), ("tarfile", "TarError")):
        if module in sys.modules:
            found.append(getattr(sys.modules[module], name))
    return tuple(found)


class Expanded:
    """The decompressed bytes of an input, within the caps."""

    def __init__(self, kind: str, raw: Prefixed, caps: Caps) -> None:
        self.problems: list[str] = []
        self._raw = raw
        self._caps = caps
        self._out = 0
        self._is_over = False
        self._kind = kind
        self._stream = _Unpacker(kind, raw)

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer; at bad data, or over the caps, the stream ends and a problem says why."""
        if self._is_over:
            return 0
        try:
            size = self._stream.readinto(buffer)
        except failures() as error:
            return self._stop(
                f"the {self._kind} data ends early or is damaged after {_size(self._out)} ({_why(error)})"
            )
        self._out += size
        self._caps.used += size
        if self._out > self._caps.after and self._out > self._caps.ratio * max(1, self._raw.count):
            self._stop(f"it expands more than {self._caps.ratio} times, like a bomb: stopped after {_size(self._out)}")
        elif self._caps.used > self._caps.total:
            self._stop(f"compressed inputs expand to more than {_size(self._caps.total)}: stopped there")
        return size

    def _stop(self, problem: str) -> int:
        self.problems.append(problem)
        self._is_over = True
        return 0


def _why(error: BaseException) -> str:
    return (str(error) or type(error).__name__).rstrip(".").splitlines()[0]


def _size(count: int) -> str:
    return f"{count / MIB:,.0f} MiB" if count >= MIB else f"{count:,} bytes"


def read_start(stream: Input, size: int = SNIFF) -> bytes:
    """Read up to `size` bytes from the start of a stream."""
    buffer = bytearray(size)
    filled = 0
    with memoryview(buffer) as view:
        while filled < size:
            count = stream.readinto(view[filled:])
            if not count:
                break
            filled += count
    return bytes(buffer[:filled])
