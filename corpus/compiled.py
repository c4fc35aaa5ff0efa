"""The compiled form of a corpus directory: lines of JSON, each read when somebody asks for it.

A diagnosis needs the heads of a few entries and the texts that stand in one
log, whatever the size of the corpus. So the file is not loaded but looked into:
the first line says where each section lies, a table has an index of its lines
(offsets of a fixed width), and nothing is read or decoded before it is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, overload

from corpus.atoms import Table, Use
from corpus.errors import CorpusError
from corpus.head import HarmlessHead, Head, head_from
from corpus.layout import FORM, WIDTH
from corpus.wording import Worded, Wording

FIRST_READ = 4096
"""Bytes that hold the first line."""

Read = Callable[[int, int], bytes]
"""Gives the bytes from one offset up to, not including, another."""
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Part(Protocol):
    """One corpus directory as a catalogue sees it."""

    @property
    def digest(self) -> str:
        """SHA-256 of the directory's contents."""
        ...

    @property
    def ids(self) -> Sequence[str]:
        """Ids of the entries; an entry's index is its number."""
        ...

    @property
    def aliases(self) -> Mapping[str, str]:
        """Ids by alias."""
        ...

    @property
    def broad(self) -> Sequence[int]:
        """Numbers of the broad classes."""
        ...

    @property
    def literals(self) -> Mapping[str, str]:
        """Scan literal of every signature text."""
        ...

    @property
    def harmless(self) -> Sequence[HarmlessHead]:
        """Lines that look like errors and are none."""
        ...

    def head(self, index: int) -> Head:
        """The head of the entry of this number."""
        ...

    def all_heads(self) -> Sequence[Head]:
        """The heads of all entries, by number."""
        ...

    def body(self, key: str) -> dict[str, Any] | None:
        """An entry, or a family under `family:<id>`, as JSON-able data."""
        ...

    @property
    def table(self) -> Table | None:
        """Atoms and literals of all entries, where they were compiled."""
        ...

    @property
    def wording(self) -> Wording | None:
        """Words of all entries, where they were compiled."""
        ...


class _File:
    """Reads a file at offsets, from any thread; the file may be removed meanwhile."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._lock = threading.Lock()
        self.size = os.fstat(self._descriptor).st_size

    def __call__(self, start: int, stop: int) -> bytes:
        pieces = []
        while start < stop:
            piece = self._at(start, stop - start)
            if not piece:
                break
            pieces.append(piece)
            start += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _at(self, start: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._descriptor, size, start)
        with self._lock:
            os.lseek(self._descriptor, start, os.SEEK_SET)
            return os.read(self._descriptor, size)

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.close(self._descriptor)


class _Lines:
    """The lines of one table, by their numbers."""

    def __init__(self, read: Read, start: int, count: int) -> None:
        self._read = read
        self._start = start
        self._count = count
        self._first = start + (count + 1) * WIDTH + 3  # behind the offsets, two quotes and a newline

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _offsets(self) -> bytes:
        return self._read(self._start + 1, self._first - 2)

    def at(self, index: int) -> Any:
        """The value on one line."""
        if not 0 <= index < self._count:
            raise IndexError(index)
        place = index * WIDTH
        low = int(self._offsets[place : place + WIDTH], 16)
        high = int(self._offsets[place + WIDTH : place + 2 * WIDTH], 16)
        return json.loads(self._read(self._first + low, self._first + high))

    def all(self) -> list[Any]:
        """The values of all lines."""
        size = int(self._offsets[-WIDTH:], 16)
        lines = self._read(self._first, self._first + size)
        values: list[Any] = json.loads(b"[" + lines.rstrip(b"\n").replace(b"\n", b",") + b"]")
        return values


class _Column(Sequence[T_co], Generic[T_co]):
    """What a table says of each number, decoded when it is asked."""

    def __init__(self, lines: _Lines, decode: Callable[[Any], T_co]) -> None:
        self._lines = lines
        self._decode = decode

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        return self._decode(self._lines.at(index)) if isinstance(index, int) else self._all[index]

    def __iter__(self) -> Iterator[T_co]:
        return iter(self._all)

    @cached_property
    def _all(self) -> list[T_co]:
        return [self._decode(row) for row in self._lines.all()]


class CompiledFile:
    """A compiled corpus directory: a `Part` whose heads, bodies and tables are read on demand."""

    def __init__(self, source: Path | bytes, where: str) -> None:
        """Look at the first line; raises CorpusError when it is not this form, or the size is not what it says.

        `where` names the source in errors.
        """
        self._where = where
        try:
            if isinstance(source, bytes):
                size, self._source = len(source), _from_bytes(source)
            else:
                file = _File(source)
                size, self._source = file.size, file
            first, newline, _ = self._source(0, FIRST_READ).partition(b"\n")
            header = json.loads(first)
            if header["form"] != FORM:
                raise ValueError(f"form {header['form']}")
            self._start = len(first) + 1
            self._places: dict[str, tuple[int, int]] = {name: (at, n) for name, (at, n) in header["places"].items()}
            self.digest: str = header["digest"]
            self.key: str = header["key"]
            self._read_heads: dict[int, Head] = {}
            if not newline or size != self._start + header["size"]:
                raise ValueError("it is cut off")
        except (ValueError, KeyError, TypeError) as error:
            raise _unreadable(where, error) from error

    def _read(self, start: int, stop: int) -> bytes:
        try:
            data = self._source(self._start + start, self._start + stop)
        except OSError as error:
            raise _unreadable(self._where, error) from error
        if len(data) != stop - start:
            raise _unreadable(self._where, "it is cut off")
        return data

    def lines(self, name: str) -> _Lines:
        """The lines of a table."""
        return _Lines(self._read, *self._places[name])

    @cached_property
    def ids(self) -> Sequence[str]:
        """Ids of the entries."""
        ids: list[str] = self.value("ids")
        return ids

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Ids by alias."""
        aliases: dict[str, str] = self.value("aliases")
        return aliases

    @cached_property
    def broad(self) -> Sequence[int]:
        """Numbers of the broad classes."""
        numbers: list[int] = self.value("broad")
        return numbers

    @cached_property
    def literals(self) -> Mapping[str, str]:
        """Scan literal of every signature text, candidates included."""
        literals: dict[str, str] = self.value("literal_of")
        return literals

    @cached_property
    def harmless(self) -> Sequence[HarmlessHead]:
        """Lines that look like errors and are none."""
        return [HarmlessHead(*item) for item in self.value("harmless")]

    @cached_property
    def _heads(self) -> _Lines:
        return self.lines("heads")

    def head(self, index: int) -> Head:
        """The head of the entry of this number."""
        head = self._read_heads.get(index)
        if head is None:
            head = self._read_heads[index] = head_from(self._heads.at(index))
        return head

    def all_heads(self) -> Sequence[Head]:
        """The heads of all entries, by number."""
        if len(self._read_heads) < len(self._heads):
            self._read_heads = dict(enumerate(map(head_from, self._heads.all())))
        # Heads that were read one by one lie in the order in which they were asked for.
        return [self._read_heads[index] for index in range(len(self._heads))]

    @cached_property
    def _keys(self) -> dict[str, int]:
        return {key: index for index, key in enumerate(self.value("keys"))}

    @cached_property
    def _bodies(self) -> _Lines:
        return self.lines("bodies")

    def body(self, key: str) -> dict[str, Any] | None:
        """An entry or a family."""
        index = self._keys.get(key)
        if index is None:
            return None
        value: dict[str, Any] = self._bodies.at(index)
        return value

    @cached_property
    def table(self) -> Table:
        """Atoms and literals of all entries."""
        return _Table(self)

    @cached_property
    def wording(self) -> Wording:
        """Words of all entries."""
        return _Wording(self)

    def value(self, name: str) -> Any:
        """A value that is no table."""
        start, size = self._places[name]
        return json.loads(self._read(start, start + size))


