"""Recall and reciprocal rank over all queries that were asked."""

from __future__ import annotations

import copy

import pytest

from index.evaluate import evaluate, first_relevant, misses

RELEVANT = {"a": {"x"}, "b": {"y", "z"}, "c": {"x"}, "d": {"q"}}
RANKINGS = {"a": ["x", "y"], "b": ["w", "z", "y"], "c": ["y"]}


def test_a_query_without_an_answer_counts_as_a_miss() -> None:
    scores = evaluate(RELEVANT, RANKINGS, ks=(1, 2))
    assert scores.queries == 4
    assert scores.empty == 1
    assert scores.recall == {1: 0.25, 2: 0.5}
    assert scores.mrr == pytest.approx((1 + 1 / 2) / 4)


def test_answering_less_never_improves_a_score() -> None:
    before = evaluate(RELEVANT, RANKINGS)
    after = evaluate(RELEVANT, {"a": ["x"]})
    assert after.mrr < before.mrr
    assert after.recall[5] < before.recall[5]


def test_the_arguments_are_left_alone() -> None:
    relevant, rankings = copy.deepcopy(RELEVANT), copy.deepcopy(RANKINGS)
    evaluate(relevant, rankings)
    assert (relevant, rankings) == (RELEVANT, RANKINGS)


@pytest.mark.parametrize(
    ("relevant", "rankings", "message"),
    [
        ({"a": {"x"}}, {"b": ["x"]}, "not asked"),
        ({"a": set()}, {}, "no right answer"),
        ({"a": {"x"}}, {"a": ["x", "x"]}, "twice"),
    ],
)
def test_what_makes_a_score_wrong_is_refused(
    relevant: dict[str, set[str]], rankings: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(relevant, rankings)


def test_k_starts_at_one() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        evaluate(RELEVANT, RANKINGS, ks=(0,))


def test_no_queries_score_nothing() -> None:
    assert evaluate({}, {}).mrr == 0


def test_misses_name_the_rank() -> None:
    assert misses(RELEVANT, RANKINGS, 1) == [("b", 2), ("c", None), ("d", None)]
    assert first_relevant([], {"x"}) is None
