"""Words of logs and questions."""

from __future__ import annotations

import pytest

from index.tokens import STOP_WORDS, query_words, tokenize


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("torch.OutOfMemoryError", {"torch.outofmemoryerror", "torch", "out", "of", "memory", "error"}),
        ("ProcessGroupNCCL.cpp:632", {"process", "group", "nccl", "cpp", "632"}),
        ("exit_code=137", {"exit", "code", "137"}),
        ("/dev/shm/nccl-Q3", {"dev", "shm", "nccl"}),
        ("ibv_reg_mr_iova2", {"ibv_reg_mr_iova2", "ibv", "reg", "mr", "iova", "2"}),
        ("exitcode: -9", {"exitcod", "9"}),
        ("Xid 079", {"xid", "79"}),
    ],
)
def test_a_compound_is_kept_whole_and_split(text: str, words: set[str]) -> None:
    assert words <= set(tokenize(text))


@pytest.mark.parametrize("text", ["0x7f2f_cca58000"[:10], "deadbeef01", "1652900000001", "2026-11-30T12:41:50.123Z"])
def test_values_of_one_run_are_no_words(text: str) -> None:
    assert tokenize(text) == []


@pytest.mark.parametrize(
    ("one", "other"), [("killed", "kills"), ("caches", "cache"), ("stopped", "stop"), ("retries", "retry")]
)
def test_forms_of_a_word_fall_together(one: str, other: str) -> None:
    assert tokenize(one) == tokenize(other)


def test_a_question_is_asked_without_its_sentence() -> None:
    assert query_words("why is it that my process is not there") == ["proces", "not"] or query_words(
        "why is it that my process is not there"
    ) == ["process", "not"]
    assert "not" not in STOP_WORDS
    assert "no" not in STOP_WORDS


def test_a_query_of_stop_words_keeps_them() -> None:
    assert query_words("what is it") == ["what", "is", "it"]


def test_no_text_gives_no_words() -> None:
    assert tokenize("") == []
    assert tokenize("--- *** ///") == []


@pytest.mark.parametrize("word", ["does", "says", "gets", "puts", "ours", "using"])
def test_a_word_that_only_carries_a_sentence_is_not_stemmed_into_another(word: str) -> None:
    assert query_words(f"{word} watchdog") == ["watchdog"]
