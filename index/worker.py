"""One thread's part of the scan: runs the engine over the blocks, and settles each of them.

The callback of the engine only notes where a literal ended. After each block
the hits are looked up (`index.lookup`), and counts, kept lines and windows are
brought up to date.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import hyperscan

from corpus.match import AtomHit, Matcher
from corpus.record import read_records
from index.blocks import MIB, Block, BlockReader, Limits, Readable
from index.lines import LineKeeper, LineStore
from index.lookup import Lookup
from index.tallies import Numbers, Track, line_at, raw_start

OnMatch = Callable[[int, int, int, int, object], None]

EARLY_WINDOWS = 4
"""First hits of a text whose neighbourhood is kept while there is room."""
KEPT = 16 * MIB
"""Freed memory that is kept for the next block instead of being given back and faulted in again."""


def _keep_freed_memory() -> None:
    """Let glibc reuse the memory of blocks: once a chunk of this size was freed, it stops mapping smaller ones anew."""
    bytes(KEPT)


class Worker:
    """Scratch space, buffer and the shapes met so far; one a thread."""

    def __init__(self, database: hyperscan.Database, matcher: Matcher, extra: Sequence[bytes]) -> None:
        """Take the literals of the matcher, and extra ones that are only counted; those are texts -1, -2 ..."""
        self._database = database
        self._scratch = hyperscan.Scratch(database)
        self._matcher = matcher
        self._buffer = bytearray()
        _keep_freed_memory()
        self._lookup = Lookup(matcher)
        self._ends: defaultdict[int, list[int]] = defaultdict(list)
        """Where the literals that stand in the present block end."""
        self._start(Limits(), 0, is_frugal=False)
        self._on_match = self._make_callback()

    @property
    def tracks(self) -> dict[int, Track]:
        """The texts that were found, and the extra literals."""
        return self._lookup.tracks

    def _start(self, limits: Limits, source: int, *, is_frugal: bool) -> None:
        self._lookup.start(limits)
        self._ends.clear()
        self._source = source
        self._block = Block(b"\n", 1, starts_line=True, ends_line=True)
        self._keeper = LineKeeper(limits, is_frugal=is_frugal)
        self._wanted: dict[int, set[int]] = {}
        self._lines: dict[int, bytes] = {}

    def scan(
        self,
        stream: Readable,
        source: int,
        limits: Limits,
        progress: Callable[[int], None] | None,
        *,
        is_frugal: bool,
    ) -> BlockReader:
        """Read a stream to its end; then `tracks`, `hits` and `store` tell what was found."""
        self._start(limits, source, is_frugal=is_frugal)
        if len(self._buffer) != limits.block + 1:
            self._buffer = bytearray(limits.block + 1)
        reader = BlockReader(stream, limits, self._buffer)
        is_open = False
        for block in reader:
            self._block = block
            self._lookup.begin(block)
            self._database.scan(block.text, self._on_match, scratch=self._scratch)
            self._settle_block()
            reader.lines += block.lines
            is_open = not block.ends_line
            if progress is not None:
                progress(reader.bytes)
        reader.lines += is_open
        return reader

    def _make_callback(self) -> OnMatch:
        ends_of = self._ends

        # Called for every hit: three million times a GiB in a storm. A truthy return would end the scan.
        def on_match(literal: int, _start: int, end: int, _flags: int, _context: object) -> None:
            ends_of[literal].append(end)

        return on_match

    # ---- the end of a block, and of the source

    def _settle_block(self) -> None:
        """Bring counts, kept lines and windows up to date with the hits of the block."""
        block = self._block
        found: list[tuple[int, Track, list[int], list[int]]] = []
        asked: set[int] = set()
        early: set[int] = set()
        late: set[int] = set()
        for atom, places in self._places_by_text().items():
            track = self._lookup.track(atom)
            if track.count_only(block, places):
                continue
            chosen = track.choose(places)
            found.append((atom, track, places, chosen))
            early.update(places[: max(0, EARLY_WINDOWS - track.tally.count)], track.ranked)
            asked.update(chosen)
            if track.late.is_sparse(places):
                asked.update(places)
            if self._keeper.has_time:
                late.update(chosen, places[-1:])
        numbers = Numbers(block, asked | early | late)
        block.lines = numbers.lines
        for atom, track, places, chosen in found:
            track.update(block, places, chosen, numbers)
            if atom >= 0:
                for place in chosen:
                    self._keep(atom, place, numbers)
        self._keeper.add(block, self._starts(early, numbers), self._starts(late - early, numbers))

    def _places_by_text(self) -> dict[int, list[int]]:
        """Where the lines start on which each text stands."""
        places_of: dict[int, list[int]] = {}
        rfind = self._block.text.rfind
        for literal, ends in self._ends.items():
            ends.sort()
            extra = literal - len(self._lookup.plans)
            if extra < 0:
                self._lookup.look_up(self._lookup.plans[literal], ends)
            else:
                places_of[-1 - extra] = list(dict.fromkeys([rfind(b"\n", 0, end) for end in ends]))
        self._ends.clear()
        for group in self._lookup.touched:
            for atom in group.atoms:
                known = places_of.get(atom)
                places_of[atom] = group.places if known is None else sorted({*known, *group.places})
        return places_of

    def _starts(self, places: set[int], numbers: Numbers) -> list[tuple[int, int]]:
        block = self._block
        return [(numbers.at(place), raw_start(block, place, numbers)) for place in sorted(places)]

    def _keep(self, atom: int, place: int, numbers: Numbers) -> None:
        number = numbers.at(place)
        if number not in self._lines:
            self._lines[number] = line_at(self._block, place, numbers)
            self._wanted[number] = set()
        self._wanted[number].add(atom)

    def hits(self) -> list[AtomHit]:
        """All kept hits in order of lines."""
        for atom, track in self._lookup.tracks.items():
            if atom >= 0:
                for number, line in track.finish():
                    self._lines.setdefault(number, line)
                    self._wanted.setdefault(number, set()).add(atom)
        found: list[AtomHit] = []
        for number in sorted(self._wanted):
            line = self._lines[number]
            self._keeper.keep_line(number, line)
            for record in read_records(line, number):
                found += self._matcher.verify(sorted(self._wanted[number]), record, self._source)
        return found

    def store(self) -> LineStore:
        """The lines kept of the source."""
        return self._keeper.finish()
