"""How good a ranking is: recall and mean reciprocal rank, over all queries that were asked.

Pure functions of rankings; whoever ranks is in scripts/evaluate_retrieval.py.
A query without an answer counts as a miss, never as not asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scores:
    """Averages over all queries, each from 0 to 1."""

    queries: int
    empty: int
    """Queries to which nothing at all was returned."""
    recall: dict[int, float]
    """By k: the share of queries with a relevant entry among the first k."""
    mrr: float
    """Mean of 1 / rank of the first relevant entry."""


def first_relevant(ranking: Sequence[str], relevant: Collection[str]) -> int | None:
    """The rank from 1 of the first relevant id, or None."""
    return next((rank for rank, entry in enumerate(ranking, start=1) if entry in relevant), None)


def evaluate(
    relevant: Mapping[str, Collection[str]], rankings: Mapping[str, Sequence[str]], ks: Sequence[int] = (1, 5, 20)
) -> Scores:
    """Scores of rankings against the judged queries; neither argument is changed.

    `relevant` names, for every query asked, its right ids (at least one);
    `rankings` gives the ids that came back, best first. Raises ValueError for
    a ranking of a query that was not asked, a query without a right id, an id
    ranked twice, or k below 1.
    """
    if any(k < 1 for k in ks):
        raise ValueError("k must be at least 1")
    unasked = sorted(set(rankings) - set(relevant))
    if unasked:
        raise ValueError(f"ranked but not asked: {unasked[0]!r}")
    ranks: list[int | None] = []
    for query, right in relevant.items():
        if not right:
            raise ValueError(f"no right answer is known to {query!r}")
        ranking = rankings.get(query, ())
        if len(set(ranking)) != len(ranking):
            raise ValueError(f"an id is ranked twice for {query!r}")
        ranks.append(first_relevant(ranking, right))
    total = max(1, len(ranks))
    return Scores(
        queries=len(ranks),
        empty=sum(not rankings.get(query) for query in relevant),
        recall={k: sum(rank is not None and rank <= k for rank in ranks) / total for k in ks},
        mrr=sum(1 / rank for rank in ranks if rank is not None) / total,
    )


def misses(
    relevant: Mapping[str, Collection[str]], rankings: Mapping[str, Sequence[str]], k: int
) -> list[tuple[str, int | None]]:
    """Queries without a right id among the first k, with the rank where it is, in the order asked."""
    found = ((query, first_relevant(rankings.get(query, ()), right)) for query, right in relevant.items())
    return [(query, rank) for query, rank in found if rank is None or rank > k]
