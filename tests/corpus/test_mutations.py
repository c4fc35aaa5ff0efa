"""One altered word silences a signature; what launchers and platforms put around a line does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.casebook import WRAPPERS, EntryCases, run_mutations
from corpus.reader import read_corpus, scan_corpus
from corpus.record import read_records

CORPUS = Path(__file__).parents[2] / "corpus"
ENTRIES = scan_corpus(CORPUS).entries


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_mutations(entry: object) -> None:
    failures = list(run_mutations(entry))  # type: ignore[arg-type]
    assert failures == [], "\n".join(map(str, failures))


@pytest.mark.parametrize("name", WRAPPERS)
def test_every_wrapper_changes_the_line_and_keeps_it_whole(name: str) -> None:
    line = "acmed: relief valve opened at 5.2 bar"
    wrapped = WRAPPERS[name](line)
    assert wrapped != line
    assert any(line in record.text for record in read_records(wrapped.encode(), 1))


def test_a_signature_that_survives_a_typo_is_found(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, a mutation that alters nothing would pass."""
    valve = next(entry for entry in read_corpus(good).entries if entry.id == "valve-closed")
    assert list(run_mutations(valve)) == []
    monkeypatch.setattr("corpus.casebook._alter", lambda word: word)
    problems = [failure.problem for failure in run_mutations(valve)]
    assert len(problems) == 5 and all("altered" in problem for problem in problems)


def test_a_prefix_that_hides_a_line_is_found(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    valve = next(entry for entry in read_corpus(good).entries if entry.id == "valve-closed")
    monkeypatch.setitem(WRAPPERS, "reversed", lambda line: line[::-1])
    (failure,) = run_mutations(valve)
    assert "is hidden by: reversed" in failure.problem


def test_a_silent_signature_is_explained(good: Path) -> None:
    valve = next(entry for entry in read_corpus(good).entries if entry.id == "valve-closed")
    case = valve.log[0].model_copy(update={"text": "acmed: relief valve closed at 5.2 bar\n"})
    failure = EntryCases.of(valve).run(case)
    assert failure is not None
    assert failure.details == ("relief: no line holds `acmed: relief valve opened at`",)
