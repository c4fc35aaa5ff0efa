"""Finding text without an index, and with one that a fake stands in for."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from assistant.chat.material import Material, section_text
from assistant.chat.ranking import MAYBE, SURE, Ranker
from assistant.chat.search import WordHit, WordSearch, covers, open_search
from assistant.chat.words import Weights, content, sentences
from corpus.catalogue import Catalogue
from index.passages import Passage

XID = "xid-79-gpu-fell-off-bus"


class Meaning:
    """A search that finds one FAQ by meaning."""

    def __init__(self, material: Material, identifier: str, similarity: float) -> None:
        self.hits = [
            WordHit(passage.entry, passage, similarity, {"dense": 1}, similarity, similarity - 0.5)
            for passage in material.passages(identifier.rpartition("#")[0])
            if passage.id == identifier
        ]
        self.asked: list[str] = []

    def search(
        self,
        query: str,
        *,
        kinds: Collection[str] | None = None,
        entries: Collection[str] | None = None,
        k: int = 20,
        dense: str = "auto",
    ) -> list[WordHit]:
        """The one."""
        self.asked.append(query)
        return self.hits

    passages = search


@pytest.mark.parametrize(
    ("query", "entry"),
    [
        ("GPU has fallen off the bus", XID),
        ("watchdog caught collective operation timeout", "nccl-watchdog-collective-timeout"),
        ("CUDA out of memory tried to allocate", "cuda-oom"),
    ],
)
def test_words_find_entries(material: Material, query: str, entry: str) -> None:
    hits = WordSearch(material).search(query, k=5)
    assert hits[0].entry == entry
    assert hits[0].channels == {"lexical": 1}
    assert covers(hits)


def test_words_know_when_nothing_answers(material: Material) -> None:
    search = WordSearch(material)
    assert search.search("") == []
    assert not covers(search.search(""))
    assert not covers(search.search("sourdough bread altitude yeast"))


def test_words_can_be_restricted(material: Material) -> None:
    hits = WordSearch(material).passages("restart the job", kinds={"faq"}, entries={XID, "family:memory"}, k=50)
    assert {hit.entry for hit in hits} <= {XID, "family:memory"}
    assert {hit.passage.kind for hit in hits} == {"faq"}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_meaning_finds_what_words_do_not(material: Material) -> None:
    question = "omens?"
    faq = f"{XID}#faq-1"
    by_words = Ranker(material, WordSearch(material)).faqs(question, [XID])
    assert by_words[0].score < MAYBE
    by_meaning = Ranker(material, Meaning(material, faq, 0.75)).faqs(question, [XID])
    assert by_meaning[0].citation == faq
    assert by_meaning[0].score > SURE


def test_a_vague_likeness_is_no_answer(material: Material) -> None:
    ranked = Ranker(material, Meaning(material, f"{XID}#faq-1", 0.36)).faqs("omens?", [XID])
    assert ranked[0].score < MAYBE


@pytest.mark.parametrize(("similarity", "covered"), [(0.7, True), (0.2, False)])
def test_the_confidence_of_the_index_decides_whether_the_corpus_covers(
    material: Material, similarity: float, covered: bool
) -> None:
    assert covers(Meaning(material, f"{XID}#faq-1", similarity).hits) is covered


def test_a_literal_always_covers(material: Material) -> None:
    assert covers([WordHit(XID, Passage(XID, "title", 1, "x"), 0.01, {"literal": 1}, 0.1)])


def test_without_an_index_words_serve(catalogue: Catalogue, tmp_path: Path) -> None:
    assert isinstance(open_search(catalogue, tmp_path / "none"), WordSearch)


def test_a_broken_index_is_no_obstacle(catalogue: Catalogue, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    assert isinstance(open_search(catalogue, tmp_path), WordSearch)


# --------------------------------------------------------------------------------------------- words


def test_synonyms_are_one_word() -> None:
    assert content("Is the drive dying?") == content("is my disk failing or broken?") - content("failing")
    assert content("what do I do?") == frozenset()


def test_rare_words_weigh_more() -> None:
    weights = Weights.of(["gpu lost", "gpu hot", "gpu slow"])
    assert weights.weight("lost") > weights.weight("gpu")
    assert weights.covered(frozenset({"gpu", "lost"}), frozenset({"lost"})) > 0.5
    assert weights.covered(frozenset(), frozenset({"lost"})) == 0.0


def test_sentences_are_cut_at_their_ends() -> None:
    assert sentences("One. Two 2.5 GiB!  `three`? four") == ["One.", "Two 2.5 GiB!", "`three`? four"]


# --------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize(
    "place",
    [
        f"{XID}#faq-1", f"{XID}#check-2", f"{XID}#verify", f"{XID}#decision", f"{XID}#compare", f"{XID}#scope",
        f"{XID}#causes", f"{XID}#confused_with-1", f"{XID}#recovery-1", "family:memory#faq-2", "family:memory#collect-1",
    ],
)  # fmt: skip
def test_places_resolve(material: Material, place: str) -> None:
    assert material.resolve(place)
    assert material.cite(place).id == place


@pytest.mark.parametrize(
    "place",
    [f"{XID}#faq-99", f"{XID}#no-1", "no-entry#faq-1", "family:no#faq-1", "job.log:1", "paste:3", "verdict#f1", "x"],
)
def test_places_that_are_not_there(material: Material, place: str) -> None:
    assert material.resolve(place) is None
    with pytest.raises(KeyError):
        material.cite(place)


def test_a_place_says_what_stands_there(material: Material) -> None:
    body = material.body(XID)
    assert section_text(body, "check", 1) == material.resolve(f"{XID}#check-1")
    assert body["check"][0]["step"] in str(material.resolve(f"{XID}#check-1"))
