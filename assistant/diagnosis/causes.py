"""What brings what about, by the edges that entries name."""

from __future__ import annotations

from collections.abc import Mapping

from corpus.head import Head


class CausalGraph:
    """The edges between entries: what brings about what, directly or not."""

    def __init__(self, heads: Mapping[str, Head]) -> None:
        """Take the heads whose `causes` are the edges; those of a few are looked at."""
        self._heads = heads
        self._reach: dict[str, frozenset[str]] = {}

    def reaches(self, cause: str, effect: str) -> bool:
        """Whether there is a path of edges from cause to effect."""
        if cause not in self._reach:
            seen: set[str] = set()
            todo = self._effects(cause)
            while todo:
                entry = todo.pop()
                if entry not in seen:
                    seen.add(entry)
                    todo.extend(self._effects(entry))
            self._reach[cause] = frozenset(seen)
        return effect in self._reach[cause]

    def _effects(self, entry: str) -> list[str]:
        head = self._heads.get(entry)
        return list(head.causes) if head is not None else []
