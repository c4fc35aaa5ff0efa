"""What there is to read: files, directories, globs, pipes, and members of archives.

Everything that cannot be read is named with its reason, and the rest is read.
A directory gives the files below it that look like logs; a file named by the
user is read whatever it is called.
"""

from __future__ import annotations

import glob
import io
import os
import select
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

from assistant.logs.archives import MOST_MEMBERS, Member, TarPass, spool, zip_members
from assistant.logs.decompress import (
    ARCHIVES,
    SNIFF,
    Caps,
    Expanded,
    Input,
    Owner,
    Prefixed,
    failures,
    kind_of,
    read_start,
)
from assistant.logs.flightrecorder import looks_like_dump
from assistant.logs.names import is_no_log, natural_key
from assistant.logs.skipped import Skipped
from assistant.logs.streams import Source, SourceStream, Unread
from assistant.logs.textual import binary_reason, encoding_of
from corpus.errors import FirstfaultError

__all__ = ["NothingReadable", "Source", "SourceStream", "Unread", "expand"]

STDIN_NAME = "stdin"
MOST_FILES = 100_000
DEEPEST_ARCHIVE = 3
WAIT_FOR_WRITER = 2.0
"""Seconds that a FIFO without data is waited for."""


_SYSTEM = ("/proc", "/sys", "/dev")


def _leads_to_system(folder: str, name: str) -> bool:
    """Whether a folder is a link into the kernel's file systems, which have no end and hold no logs."""
    path = os.path.join(folder, name)  # noqa: PTH118  # a hundred thousand Path objects are slow
    if not os.path.islink(path):  # noqa: PTH114
        return False
    target = os.path.realpath(path)
    return target in _SYSTEM or target.startswith(tuple(f"{root}/" for root in _SYSTEM))


class NothingReadable(FirstfaultError):
    """No input could be read."""

    exit_code = 2


def expand(paths: Sequence[str], stdin: BinaryIO | None = None) -> tuple[list[Source], list[Unread]]:
    """Find all sources. Raises NothingReadable when there is none."""
    sources, unread, _ = expand_noting(paths, stdin)
    return sources, unread


def expand_noting(paths: Sequence[str], stdin: BinaryIO | None = None) -> tuple[list[Source], list[Unread], list[str]]:
    """The same, and what was passed over in directories and archives, a sentence for each.

    An empty file stays a source, because its name may tell of a rank that printed nothing.
    """
    finder = _Finder(Caps())
    if not paths and stdin is not None:
        finder.add_pipe(STDIN_NAME, stdin)
    for path in paths:
        if path == "-" and stdin is not None:
            finder.add_pipe(STDIN_NAME, stdin)
        else:
            finder.add_path(path)
    empty = [Unread(source.path, "is empty") for source in finder.sources if source.size_hint == 0]
    if len(empty) == len(finder.sources):
        finder.unread += empty
        raise _nothing(paths, finder)
    for source in empty:
        finder.skipped.add(finder.places.get(source.path, ""), "empty", source.path)
    return finder.sources, finder.unread, finder.skipped.notes()


def _nothing(paths: Sequence[str], finder: _Finder) -> NothingReadable:
    reasons = [f"{item.path}: {item.reason}" for item in finder.unread[:5]]
    for path in finder.bare_directories[:5]:
        why = finder.skipped.told_of(path)
        reasons.append(f"{path}: there are no logs in this directory" + (f", {why}" if why else ""))
    if not reasons:
        reasons = ["nothing was named and nothing was piped in" if not paths else "there is nothing to read"]
    return NothingReadable(
        f"Nothing could be read ({'; '.join(reasons)}).", "Name a log file, a directory with logs, or pipe a log in."
    )


