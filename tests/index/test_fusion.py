"""Signals of the learned fusion, and the weights that ship."""

from __future__ import annotations

import numpy as np
import pytest

from index.fusion import SIGNALS, Fusion, load_model
from index.lexical import LexicalIndex

TEXTS = [
    ("title", "Disk of the node is full"),  # entry 0
    ("ask", "why is my scratch disk full"),
    ("mechanism", "Checkpoints fill the scratch volume until a write fails."),
    ("title", "Link of the node is down"),  # entry 1
    ("mechanism", "The cable lost its signal and the port went down."),
    ("title", "Card of the node is lost"),  # entry 2
    ("signature", "GPU has fallen off the bus"),
]
ENTRY = np.array([0, 0, 0, 1, 1, 2, 2], dtype=np.int32)
ALL = np.ones(len(TEXTS), dtype=bool)


@pytest.fixture
def lexical() -> LexicalIndex:
    return LexicalIndex.build([text for _, text in TEXTS])


@pytest.fixture
def fusion(lexical: LexicalIndex) -> Fusion:
    return Fusion(lexical, ENTRY, np.array([kind for kind, _ in TEXTS], dtype=np.str_), 3)


def signals(fusion: Fusion, lexical: LexicalIndex, words: str, allowed: object = ALL) -> dict[str, list[float]]:
    found = fusion.signals(words, lexical.scores(words), None, np.asarray(allowed)).values
    return {name: [round(float(value), 3) for value in values] for name, values in found.items()}


def test_an_entry_that_has_every_word_knows_the_whole_query(fusion: Fusion, lexical: LexicalIndex) -> None:
    known = signals(fusion, lexical, "scratch disk full")["known"]
    assert known[0] == 1.0 and known[1] == known[2] == 0.0


def test_a_word_of_few_entries_weighs_more_than_one_of_all(fusion: Fusion, lexical: LexicalIndex) -> None:
    known = signals(fusion, lexical, "node cable")["known"]
    assert known[1] == 1.0 and known[0] == known[2] < 0.2


def test_a_word_that_no_passage_has_is_missing_from_every_entry(fusion: Fusion, lexical: LexicalIndex) -> None:
    assert signals(fusion, lexical, "disk zebra")["known"][0] < 0.7
    assert signals(fusion, lexical, "zebra")["known"] == [0.0, 0.0, 0.0]


def test_titles_and_prose_are_told_apart(fusion: Fusion, lexical: LexicalIndex) -> None:
    found = signals(fusion, lexical, "cable signal")
    assert (found["titled"][1], found["told"][1]) == (0.0, 1.0)
    printed = signals(fusion, lexical, "fallen off bus")
    assert (printed["titled"][2], printed["told"][2], printed["known"][2]) == (0.0, 0.0, 1.0)


def test_phrases_are_pairs_of_neighbouring_words_in_one_passage(fusion: Fusion, lexical: LexicalIndex) -> None:
    assert signals(fusion, lexical, "scratch disk")["phrases"] == [1.0, 0.0, 0.0]
    assert signals(fusion, lexical, "disk checkpoints")["phrases"] == [0.0, 0.0, 0.0]


def test_passages_that_may_not_answer_give_nothing(fusion: Fusion, lexical: LexicalIndex) -> None:
    assert signals(fusion, lexical, "scratch disk full", ENTRY != 0)["known"] == [0.0, 0.0, 0.0]


def test_meaning_is_there_only_with_vectors(fusion: Fusion, lexical: LexicalIndex) -> None:
    without = fusion.signals("disk", lexical.scores("disk"), None, ALL).values
    cosines = np.linspace(0.1, 0.7, len(TEXTS), dtype=np.float32)
    cosines[6] = -1.0  # a passage without a vector
    found = fusion.signals("disk", lexical.scores("disk"), cosines, ALL).values
    assert not {"meaning", "nearest"} & set(without)
    assert found["nearest"].round(3).tolist() == [0.3, 0.5, 0.6]
    assert found["meaning"][1] == pytest.approx((0.5 + 0.7 * 0.4) / 2.7, abs=1e-3)


@pytest.mark.parametrize(("encoded", "names"), [(True, set(SIGNALS)), (False, set(SIGNALS) - {"meaning", "nearest"})])
def test_every_signal_has_a_weight_that_speaks_for_an_entry(encoded: bool, names: set[str]) -> None:
    model = load_model(encoded=encoded)
    assert set(model.weights) == names
    assert all(weight > 0 for weight in (*model.weights.values(), *model.confidence.values()))
