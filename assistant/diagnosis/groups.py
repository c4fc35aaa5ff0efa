"""Groups of events that say the same thing, which are what findings are made of."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from assistant.diagnosis.events import Event, Tier
from assistant.logs.clock import Moment
from corpus.head import Head

TOLERANCE_S = 1.0
"""Onsets of one host closer than this say nothing about the order."""
SKEW_S = 5.0
"""The same for two hosts, whose clocks may differ."""
NO_RANK = 1 << 40
_DIGITS = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")


@dataclass(eq=False)
class Group:
    """Events that say the same thing: one entry or one wording, one attempt, one fate."""

    key: tuple[object, ...]
    events: list[Event]
    explained_by: list[Group] = field(default_factory=list)
    effects: list[Group] = field(default_factory=list)
    """What an edge leads to from here."""
    after_wait: bool = False
    """True when it surely began only after other ranks had begun to wait for what may be the first fault."""
    assumed: bool = False
    """True when no edge leads here from what explains it: it only came afterwards."""

    @property
    def first(self) -> Event:
        """The event that decides."""
        return self.events[0]

    @property
    def head(self) -> Head | None:
        """The entry, if one covers it."""
        return self.first.head

    @property
    def tier(self) -> Tier:
        """The strongest tier among the events."""
        return min(event.tier for event in self.events)

    @property
    def is_quiet(self) -> bool:
        """Whether all events were printed as warnings or handled by the program."""
        return all(event.quiet for event in self.events)

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks that printed it or that it speaks of."""
        return tuple(sorted({event.rank for event in self.events if event.rank is not None}))

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts likewise."""
        return tuple(sorted({event.host for event in self.events if event.host is not None}))

    @property
    def onset(self) -> Moment | None:
        """The earliest onset."""
        moments = [event.onset for event in self.events if event.onset is not None]
        axes = {moment.axis for moment in moments}
        if len(axes) > 1:
            moments = [moment for moment in moments if moment.axis == "wall"] or moments[:1]
        if not moments:
            return None
        earliest = min(moments, key=lambda moment: moment.seconds)
        # It began at the latest when the first of its events must have been printed.
        latest = min(moment.seconds + moment.late for moment in moments)
        return earliest if not earliest.late else replace(earliest, late=max(0.0, latest - earliest.seconds))

    @property
    def role_rank(self) -> int:
        """0 where the entry usually starts a failure, 2 where it usually follows."""
        if self.head is None:
            return 1
        return {"initiating": 0, "either": 1, "downstream": 2}[self.head.role]


@dataclass
class Ordered:
    """The outcome of the attribution."""

    initiating: Group | None
    downstream: list[Group]
    independent: list[Group]
    recovered: list[Group]
    unrelated: list[Group]


def group_events(events: Iterable[Event]) -> list[Group]:
    """Group events into findings, each sorted by onset, then position."""
    groups: dict[tuple[object, ...], Group] = {}
    for event in events:
        fate = "unrelated" if event.unrelated or event.unplaced else "recovered" if event.recovered else "open"
        what = event.head.id if event.head is not None else template(event.record.message)
        where = event.host if event.kernel else None
        # A wrapper's line that was found to tell what started it is not one with the noise of its kind.
        tier = event.tier if event.head is None or event.head.kind == "wrapper" else 0
        key = (what, event.attempt, fate, tier, where, bool(event.unrelated), bool(event.quoted or event.harmless))
        groups.setdefault(key, Group(key, [])).events.append(event)
    for group in groups.values():
        group.events = _in_order(group)
        _put_telling_line_first(group)
    return list(groups.values())


def _put_telling_line_first(group: Group) -> None:
    """Of lines that one place printed at the same time, the signature listed first in its entry decides."""
    head, first = group.head, group.first
    if head is None or first.onset is None:
        return
    order = {signature.name: index for index, signature in enumerate(head.signatures)}

    def listed(event: Event) -> int:
        return order.get(event.hit.signature, 0) if event.hit is not None else 0

    together = [first]
    for event in group.events[1:]:
        gap = first.onset.before(event.onset) if event.onset is not None else None
        if gap is not None and gap <= TOLERANCE_S and (event.rank, event.source) == (first.rank, first.source):
            together.append(event)
    best = min(together, key=listed)
    # Of reports that repeat how long something stands, the first was printed first, whatever the sums say.
    repeats = [event for event in group.events if _repeats(event, best)] if _repeats(best, best) else []
    best = min(repeats, key=lambda event: event.line, default=best)
    if best is not first:
        group.events.remove(best)
        group.events.insert(0, best)


def _repeats(event: Event, other: Event) -> bool:
    if event.hit is None or other.hit is None or event.onset == event.moment or event.onset is None:
        return False
    gap = event.onset.before(other.onset) if other.onset is not None else None
    alike = (event.source, event.rank, event.hit.signature) == (other.source, other.rank, other.hit.signature)
    return alike and gap is not None and abs(gap) <= SKEW_S


def _in_order(group: Group) -> list[Event]:
    """The events by onset; what stands above a stamped line of its source was there no later than that.

    At the same time the lowest rank comes first: names of files, which often are hosts, say nothing.
    """
    onset = group.onset
    began: dict[Event, float] = {}
    below: dict[int, float] = {}
    lowest: dict[int, int] = {}
    for event in sorted(group.events, key=lambda event: (event.source, -event.line)):
        is_timed = event.onset is not None and onset is not None and event.onset.axis == onset.axis
        seconds = event.onset.seconds if is_timed and event.onset is not None else below.get(event.source, math.inf)
        began[event] = below[event.source] = round(seconds, 1)
        rank = event.rank if event.rank is not None else lowest.get(event.source, NO_RANK)
        lowest[event.source] = min(rank, lowest.get(event.source, NO_RANK))
    return sorted(group.events, key=lambda event: (began[event], lowest[event.source], event.source, event.line))


def template(message: str) -> str:
    """A message without its numbers, by which repeats are recognised."""
    return _DIGITS.sub("#", message)[:200]
