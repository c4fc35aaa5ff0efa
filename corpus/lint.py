"""Coded checks over a whole corpus, and the dated waivers of single findings.

`lint_corpus` returns every problem of every file: what the reader could not
read (C0xx), what the rules found (C1xx to C8xx), and waivers that no longer
apply (C9xx). Nothing is printed here.
"""

from __future__ import annotations

import datetime
import importlib
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from corpus.errors import Problem
from corpus.lints.base import RULES, Knowledge, Rule, to_problem
from corpus.model import Table, Text
from corpus.reader import CorpusFiles, scan_corpus
from corpus.reader_messages import syntax_problem, validation_problems
from corpus.toml_lines import LineIndex

_MODULES = (
    "identity", "signatures", "overlap", "conditions", "provenance", "cases", "minima", "prose", "commands", "links",
    "privacy", "harmless",
)  # fmt: skip
for _module in _MODULES:
    importlib.import_module(f"corpus.lints.{_module}")

READER_CODES = (
    ("C001", "file cannot be read", "everything else rests on it.", "save it as UTF-8."),
    ("C002", "file is no TOML", "one stray quote hides the whole entry.", "see the line; log text goes between '''."),
    ("C003", "unknown key", "a misspelt key is knowledge that nobody reads.", "write the nearest known key."),
    ("C004", "key missing", "a key without a default is asked of every entry.", "write it."),
    ("C005", "wrong type", "nothing is guessed from a value.", "write the type named."),
    ("C006", "value not allowed", "closed lists keep entries comparable.", "write one of the values named."),
)
"""Codes of the reader, for the table in corpus/README.md."""
WAIVER_CODES = (
    ("C901", "stale waiver", "a waiver that waives nothing hides the next finding.", "delete it."),
    ("C902", "waiver of an unknown code", "it waives nothing.", "write a code of this table."),
)


class Waiver(Table):
    """One finding that is accepted for a reason: a code for one file."""

    code: Text
    id: Text
    """Id of the entry or family, or name of the log file."""
    reason: Text
    date: datetime.date


class WaiverFile(Table):
    """corpus/waivers.toml."""

    waiver: tuple[Waiver, ...] = Field(default=())


@dataclass(frozen=True)
class Report:
    """Problems that stand, and how many were waived."""

    problems: tuple[Problem, ...]
    waived: int
    entries: int


def rules() -> list[Rule]:
    """All rules, by code."""
    return [RULES[code] for code in sorted(RULES)]


def all_codes() -> list[tuple[str, str, str, str]]:
    """Code, title, why and how to mend of everything that lint can say."""
    coded = [(rule.code, rule.title, rule.why, rule.mend) for rule in rules()]
    return [*READER_CODES, *coded, *WAIVER_CODES]


def lint_corpus(root: Path, ids: Collection[str] = (), *, bash: bool = True) -> Report:
    """Check a corpus directory; with `ids`, report these entries and families only."""
    files = scan_corpus(root)
    waivers, broken = _read_waivers(root / "waivers.toml")
    problems = {*files.problems, *broken, *run_rules(files, bash=bash)}
    used = {(problem.code, Path(problem.path).stem) for problem in problems}
    waived = {(waiver.code, waiver.id) for _, waiver in waivers}
    standing = [p for p in problems if (p.code, Path(p.path).stem) not in waived]
    number = len(problems) - len(standing)
    standing += _stale(root / "waivers.toml", waivers, used)
    if ids:
        standing = [p for p in standing if Path(p.path).stem in ids]
    return Report(tuple(sorted(standing)), number, len(files.entry_files))


def run_rules(files: CorpusFiles, *, bash: bool = True) -> list[Problem]:
    """Run all rules over files that were read."""
    unread = frozenset(Path(problem.path).stem for problem in files.problems)
    knowledge = Knowledge(files, unread=unread, bash=bash)
    return [to_problem(rule, finding) for rule in rules() for finding in rule.run(knowledge)]


def _read_waivers(path: Path) -> tuple[list[tuple[int, Waiver]], list[Problem]]:
    """The waivers with their lines, or what is wrong with the file."""
    if not path.exists():
        return [], []
    text = path.read_text(encoding="utf-8")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [], [syntax_problem(str(path), text, error)]
    lines = LineIndex(text)
    try:
        file = WaiverFile.model_validate({**data, "waiver": tuple(data.get("waiver", ()))}, strict=True)
    except ValidationError as error:
        return [], validation_problems(str(path), lines, WaiverFile, data, error)
    return [(lines.line(("waiver", index)), waiver) for index, waiver in enumerate(file.waiver)], []


def _stale(path: Path, waivers: list[tuple[int, Waiver]], used: set[tuple[str, str]]) -> list[Problem]:
    known = {code for code, *_ in all_codes()}
    problems = []
    for line, waiver in waivers:
        if waiver.code not in known:
            problems.append(Problem(str(path), line, "C902", f"no lint has the code `{waiver.code}`."))
        elif (waiver.code, waiver.id) not in used:
            message = f"{waiver.code} no longer applies to `{waiver.id}`; delete the waiver of {waiver.date}."
            problems.append(Problem(str(path), line, "C901", message))
    return problems
