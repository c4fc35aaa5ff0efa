"""Members of tar and zip archives, each read as a source of its own.

A compressed tar can only be read forwards, so its members share one pass: a
member behind the present position is reached by going on, and only one before
it means to start again.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol, cast

from assistant.logs.decompress import SNIFF, Caps, Input, Owner, failures, read_start

SPOOL_LIMIT = 8 * 1024 * 1024 * 1024
"""Bytes of an archive inside an archive (or in a pipe) that are put into a temporary file."""
MOST_MEMBERS = 20_000


@dataclass(frozen=True)
class Member:
    """One file in an archive."""

    name: str
    size: int
    start: bytes
    """Its first bytes, by which its kind is told."""
    open: Callable[[], Input]


class Stream(Input, Protocol):
    """An open source."""

    def close(self) -> None:
        """Close the file below."""
        ...


class TarPass:
    """One forward pass over a tar stream, begun again only for a member that was passed."""

    def __init__(self, reopen: Callable[[], Stream]) -> None:
        self._reopen = reopen
        self._tar: tarfile.TarFile | None = None
        self._owner: Owner | None = None
        self._position = 0

    def _restart(self) -> tarfile.TarFile:
        source = self._reopen()
        self._owner = Owner(source)
        stream = io.BufferedReader(_Raw(source), 256 * 1024)
        self._position = 0
        self._tar = tarfile.open(fileobj=stream, mode="r|", bufsize=256 * 1024)  # noqa: SIM115  # lives across calls
        return self._tar

    def members(self) -> Iterator[Member]:
        """All regular files, in order. Raises tarfile.TarError or OSError where the archive is damaged."""
        self._restart()
        while (info := self._next()) is not None and self._position <= MOST_MEMBERS + 1:
            if info.isreg():
                yield Member(info.name, info.size, self._file(info).read(SNIFF), self._opener(self._position))

    def _next(self) -> tarfile.TarInfo | None:
        assert self._tar is not None
        info = self._tar.next()
        self._position += 1
        # The list would otherwise hold every header read so far.
        self._tar.members.clear()  # type: ignore[attr-defined]
        return info

    def _file(self, info: tarfile.TarInfo) -> IO[bytes]:
        assert self._tar is not None
        file = self._tar.extractfile(info)
        assert file is not None
        return file

    def _opener(self, position: int) -> Callable[[], Input]:
        return lambda: self._open(position)

    def _open(self, position: int) -> Input:
        if self._tar is None or self._position >= position:
            self._restart()
        while (info := self._next()) is not None:
            if self._position == position:
                return _Whole(cast(_File, self._file(info)))
        raise OSError(0, "the member is no longer in the archive")


class _Raw(io.RawIOBase):
    def __init__(self, stream: Input) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        return self._stream.readinto(buffer) or 0


class _File(Protocol):
    def read1(self, size: int, /) -> bytes: ...


class _Whole:
    """An archive member read with `readinto`, in single reads so that nothing is lost before an error."""

    def __init__(self, file: _File) -> None:
        self._file = file

    def readinto(self, buffer: Any, /) -> int:
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def zip_members(file: IO[bytes]) -> Iterator[Member]:
    """All files of a zip archive. Raises zipfile.BadZipFile where it is damaged."""
    archive = zipfile.ZipFile(file)
    owner = Owner(file)
    for info in archive.infolist()[: MOST_MEMBERS + 1]:
        if not info.is_dir():
            opener = _zip_opener(archive, info, owner)
            yield Member(info.filename, info.file_size, _start_of(opener), opener)


def _start_of(opener: Callable[[], Input]) -> bytes:
    try:
        return read_start(opener())
    except failures():
        return b""  # the same error names the reason when the member is read


def _zip_opener(archive: zipfile.ZipFile, info: zipfile.ZipInfo, owner: Owner) -> Callable[[], Input]:
    def opener(_keeps_open: Owner = owner) -> Input:
        if info.flag_bits & 1:
            raise OSError(0, "the member is encrypted")
        try:
            return _Whole(cast(_File, archive.open(info)))
        except (NotImplementedError, zipfile.BadZipFile) as error:
            raise OSError(0, f"the member cannot be read ({error})") from error

    return opener


def spool(stream: Input, caps: Caps) -> IO[bytes]:
    """Copy a stream into a temporary file, because a zip archive is read from its end."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the sources
    buffer = bytearray(256 * 1024)
    limit = min(SPOOL_LIMIT, caps.total)
    with memoryview(buffer) as view:
        while file.tell() < limit and (count := stream.readinto(view)):
            file.write(view[:count])
    file.seek(0)
    return file
