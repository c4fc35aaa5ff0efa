"""What every check is made of: a rule with its code, the knowledge it looks at, a finding.

A rule is a small function with a decorator that gives its code, title, the
reason it exists and how to mend what it finds; the table of codes in
corpus/README.md is written from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from corpus.errors import Problem, SignatureError
from corpus.model import Entry, Family, Signature, Table
from corpus.reader import CorpusFiles, SourceFile
from corpus.signature import Part, fixed_parts, parse

KeyPath = tuple[str | int, ...]
EntryFile = SourceFile[Entry]


@dataclass(frozen=True, slots=True)
class Finding:
    """A place in a file and what is wrong there."""

    path: Path
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One coded check."""

    code: str
    title: str
    why: str
    mend: str
    run: Callable[[Knowledge], Iterator[Finding]]


@dataclass
class Knowledge:
    """All files of a corpus with the look-ups that several rules share."""

    files: CorpusFiles
    unread: frozenset[str] = frozenset()
    """Ids of entries whose files could not be read; links to them are not dangling."""
    bash: bool = True
    """Whether bash may be asked if a command parses."""
    _cache: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def by_id(self) -> dict[str, EntryFile]:
        """Entry files by the id that they state."""
        return {file.value.id: file for file in self.files.entry_files}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Alias to the id that it resolves to."""
        return {alias: entry.id for entry in self.files.entries for alias in entry.aliases}

    @cached_property
    def families(self) -> dict[str, SourceFile[Family]]:
        """Family files by stem."""
        return {file.name: file for file in self.files.family_files}

    def cached(self, key: str, make: Callable[[], Any]) -> Any:
        """A value that several rules of one module compute only once."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


RULES: dict[str, Rule] = {}
"""All rules by code; a module of rules fills it when it is imported."""

EntryCheck = Callable[[EntryFile, Knowledge], Iterator[Finding]]
CorpusCheck = Callable[[Knowledge], Iterator[Finding]]


def entry_rule(code: str, title: str, *, why: str, mend: str) -> Callable[[EntryCheck], EntryCheck]:
    """Register a check that looks at one entry at a time."""

    def register(check: EntryCheck) -> EntryCheck:
        def run(knowledge: Knowledge) -> Iterator[Finding]:
            for file in knowledge.files.entry_files:
                yield from check(file, knowledge)

        _add(Rule(code, title, why, mend, run))
        return check

    return register


def corpus_rule(code: str, title: str, *, why: str, mend: str) -> Callable[[CorpusCheck], CorpusCheck]:
    """Register a check that needs the whole corpus."""

    def register(check: CorpusCheck) -> CorpusCheck:
        _add(Rule(code, title, why, mend, check))
        return check

    return register


def _add(rule: Rule) -> None:
    if rule.code in RULES:
        raise ValueError(f"lint code {rule.code} is used twice")
    RULES[rule.code] = rule


def at(file: SourceFile[Table], where: KeyPath, message: str) -> Finding:
    """A finding at a key of a file."""
    return Finding(file.path, file.lines.line(where), message)


def to_problem(rule: Rule, finding: Finding) -> Problem:
    """A finding in the form in which it is shown."""
    return Problem(str(finding.path), finding.line, rule.code, finding.message)


@cache
def parsed(text: str) -> tuple[tuple[Part, ...], ...] | str:
    """The alternatives of a signature text, or the sentence that says why there are none."""
    try:
        return tuple(tuple(parts) for parts in parse(text))
    except SignatureError as error:
        return error.message


@cache
def fixed(text: str) -> tuple[str, ...]:
    """The literal parts of a text that parses."""
    return tuple(fixed_parts(text))


def texts_of(signature: Signature) -> Iterator[tuple[KeyPath, str]]:
    """Every text in the signature language that a signature holds, with its key."""
    yield from fired_texts(signature)
    for kind, contexts in (("requires", signature.requires), ("excludes", signature.excludes)):
        for index, context in enumerate(contexts):
            yield (kind, index, "text"), context.text
    if signature.cleared_by is not None:
        yield ("cleared_by",), signature.cleared_by


def fired_texts(signature: Signature) -> Iterator[tuple[KeyPath, str]]:
    """The text, or the several lines, by which a signature fires."""
    if signature.text is not None:
        yield ("text",), signature.text
    for index, text in enumerate(signature.lines):
        yield ("lines", index), text


def signatures(file: EntryFile) -> Iterator[tuple[int, Signature]]:
    """The signatures of an entry with their index."""
    yield from enumerate(file.value.signature)
