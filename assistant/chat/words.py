"""Words of questions: what they are about, and how near two texts are without any model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from index.tokens import STOP_WORDS, tokenize

_SAME = (
    "confirm verify prove check validate ensure",
    "fix solve repair mend cure resolve remedy workaround",
    "restart retry rerun resubmit relaunch requeue",
    "node machine host server box",
    "broken fault faulty defective defect dead dying bad damage damaged",
    "gpu card device board accelerator",
    "error failure fail crash problem issue fault",
    "setting variable flag parameter env environment knob",
    "cause reason",
    "guilty blame culprit",
    "log output",
    "kill terminate stop sigterm",
    "ram memory",
    "shm shared",
    "job run training",
    "quick fast quickest fastest",
    "warning sign hint forerunner beforehand",
    "operations ops operator",
    "administrator admin sysadmin",
    "option choice",
    "rebuild build",
    "disk drive ssd",
    "interrupt ctrl press",
    "edit change modify",
    "effect work",
    "place schedule schedulable placement",
    "report file",
    "allow permit supported",
    "free idle unused",
    "grace period",
    "foreign another",
    "checkpoint snapshot",
    "rank worker process",
    "prevent avoid",
    "program code script",
)
_CANONICAL: dict[str, str] = {}
for _row in _SAME:
    for _word in _row.split():
        for _form in tokenize(_word):
            _CANONICAL.setdefault(_form, tokenize(_row.split()[0])[0])

_ASIDE = frozenset(
    "happen mean help exactly actually right now case thing need require sure tell show explain try find".split()
)
"""Words that stand in any question and tell none from another."""
_KEPT = frozenset({"no", "not"})
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9`'\"(<])")


@lru_cache(maxsize=20_000)
def content(text: str) -> frozenset[str]:
    """The words that a text is about, synonyms folded; empty when it only carries a sentence."""
    words = (word for word in tokenize(text) if word not in STOP_WORDS and word not in _ASIDE and word not in _KEPT)
    return frozenset(_CANONICAL.get(word, word) for word in words)


@lru_cache(maxsize=4_000)
def plain(text: str) -> str:
    """A text as its words in lower case, for comparing questions and looking for phrases."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def capital(text: str) -> str:
    """A sentence as it stands behind a full stop; an identifier at its head keeps its letters."""
    first = text.partition(" ")[0]
    return f"{text[:1].upper()}{text[1:]}" if first.rstrip(",:;").isalpha() and first.islower() else text


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [piece for piece in _SENTENCE.split(" ".join(text.split())) if piece]


@dataclass(frozen=True)
class Weights:
    """How much each word tells: rare ones more than those that stand everywhere."""

    counts: Counter[str]
    total: int

    @classmethod
    def of(cls, texts: Iterable[str]) -> Weights:
        """Count in how many texts each word stands."""
        counts: Counter[str] = Counter()
        total = 0
        for text in texts:
            counts.update(content(text))
            total += 1
        return cls(counts, total)

    def weight(self, word: str) -> float:
        """From near 0 for a word of every text to 1 for a word of none."""
        return 0.25 + 0.75 * math.log((self.total + 1) / (self.counts[word] + 0.5)) / math.log(2 * (self.total + 1))

    def mass(self, words: Iterable[str]) -> float:
        """The sum of the weights."""
        return sum(self.weight(word) for word in words)

    def covered(self, question: frozenset[str], text: frozenset[str]) -> float:
        """The share of a question that stands in a text, from 0 to 1."""
        whole = self.mass(question)
        return self.mass(question & text) / whole if whole else 0.0

    def alike(self, one: frozenset[str], other: frozenset[str]) -> float:
        """How alike two questions are, from 0 to 1."""
        whole = self.mass(one) + self.mass(other)
        return 2 * self.mass(one & other) / whole if whole else 0.0
