"""Faults of writing what a dying rank leaves behind.

A watchdog that fired writes its flight recorder, a crash its core file. A disk
that is full by then, or a folder that may not be written, ended nobody. The
runtime prints such errors without a rank, in between the lines of all.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.diagnosis.events import Event, Tier
from assistant.diagnosis.reading import Run
from corpus.late import late

DUMP_WITHIN = 6
"""Lines below the notice of a dump in which an error without a time is that of the dump."""

_DUMPS = late(
    r"[Ww]riting (?:NCCL )?(?:debug info|[Ff]light [Rr]ecorder)|dump signal|[Dd]umping (?:debug|[Ff]light|NCCL|stack)|preparing to dump|core dump"
)
_WRITES = late(
    r"No space left|[Dd]isk quota|\bwrite\(\)|Permission denied|Read-only file system|Input/output error|File too large|(?:open|write|create|dump)\S{0,4} (?:debug|the file|file|to)"
)


def mark_dumps(run: Run, events: Sequence[Event]) -> None:
    """Take errors of a dump for consequences of the timeout that it was made for."""
    given_up: dict[int, int] = {}
    for event in events:
        if event.tier in {Tier.CONSEQUENCE, Tier.WRAPPER} and not event.unrelated:
            given_up[event.source] = min(given_up.get(event.source, event.line), event.line)
    for event in events:
        first = given_up.get(event.source)
        if first is None or event.kernel or event.tier >= Tier.CONSEQUENCE or event.record.time is not None:
            continue
        notice = _notice(run, event) if _WRITES.search(event.record.text) is not None else None
        if notice is None or notice < first:
            continue
        event.tier = Tier.CONSEQUENCE
        event.notes.append(f"{run.paths[event.source]}:{notice} says that a dump was being written")
        if event.record.rank is None:
            event.rank = None  # whose line of the interleaved output it is, nothing says


def _notice(run: Run, event: Event) -> int | None:
    """The line above that tells of a dump."""
    for record in run.sources[event.source].records:
        if event.line - DUMP_WITHIN <= record.number < event.line and _DUMPS.search(record.message) is not None:
            return record.number
    return None
