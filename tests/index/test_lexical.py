"""BM25 over passages."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.errors import BrokenIndexError
from index.lexical import LexicalIndex

TEXTS = ["NVRM: Xid 79, GPU has fallen off the bus", "CUDA out of memory", "Xid 31 MMU fault", ""]


def test_a_code_finds_its_text() -> None:
    scores = LexicalIndex.build(TEXTS).scores("Xid 79")
    assert scores.argmax() == 0
    assert scores[2] > 0
    assert scores[1] == scores[3] == 0


def test_a_repeated_line_asks_no_louder() -> None:
    index = LexicalIndex.build(TEXTS)
    assert index.scores("memory memory memory").tolist() == index.scores("memory").tolist()


@pytest.mark.parametrize("query", ["", "zebra", "0xdeadbeef"])
def test_unknown_words_score_nothing(query: str) -> None:
    assert LexicalIndex.build(TEXTS).scores(query).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("texts", [TEXTS, []])
def test_what_is_loaded_answers_as_what_was_saved(texts: list[str], tmp_path: Path) -> None:
    built = LexicalIndex.build(texts)
    built.save(tmp_path)
    loaded = LexicalIndex.load(tmp_path)
    assert loaded.count == len(texts)
    assert loaded.scores("xid bus memory").tolist() == built.scores("xid bus memory").tolist()


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    index = LexicalIndex.build(TEXTS)
    index.save(tmp_path)
    LexicalIndex.load(tmp_path).scores("bus")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["lexical.json", "data.csc.index.npy", "indptr.csc.index.npy", "params.index.json"])
@pytest.mark.parametrize("content", [b"", b"{", None])
def test_a_damaged_file_says_how_to_mend_it(name: str, content: bytes | None, tmp_path: Path) -> None:
    LexicalIndex.build(TEXTS).save(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BrokenIndexError, match="index build"):
        LexicalIndex.load(tmp_path)
