"""Chains of exceptions: what the last one says of those that it was raised from.

`requests` raises an HTTP error, and the library that asked raises from it what
that means: a gated repository, a missing file. The first only names a class of
errors; where an entry covers the meaning, that is the finding.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.diagnosis.events import Event, Tier


def mark_chains(events: Sequence[Event]) -> None:
    """Set classes of errors below the verified failure that the same chain of exceptions ends in."""
    covered: dict[int, Event] = {}
    for event in events:
        is_verified = event.tier == Tier.FAILURE and event.head is not None and event.head.status == "verified"
        if is_verified and event.episode is not None and not event.quiet:
            covered.setdefault(id(event.episode), event)
    for event in events:
        failure = covered.get(id(event.episode)) if event.episode is not None else None
        if failure is None or event.tier != Tier.CLASS or event.line >= failure.line:
            continue
        event.tier = Tier.WRAPPER
        event.notes.append(f"the same chain of exceptions goes on to line {failure.line}, which says what it means")
