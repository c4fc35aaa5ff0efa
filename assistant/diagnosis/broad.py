"""Broad classes: what the shape of a message says where no entry knows the message.

They are asked last, when the order of the faults stands, and only about the
deciding line of a block that no entry covers. So a block is judged alike
whether its message has a known shape or not, and the scan pays nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.diagnosis.events import Event
from assistant.diagnosis.groups import Group, Ordered
from assistant.diagnosis.reading import Run
from corpus.match import Hit, Matcher
from corpus.record import Record

KILLED = "process-sigkill"
"""The class of processes that SIGKILL ended."""
_SHELL_KILLED = re.compile(
    r"(?:\S{1,400}: line \d{1,7}:\s{1,9}\d{1,10} |\[\d{1,4}\][+\-]?\s{1,4})?Killed(?:: 9)?(?:\s{2,40}\S.{0,2000})?$"
)
"""What bash and other shells print of a job that signal 9 ended (`bash/jobs.c`): the word, then the command behind blanks."""
REACH = 400
"""Lines before and after a fault in which its context is looked for: as far as a signature may ask."""
NO_TEXT = -1
"""The text of a broad hit is none of those that the scan counts."""


def name_broadly(run: Run, ordered: Ordered) -> None:
    """Give first faults that no entry covers the broad class that their deciding line has the shape of."""
    first = [ordered.initiating] if ordered.initiating is not None else []
    bare = [group for group in (*first, *ordered.independent) if _is_bare(group)]
    if bare:
        _name_kills(run, bare)
    bare = [group for group in bare if group.head is None]
    heads = [head for head in run.catalogue.broad if head.status == "verified"] if bare else []
    if not heads:
        return
    matcher = Matcher(heads, with_broad=True)
    for group in bare:
        hit = _hit_on(run, group.first, matcher)
        if hit is None:
            continue
        head = run.catalogue.heads[hit.entry]
        for event in group.events:
            event.head = head
        group.first.hit = hit


def _name_kills(run: Run, groups: Sequence[Group]) -> None:
    """Give lines by which a shell says that its process was killed the class of that signal."""
    head = run.catalogue.heads.get(KILLED)
    for group in groups:
        if head is None or _SHELL_KILLED.match(group.first.record.message) is None:
            continue
        for event in group.events:
            event.head = head
        group.first.notes.append("a shell prints `Killed` for a process that SIGKILL ended, and knows no more of it")


def _is_bare(group: Group) -> bool:
    episode = group.first.episode
    return group.head is None and episode is not None and not episode.carrier and episode.kind != "teardown"


def _hit_on(run: Run, event: Event, matcher: Matcher) -> Hit | None:
    """The broad hit on an event's own line; the lines around it hold the context that it asks for."""
    block: Sequence[Record] = event.episode.lines if event.episode is not None else ()
    around = run.around(event.source, event.line - REACH, event.line + REACH)
    records = {id(record): record for record in (*around, *block, event.record)}
    found = matcher.scan_records(records.values(), event.source)
    hits = [hit for hit in matcher.resolve(found).hits if hit.record is event.record]
    return hits[0]._replace(atom=NO_TEXT) if hits else None
