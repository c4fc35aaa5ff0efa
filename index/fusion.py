"""Learned fusion: how well an entry answers, from what its passages have in common with the query.

Each entry gets a few signals (see `SIGNALS`), and its score is their weighted sum. The weights are in
`fusion.json`, one set for a query that was encoded and one for words alone; scripts/fit_fusion.py sets
them on the development questions. Fusing ranks (1 / (K + rank)) instead gave the right entry first to
.50 of the test questions where the weighted signals give it to .73 with the same channels: the share of
the query's words that an entry knows at all tells more than either channel's order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from index.tokens import query_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from index.lexical import LexicalIndex

    Floats = NDArray[np.float64]
    Scores = NDArray[np.float32]
    Kinds = NDArray[np.str_]
    Numbers = NDArray[np.int32]
    Mask = NDArray[np.bool_]

SIGNALS = ("meaning", "nearest", "words", "titled", "told", "known", "phrases", "common")
"""`meaning` and `nearest`: cosines of the best passages (see SUPPORT) and of the one best; `words`: BM25 of the best
passages, set against the best entry; `titled`, `told`, `known`: how much of the query stands in titles and asks, in
prose, anywhere, each word by how few entries have it; `phrases`: pairs of neighbouring words in one passage; `common`:
a failure that many meet, for questions only."""
SUPPORT = (1.0, 0.7, 0.5, 0.3, 0.2)
"""What the best passage of an entry, the second, third ... add to its score in a channel: an entry that speaks
of the matter in several places answers better than one that mentions it."""
_TITLED = frozenset({"title", "ask"})
_PRINTED = frozenset({"signature", "example"})
_COMMANDS = frozenset({"check", "fix"})
_STRANGE = 0.5
"""A word that no passage knows counts half of one that a single entry has: half of them are slips."""
FEWEST = 3
"""Shorter questions are held to what one of three words would reach: a name alone is no stranger than a sentence."""


@dataclass(frozen=True)
class Signals:
    """Signals of all entries for one query."""

    values: dict[str, Floats]
    """By name, each of shape (entries,); without an encoder `meaning` and `nearest` are missing."""
    count: int = 0
    """Different words of the query."""
    strange: float = 0.0
    """Share of them that no passage has."""

    def score(self, weights: Mapping[str, float]) -> Floats:
        """The weighted sum, of shape (entries,)."""
        import numpy as np

        total: Floats = np.sum([weights[name] * value for name, value in self.values.items()], axis=0)
        return total

    def confidence(self, score: float, model: Mapping[str, float]) -> float:
        """How far the best entry's score lies above what questions about anything else reach; below 0 none answers.

        The more words a question has, the less of it any entry knows, so the same score says more; a word that no
        passage has says that it is about something else.
        """
        return (
            model["score"] * score
            + model["length"] * math.log(max(self.count, FEWEST))
            - model["strange"] * self.strange
            - model["least"]
        )


@dataclass(frozen=True)
class Model:
    """What scripts/fit_fusion.py has set, for queries that were encoded or for words alone."""

    weights: Mapping[str, float]
    """By signal."""
    confidence: Mapping[str, float]
    """What makes a confidence of a score, see `Signals.confidence`."""


@cache
def load_model(*, encoded: bool) -> Model:
    """The model of index/fusion.json."""
    sets = json.loads(Path(__file__).with_name("fusion.json").read_text(encoding="utf-8"))
    return Model(**sets["encoded" if encoded else "words"])


class Fusion:
    """Computes signals over the passages of one index."""

    def __init__(self, lexical: LexicalIndex, entry: Numbers, kind: Kinds, entries: int) -> None:
        """`entry` and `kind` tell of every passage the number of its entry, below `entries`, and its kind."""
        import numpy as np

        self._lexical = lexical
        self._entry = entry
        self._entries = entries
        self._titled: Mask = np.isin(kind, sorted(_TITLED))
        self._prose: Mask = ~np.isin(kind, sorted(_PRINTED))
        self._told: Mask = self._prose & ~self._titled & ~np.isin(kind, sorted(_COMMANDS))

    def signals(self, words: str, lexical: Scores, dense: Scores | None, allowed: Mask) -> Signals:
        """All signals but `common` for the words of a query and the scores of its channels, each of shape (passages,)."""
        import numpy as np

        values: dict[str, Floats] = {}
        if dense is not None:
            seen = allowed & (dense > -1.0)
            values["meaning"] = self.supported(np.maximum(dense, 0.0), seen) / sum(SUPPORT)
            values["nearest"] = self._best(dense, seen)
        supported = self.supported(lexical, allowed & (lexical > 0))
        values["words"] = supported / max(float(supported.max(initial=0.0)), 1e-6)
        holders = {word: self._lexical.holders(word) for word in query_words(words)}
        strange = sum(found is None for found in holders.values()) / max(len(holders), 1)
        return Signals(values | self._shares(holders, allowed), len(holders), strange)

    def supported(self, scores: Scores, mine: Mask) -> Floats:
        """Of every entry the sum of its best passages, weighted by SUPPORT; shape (entries,)."""
        import numpy as np

        numbers = np.flatnonzero(mine)
        numbers = numbers[np.lexsort((-scores[numbers], self._entry[numbers]))]
        entries = self._entry[numbers]
        first = np.flatnonzero(np.diff(entries, prepend=-1))
        place = np.arange(len(numbers)) - np.repeat(first, np.diff(first, append=len(numbers)))
        support = np.array([*SUPPORT, 0.0])[np.minimum(place, len(SUPPORT))]
        sums: Floats = np.bincount(entries, weights=scores[numbers] * support, minlength=self._entries).astype(
            np.float64
        )
        return sums

    def _best(self, scores: Scores, mine: Mask) -> Floats:
        import numpy as np

        best = np.zeros(self._entries)
        np.maximum.at(best, self._entry[mine], scores[mine])
        return best

    def _shares(self, words: Mapping[str, Numbers | None], allowed: Mask) -> dict[str, Floats]:
        """How much of a query's words, given with the passages that hold each, every entry knows; rare words weigh more."""
        import numpy as np

        groups = {"titled": self._titled, "told": self._told, "known": np.ones_like(allowed)}
        shares = {name: np.zeros(self._entries) for name in groups}
        total, before = 0.0, None
        pairs, phrases = 0, np.zeros(self._entries)
        for holders in words.values():
            if holders is None:
                total += _STRANGE * math.log(2 * self._entries)
                before = None
                continue
            weight = math.log((self._entries + 1) / (len(np.unique(self._entry[holders[self._prose[holders]]])) + 0.5))
            total += weight
            holders = holders[allowed[holders]]
            for name, members in groups.items():
                shares[name][np.unique(self._entry[holders[members[holders]]])] += weight
            if before is not None:
                pairs += 1
                phrases[np.unique(self._entry[np.intersect1d(before, holders, assume_unique=True)])] += 1
            before = holders
        shares = {name: share / max(total, 1e-6) for name, share in shares.items()}
        return shares | {"phrases": phrases / max(pairs, 1)}
