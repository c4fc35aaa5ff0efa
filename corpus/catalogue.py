"""The catalogue: heads of all entries, bodies and families per id, each read when it is asked for.

Parsing a thousand TOML files costs 0.4 s, so a diagnosis never does it: a wheel
ships the compiled form (`corpus.compiled`), a checkout keeps it in a cache
directory keyed by the files' names, sizes and times. No writable cache is no
error.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import re
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from corpus.atoms import Table, choose_literals, signature_texts
from corpus.cache import write_cached
from corpus.compiled import CompiledFile, Part
from corpus.errors import CorpusError, UnknownEntryError
from corpus.head import HARMLESS_NAME, HarmlessHead, Head, aliases_of, head_data, head_from
from corpus.layout import FORM, write_form
from corpus.signature import scan_literal
from corpus.wording import Wording

COMPILED_NAME = "_compiled.jsonl"
_SOURCES = (
    "atoms.py", "catalogue.py", "compiled.py", "head.py", "layout.py", "model.py", "placeholders.py", "signature.py",
    "wording.py",
)  # fmt: skip
"""Code that decides what the compiled form holds."""


@dataclass
class Compiled:
    """One corpus directory in memory, without the tables of a compiled file."""

    digest: str
    heads: list[Head]
    literals: Mapping[str, str]
    data: bytes
    offsets: dict[str, list[int]]
    harmless: Sequence[HarmlessHead] = field(default_factory=list)
    table: Table | None = None
    wording: Wording | None = None

    @property
    def ids(self) -> Sequence[str]:
        """Ids of the entries."""
        return [head.id for head in self.heads]

    @property
    def aliases(self) -> Mapping[str, str]:
        """Ids by alias."""
        return aliases_of(self.heads)

    @property
    def broad(self) -> Sequence[int]:
        """Numbers of the broad classes."""
        return [number for number, head in enumerate(self.heads) if head.broad]

    def head(self, index: int) -> Head:
        """The head of the entry of this number."""
        return self.heads[index]

    def all_heads(self) -> Sequence[Head]:
        """The heads of all entries, by number."""
        return self.heads

    def body(self, key: str) -> dict[str, Any] | None:
        """An entry or a family."""
        if key not in self.offsets:
            return None
        start, size = self.offsets[key]
        value: dict[str, Any] = json.loads(self.data[start : start + size])
        return value


class Heads(Mapping[str, Head]):
    """The heads of all entries by id; read one by one, or all at once when all are looked at."""

    def __init__(self, parts: Sequence[Part]) -> None:
        """Layer the parts: a later one's entry takes the place of an earlier one's."""
        self._parts = parts
        self._places: dict[str, tuple[int, int]] = {}
        self.overridden: list[str] = []
        """Ids that stand in several parts."""
        for number, part in enumerate(parts):
            if number:
                self.overridden += [entry for entry in part.ids if entry in self._places]
            self._places.update({entry: (number, index) for index, entry in enumerate(part.ids)})

    def __getitem__(self, entry: str) -> Head:
        number, index = self._places[entry]
        return self._parts[number].head(index)

    def __contains__(self, entry: object) -> bool:
        return entry in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def values(self) -> ValuesView[Head]:
        """All heads, in order of the ids."""
        return _HeadValues(self)

    def items(self) -> ItemsView[str, Head]:
        """Pairs of id and head."""
        return _HeadItems(self)

    def every(self) -> list[Head]:
        """All heads, read together."""
        parts = [part.all_heads() for part in self._parts]
        return [parts[number][index] for number, index in self._places.values()]


class _HeadValues(ValuesView[Head]):
    _mapping: Heads

    def __iter__(self) -> Iterator[Head]:
        return iter(self._mapping.every())


class _HeadItems(ItemsView[str, Head]):
    _mapping: Heads

    def __iter__(self) -> Iterator[tuple[str, Head]]:
        return iter(zip(self._mapping, self._mapping.every(), strict=True))


@dataclass
class Catalogue:
    """All entries that a diagnosis may use; later directories override earlier ones."""

    parts: Sequence[Part]
    overlays: tuple[str, ...] = ()
    cache_dir: Path | None = None
    """Where compiled forms of this knowledge may be kept."""

    @cached_property
    def heads(self) -> Heads:
        """What a diagnosis needs of every entry, by id."""
        return Heads(self.parts)

    @cached_property
    def literals(self) -> Mapping[str, str]:
        """Scan literal of every signature text."""
        if len(self.parts) == 1:
            return self.parts[0].literals
        return {text: literal for part in self.parts for text, literal in part.literals.items()}

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        if len(self.parts) == 1:
            return self.parts[0].aliases
        return aliases_of(self.heads.values())

    @cached_property
    def overridden(self) -> tuple[str, ...]:
        """Ids of entries that a later directory gives anew."""
        return tuple(self.heads.overridden)

    @cached_property
    def harmless(self) -> tuple[HarmlessHead, ...]:
        """Lines that look like errors and are none; a later directory replaces those of the same text."""
        return tuple({line.text: line for part in self.parts for line in part.harmless}.values())

    @property
    def broad(self) -> list[Head]:
        """The classes that only know the shape of a message; read without the other heads."""
        ids = {part.ids[number] for part in self.parts for number in part.broad}
        return [head for entry in sorted(ids) if (head := self.heads[entry]).broad]

    @property
    def table(self) -> Table | None:
        """What the scan looks for, where all of it was compiled together."""
        return self.parts[0].table if len(self.parts) == 1 else None

    @property
    def wording(self) -> Wording | None:
        """The words of all signatures, where they were compiled together."""
        return self.parts[0].wording if len(self.parts) == 1 else None

    @classmethod
    def load(
        cls, corpus_dir: Path | None = None, *, overlays: Sequence[Path] = (), cache_dir: Path | None = None
    ) -> Catalogue:
        """Load the bundled corpus (or another) and layer the overlays over it.

        Raises CorpusError when a directory holds no entries or a broken file.
        """
        directories = [corpus_dir or bundled_dir(), *overlays]
        parts = [_load_directory(directory, cache_dir) for directory in directories]
        return cls(parts, overlays=tuple(str(path) for path in overlays), cache_dir=cache_dir)

    @property
    def digest(self) -> str:
        """SHA-256 of the knowledge in use, overlays included."""
        if len(self.parts) == 1:
            return self.parts[0].digest
        return hashlib.sha256("".join(part.digest for part in self.parts).encode()).hexdigest()

    def resolve(self, entry_id: str) -> Head:
        """The head of an id or alias; UnknownEntryError names the nearest id."""
        aliases = self._aliases
        head = self.heads.get(aliases.get(entry_id, entry_id))
        if head is not None:
            return head
        known = [*self.heads, *aliases]
        asked = re.sub(r"[\s_]+", "-", entry_id.strip().lower())
        begun = sorted((name for name in known if len(asked) > 3 and name.startswith(asked)), key=len)
        near = begun[:1] or difflib.get_close_matches(asked, known, n=1, cutoff=0.5)
        near = near or [name for name in known if asked and asked in name][:1]
        hint = f"Did you mean `{near[0]}`?" if near else "`firstfault list` shows all ids."
        raise UnknownEntryError(f"No entry has the id `{entry_id}`.", hint)

    def body(self, entry_id: str) -> dict[str, Any]:
        """The whole entry as JSON-able data; raises UnknownEntryError."""
        return self._line(self.resolve(entry_id).id)

    def family(self, family_id: str) -> dict[str, Any]:
        """A family's introduction, checks and FAQ; empty when none is written."""
        try:
            return self._line(f"family:{family_id}")
        except KeyError:
            return {}

    def _line(self, key: str) -> dict[str, Any]:
        for part in reversed(self.parts):
            value = part.body(key)
            if value is not None:
                return value
        raise KeyError(key)


