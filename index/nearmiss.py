"""Near misses: signatures that almost stand on a line, with the first word that differs.

Words of the signatures are indexed by rarity; a line that holds most of the
rare words of a signature is aligned with it, and the altered word is named
beside the expected one. A near miss is a hint to the reader, never a match.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corpus.head import Head
from corpus.signature import parse

MIN_SHARE = 0.62
"""Share of a signature's words, weighted by rarity, that a near miss must hold."""
MIN_WORDS = 3
"""Signatures of fewer words have no near misses: too much would look like them."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]+|\d+")


@dataclass(frozen=True, slots=True)
class Near:
    """A line that almost carries a signature."""

    entry: str
    signature: str
    position: int
    """Index of the line in the sequence that was searched."""
    score: float
    expected: str
    found: str
    matched: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The difference in words."""
        if not self.found:
            return f"expected `{self.expected}`, which is missing"
        return f"expected `{self.expected}`, found `{self.found}`"


@dataclass(frozen=True, slots=True)
class _Text:
    entry: str
    signature: str
    words: tuple[str, ...]


class NearMissIndex:
    """Words of all signatures, ready to be compared with lines."""

    def __init__(self, heads: Iterable[Head]) -> None:
        """Index the first text of every signature of these heads."""
        self._texts: list[_Text] = []
        for head in heads:
            for signature in head.signatures:
                words = _signature_words(signature.texts[0])
                if len(words) >= MIN_WORDS:
                    self._texts.append(_Text(head.id, signature.name, words))
        self._owners: dict[str, list[int]] = defaultdict(list)
        for index, text in enumerate(self._texts):
            for word in set(text.words):
                self._owners[word].append(index)
        total = max(1, len(self._texts))
        self._weight = {word: math.log(1 + total / len(owners)) for word, owners in self._owners.items()}

    def search(self, lines: Sequence[str], *, limit: int = 5) -> list[Near]:
        """The nearest signatures over all lines, best first, one for each entry."""
        best: dict[str, Near] = {}
        for position, line in enumerate(lines):
            for near in self._of_line(position, line):
                known = best.get(near.entry)
                if known is None or near.score > known.score:
                    best[near.entry] = near
        ranked = sorted(best.values(), key=lambda near: (-near.score, near.position, near.entry))
        return ranked[:limit]

    def _of_line(self, position: int, line: str) -> Iterable[Near]:
        words = _WORD.findall(line)[:400]
        present = set(words)
        shared: dict[int, float] = defaultdict(float)
        for word in present:
            for index in self._owners.get(word, ()):
                shared[index] += self._weight[word]
        for index, weight in shared.items():
            text = self._texts[index]
            whole = sum(self._weight[word] for word in set(text.words))
            if weight < whole * MIN_SHARE:
                continue
            near = self._align(position, words, text, weight / whole)
            if near is not None:
                yield near

    def _align(self, position: int, words: list[str], text: _Text, share: float) -> Near | None:
        matcher = difflib.SequenceMatcher(a=list(text.words), b=words, autojunk=False)
        blocks = matcher.get_matching_blocks()
        in_order = sum(block.size for block in blocks)
        if in_order < len(text.words) * MIN_SHARE or in_order < 2:
            return None
        matched = tuple(word for block in blocks for word in text.words[block.a : block.a + block.size])
        for tag, a_from, a_to, b_from, b_to in matcher.get_opcodes():
            if tag in {"replace", "delete"}:
                expected = " ".join(text.words[a_from:a_to])
                found = " ".join(words[b_from:b_to][: max(1, a_to - a_from)]) if tag == "replace" else ""
                score = share * in_order / len(text.words)
                return Near(text.entry, text.signature, position, round(score, 4), expected, found, matched)
        return None


def _signature_words(text: str) -> tuple[str, ...]:
    literals = [part.literal for part in parse(text)[0] if not part.kind]
    return tuple(word for literal in literals for word in _WORD.findall(literal))