class _Table:
    """Atoms and literals read from a compiled file."""

    def __init__(self, file: CompiledFile) -> None:
        self._file = file
        self._atoms = file.lines("atoms")
        self._literals = file.lines("literals")
        self.texts: Sequence[str] = _Column(self._atoms, _first)
        self.literals: Sequence[bytes] = _Column(self._literals, _encoded)
        self.key = file.key

    def atoms_of(self, literal: int) -> tuple[int, ...]:
        return tuple(self._literals.at(literal)[1:])

    def literals_of(self, atom: int) -> Sequence[int]:
        owners: list[int] = self._atoms.at(atom)[1]
        return owners

    def uses_of(self, atom: int) -> Sequence[Use]:
        places = self._atoms.at(atom)[2]
        heads = [self._file.head(number) for number, _ in places]
        return [Use((n, index), head, head.signatures[index]) for (n, index), head in zip(places, heads, strict=True)]


class _Wording:
    """Words read from a compiled file."""

    def __init__(self, file: CompiledFile) -> None:
        self._file = file
        self._rows = file.lines("worded")
        self._postings = file.lines("postings")
        self._numbers: dict[str, int] = {word: number for number, word in enumerate(file.value("words"))}
        self.wrappers: frozenset[int] = frozenset(file.value("wrappers"))

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _weights(self) -> Sequence[Sequence[float]]:
        weights: list[list[float]] = self._file.value("weights")
        return weights

    def weights(self, *, but_wrappers: bool) -> Sequence[float]:
        return self._weights[but_wrappers]

    def at(self, index: int) -> Worded:
        entry, signature, *words = self._rows.at(index)
        return Worded(self._file.ids[entry], signature, tuple(words))

    def owners(self, word: str) -> Sequence[int]:
        number = self._numbers.get(word)
        if number is None:
            return ()
        owners: list[int] = self._postings.at(number)
        return owners


def _from_bytes(data: bytes) -> Read:
    return lambda start, stop: data[start:stop]


def _first(row: list[Any]) -> str:
    text: str = row[0]
    return text


def _encoded(row: list[Any]) -> bytes:
    return _first(row).encode()


def _unreadable(where: str, reason: object) -> CorpusError:
    return CorpusError(
        f"the compiled corpus `{where}` cannot be read ({reason}).", "Reinstall firstfault, or delete that file."
    )
