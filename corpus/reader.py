"""TOML files of the corpus to models; every problem of a file at once, with its line.

`scan_corpus` reads a whole corpus directory and returns what could be read and
the problems of the rest; `read_corpus` is the strict form that raises.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from corpus.errors import CorpusError, EntryFileError, Problem
from corpus.head import HARMLESS_NAME
from corpus.model import Entry, Family, HarmlessFile, HarmlessLine, Incident, Table
from corpus.reader_messages import syntax_problem, validation_problems
from corpus.toml_lines import LineIndex

T = TypeVar("T", bound=Table)
T_co = TypeVar("T_co", bound=Table, covariant=True)


@dataclass(frozen=True)
class SourceFile(Generic[T_co]):
    """One corpus file: the model it holds, and the text that locates a key's line."""

    path: Path
    text: str
    value: T_co

    @cached_property
    def lines(self) -> LineIndex:
        """Positions of keys, built when a problem asks for one."""
        return LineIndex(self.text)

    @property
    def name(self) -> str:
        """The file's stem: id of an entry or family, name of an incident."""
        return self.path.stem


@dataclass(frozen=True)
class CorpusFiles:
    """Everything that a corpus directory holds, sorted by path."""

    root: Path
    entry_files: tuple[SourceFile[Entry], ...] = ()
    family_files: tuple[SourceFile[Family], ...] = ()
    incident_files: tuple[SourceFile[Incident], ...] = ()
    healthy: tuple[Path, ...] = ()
    harmless_file: SourceFile[HarmlessFile] | None = None
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    """What could not be read; empty after `read_corpus`."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries, by path."""
        return tuple(file.value for file in self.entry_files)

    @property
    def families(self) -> tuple[Family, ...]:
        """The families, by path."""
        return tuple(file.value for file in self.family_files)

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """The incidents, by path."""
        return tuple(file.value for file in self.incident_files)

    @property
    def harmless(self) -> tuple[HarmlessLine, ...]:
        """The lines that are known to be no error, in the order of the file."""
        return self.harmless_file.value.line if self.harmless_file is not None else ()


def read_entry(path: Path) -> Entry:
    """Read one entry file; raises EntryFileError with all its problems."""
    return load(path, Entry).value


def read_family(path: Path) -> Family:
    """Read one family file; raises EntryFileError with all its problems."""
    return load(path, Family).value


def read_incident(path: Path) -> Incident:
    """Read one incident file; raises EntryFileError with all its problems."""
    return load(path, Incident).value


def read_harmless(path: Path) -> HarmlessFile:
    """Read a harmless.toml; raises EntryFileError with all its problems."""
    return load(path, HarmlessFile).value


def read_corpus(root: Path) -> CorpusFiles:
    """Read a whole corpus directory; raises EntryFileError if any file has a problem."""
    files = scan_corpus(root)
    if files.problems:
        raise EntryFileError(files.problems)
    return files


def scan_corpus(root: Path) -> CorpusFiles:
    """Read what can be read of a corpus directory; the rest is listed in `problems`."""
    if not (root / "entries").is_dir() and not (root / HARMLESS_NAME).is_file():
        raise CorpusError(
            f"`{root}` is no corpus: it has no directory `entries`.",
            "Name a directory with entries/, families/ and healthy/.",
        )
    problems: list[Problem] = []
    harmless = _load_all(root, HARMLESS_NAME, HarmlessFile, problems)
    return CorpusFiles(
        root=root,
        entry_files=_load_all(root, "entries/*/*.toml", Entry, problems),
        family_files=_load_all(root, "families/*.toml", Family, problems),
        incident_files=_load_all(root, "incidents/*.toml", Incident, problems),
        healthy=tuple(sorted((root / "healthy").glob("*.log"))),
        harmless_file=harmless[0] if harmless else None,
        problems=tuple(problems),
    )


def _load_all(root: Path, pattern: str, model: type[T], problems: list[Problem]) -> tuple[SourceFile[T], ...]:
    loaded = []
    for path in sorted(root.glob(pattern)):
        try:
            loaded.append(load(path, model))
        except EntryFileError as error:
            problems.extend(error.problems)
    return tuple(loaded)


def load(path: Path, model: type[T]) -> SourceFile[T]:
    """Read one file into a model, keeping its text; raises EntryFileError."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or f"not UTF-8 at byte {getattr(error, 'start', 0)}"
        problem = Problem(str(path), 1, "C001", f"cannot be read: {reason}.")
        raise EntryFileError([problem]) from error
    return parse(text, path, model)


def parse(text: str, path: Path, model: type[T]) -> SourceFile[T]:
    """Turn the text of a file into its model; raises EntryFileError."""
    text = text.replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EntryFileError([syntax_problem(str(path), text, error)]) from error
    try:
        return SourceFile(path, text, model.model_validate(_frozen(data), strict=True))
    except ValidationError as error:
        problems = validation_problems(str(path), LineIndex(text), model, data, error)
        raise EntryFileError(problems) from error


def _frozen(value: object) -> object:
    """Arrays as tuples, which is what the strict models hold."""
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value
