"""The words of signatures, by which a line is compared with those it nearly carries.

Like `corpus.atoms`, a wording answers by numbers: of thousands of texts only
those are looked at that share a word with the line.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from corpus.head import Head
from corpus.signature import parse

MIN_WORDS = 3
"""Signatures of fewer words have no near misses: too much would look like them."""
WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]+|\d+")


class Worded(NamedTuple):
    """The fixed words of a signature's first text."""

    entry: str
    signature: str
    words: tuple[str, ...]


class Wording(Protocol):
    """Signatures by their words."""

    def __len__(self) -> int:
        """How many signatures have words enough."""
        ...

    @property
    def wrappers(self) -> frozenset[int]:
        """Numbers of those that belong to wrappers."""
        ...

    def weights(self, *, but_wrappers: bool) -> Sequence[float]:
        """What the words of each signature weigh together, with or without those of wrappers."""
        ...

    def at(self, index: int) -> Worded:
        """The signature of this number."""
        ...

    def owners(self, word: str) -> Sequence[int]:
        """Numbers of the signatures that have this word, ascending."""
        ...


class BuiltWording:
    """The words of some heads, held in memory."""

    def __init__(self, heads: Iterable[Head]) -> None:
        """Split the first text of every signature of these heads; nothing is nearly a broad class."""
        self.rows: list[Worded] = []
        wrappers = []
        for head in heads:
            for signature in head.signatures if not head.broad else ():
                words = fixed_words(signature.texts[0])
                if len(words) >= MIN_WORDS:
                    if head.kind == "wrapper":
                        wrappers.append(len(self.rows))
                    self.rows.append(Worded(head.id, signature.name, words))
        self.wrappers = frozenset(wrappers)
        self.postings: dict[str, list[int]] = defaultdict(list)
        for index, row in enumerate(self.rows):
            for word in set(row.words):
                self.postings[word].append(index)

    def __len__(self) -> int:
        """How many signatures have words enough."""
        return len(self.rows)

    def weights(self, *, but_wrappers: bool) -> Sequence[float]:
        """What the words of each signature weigh together."""
        left_out = self.wrappers if but_wrappers else frozenset()
        total = len(self.rows) - len(left_out)
        weight = {
            word: word_weight(len(owners) - len(left_out.intersection(owners)), total)
            for word, owners in self.postings.items()
        }
        return [math.fsum([weight[word] for word in set(row.words)]) for row in self.rows]

    def at(self, index: int) -> Worded:
        """The signature of this number."""
        return self.rows[index]

    def owners(self, word: str) -> Sequence[int]:
        """Numbers of the signatures that have this word, ascending."""
        return self.postings.get(word, ())


def word_weight(owners: int, total: int) -> float:
    """A word weighs the more, the fewer of all signatures have it."""
    return math.log(1 + max(1, total) / owners) if owners else 0.0


def fixed_words(text: str) -> tuple[str, ...]:
    """The words of a signature's fixed text, optional segments included."""
    literals = [part.literal for part in parse(text)[0] if not part.kind]
    return tuple(word for literal in literals for word in WORD.findall(literal))
