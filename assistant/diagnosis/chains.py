"""Chains of exceptions: what the last one says of those that it was raised from.

`requests` raises an HTTP error, and the library that asked raises from it what
that means: a gated repository, a missing file. The first only names a class of
errors; where an entry covers the meaning, that is the finding. An exception that
came while another was handled says nothing of that one: a save, or the upload of a
crash report, failed as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.diagnosis.events import Event, Tier
from corpus.head import Head
from corpus.late import late

_DURING = late(r"During handling of the above exception")
_ANSWERED = late(
    r"\b(?:HTTP\w*Error|HTTPStatusError|ConnectionError|Timeout|FileNotFoundError|NotADirectoryError|PermissionError)\b"
    r"|\b[45]\d\d (?:Client|Server) Error|No such file or directory"
)
"""What a server or a file system answered: libraries raise its meaning while they handle it."""


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
        if was_being_handled(event, failure):
            continue
        event.tier = Tier.WRAPPER
        event.notes.append(f"the same chain of exceptions goes on to line {failure.line}, which says what it means")


def was_being_handled(event: Event, later: Event) -> bool:
    """Whether the later exception of a chain came while this one was handled, and does not say what it meant."""
    return _is_during(event, later) and not _is_meaning(event, later)


def _is_during(event: Event, failure: Event) -> bool:
    """Whether the later exception came while an earlier one was handled, and was not raised from it."""
    if event.episode is None or event.episode is not failure.episode:
        return False
    lines = event.episode.lines
    return any(event.line < record.number < failure.line and _DURING.search(record.message) for record in lines)


def _is_meaning(event: Event, failure: Event) -> bool:
    """Whether the error was an answer of a server or a file system, and the failure's entry knows its class."""
    if event.head is None or failure.head is None or _ANSWERED.search(event.record.text) is None:
        return False
    return event.head.id in _named(failure.head) or failure.head.id in _named(event.head)


def _named(head: Head) -> tuple[str, ...]:
    return (*head.related, *head.causes, *head.confused_with)
