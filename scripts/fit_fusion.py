#!/usr/bin/env python3
"""Set the weights of the learned fusion (index/fusion.json) on the development questions.

    scripts/fit_fusion.py [--encoder NAME_OR_FOLDER] [--cache FILE]

A linear model over the signals of index/fusion.py: among the entries that lead in any signal the accepted ones are to
come first (cross-entropy over the list, ridge of RIDGE on standardised signals, full-batch Adam; no chance is
involved). Then what tells these questions from tests/evaluation/outside.jsonl: a logistic model of the best score, the
length of the question and its strange words, cut where REFUSED of the development questions lie below. Prints recall of four-fold cross-validation on split `dev`; split `test` is not read.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from corpus.catalogue import Catalogue  # noqa: E402
from index.encoder import open_encoder  # noqa: E402
from index.fusion import FEWEST, SIGNALS  # noqa: E402
from index.retriever import Retriever  # noqa: E402
from index.store import build_store, load_store  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

QUESTIONS = ROOT / "tests" / "evaluation" / "questions.jsonl"
WEIGHTS = ROOT / "index" / "fusion.json"
OUTSIDE = ROOT / "tests" / "evaluation" / "outside.jsonl"
RIDGE, STEPS, RATE, FOLDS = 0.1, 250, 0.03, 4
REFUSED = 3.5
"""Percent of the development questions that may be refused."""
LEADING = 40
"""Entries that lead in a signal and are told apart; of any other entry no weight makes the first."""


@dataclass(frozen=True)
class Case:
    """The entries that lead for one question."""

    signals: Floats
    """Of shape (entries, signals)."""
    accepted: Mask


def read_cases(retriever: Retriever, names: Sequence[str], *, dense: bool) -> list[Case]:
    """The development questions as cases."""
    cases = []
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        if question["split"] == "dev":
            entries, signals = retriever.signals(question["q"], dense=dense)
            matrix = np.stack([signals.values[name] for name in names], axis=1)
            live = np.array([entry in retriever.catalogue.heads for entry in entries])
            lead = [np.argsort(-np.where(live, column, -1.0), kind="stable")[:LEADING] for column in matrix.T[:-1]]
            chosen = np.unique(np.concatenate(lead))
            accepted = np.array([entries[number] in question["relevant"] for number in chosen])
            cases.append(Case(matrix[chosen], accepted))
    return cases


def fit(cases: Sequence[Case]) -> Floats:
    """The weights of the raw signals."""
    every = np.vstack([case.signals for case in cases])
    mean, spread = every.mean(axis=0), every.std(axis=0) + 1e-9
    usable = [((case.signals - mean) / spread, case.accepted) for case in cases if case.accepted.any()]
    weights = np.zeros(every.shape[1])
    momentum, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        gradient = RIDGE * weights
        for signals, accepted in usable:
            share = _softmax(signals @ weights)
            wanted = share * accepted
            gradient += signals.T @ (share - wanted / (wanted.sum() + 1e-12)) / len(usable)
        momentum = 0.9 * momentum + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        weights -= RATE * (momentum / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    found: Floats = weights / spread
    return found


def _softmax(score: Floats) -> Floats:
    raised: Floats = np.exp(score - score.max())
    total: Floats = raised / raised.sum()
    return total


def recall(cases: Sequence[Case], weights: Floats) -> tuple[float, float]:
    """Shares of cases with an accepted entry first, and among the first five."""
    first = five = 0
    for case in cases:
        ranked = case.accepted[np.argsort(-(case.signals @ weights), kind="stable")]
        first += bool(ranked[:1].any())
        five += bool(ranked[:5].any())
    return first / len(cases), five / len(cases)


def fit_confidence(retriever: Retriever, weights: dict[str, float], *, dense: bool) -> dict[str, float]:
    """The logistic model of `Signals.confidence`."""
    known = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    inside = [item["q"] for item in known if item["split"] == "dev"]
    outside = [json.loads(line)["q"] for line in OUTSIDE.read_text(encoding="utf-8").splitlines()]
    rows = []
    for text in (*inside, *outside):
        signals = retriever.signals(text, dense=dense)[1]
        score = signals.score({**weights, "common": 0.0}).max()
        rows.append([score, np.log(max(signals.count, FEWEST)), -signals.strange])
    raw = np.array(rows)
    mean, spread = raw.mean(axis=0), raw.std(axis=0) + 1e-9
    matrix = np.hstack([(raw - mean) / spread, np.ones((len(raw), 1))])
    is_inside = np.arange(len(raw)) < len(inside)
    share = np.where(is_inside, 0.5 / len(inside), 0.5 / len(outside))
    model = np.zeros(matrix.shape[1])
    for _ in range(4000):
        chance = 1 / (1 + np.exp(-matrix @ model))
        model -= 2 * (matrix.T @ ((chance - is_inside) * share) + 1e-3 * np.append(model[:-1], 0.0))
    factors = model[:-1] / spread
    values = raw @ factors
    least = float(np.percentile(values[is_inside], REFUSED))
    print(f"refused: {(values[~is_inside] < least).mean():.3f} of {len(outside)} out of scope")
    names = ("score", "length", "strange")
    return {
        **{name: round(float(value), 4) for name, value in zip(names, factors, strict=True)},
        "least": round(least, 4),
    }


def main() -> int:
    """Fit both sets and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoder", help="another encoder than the bundled one")
    parser.add_argument("--cache", type=Path, help="file of vectors to reuse between runs")
    options = parser.parse_args()
    catalogue, encoder = Catalogue.load(ROOT / "corpus"), open_encoder(options.encoder)
    sets = {}
    with tempfile.TemporaryDirectory(prefix="fit-fusion-") as folder:
        cache = options.cache or Path(folder) / "vectors.sqlite3"
        build_store(Path(folder) / "index", catalogue, encoder, cache=cache)
        retriever = Retriever(catalogue, load_store(Path(folder) / "index", catalogue.digest, encoder), encoder=encoder)
        for name, dense in (("encoded", True), ("words", False)):
            signals = [signal for signal in SIGNALS if dense or signal not in {"meaning", "nearest"}]
            cases = read_cases(retriever, signals, dense=dense)
            folds = [
                recall(cases[fold::FOLDS], fit([case for at, case in enumerate(cases) if at % FOLDS != fold]))
                for fold in range(FOLDS)
            ]
            first, five = np.mean(folds, axis=0)
            print(f"{name}: {len(cases)} questions, cross-validated recall at 1 {first:.3f}, at 5 {five:.3f}")
            weights = {signal: round(float(weight), 3) for signal, weight in zip(signals, fit(cases), strict=True)}
            sets[name] = {"weights": weights, "confidence": fit_confidence(retriever, weights, dense=dense)}
    WEIGHTS.write_text(json.dumps(sets, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(sets, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
