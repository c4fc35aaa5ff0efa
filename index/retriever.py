"""Retrieval: entries that may answer, by meaning, by words and by literals, fused by rank.

The score of an entry is a weighted sum of what its passages have in common with
the query (index/fusion.py); an entry whose literal stands in the query comes
before all others. Single passages are fused by their ranks. Ties go by id.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from corpus.catalogue import Catalogue
from corpus.match import Matcher
from corpus.record import Record
from index.encoder import Encoder
from index.errors import REBUILD, BrokenIndexError
from index.fusion import Fusion, Signals, load_model
from index.lexical import LexicalIndex
from index.passages import Passage, entry_passages, family_passages
from index.query import Query, read_query
from index.store import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.float32]
    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

Dense = Literal["auto", "always", "never"]
CHANNELS = ("dense", "lexical", "literal")
FUSION_K = 20
"""Smaller than the usual 60: the first ranks of a channel are to weigh more than broad agreement."""
COMMON_FAQS = 5
"""Entries of common failures are written in full, with at least so many questions and answers: who asks in plain words
hardly ever means a rare one."""
LITERAL, LITERAL_K = 600.0, 20
"""A literal in the query adds LITERAL / (LITERAL_K + rank) to the score of its entry, more than all signals can."""
_FLOOR = {"lexical": 0.0, "dense": -1.0}
"""A passage counts in a channel above this: with a word of the query, with a vector."""
DEPTH = 100
"""Entries of a channel that take part in the fusion."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each channel counts among single passages; set on the development questions only."""

    dense: float
    lexical: float


QUESTION = Weights(dense=1.0, lexical=1.0)
LOG = Weights(dense=0.5, lexical=1.0)


@dataclass(frozen=True, slots=True)
class Result:
    """One entry with its best passage."""

    entry: str
    passage: Passage
    score: float
    """The fused score; comparable within one answer only."""
    channels: dict[str, int] = field(default_factory=dict)
    """Rank from 1 in each channel that found it."""
    similarity: float | None = None
    """Cosine of its nearest passage to the query, where the dense channel ran."""
    confidence: float | None = None
    """Of the answer as a whole; below 0 the nearest entries are no answer."""


