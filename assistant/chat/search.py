"""Finding passages: by the index where one is built, else by plain word overlap.

The conversation knows retrieval only through the `Search` protocol, so it works
without an index, and tests give it a fake.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

from assistant.chat.material import Material
from assistant.chat.words import Weights, content
from index.passages import Passage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corpus.catalogue import Catalogue

Dense = Literal["auto", "always", "never"]
COVERED_WORDS: Final = 0.55
"""Share of a question's words from which a passage counts as an answer without an index."""
_SHORT: Final = ("title", "ask", "summary", "signature")
"""Without an index only these are looked at across the corpus: cutting all prose takes too long."""


class Hit(Protocol):
    """What a search returns for one entry or passage."""

    @property
    def entry(self) -> str:
        """The entry's id, or `family:id`."""

    @property
    def passage(self) -> Passage:
        """Its best passage."""

    @property
    def score(self) -> float:
        """Comparable within one answer only."""

    @property
    def channels(self) -> Mapping[str, int]:
        """Rank in each channel that found it."""

    @property
    def similarity(self) -> float | None:
        """Cosine to the query, where an encoder ran."""

    @property
    def confidence(self) -> float | None:
        """Of the search as a whole, where an index answered; below 0 nothing it found is an answer."""


class Search(Protocol):
    """The two ways in which the conversation looks for text."""

    def search(
        self,
        query: str,
        *,
        kinds: Collection[str] | None = None,
        entries: Collection[str] | None = None,
        k: int = 20,
        dense: Dense = "auto",
    ) -> Sequence[Hit]:
        """The k entries that answer best."""

    def passages(
        self,
        query: str,
        *,
        kinds: Collection[str] | None = None,
        entries: Collection[str] | None = None,
        k: int = 10,
        dense: Dense = "auto",
    ) -> Sequence[Hit]:
        """The k passages that answer best."""


@dataclass(frozen=True, slots=True)
class WordHit:
    """A passage found by its words."""

    entry: str
    passage: Passage
    score: float
    channels: dict[str, int] = field(default_factory=dict)
    similarity: float | None = None
    confidence: float | None = None


@dataclass
class WordSearch:
    """Search by the share of a query's words that stand in a passage; no index, no model."""

    material: Material

    @cached_property
    def _everything(self) -> list[Passage]:
        live = (head.id for head in self.material.catalogue.heads.values() if head.status != "retired")
        return [p for entry in sorted(live) for p in self.material.passages(entry) if p.kind in _SHORT]

    @cached_property
    def _weights(self) -> Weights:
        return Weights.of(passage.text for passage in self._everything)

    def search(
        self,
        query: str,
        *,
        kinds: Collection[str] | None = None,
        entries: Collection[str] | None = None,
        k: int = 20,
        dense: Dense = "auto",
    ) -> list[WordHit]:
        """The k entries with the best passage; `dense` plays no part."""
        best: dict[str, WordHit] = {}
        for hit in self._scored(query, kinds, entries):
            if hit.entry not in best or hit.score > best[hit.entry].score:
                best[hit.entry] = hit
        return _ranked(best.values(), k)

    def passages(
        self,
        query: str,
        *,
        kinds: Collection[str] | None = None,
        entries: Collection[str] | None = None,
        k: int = 10,
        dense: Dense = "auto",
    ) -> list[WordHit]:
        """The k best passages; `dense` plays no part."""
        return _ranked(self._scored(query, kinds, entries), k)

    def _scored(self, query: str, kinds: Collection[str] | None, entries: Collection[str] | None) -> Iterable[WordHit]:
        words = content(query)
        if not words:
            return
        pool: Iterable[Passage] = self._everything
        if entries is not None:
            pool = [passage for entry in sorted(entries) for passage in self.material.passages(entry)]
        for passage in pool:
            if kinds is not None and passage.kind not in kinds:
                continue
            score = self._weights.covered(words, content(passage.encoded_text))
            if score > 0:
                yield WordHit(passage.entry, passage, round(score, 4))


def _ranked(hits: Iterable[WordHit], k: int) -> list[WordHit]:
    ordered = sorted(hits, key=lambda hit: (-hit.score, len(hit.passage.text), hit.passage.id))[:k]
    return [WordHit(hit.entry, hit.passage, hit.score, {"lexical": rank}) for rank, hit in enumerate(ordered, start=1)]


def covers(hits: Sequence[Hit]) -> bool:
    """Whether the best hit answers, or is only the nearest there is."""
    if not hits:
        return False
    if any("literal" in hit.channels for hit in hits):
        return True
    confidence = hits[0].confidence
    return hits[0].score >= COVERED_WORDS if confidence is None else confidence >= 0


def open_search(
    catalogue: Catalogue,
    folder: Path | None = None,
    material: Material | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Search:
    """The index of this catalogue that lies ready, in `folder` or shipped; word overlap where there is none.

    A plainer answer at once is better than a better one in a minute: nothing is built here, only brought up to
    date where it takes a moment and a caller shows `progress`.
    """
    from assistant.retrieval import at_hand, up_to_date

    found = at_hand(catalogue, folder) if progress is None else up_to_date(catalogue, folder, progress=progress)
    return found or WordSearch(material or Material(catalogue))
