"""Nothing fires on logs of runs that went well, however frightening their lines are."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpus.casebook import Gallery
from corpus.reader import read_corpus

CORPUS = Path(__file__).parents[2] / "corpus"
LOGS = sorted((CORPUS / "healthy").glob("*.log"))


@pytest.fixture(scope="module")
def gallery() -> Gallery:
    return Gallery(read_corpus(CORPUS).entries)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_silence(log: Path, gallery: Gallery) -> None:
    failures = list(gallery.run_healthy([log]))
    assert failures == [], "\n".join(map(str, failures))


def test_there_is_a_log_of_each_kind_of_run() -> None:
    assert len(LOGS) >= 12


def test_a_hit_on_a_healthy_log_is_found(good: Path) -> None:
    log = good / "healthy/calm.log"
    log.write_text("acmed: relief valve opened at 7.5 bar\n", encoding="utf-8")
    (failure,) = Gallery(read_corpus(good).entries).run_healthy([log])
    assert (failure.entry, failure.case) == ("valve-closed", "calm.log")