class Retriever:
    """Searches one index of one catalogue; safe to use from several threads."""

    def __init__(
        self,
        catalogue: Catalogue,
        store: Store,
        lexical: LexicalIndex | None = None,
        encoder: Encoder | None = None,
        *,
        question: Weights = QUESTION,
        log: Weights = LOG,
    ) -> None:
        """Take the parts; without an encoder the dense channel never runs."""
        self._weights = {False: question, True: log}
        self.catalogue = catalogue
        self.store = store
        self.lexical = lexical or store.lexical
        self.encoder = encoder
        self._matcher: Matcher | None = None
        self._lock = threading.Lock()
        import numpy as np

        keys = [identifier.rpartition("#") for identifier in store.ids]
        self._names = sorted({entry for entry, _, _ in keys})
        self._numbers = {entry: number for number, entry in enumerate(self._names)}
        self._entry = np.array([self._numbers[entry] for entry, _, _ in keys], dtype=np.int32)
        """Of every passage the number of its entry; entries are numbered by id, so ties fall in that order."""
        self._full = {entry for entry, _, key in keys if key == f"faq-{COMMON_FAQS}"}
        self._kind = np.array([key.rpartition("-")[0] for _, _, key in keys], dtype=np.str_)
        self._fusion = Fusion(self.lexical, self._entry, self._kind, len(self._names))

    def _common(self, entry: str) -> bool:
        """Whether many people meet the failure of an entry: it is written in full, or stands for a whole class."""
        head = self.catalogue.heads.get(entry)
        return entry in self._full or (head is not None and head.kind == "class")

    def search(
        self,
        query: str,
        *,
        kinds: Collection[str] | None = None,
        entries: Collection[str] | None = None,
        k: int = 20,
        dense: Dense = "auto",
        literal: bool = True,
    ) -> list[Result]:
        """The k entries that answer best, each with its best passage.

        `kinds` and `entries` restrict the passages; families (`family:<id>`)
        take part only when `entries` names them. In `auto` the dense channel
        runs for questions, and for logs whose literals name no failure.
        """
        asked = read_query(query)
        allowed = self._allowed(kinds, entries)
        if not allowed.any():
            return []
        named: list[str] = []
        if literal:
            named = [entry for entry in self.literal_entries(asked.records) if entries is None or entry in entries]
        scores: dict[str, Scores] = {"lexical": self.lexical.scores(asked.words)}
        if self._wants_dense(dense, asked, named) and self.encoder is not None:
            scores["dense"] = self.store.scores(self.encoder.encode(asked.windows))
        return self._fuse(asked, named, scores, allowed, k)

    def signals(self, query: str, *, dense: bool = True) -> tuple[list[str], Signals]:
        """The names of all entries and their signals for a query, `common` included; what the weights are fitted on."""
        import numpy as np

        asked = read_query(query)
        vectors = self.store.scores(self.encoder.encode(asked.windows)) if dense and self.encoder is not None else None
        allowed = self._allowed(None, None)
        found = self._fusion.signals(asked.words, self.lexical.scores(asked.words), vectors, allowed)
        common = np.array([not asked.is_log and self._common(entry) for entry in self._names], dtype=float)
        return self._names, replace(found, values=found.values | {"common": common})

    def passages(
        self,
        query: str,
        *,
        kinds: Collection[str] | None = None,
        entries: Collection[str] | None = None,
        k: int = 10,
        dense: Dense = "auto",
    ) -> list[Result]:
        """The k passages that answer best, several of one entry where they do; no literal channel."""
        asked = read_query(query)
        allowed = self._allowed(kinds, entries)
        scores: dict[str, Scores] = {"lexical": self.lexical.scores(asked.words)}
        if dense != "never" and self.encoder is not None:
            scores["dense"] = self.store.scores(self.encoder.encode(asked.windows))
        fused, ranks = self._passage_fusion(scores, allowed, self._weights[asked.is_log])
        best = sorted((number for number in fused), key=lambda n: (-fused[n], self.store.ids[n]))[:k]
        return [
            Result(
                self._entry_of(number), self.passage(number), round(fused[number], 6), ranks[number],
                _cosine(scores, number),
            )
            for number in best
        ]  # fmt: skip

    def literal_entries(self, records: Iterable[Record]) -> list[str]:
        """Entries with a signature of any tier on these records: failures first, then the longer match."""
        with self._lock:
            if self._matcher is None:
                self._matcher = Matcher(self.catalogue.heads.values(), self.catalogue.literals, with_candidates=True)
        found = self._matcher.scan_records(records)
        if not found:
            return []
        resolved = self._matcher.resolve(found)
        heads = self.catalogue.heads
        best: dict[str, tuple[int, int]] = {}
        for hit in resolved.hits:
            key = (heads[hit.entry].rank, hit.start - hit.end)
            best[hit.entry] = min(best.get(hit.entry, key), key)
        named = sorted(best, key=lambda entry: (best[entry], entry))
        # Its text stands there, its context does not: worth verifying, after the others.
        return named + sorted({item.entry for item in resolved.unmet} - set(named))

    def passage(self, number: int) -> Passage:
        """The passage at a position of the index; raises BrokenIndexError when the corpus lacks it."""
        entry, identifier = self._entry_of(number), self.store.ids[number]
        if entry.startswith("family:"):
            passages = family_passages(self.catalogue.family(entry.removeprefix("family:")))
        else:
            passages = entry_passages(self.catalogue.body(entry))
        for passage in passages:
            if passage.id == identifier:
                return passage
        raise BrokenIndexError(f"the corpus has no passage `{identifier}`.", REBUILD)

    def _wants_dense(self, mode: Dense, asked: Query, named: list[str]) -> bool:
        if mode != "auto":
            return mode == "always"
        return not asked.is_log or not any(self.catalogue.heads[entry].rank == 0 for entry in named)

    def _allowed(self, kinds: Collection[str] | None, entries: Collection[str] | None) -> Mask:
        """Which passages may answer, of shape (passages,)."""
        import numpy as np

        wanted = self.catalogue.heads if entries is None else entries
        allowed: Mask = np.array([entry in wanted for entry in self._names], dtype=bool)[self._entry]
        return allowed if kinds is None else allowed & np.isin(self._kind, list(kinds))

    def _fuse(self, asked: Query, named: list[str], scores: dict[str, Scores], allowed: Mask, k: int) -> list[Result]:
        """The k best entries with their best passages."""
        signals = self._fusion.signals(asked.words, scores["lexical"], scores.get("dense"), allowed)
        model = load_model(encoded="dense" in scores)
        score = signals.score(model.weights)
        plain = score.copy()
        places = {self._numbers[entry]: rank for rank, entry in enumerate(named, start=1) if entry in self._numbers}
        for number, rank in places.items():
            score[number] += LITERAL / (LITERAL_K + rank)
        leading = self._leading(score, places, scores, allowed, max(DEPTH, k))
        if not asked.is_log:
            # Heads are read one by one, so only those that may come first are asked.
            for number in leading:
                score[number] += model.weights["common"] * self._common(self._names[number])
        leading.sort(key=lambda number: (-round(float(score[number]), 9), number))
        best = [self._names[number] for number in leading[:k]]
        ranks = {**self._ranks(signals, scores, allowed), "literal": places}
        numbers = self._best_passages(best, scores, allowed, self._weights[asked.is_log])
        first = float(plain[leading[0]]) if leading else 0.0
        confidence = round(signals.confidence(first, model.confidence), 4)
        results = []
        for entry in best:
            number, (passage, similarity) = self._numbers[entry], numbers[entry]
            channels = {channel: ranks[channel][number] for channel in CHANNELS if number in ranks.get(channel, {})}
            value = round(float(score[number]), 6)
            results.append(Result(entry, self.passage(passage), value, channels, similarity, confidence))
        return results

    def _leading(
        self, score: Floats, named: Collection[int], scores: dict[str, Scores], allowed: Mask, most: int
    ) -> list[int]:
        """Numbers of the entries that may come first: found by a channel, or named by a literal."""
        import numpy as np

        found = np.zeros(len(self._names), dtype=bool)
        for channel, values in scores.items():
            found[self._entry[allowed & (values > _FLOOR[channel])]] = True
        speaking = np.zeros(len(self._names), dtype=bool)
        speaking[self._entry[allowed]] = True
        found[[number for number in named if speaking[number]]] = True
        numbers = np.flatnonzero(found)
        return [int(number) for number in numbers[np.argsort(-score[numbers], kind="stable")[:most]]]

    def _ranks(self, signals: Signals, scores: dict[str, Scores], allowed: Mask) -> dict[str, dict[int, int]]:
        """By channel the ranks from 1 of the entries that it found."""
        import numpy as np

        ranks = {}
        for channel, signal in (("dense", "meaning"), ("lexical", "words")):
            if channel in scores:
                found = np.unique(self._entry[allowed & (scores[channel] > _FLOOR[channel])])
                ordered = found[np.argsort(-signals.values[signal][found], kind="stable")]
                ranks[channel] = {int(number): rank for rank, number in enumerate(ordered, start=1)}
        return ranks

    def _best_passages(
        self, entries: Collection[str], scores: dict[str, Scores], allowed: Mask, weights: Weights
    ) -> dict[str, tuple[int, float | None]]:
        """Of each entry the passage that both channels like best, and the highest cosine."""
        import numpy as np

        value = np.zeros(len(self.store.ids), dtype=np.float32)
        for name, found in scores.items():
            # Within one answer the scores are set against the best passage of their channel.
            value += getattr(weights, name) * np.maximum(found, 0) / max(float(found.max(initial=0.0)), 1e-6)
        chosen: dict[str, tuple[int, float | None]] = {}
        for entry in entries:
            mine = np.flatnonzero((self._entry == self._numbers.get(entry, -1)) & allowed)
            if len(mine):
                cosine = round(float(scores["dense"][mine].max()), 4) if "dense" in scores else None
                chosen[entry] = int(mine[value[mine].argmax()]), cosine
        return chosen

    def _passage_fusion(
        self, scores: dict[str, Scores], allowed: Mask, weights: Weights
    ) -> tuple[dict[int, float], dict[int, dict[str, int]]]:
        import numpy as np

        fused: dict[int, float] = {}
        ranks: dict[int, dict[str, int]] = {}
        for channel, found in scores.items():
            mine = np.flatnonzero(allowed & (found > _FLOOR[channel]))
            listed = [int(number) for number in mine[np.argsort(-found[mine], kind="stable")[:DEPTH]]]
            for rank, number in enumerate(listed, start=1):
                fused[number] = fused.get(number, 0.0) + getattr(weights, channel) / (FUSION_K + rank)
                ranks.setdefault(number, {})[channel] = rank
        return fused, ranks

    def _entry_of(self, number: int) -> str:
        return self._names[int(self._entry[number])]


def _cosine(scores: dict[str, Scores], number: int) -> float | None:
    """The cosine of a passage, None where no encoder ran or the passage has no vector."""
    cosine = float(scores["dense"][number]) if "dense" in scores else -1.0
    return round(cosine, 4) if cosine > -1.0 else None
