"""Known harmless lines: what looks like an error and is none.

The corpus lists them with sources. They quiet class entries and uncovered
error lines, never a verified failure; a line whose `unless` text stands near
it counts after all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from assistant.diagnosis.events import Event
from assistant.diagnosis.reading import Run
from corpus.head import HarmlessHead
from corpus.record import Record
from corpus.signature import Pattern


class HarmlessLines:
    """The corpus's harmless lines, compiled when the first event asks."""

    def __init__(self, heads: Sequence[HarmlessHead]) -> None:
        """Take the lines of a catalogue."""
        self._lines = [
            (head.literal, Pattern(head.text), Pattern(head.unless) if head.unless else None, head) for head in heads
        ]

    def why(self, record: Record, neighbours: Sequence[Record]) -> str:
        """Why a record is harmless, or an empty text when it is not known to be."""
        text = record.text
        for literal, pattern, unless, head in self._lines:
            if literal not in text or pattern.search(text) is None:
                continue
            if unless is not None and _stands_near(unless, record, neighbours, head.within):
                continue
            return head.why
        return ""


def _stands_near(pattern: Pattern, record: Record, neighbours: Sequence[Record], within: int) -> bool:
    numbers = [other.number for other in neighbours]
    low = bisect_left(numbers, record.number - within)
    high = bisect_right(numbers, record.number + within)
    return any(pattern.search(other.text) is not None for other in neighbours[low:high])


def mark_harmless(run: Run, events: Sequence[Event]) -> None:
    """Quiet the events that only repeat a known harmless line."""
    lines = HarmlessLines(run.catalogue.harmless)
    known: dict[str, str] = {}
    for event in events:
        if event.head is not None and event.head.kind == "failure":
            continue
        text = event.record.text
        if text not in known:
            known[text] = lines.why(event.record, run.sources[event.source].records)
        if known[text]:
            event.quiet = True
            event.harmless = known[text]
