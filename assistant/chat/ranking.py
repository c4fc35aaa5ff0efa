"""Which FAQ and which passages of the entries under discussion answer a question.

Question is compared with question first; the answer's own words count less. The
scores run from 0 to 1 and are comparable between questions, so that thresholds
on them mean something. They were set on tests/assistant/chat/dev_questions.jsonl.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from assistant.chat.material import Material
from assistant.chat.search import Search, WordSearch
from assistant.chat.words import Weights, content, plain
from index.passages import Passage

SURE: Final = 0.45
"""From here a FAQ answers the question."""
MAYBE: Final = 0.28
"""From here a FAQ probably answers; questions about something else stay below 0.22."""
NEAR: Final = 0.45
"""From here another passage is worth quoting; single shared words of strange questions stay below."""
_KINDS: Final = frozenset(
    {
        "summary",
        "mechanism",
        "observe",
        "symptom",
        "check",
        "fix",
        "stack",
        "prevent",
        "recovery",
        "escalate",
        "narrows",
    }
)
_AT: Final = (1.0, 0.97, 0.9)
"""Entry in focus, its family, other findings."""
_COSINE: Final = (0.35, 0.8)
"""Cosines of question and FAQ that mean nothing, and the same."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage with how well it answers."""

    passage: Passage
    score: float
    question: str = ""
    answer: str = ""

    @property
    def citation(self) -> str:
        """Its place."""
        return self.passage.id


@dataclass
class Ranker:
    """Ranks the text of some entries for a question."""

    material: Material
    search: Search
    _weights: dict[tuple[str, ...], Weights] = field(default_factory=dict)
    _asked: tuple[tuple[str, tuple[str, ...]], dict[str, float]] | None = None

    def owners(self, entries: Sequence[str]) -> list[tuple[str, float]]:
        """The entry in focus, its family, then the others, each with what it counts."""
        if not entries:
            return []
        family = self.material.family_of(entries[0])
        return [(entries[0], _AT[0]), (family, _AT[1]), *((entry, _AT[2]) for entry in entries[1:])]

    def faqs(self, question: str, entries: Sequence[str]) -> list[Ranked]:
        """The FAQ of these entries and of the first one's family, the best answer first."""
        words = content(question)
        weights = self._weights_of(entries)
        cosines = self._cosines(question, entries)
        found = []
        for owner, counts in self.owners(entries):
            body = self.material.body(owner)
            for item, passage in zip(body.get("faq", []), self._of_kind(owner, "faq"), strict=False):
                score = self._faq_score(question, words, item["q"], item["a"], weights)
                score = _joined(score, cosines.get(passage.id))
                found.append(Ranked(passage, round(score * counts, 4), item["q"], item["a"]))
        return sorted(found, key=lambda ranked: (-ranked.score, ranked.citation))

    def passages(self, question: str, entries: Sequence[str]) -> list[Ranked]:
        """Other passages of these entries, the best first."""
        words = content(question)
        if not words:
            return []
        weights = self._weights_of(entries)
        cosines = self._cosines(question, entries)
        found = []
        for owner, counts in self.owners(entries):
            for passage in self.material.passages(owner):
                if passage.kind in _KINDS:
                    score = _joined(0.9 * weights.covered(words, content(passage.text)), cosines.get(passage.id))
                    found.append(Ranked(passage, round(score * counts, 4)))
        return sorted(found, key=lambda ranked: (-ranked.score, len(ranked.passage.text), ranked.citation))

    def _faq_score(self, question: str, words: frozenset[str], q: str, a: str, weights: Weights) -> float:
        if plain(question) == plain(q):
            return 1.0
        asked = content(q)
        if not words or not asked:
            return 0.0
        alike = weights.alike(words, asked)
        whole = weights.covered(words, asked | content(a))
        # A short question may be wholly part of a longer one: then that one answers it.
        inside = weights.covered(words, asked) if len(words) > 1 else 0.0
        return 0.5 * alike + 0.25 * whole + 0.25 * inside

    def _of_kind(self, owner: str, kind: str) -> list[Passage]:
        return [passage for passage in self.material.passages(owner) if passage.kind == kind]

    def _weights_of(self, entries: Sequence[str]) -> Weights:
        key = tuple(owner for owner, _ in self.owners(entries))
        if key not in self._weights:
            self._weights[key] = Weights.of(p.text for owner in key for p in self.material.passages(owner))
        return self._weights[key]

    def _cosines(self, question: str, entries: Sequence[str]) -> dict[str, float]:
        """How near each passage is in meaning; asked once a question, because encoding it costs the most."""
        owners = tuple(owner for owner, _ in self.owners(entries))
        if not owners or isinstance(self.search, WordSearch):
            return {}  # words know no meaning
        key = (question, owners)
        if self._asked is None or self._asked[0] != key:
            hits = self.search.passages(question, kinds=_KINDS | {"faq"}, entries=owners, k=200)
            self._asked = (key, {hit.passage.id: hit.similarity for hit in hits if hit.similarity is not None})
        return self._asked[1]


def _joined(words: float, cosine: float | None) -> float:
    """Words and meaning together; where no encoder ran the words alone."""
    if cosine is None:
        return words
    low, high = _COSINE
    meaning = min(1.0, max(0.0, (cosine - low) / (high - low)))
    return max(words, 0.5 * words + 0.5 * meaning, 0.85 * meaning)
