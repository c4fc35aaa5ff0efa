"""Faults of writing what a dying rank leaves behind.

A watchdog that fired writes its flight recorder, a crash its core file. A disk
that is full by then, or a folder that may not be written, ended nobody. The
runtime prints such errors without a rank, in between the lines of all. Where the
error names a file, the file says whether it was the dump's: a checkpoint may meet a
full disk in the same moment.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from assistant.diagnosis.events import Event, Tier
from assistant.diagnosis.reading import Run
from corpus.late import late
from corpus.record import Record

MAX_NOTICES = 64
"""Notices of dumps above an error that are asked whether they name its file; every rank of a host writes one."""
DUMP_WITHIN = 6
"""Lines below the notice of a dump in which an error without a time is that of the dump."""

_DUMPS = late(
    r"[Ww]riting (?:NCCL )?(?:debug info|[Ff]light [Rr]ecorder)|dump signal|[Dd]umping (?:debug|[Ff]light|NCCL|stack)|preparing to dump|core dump"
)
_WRITES = late(
    r"No space left|[Dd]isk quota|\bwrite\(\)|Permission denied|Read-only file system|Input/output error|File too large|(?:open|write|create|dump)\S{0,4} (?:debug|the file|file|to)"
)
_PATH = late(r"(?<![\w.:/])/[\w.\-/+=@%]{1,400}")
_SOURCE = late(r"\.(?:py|cpp|cc|cu|h|hpp|so)\b")
_OF_DUMP = late(
    r"(?:nccl|comm_lib|fr|flight)_?(?:trace|dump|recorder)|flight.?recorder|debug_?info|(?:^|/)core(?:[.\-][\w.\-]+)?$|\.core$|core_?dump",
    re.I,
)


def mark_dumps(run: Run, events: Sequence[Event]) -> None:
    """Take errors of a dump for consequences of the timeout that it was made for."""
    notices: dict[int, list[Record]] = {}
    given_up: dict[int, int] = {}
    for event in events:
        if event.tier in {Tier.CONSEQUENCE, Tier.WRAPPER} and not event.unrelated:
            given_up[event.source] = min(given_up.get(event.source, event.line), event.line)
    for event in events:
        first = given_up.get(event.source)
        if first is None or event.kernel or event.tier >= Tier.CONSEQUENCE or event.record.time is not None:
            continue
        if event.source not in notices:
            notices[event.source] = [
                r for r in run.sources[event.source].records if _DUMPS.search(r.message) is not None
            ]
        notice = _notice(notices[event.source], event) if _WRITES.search(event.record.text) is not None else None
        if notice is None or notice < first:
            continue
        event.tier = Tier.CONSEQUENCE
        event.notes.append(f"{run.paths[event.source]}:{notice} says that a dump was being written")
        if event.record.rank is None:
            event.rank = None  # whose line of the interleaved output it is, nothing says


def _notice(notices: Sequence[Record], event: Event) -> int | None:
    """The line above that tells of a dump: of the file that the error names, or else one near."""
    paths = _paths(event.record.message)
    near = None
    above = bisect_left(notices, event.line, key=lambda record: record.number)
    for record in notices[max(0, above - MAX_NOTICES) : above]:
        if paths & _paths(record.message):
            return record.number
        if record.number >= event.line - DUMP_WITHIN and near is None:
            near = record.number
    is_other = any(_OF_DUMP.search(path) is None for path in paths)
    return None if is_other else near


def _paths(message: str) -> set[str]:
    """Absolute paths of data that a message names."""
    return {path.rstrip(".") for path in _PATH.findall(message) if _SOURCE.search(path) is None}