class _Finder:
    """Collects sources and what is not readable."""

    def __init__(self, caps: Caps) -> None:
        self.sources: list[Source] = []
        self.unread: list[Unread] = []
        self.bare_directories: list[str] = []
        self.skipped = Skipped()
        self.places: dict[str, str] = {}
        """The directory or archive that a source was found in."""
        self._within = ""
        self._caps = caps
        self._seen: set[tuple[int, int]] = set()

    # ---- what a path is

    def add_path(self, path: str) -> None:
        """A path as given: file, directory, pipe, or a glob that the shell left alone."""
        if not path:
            self.unread.append(Unread("''", "is no path; is a variable of the shell empty?"))
            return
        try:
            status = Path(path).stat()
        except OSError as error:
            if glob.has_magic(path) and (found := _matches(path)):
                for match in found:
                    self.add_path(match)
                return
            self.unread.append(Unread(path, _reason(error)))
            return
        if stat.S_ISDIR(status.st_mode):
            self._add_directory(path)
        elif stat.S_ISREG(status.st_mode):
            self._add_file(path, path, status, is_named=True)
        elif stat.S_ISFIFO(status.st_mode):
            self._add_fifo(path)
        else:
            what = "a socket" if stat.S_ISSOCK(status.st_mode) else "a device or terminal"
            self.unread.append(Unread(path, f"is {what}, not a log"))

    def _add_directory(self, top: str) -> None:
        before = len(self.sources), len(self.unread)
        self._within = top
        for path, status in self._walk(top):
            self._add_file(os.path.relpath(path, top), path, status, is_named=False)
        self._within = ""
        if (len(self.sources), len(self.unread)) == before:
            self.bare_directories.append(top)

    def _walk(self, top: str) -> Iterator[tuple[str, os.stat_result]]:
        """Regular files below a directory in natural order; a directory reached twice by links is read once."""
        visited: set[tuple[int, int]] = set()
        count = 0
        for folder, folders, files in os.walk(top, followlinks=True, onerror=self._note_folder(top)):
            status = Path(folder).stat()
            if (status.st_dev, status.st_ino) in visited:
                folders.clear()
                continue
            visited.add((status.st_dev, status.st_ino))
            inside = (name for name in folders if not name.startswith(".") and not _leads_to_system(folder, name))
            folders[:] = sorted(inside, key=natural_key)
            for name in sorted(files, key=natural_key):
                path = os.path.join(folder, name)  # noqa: PTH118  # a hundred thousand Path objects are slow
                if is_no_log(name):
                    self.skipped.add(top, "name", os.path.relpath(path, top))
                    continue
                try:
                    found = Path(path).stat()
                except OSError:
                    continue  # a dangling link, or gone since the directory was read
                if stat.S_ISREG(found.st_mode):
                    count += 1
                    if count > MOST_FILES:
                        self.unread.append(Unread(top, f"has more than {MOST_FILES:,} files; the rest was left out"))
                        return
                    yield path, found

    def _note_folder(self, top: str) -> Callable[[OSError], None]:
        def note(error: OSError) -> None:
            folder = os.path.relpath(str(error.filename), top)
            self.unread.append(Unread(top if folder == "." else folder, _reason(error)))

        return note

    # ---- files

    def _add_file(self, shown: str, path: str, status: os.stat_result, *, is_named: bool) -> None:
        identity = (status.st_dev, status.st_ino)
        if identity in self._seen:
            return  # the same file by another name, such as latest.log
        self._seen.add(identity)
        try:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123
                start = file.read(SNIFF)
        except OSError as error:
            self.unread.append(Unread(shown, _reason(error)))
            return
        self._add_content(
            shown,
            start or b"",
            lambda: open(path, "rb", buffering=0),  # noqa: PTH123, SIM115
            size=status.st_size or (0 if not start else None),
            is_named=is_named,
            depth=0,
        )

    def _add_content(
        self, shown: str, start: bytes, reopen: Callable[[], Any], *, size: int | None, is_named: bool, depth: int
    ) -> None:
        """Something that starts like this: an archive, compressed, or text."""
        kind = kind_of(start)
        layers: list[str] = []
        if kind is not None and kind not in ARCHIVES:
            layers.append(kind)
            start, problem = _inner_start(kind, reopen)
            if not start and problem:
                self.unread.append(Unread(shown, problem))
                return
            kind = kind_of(start)
            if kind is not None and kind not in ARCHIVES:
                self.unread.append(Unread(shown, f"is compressed twice ({layers[0]} around {kind})"))
                return
        opener = self._opener(reopen, layers, encoding_of(start))
        if kind in ARCHIVES:
            self._add_archive(shown, str(kind), opener, reopen if not layers else None, depth)
            return
        is_dump = looks_like_dump(start)
        reason = "" if is_dump else binary_reason(start)
        if reason:
            if is_named:
                self.unread.append(Unread(shown, reason))
            else:
                self.skipped.add(self._within, "binary", shown)
            return
        self.places[shown] = self._within
        self.sources.append(
            Source(shown, opener, None if layers else size, bool(layers), encoding_of(start), is_dump=is_dump)
        )

    def _opener(self, reopen: Callable[[], Any], layers: list[str], encoding: str) -> Callable[[], SourceStream]:
        caps = self._caps  # not self: sources must not keep each other alive in a circle

        def opener() -> SourceStream:
            file = reopen()
            expanded: list[Expanded] = []
            stream: Input = file
            for kind in layers:
                expanded.append(Expanded(kind, Prefixed(b"", stream), caps))
                stream = expanded[-1]
            return SourceStream(stream, getattr(file, "close", _nothing_to_close), encoding, expanded)

        return opener

    # ---- archives

    def _add_archive(
        self,
        shown: str,
        kind: str,
        opener: Callable[[], SourceStream],
        plain: Callable[[], IO[bytes]] | None,
        depth: int,
    ) -> None:
        if depth >= DEEPEST_ARCHIVE:
            self.unread.append(Unread(shown, f"is an archive {depth + 1} levels deep"))
            return
        before = len(self.sources), len(self.unread)
        outer, self._within = self._within, self._within or shown
        members: list[Member] = []
        try:
            # All are listed before one is read: a nested archive reads from the same pass.
            members.extend(self._members(kind, opener, plain))
        except failures() as error:
            self.unread.append(Unread(shown, f"the {kind} archive is damaged: {error}"))
        if len(members) > MOST_MEMBERS:
            self.unread.append(Unread(shown, f"has more than {MOST_MEMBERS:,} members; the rest was left out"))
        for member in members[:MOST_MEMBERS]:
            self._add_member(f"{shown}!{member.name}", member, depth)
        self._within = outer
        if (len(self.sources), len(self.unread)) == before:
            self.unread.append(Unread(shown, "there are no logs in this archive"))

    def _members(
        self, kind: str, opener: Callable[[], SourceStream], plain: Callable[[], IO[bytes]] | None
    ) -> Iterator[Member]:
        if kind == "tar":
            yield from TarPass(opener).members()
        else:
            file = plain() if plain is not None else None
            if file is None or not _is_seekable(file):
                with opener() as stream:
                    file = spool(stream, self._caps)
            yield from zip_members(file)

    def _add_member(self, shown: str, member: Member, depth: int) -> None:
        if is_no_log(member.name.rpartition("/")[2]):
            self.skipped.add(self._within, "name", shown)
            return
        self._add_content(shown, member.start, member.open, size=member.size, is_named=False, depth=depth + 1)

    # ---- pipes

    def add_pipe(self, shown: str, stream: Any, owned: IO[bytes] | None = None) -> None:
        """A stream that can be read only once."""
        raw = getattr(stream, "raw", stream)
        raw = stream if getattr(stream, "peek", None) is None or not _is_untouched(stream) else raw
        start = read_start(raw)
        if not start:
            self.unread.append(Unread(shown, "is empty"))
            return
        kind = kind_of(start)
        if kind in ARCHIVES or (kind is not None and kind_of(_inner_of(kind, start)) in ARCHIVES):
            file = spool(Prefixed(start, raw), self._caps)
            owner = Owner(file)
            self._add_content(shown, start, lambda: _rewound(file, owner), size=None, is_named=True, depth=0)
            return
        whole = Prefixed(start, raw, owned)
        layers = [] if kind is None else [kind]
        inner = start if kind is None else _inner_of(kind, start)
        if reason := binary_reason(inner):
            self.unread.append(Unread(shown, reason))
            return
        opener = self._opener(lambda: whole, layers, encoding_of(inner))
        self.sources.append(Source(shown, opener, compressed=bool(layers), encoding=encoding_of(inner)))

    def _add_fifo(self, path: str) -> None:
        """A FIFO, such as the shell makes for `<(kubectl logs ...)`; one without a writer is not waited for."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            self.unread.append(Unread(path, _reason(error)))
            return
        ready, _, _ = select.select([handle], [], [], WAIT_FOR_WRITER)
        os.set_blocking(handle, True)
        if not ready:
            os.close(handle)
            self.unread.append(Unread(path, "is a FIFO that nobody writes to"))
            return
        file = os.fdopen(handle, "rb", buffering=0)
        self.add_pipe(path, file, owned=file)


def _matches(pattern: str) -> list[str]:
    # Path.glob takes no absolute patterns.
    return sorted(glob.glob(pattern, recursive=True), key=natural_key)  # noqa: PTH207


def _inner_start(kind: str, reopen: Callable[[], Any]) -> tuple[bytes, str]:
    """The first decompressed bytes, and the problem if there are none."""
    file = reopen()
    try:
        expanded = Expanded(kind, Prefixed(b"", file), Caps())
        start = read_start(expanded)
        return start, "; ".join(expanded.problems)
    finally:
        getattr(file, "close", _nothing_to_close)()


def _inner_of(kind: str, start: bytes) -> bytes:
    """What the first compressed bytes of a pipe give."""
    return read_start(Expanded(kind, Prefixed(start, io.BytesIO()), Caps()))


def _rewound(file: IO[bytes], owner: Owner) -> Any:
    """The temporary file from its start; it is closed when its owner and all readers are gone."""
    file.seek(0)
    reader = Prefixed(b"", io.FileIO(file.fileno(), closefd=False))
    reader.keeps = owner
    return reader


def _is_untouched(stream: Any) -> bool:
    """Whether nothing of a buffered stream was read ahead, so that its raw stream may be used."""
    return isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)


def _is_seekable(file: Any) -> bool:
    return hasattr(file, "seekable") and bool(file.seekable())


def _nothing_to_close() -> None:
    return None


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return str(error) or type(error).__name__
