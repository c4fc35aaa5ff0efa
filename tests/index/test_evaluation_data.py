"""The questions and excerpts that retrieval is judged by: they name real entries and are never indexed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from corpus.casebook import records_of
from corpus.catalogue import Catalogue
from corpus.match import Matcher
from index.store import all_passages
from index.tokens import query_words

NEAR = 0.75
"""Share of all words of two questions from which they are one question."""


def lines(root: Path, name: str) -> list[dict[str, Any]]:
    text = (root / "tests" / "evaluation" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def catalogue(root: Path) -> Catalogue:
    return Catalogue.load(root / "corpus")


def test_there_are_enough(root: Path) -> None:
    questions = lines(root, "questions.jsonl")
    assert {case["split"] for case in questions} == {"dev", "test"}
    assert min(sum(case["split"] == part for case in questions) for part in ("dev", "test")) >= 300
    assert len(lines(root, "unfamiliar.jsonl")) >= 150
    assert len({case["q"] for case in lines(root, "outside.jsonl")}) >= 60


@pytest.mark.parametrize(("name", "key"), [("questions.jsonl", "q"), ("unfamiliar.jsonl", "text")])
def test_each_is_asked_once_of_entries_that_exist(name: str, key: str, root: Path, catalogue: Catalogue) -> None:
    cases = lines(root, name)
    assert len({case[key] for case in cases}) == len(cases)
    unknown = {entry for case in cases for entry in case["relevant"] if entry not in catalogue.heads}
    assert unknown == set()
    assert all(case["relevant"] for case in cases)


def test_none_of_them_is_indexed(root: Path, catalogue: Catalogue) -> None:
    indexed = " ".join(passage.text.lower() for passage in all_passages(catalogue))
    asked = [case["q"] for case in lines(root, "questions.jsonl")]
    asked += [case["text"] for case in lines(root, "unfamiliar.jsonl")]
    assert [text for text in asked if " ".join(text.lower().split()) in indexed] == []


def near_duplicates(asked: Iterable[str], indexed: Iterable[str]) -> list[str]:
    """Questions that share three quarters of their words with a text."""
    texts = [frozenset(query_words(text)) for text in indexed]
    holders: dict[str, list[int]] = {}
    for number, words in enumerate(texts):
        for word in words:
            holders.setdefault(word, []).append(number)
    near = []
    for question in asked:
        words = frozenset(query_words(question))
        shared = Counter(number for word in words for number in holders.get(word, ()))
        if any(count / len(words | texts[number]) >= NEAR for number, count in shared.items()):
            near.append(question)
    return near


def test_a_near_duplicate_is_noticed() -> None:
    indexed = ["requested node configuration is not available"]
    asked = ["node configuration requested, not available?", "which node ran out of memory"]
    assert near_duplicates(asked, indexed) == asked[:1]


def test_no_question_is_a_near_duplicate_of_what_is_indexed(root: Path, catalogue: Catalogue) -> None:
    indexed = [
        text
        for entry in catalogue.heads
        for text in (
            *catalogue.body(entry).get("asks", []),
            *(item["q"] for item in catalogue.body(entry).get("faq", [])),
            *(item["seen"] for item in catalogue.body(entry).get("symptom", [])),
        )
    ]
    assert near_duplicates([case["q"] for case in lines(root, "questions.jsonl")], indexed) == []


def test_no_signature_of_the_right_failure_stands_on_an_unfamiliar_excerpt(root: Path, catalogue: Catalogue) -> None:
    matcher = Matcher(catalogue.heads.values(), catalogue.literals)
    known = {}
    for case in lines(root, "unfamiliar.jsonl"):
        hits = matcher.resolve(matcher.scan_records(records_of(case["text"]))).hits
        right = {hit.entry for hit in hits} & set(case["relevant"])
        if any(catalogue.heads[entry].kind == "failure" for entry in right):
            known[case["text"]] = right
    assert known == {}