def bundled_dir() -> Path:
    """Where the entries that come with the program lie."""
    return Path(__file__).parent


def entry_paths(corpus_dir: Path) -> list[Path]:
    """All entry and family files of a corpus directory, sorted."""
    # By their text: a thousand comparisons of paths cost ten times as much.
    return sorted(corpus_dir.glob("entries/*/*.toml"), key=str) + sorted(corpus_dir.glob("families/*.toml"), key=str)


def corpus_paths(corpus_dir: Path) -> list[Path]:
    """All files of a corpus directory that a diagnosis rests on, sorted: what the compiled form is made of."""
    return [*entry_paths(corpus_dir), *corpus_dir.glob(HARMLESS_NAME)]


def _load_directory(directory: Path, cache_dir: Path | None) -> Part:
    shipped = directory / COMPILED_NAME
    if shipped.is_file():
        return CompiledFile(shipped, str(shipped))
    states = sorted(_file_states(directory))
    if not states:
        raise CorpusError(
            f"`{directory}` holds no entries (entries/<family>/<id>.toml).", "Name another directory with --corpus."
        )
    if cache_dir is None:
        return CompiledFile(compile_corpus(directory), str(directory))
    cached = cache_dir / f"corpus-{_fingerprint(states, directory)}.jsonl"
    with contextlib.suppress(OSError, CorpusError):
        return CompiledFile(cached, str(cached))
    data = compile_corpus(directory)
    write_cached(cached, data)
    return CompiledFile(data, str(directory))


