"""Every [[log]] of every entry fires exactly what it names: one test for each, `-k ID` finds them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from corpus.casebook import EntryCases
from corpus.lint import lint_corpus
from corpus.model import Entry, LogCase
from corpus.reader import scan_corpus

CORPUS = Path(__file__).parents[2] / "corpus"
ENTRIES = {entry.id: entry for entry in scan_corpus(CORPUS).entries}
CASES = [(entry.id, number) for entry in ENTRIES.values() for number in range(len(entry.log))]


@cache
def cases(entry_id: str) -> EntryCases:
    return EntryCases.of(ENTRIES[entry_id])


def case_name(item: tuple[str, int]) -> str:
    entry: Entry = ENTRIES[item[0]]
    case: LogCase = entry.log[item[1]]
    return f"{entry.id}-{case.name}"


@pytest.mark.parametrize("item", CASES, ids=case_name)
def test_case(item: tuple[str, int]) -> None:
    entry_id, number = item
    failure = cases(entry_id).run(ENTRIES[entry_id].log[number])
    assert failure is None, str(failure)


def test_lint_finds_nothing() -> None:
    report = lint_corpus(CORPUS)
    assert report.problems == (), "\n".join(map(str, report.problems))
    assert report.entries >= 45
