"""Reading a run: every source scanned once, the parts that matter decoded.

What is decoded is bounded: the neighbourhood of hits and markers, the head and
the tail of each source; small inputs are decoded whole. Everything that could
not be read is named and the rest is diagnosed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import BinaryIO

from assistant.console import counted
from assistant.diagnosis.unfolding import unfold_source
from assistant.logs.flightrecorder import MAX_BYTES, Dump, read_dump
from assistant.logs.markers import ERROR_MARKERS, MARKERS
from assistant.logs.sources import Source, Unread, expand_noting
from corpus.catalogue import Catalogue
from corpus.errors import FirstfaultError
from corpus.match import AtomHit, Matcher
from corpus.record import Record
from index.blocks import KIB, MIB, Readable
from index.scanner import Limits, Scanner, SourceScan

WHOLE_LINES = 6_000
"""A run of at most so many lines is decoded whole."""
MIN_RECORDS = 40
"""Records decoded of a source at least, unless there are very many sources."""
TOTAL_RECORDS = 3_000
"""Records decoded over all sources that are not decoded whole; shared out evenly when there are many."""
MANY = 512
"""Sources up to which each has that share and keeps what it would keep alone."""
FEWEST_RECORDS = 16
"""Records decoded of one of more sources than that, unless it holds what few others do."""
LARGE = 64 * MIB
"""Bytes from which on a source keeps less around its hits: what is decoded is bounded anyway."""
LARGE_LIMITS = Limits(block=MIB, keep=16, keep_last=16, before=20, after=45, head=100, tail=300)
MANY_LIMITS = Limits(before=8, after=12, head=24, tail=40, whole=16 * KIB, memory=MIB)
"""What is kept of one of very many sources."""
RARE = 8
"""A text that stands so few times in a source is decoded first: what decides is seldom what repeats."""
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
    notes: list[str] = field(default_factory=list)
    """How it was read, where that is not obvious; nothing is missing."""
    whole: bool = False
    """True when every line was decoded."""
    dump: Dump | None = None
    """What a flight recorder wrote; such a source has no lines."""


@dataclass
class Run:
    """All sources of one diagnosis."""

    sources: list[ReadSource]
    unread: list[Unread]
    matcher: Matcher
    catalogue: Catalogue
    notes: list[str] = field(default_factory=list)
    """What was passed over in the directories and archives that were given."""

    @cached_property
    def paths(self) -> list[str]:
        """Names of the sources as they are shown."""
        return [source.path for source in self.sources]

    @property
    def records(self) -> list[list[Record]]:
        """Decoded records of each source."""
        return [source.records for source in self.sources]

    def timed_records(self) -> list[list[Record]]:
        """Decoded records and those of hits outside of what was decoded, by line: whatever may carry a time."""
        timed = []
        for source in self.sources:
            known = {record.number for record in source.records}
            others = {hit.record.number: hit.record for hit in source.scan.hits if hit.record.number not in known}
            both = [*source.records, *others.values()]
            timed.append(sorted(both, key=lambda record: record.number) if others else source.records)
        return timed

    @property
    def dumps(self) -> list[tuple[int, Dump]]:
        """Flight-recorder dumps with the index of their source."""
        return [(index, source.dump) for index, source in enumerate(self.sources) if source.dump is not None]

    def around(self, source: int, first: int, last: int) -> list[Record]:
        """The decoded records of a source from one line to another, both included."""
        records = self.sources[source].records
        start = bisect_left(records, first, key=lambda record: record.number)
        return records[start : bisect_right(records, last, key=lambda record: record.number)]

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
    sources, unread, notes = expand_noting(paths, stdin)
    sources.sort(key=_rotation)
    matcher = Matcher.of(catalogue)
    scanner = Scanner(matcher, MARKERS, cache_dir=catalogue.cache_dir)
    read: list[ReadSource] = []
    many = MANY_LIMITS if len(sources) > MANY else None
    for source in sources:
        try:
            if source.is_dump:
                read.append(_read_dump(source, scanner, len(read), progress))
            else:
                limits = many or (LARGE_LIMITS if (source.size_hint or 0) > LARGE else Limits())
                read.append(_read_source(source, scanner, len(read), limits, progress))
        except OSError as error:
            unread.append(Unread(source.path, error.strerror or str(error)))
    if not read:
        reasons = "; ".join(f"{item.path}: {item.reason}" for item in unread[:5]) or "there is nothing in it"
        raise FirstfaultError(
            f"Nothing could be read ({reasons}).", "Name a log file, a directory with logs, or pipe a log in."
        )
    run = Run(read, unread, matcher, catalogue, notes)
    for index, (item, budget) in enumerate(zip(read, _budgets(read), strict=True)):
        item.records = _decode(item, budget)
        if item.whole:
            unfold_source(item, scanner, matcher, index)
    return run


def _budgets(read: Sequence[ReadSource]) -> list[int]:
    """How many records of each source are decoded."""
    if sum(item.scan.lines for item in read) <= WHOLE_LINES:
        return [WHOLE_LINES] * len(read)
    if len(read) <= MANY:
        return [max(MIN_RECORDS, TOTAL_RECORDS // len(read))] * len(read)
    # Most of thousands of ranks tell the same; the one that tells something else is read as ever.
    held = [
        [*item.scan.tallies, *(-1 - marker for marker, lines in enumerate(_trouble(item.scan)) if lines)]
        for item in read
    ]
    holders = Counter(text for texts in held for text in texts)
    return [MIN_RECORDS if any(holders[text] <= RARE for text in texts) else FEWEST_RECORDS for texts in held]


def _trouble(scan: SourceScan) -> list[list[int]]:
    """The first and last lines of each marker of trouble: an error that no entry covers has no other text."""
    return scan.marker_lines[: len(ERROR_MARKERS)]


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


def _read_source(
    source: Source, scanner: Scanner, index: int, limits: Limits, progress: ProgressCallback | None
) -> ReadSource:
    callback = None
    if progress is not None:
        report = progress

        def callback(done: int) -> None:
            report(source.path, done, source.size_hint)

    with source.open() as opened:
        whole = source.size_hint if not source.compressed and source.encoding == "utf-8" else None
        stream = opened if whole is None else _Bounded(opened, whole)
        scan = scanner.scan(stream, source=index, limits=limits, progress=callback)
        problems = list(getattr(opened, "problems", ()))
        encoding = getattr(opened, "encoding", "utf-8")
    if scan.long_lines:
        problems.append(f"{counted(scan.long_lines, 'over-long line was', 'over-long lines were')} cut")
    if scan.nul_bytes:
        problems.append(f"{counted(scan.nul_bytes, 'NUL byte was', 'NUL bytes were')} skipped")
    return ReadSource(source.path.encode("utf-8", "replace").decode(), scan, [], encoding, problems)


def _read_dump(source: Source, scanner: Scanner, index: int, progress: ProgressCallback | None) -> ReadSource:
    """A flight-recorder dump as a source without lines; what is wrong with it becomes a problem of the source."""
    with source.open() as opened:
        data = _all_of(opened, MAX_BYTES + 1)
        problems = list(opened.problems)
    if progress is not None:
        progress(source.path, len(data), source.size_hint)
    nothing = scanner.scan(_Bounded(_Nothing(), 0), source=index)
    dump = None
    try:
        dump = read_dump(data, source.path)
    except ValueError as error:
        problems.append(f"this flight-recorder dump {error}")
    path = source.path.encode("utf-8", "replace").decode()
    return ReadSource(path, replace(nothing, bytes=len(data)), [], source.encoding, problems, whole=True, dump=dump)


def _all_of(stream: Readable, most: int) -> bytes:
    data = bytearray(min(most, 1 << 20))
    done = 0
    while done < most:
        if done == len(data):
            data.extend(bytes(min(len(data), most - done)))
        view = memoryview(data)[done:]
        count = stream.readinto(view) or 0
        view.release()
        if not count:
            break
        done += count
    return bytes(data[:done])


class _Nothing:
    """A stream without content."""

    def readinto(self, buffer: memoryview, /) -> int:
        return 0


def _decode(source: ReadSource, budget: int) -> list[Record]:
    scan = source.scan
    if scan.lines <= budget:
        source.whole = True
        return list(scan.windows.records(1, scan.lines + 1))
    interest = {hit.record.number for hit in scan.hits}
    for lines in scan.marker_lines:
        interest.update(lines)
    rare = {hit.record.number for hit in scan.hits if scan.tallies[hit.atom].count <= RARE}
    rare.update(line for lines in _trouble(scan) if len(lines) <= RARE for line in lines)
    first = _fit(_around(rare), budget // 2)
    room = budget - sum(stop - start for start, stop in first)
    head, tail = min(HEAD, room // 3), min(TAIL, room // 2)
    ends = [(1, head + 1), (max(1, scan.lines - tail), scan.lines + 1)]
    rest = _without(_merge([*ends, *_around(interest)]), first)
    records: list[Record] = []
    for start, stop in sorted([*first, *_fit(rest, room)]):
        records.extend(scan.windows.records(start, stop))
    return records


def _around(lines: Iterable[int]) -> list[tuple[int, int]]:
    return _merge([(max(1, line - BEFORE), line + AFTER) for line in lines])


def _without(ranges: Sequence[tuple[int, int]], taken: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is left of ranges in ascending order when others in ascending order are cut out."""
    left: list[tuple[int, int]] = []
    for start, stop in ranges:
        for first, last in taken:
            if last <= start or first >= stop:
                continue
            if first > start:
                left.append((start, first))
            start = max(start, last)
        if start < stop:
            left.append((start, stop))
    return left


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