def _file_states(directory: Path) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of each file of `corpus_paths`; with `Path.glob` it takes four times as long."""
    folders = [entry.path for entry in _listed(directory / "entries") if entry.is_dir()]
    for folder in [*folders, str(directory / "families")]:
        for file in _listed(folder):
            if file.name.endswith(".toml"):
                status = file.stat()
                yield file.path, status.st_size, status.st_mtime_ns
    with contextlib.suppress(FileNotFoundError):
        status = (directory / HARMLESS_NAME).stat()
        yield HARMLESS_NAME, status.st_size, status.st_mtime_ns


def _listed(directory: str | Path) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        return list(entries)
    return []


def _fingerprint(states: Sequence[tuple[str, int, int]], directory: Path) -> str:
    state = hashlib.sha256(f"{FORM} {directory}".encode())
    state.update("\n".join([f"{path} {size} {changed}" for path, size, changed in states]).encode())
    for source in _SOURCES:
        code = Path(__file__).parent / source
        if code.is_file():
            state.update(f"{source} {code.stat().st_mtime_ns}".encode())
    return state.hexdigest()[:24]


def compile_corpus(corpus_dir: Path) -> bytes:
    """Compile a corpus directory; the result is what a wheel ships as `_compiled.jsonl`.

    Raises EntryFileError with every problem of every file that cannot be read.
    """
    from corpus.reader import read_corpus

    files = read_corpus(corpus_dir)
    bodies: dict[str, dict[str, Any]] = {}
    for entry in files.entries:
        bodies[entry.id] = entry.model_dump(mode="json", by_alias=True, exclude_none=True)
    for family in files.families:
        bodies[f"family:{family.id}"] = family.model_dump(mode="json", by_alias=True, exclude_none=True)
    heads = [head_data(body) for key, body in sorted(bodies.items()) if not key.startswith("family:")]
    harmless = [[line.text, line.why, line.unless, line.within, scan_literal(line.text)] for line in files.harmless]
    literals = choose_literals(*signature_texts(map(head_from, heads)))
    return write_form(corpus_digest(corpus_dir), heads, bodies, harmless, literals)


def corpus_digest(corpus_dir: Path) -> str:
    """SHA-256 over names and contents of all files that a diagnosis rests on."""
    state = hashlib.sha256()
    for path in corpus_paths(corpus_dir):
        state.update(path.relative_to(corpus_dir).as_posix().encode() + b"\0")
        state.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return state.hexdigest()
