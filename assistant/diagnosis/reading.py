"""Reading a run: every source scanned once, the parts that matter decoded.

What is decoded is bounded: the neighbourhood of hits and markers, the head and
the tail of each source; small inputs are decoded whole. Everything that could
not be read is named and the rest is diagnosed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from assistant.logs.markers import MARKERS
from assistant.logs.sources import Source, Unread, expand
from corpus.catalogue import Catalogue
from corpus.errors import FirstfaultError
from corpus.match import AtomHit, Matcher
from corpus.record import Record
from index.blocks import MIB, Readable
from index.scanner import Limits, Scanner, SourceScan

WHOLE_LINES = 6_000
"""A run of at most so many lines is decoded whole."""
MIN_RECORDS = 40
"""Records decoded of a source at least, however many sources there are."""
TOTAL_RECORDS = 3_000
"""Records decoded over all sources that are not decoded whole; shared out evenly when there are many."""
LARGE = 64 * MIB
"""Bytes from which on a source keeps less around its hits: what is decoded is bounded anyway."""
LARGE_LIMITS = Limits(block=MIB, keep=16, keep_last=16, before=20, after=45, head=100, tail=300)
BEFORE, AFTER, HEAD, TAIL = 6, 40, 60, 200
"""Lines decoded before and after a line of interest, and at both ends of a source."""

ProgressCallback = Callable[[str, int, int | None], None]
"""Called with a source's name, bytes done and bytes expected (or None)."""


@dataclass
class ReadSource:
    """One source after the scan, with its decoded records in order of lines."""

    path: str
    scan: SourceScan
    records: list[Record]
    encoding: str = "utf-8"
    problems: list[str] = field(default_factory=list)
    whole: bool = False
    """True when every line was decoded."""


@dataclass
class Run:
    """All sources of one diagnosis."""

    sources: list[ReadSource]
    unread: list[Unread]
    matcher: Matcher
    catalogue: Catalogue

    @property
    def paths(self) -> list[str]:
        """Names of the sources as they are shown."""
        return [source.path for source in self.sources]

    @property
    def records(self) -> list[list[Record]]:
        """Decoded records of each source."""
        return [source.records for source in self.sources]

    def atom_hits(self) -> list[AtomHit]:
        """All texts found, in order of source and line."""
        return [hit for source in self.sources for hit in source.scan.hits]

    def counts(self) -> dict[int, int]:
        """Exact number of hits of each atom."""
        totals: dict[int, int] = {}
        for source in self.sources:
            for atom, tally in source.scan.tallies.items():
                totals[atom] = totals.get(atom, 0) + tally.count
        return totals

    def raw_line(self, source: int, line: int) -> str:
        """The whole line as it stands in the source, or an empty text when it was not kept."""
        data = self.sources[source].scan.windows.get(line)
        return "" if data is None else data.decode("utf-8", "replace").rstrip("\r\n")


def read_run(
    paths: Sequence[str],
    catalogue: Catalogue,
    *,
    stdin: BinaryIO | None = None,
    progress: ProgressCallback | None = None,
) -> Run:
    """Scan all inputs; raises FirstfaultError (exit 2) when nothing can be read."""
    sources, unread = expand(paths, stdin)
    sources.sort(key=_rotation)
    matcher = Matcher(catalogue.heads.values(), catalogue.literals)
    scanner = Scanner(matcher, MARKERS, cache_dir=catalogue.cache_dir)
    read: list[ReadSource] = []
    for source in sources:
        try:
            read.append(_read_source(source, scanner, len(read), progress))
        except OSError as error:
            unread.append(Unread(source.path, error.strerror or str(error)))
    if not read:
        reasons = "; ".join(f"{item.path}: {item.reason}" for item in unread[:5]) or "there is nothing in it"
        raise FirstfaultError(
            f"Nothing could be read ({reasons}).", "Name a log file, a directory with logs, or pipe a log in."
        )
    run = Run(read, unread, matcher, catalogue)
    small = sum(item.scan.lines for item in read) <= WHOLE_LINES
    budget = WHOLE_LINES if small else max(MIN_RECORDS, TOTAL_RECORDS // len(read))
    for item in run.sources:
        item.records = _decode(item, budget)
    return run


class _Bounded:
    """A file up to the size it had when it was found, so that one that grows has an end."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream = stream
        self._left = size

    def readinto(self, buffer: memoryview, /) -> int:
        if self._left <= 0:
            return 0
        done = self._stream.readinto(memoryview(buffer)[: min(len(buffer), self._left)]) or 0
        self._left -= done
        return done


_ROTATED = re.compile(r"^(?P<base>.*?)\.(?P<number>\d{1,3})(?P<packed>\.(?:gz|bz2|xz|zst))?$")


def _rotation(source: Source) -> tuple[str, int]:
    """Rotated logs in the order they were written: job.log.2, job.log.1, job.log; the others as they came."""
    found = _ROTATED.match(source.path)
    return (found.group("base"), -int(found.group("number"))) if found else (source.path, 0)


def _read_source(source: Source, scanner: Scanner, index: int, progress: ProgressCallback | None) -> ReadSource:
    callback = None
    if progress is not None:
        report = progress

        def callback(done: int) -> None:
            report(source.path, done, source.size_hint)

    with source.open() as opened:
        whole = source.size_hint if not source.compressed and source.encoding == "utf-8" else None
        stream = opened if whole is None else _Bounded(opened, whole)
        limits = LARGE_LIMITS if (source.size_hint or 0) > LARGE else Limits()
        scan = scanner.scan(stream, source=index, limits=limits, progress=callback)
        problems = list(getattr(opened, "problems", ()))
        encoding = getattr(opened, "encoding", "utf-8")
    if scan.long_lines:
        problems.append(f"{scan.long_lines} over-long lines were cut")
    if scan.nul_bytes:
        problems.append(f"{scan.nul_bytes} NUL bytes were skipped")
    return ReadSource(source.path.encode("utf-8", "replace").decode(), scan, [], encoding, problems)


def _decode(source: ReadSource, budget: int) -> list[Record]:
    scan = source.scan
    if scan.lines <= budget:
        source.whole = True
        return list(scan.windows.records(1, scan.lines + 1))
    interest = {hit.record.number for hit in scan.hits}
    for lines in scan.marker_lines:
        interest.update(lines)
    ranges = [(1, HEAD + 1), (max(1, scan.lines - TAIL), scan.lines + 1)]
    ranges += [(max(1, line - BEFORE), line + AFTER) for line in sorted(interest)]
    records: list[Record] = []
    for start, stop in _fit(_merge(ranges), budget):
        records.extend(scan.windows.records(start, stop))
    return records


def _merge(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged


def _fit(ranges: list[tuple[int, int]], budget: int) -> list[tuple[int, int]]:
    """Keep ranges from both ends of the source until the budget is used."""
    if sum(stop - start for start, stop in ranges) <= budget:
        return ranges
    chosen: list[tuple[int, int]] = []
    left = list(ranges)
    room = budget
    from_front = True
    while left and room > 0:
        start, stop = left.pop(0) if from_front else left.pop()
        size = min(stop - start, room)
        chosen.append((start, start + size))
        room -= size
        from_front = not from_front
    return sorted(chosen)
