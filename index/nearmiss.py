"""Near misses: signatures that almost stand on a line, with the first word that differs.

Words of the signatures are indexed by rarity; a line that holds most of the
rare words of a signature is aligned with it, and the altered word is named
beside the expected one. A near miss is a hint to the reader, never a match.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corpus.catalogue import Catalogue
from corpus.wording import WORD, BuiltWording, Worded, Wording, word_weight

MIN_SHARE = 0.62
"""Share of a signature's words, weighted by rarity, that a near miss must hold."""


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


class NearMissIndex:
    """Words of signatures, ready to be compared with lines."""

    def __init__(self, wording: Wording, *, but_wrappers: bool = False) -> None:
        """Take the first texts of signatures by their words; those of wrappers may be left out."""
        self._wording = wording
        self._left_out = wording.wrappers if but_wrappers else frozenset()
        self._total = len(wording) - len(self._left_out)
        self._whole = wording.weights(but_wrappers=but_wrappers)
        self._owners: dict[str, tuple[float, Sequence[int]]] = {}

    @classmethod
    def of(cls, catalogue: Catalogue, *, but_wrappers: bool = False) -> NearMissIndex:
        """All signatures of a catalogue; where its words were compiled, only what lines share with them is read."""
        wording = catalogue.wording
        if wording is None:
            wording = BuiltWording(catalogue.heads.values())
        return cls(wording, but_wrappers=but_wrappers)

    def _owners_of(self, word: str) -> tuple[float, Sequence[int]]:
        """What a word weighs, and the numbers of the signatures that have it."""
        known = self._owners.get(word)
        if known is None:
            owners = [owner for owner in self._wording.owners(word) if owner not in self._left_out]
            known = self._owners[word] = word_weight(len(owners), self._total), owners
        return known

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
        words = WORD.findall(line)[:400]
        shared: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words):
            weight, owners = self._owners_of(word)
            for index in owners:
                shared[index] += weight
        for index, weight in shared.items():
            whole = self._whole[index]
            if weight < whole * MIN_SHARE:
                continue
            near = self._align(position, words, self._wording.at(index), weight / whole)
            if near is not None:
                yield near

    def _align(self, position: int, words: list[str], text: Worded, share: float) -> Near | None:
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
