"""What brings what about, by the edges that entries name."""

from __future__ import annotations

from collections.abc import Mapping

from corpus.head import Head


class CausalGraph:
    """The edges between entries: what brings about what, directly or not."""

    def __init__(self, heads: Mapping[str, Head]) -> None:
        """Take the heads whose `causes` are the edges."""
        self._causes = {entry: head.causes for entry, head in heads.items()}
        self._reach: dict[str, frozenset[str]] = {}

    def reaches(self, cause: str, effect: str) -> bool:
        """Whether there is a path of edges from cause to effect."""
        if cause not in self._reach:
            seen: set[str] = set()
            todo = list(self._causes.get(cause, ()))
            while todo:
                entry = todo.pop()
                if entry not in seen:
                    seen.add(entry)
                    todo.extend(self._causes.get(entry, ()))
            self._reach[cause] = frozenset(seen)
        return effect in self._reach[cause]
