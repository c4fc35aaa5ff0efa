"""Error blocks that the corpus knows although no kept hit stands in them.

The scan keeps the first and the last hits of a text and counts the others, so
that the three hundredth line of a storm has no hit of its own. And a line whose
signature a later line has cleared is a known one that passed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from assistant.diagnosis.reading import Run
from assistant.logs.episodes import Episode
from corpus.match import Hit, Unmet

MOST_LINES = 12
"""Last lines of a block in which texts are looked for."""


class Known:
    """What the hits of a run say of blocks beside their own."""

    def __init__(self, run: Run, hits: Iterable[Hit], unmet: Iterable[Unmet]) -> None:
        """Take the accepted hits and those that were refused."""
        self._run = run
        kept = [Counter(hit.atom for hit in source.scan.hits) for source in run.sources]
        tallies = [source.scan.tallies for source in run.sources]
        self._repeated: dict[int, dict[int, bool]] = defaultdict(dict)
        """Per source the texts of which hits were left out; true where the entry is a wrapper."""
        for hit in hits:
            tally = tallies[hit.source].get(hit.atom)
            if tally is not None and tally.count > kept[hit.source][hit.atom]:
                is_wrapper = run.catalogue.heads[hit.entry].kind == "wrapper"
                self._repeated[hit.source][hit.atom] = self._repeated[hit.source].get(hit.atom, True) and is_wrapper
        self._cleared: dict[int, dict[int, int]] = defaultdict(dict)
        """Per source the texts that were cleared, and the last line of each that was."""
        for item in unmet:
            if item.cleared:
                last = self._cleared[item.source].get(item.atom, 0)
                self._cleared[item.source][item.atom] = max(last, item.record.number)

    def covers(self, source: int, episode: Episode) -> bool:
        """Whether an entry covers a block whose hit was only counted.

        As with kept hits, a wrapper's text covers only a block whose decisive line it is on.
        """
        repeated = self._repeated.get(source)
        if not repeated:
            return False
        if self._run.matcher.verify(repeated, episode.decisive):
            return True
        inner = [atom for atom, is_wrapper in repeated.items() if not is_wrapper]
        return bool(inner) and any(self._run.matcher.verify(inner, one) for one in episode.lines[-MOST_LINES:])

    def was_cleared(self, source: int, episode: Episode) -> bool:
        """Whether a later line says that what the decisive line tells of has passed."""
        cleared = self._cleared.get(source, {})
        found = self._run.matcher.verify(cleared, episode.decisive)
        return any(episode.decisive.number <= cleared[one.atom] for one in found)
