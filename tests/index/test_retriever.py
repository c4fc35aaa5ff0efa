"""Channels, their fusion, and what restricts a search."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.query import MAX_WINDOWS, WINDOW_CHARS, excerpt, is_log, read_query
from index.retriever import COMMON_FAQS, Dense, Retriever
from index.store import build_store, load_store
from tests.index.bodies import BUS, DISK, FAMILY, MEMORY, body, catalogue_of
from tests.index.hashing import HashingEncoder

LOG_LINE = "[rank3]: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus"


@pytest.fixture
def encoder() -> HashingEncoder:
    return HashingEncoder(dimension=256)


@pytest.fixture
def retriever(tmp_path: Path, encoder: HashingEncoder) -> Retriever:
    catalogue = catalogue_of(BUS, MEMORY, DISK, families=(FAMILY,))
    build_store(tmp_path / "index", catalogue, encoder)
    encoder.encoded.clear()
    return Retriever(catalogue, load_store(tmp_path / "index", catalogue.digest, encoder), encoder=encoder)


def test_every_channel_reports_its_rank(retriever: Retriever) -> None:
    best = retriever.search(LOG_LINE, dense="always")[0]
    assert best.entry == "xid-79"
    assert best.channels == {"dense": 1, "lexical": 1, "literal": 1}
    assert best.similarity is not None
    assert best.passage.entry == "xid-79"


def test_an_entry_is_given_once_with_its_best_passage(retriever: Retriever) -> None:
    results = retriever.search("may I restart on the same node?")
    assert len({result.entry for result in results}) == len(results)
    assert results[0].passage.id == "xid-79#faq-1"


def test_passages_may_come_from_one_entry(retriever: Retriever) -> None:
    results = retriever.passages("drain the node, reseat the card, list the cards", k=3)
    assert [result.entry for result in results] == ["xid-79"] * 3
    assert len({result.passage.id for result in results}) == 3


@pytest.mark.parametrize(
    ("query", "mode", "runs"),
    [
        ("why is the card gone?", "auto", True),
        ("why is the card gone?", "never", False),
        (LOG_LINE, "auto", False),
        (LOG_LINE, "always", True),
        ("[rank3]: RuntimeError: something else broke", "auto", True),
        ("[rank3]: OSError: No space left on device", "auto", True),
    ],
)
def test_in_auto_a_failure_that_a_literal_names_needs_no_vectors(
    query: str, mode: str, runs: bool, retriever: Retriever, encoder: HashingEncoder
) -> None:
    retriever.search(query, dense=mode)  # type: ignore[arg-type]
    assert bool(encoder.encoded) is runs


def test_without_an_encoder_words_and_literals_answer(retriever: Retriever) -> None:
    plain = Retriever(retriever.catalogue, retriever.store)
    best = plain.search(LOG_LINE, dense="always")[0]
    assert best.channels == {"lexical": 1, "literal": 1}
    assert best.similarity is None


def test_what_a_literal_names_comes_first_in_the_order_of_the_literals(
    retriever: Retriever, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retriever, "literal_entries", lambda records: ["disk-full", "cuda-oom"])
    assert [result.entry for result in retriever.search(LOG_LINE)] == ["disk-full", "cuda-oom", "xid-79"]
    assert retriever.search(LOG_LINE, literal=False)[0].entry == "xid-79"


@pytest.mark.parametrize("dense", ["always", "never"])
def test_a_strange_question_is_answered_with_less_confidence(dense: Dense, retriever: Retriever) -> None:
    known = retriever.search("may I restart on the same node", literal=False, dense=dense)[0].confidence
    strange = retriever.search("may I restart the zebra giraffe", literal=False, dense=dense)[0].confidence
    assert known is not None and strange is not None
    assert known > strange


def test_kinds_and_entries_restrict(retriever: Retriever) -> None:
    only = retriever.search("restart the node or the disk", kinds={"faq"}, literal=False)
    assert {result.passage.kind for result in only} == {"faq"}
    assert [r.entry for r in retriever.search(LOG_LINE, entries={"cuda-oom"}, dense="always")] == ["cuda-oom"]
    assert retriever.search(LOG_LINE, entries={"no-such-entry"}) == []


def test_families_answer_only_when_they_are_named(retriever: Retriever) -> None:
    assert all(":" not in r.entry for r in retriever.search("where do I look first in dmesg"))
    (family,) = retriever.search("where do I look first in dmesg", entries={"family:host-os"})
    assert family.passage.id == "family:host-os#faq-1"


def test_k_larger_than_the_corpus(retriever: Retriever) -> None:
    results = retriever.search("gpu", k=10_000, dense="always")
    assert sorted(result.entry for result in results) == ["cuda-oom", "disk-full", "xid-79"]


@pytest.mark.parametrize("query", ["", "   ", "\n", "???", "\x00"])
def test_an_empty_query_is_no_error(query: str, retriever: Retriever) -> None:
    retriever.search(query, dense="always")
    retriever.passages(query)


def test_a_question_means_the_common_failure_rather_than_the_rare_one(tmp_path: Path, encoder: HashingEncoder) -> None:
    faqs = [{"q": f"Question {n}?", "a": f"Answer {n}."} for n in range(COMMON_FAQS)]
    rare = body("a-rare", "The very same title", "the very same line", faq=faqs[:-1])
    common = body("b-common", "The very same title", "the very same line", faq=faqs)
    catalogue = catalogue_of(rare, common)
    build_store(tmp_path / "index", catalogue, encoder)
    found = Retriever(catalogue, load_store(tmp_path / "index"), encoder=encoder)
    asked = [result.entry for result in found.search("what is the very same title about?", dense="always")]
    pasted = [result.entry for result in found.search("ERROR: the very same line\n" * 3, dense="never", literal=False)]
    assert (asked, pasted) == (["b-common", "a-rare"], ["a-rare", "b-common"])


def test_ties_go_by_id(tmp_path: Path, encoder: HashingEncoder) -> None:
    twins = [body(name, "The very same title", "the very same line") for name in ("c", "a", "b")]
    for order in (twins, twins[::-1]):
        catalogue = catalogue_of(*order)
        build_store(tmp_path / "index", catalogue, encoder)
        found = Retriever(catalogue, load_store(tmp_path / "index"), encoder=encoder).search(
            "same title", dense="always"
        )
        assert [result.entry for result in found] == ["a", "b", "c"]


def test_a_failure_stands_before_a_class_in_the_literal_channel(retriever: Retriever) -> None:
    text = f"OSError: No space left on device\n{LOG_LINE}"
    assert retriever.literal_entries(read_query(text).records) == ["xid-79", "disk-full"]


@pytest.mark.parametrize(
    ("text", "is_printed"),
    [
        ("why did rank 3 hang?", False),
        ("is Xid 79 a broken GPU", False),
        ("what does ncclInternalError mean?", False),
        ("should I raise TORCH_NCCL_TIMEOUT", False),
        ("my training died", False),
        ("RuntimeError: CUDA error: device-side assert triggered", True),
        ("2026-11-30 12:00:00 ERROR step failed", True),
        ("[rank0]: something", True),
        ("a\nb\nc\nd", True),
        ("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus", True),
    ],
)
def test_questions_and_logs_are_told_apart(text: str, is_printed: bool) -> None:
    assert is_log(text) is is_printed


def test_a_long_log_is_read_where_it_speaks_of_errors() -> None:
    calm = [f"2026-11-30 12:00:{n % 60:02} INFO step {n} loss 2.1" for n in range(3_000)]
    calm[1_500] = "2026-11-30 12:30:00 ERROR GPU has fallen off the bus"
    asked = read_query("\n".join(calm))
    assert asked.is_log
    assert "fallen off the bus" in asked.windows[0]
    assert len(asked.windows) <= MAX_WINDOWS
    assert all(len(window) <= WINDOW_CHARS + 1 for window in asked.windows)
    assert excerpt("\n".join(calm)) == asked.windows[0]


def test_a_line_of_any_length_is_bounded() -> None:
    assert all(len(window) <= WINDOW_CHARS for window in read_query("ERROR: " + "x " * 100_000).windows)
