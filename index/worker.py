"""One thread's part of the scan: runs the engine over the blocks, and settles each of them.

The callback of the engine only notes where a literal ended. After each block
the hits are looked up (`index.lookup`), and counts, kept lines and windows are
brought up to date.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress, pairwise
from math import log
from pathlib import Path

import hyperscan

from corpus.atoms import literals_key
from corpus.match import AtomHit, Matcher
from corpus.record import Record, read_records
from index.blocks import KIB, MIB, Block, BlockReader, Limits, Readable
from index.database import compile_literals
from index.lines import LineKeeper, LineStore
from index.lookup import Lookup
from index.shapes import LONGEST_LINE
from index.tallies import Track, line_at, raw_start

OnMatch = Callable[[int, int, int, int, object], None]

EARLY_WINDOWS = 4
"""First hits of a text whose neighbourhood is kept while there is room."""
CUT_AFTER = 16 * MIB
"""Bytes read until literals are cut where their ends are rare."""
SAMPLE = 64 * KIB
"""Bytes of the present block by which that is judged."""
OFTEN = 3
"""Times that a cut literal stands in that sample for it to be left whole."""
SHORTEST_CUT = 8
"""Bytes that are left of a literal at least: as many as the engine hashes."""
CALM = 256
"""Hits in a block up to which it is calm. Literals are cut for storms by themselves; and after more hits than this that
the rest of a literal refutes in a block, they are cut anew."""
LET_GO = 16 * MIB
"""Bytes after which the blocks are let go that texts hold for their last lines; at most twice as much is held."""
KEPT = 16 * MIB
"""Freed memory that is kept for the next block instead of being given back and faulted in again."""


def _keep_freed_memory() -> None:
    """Let glibc reuse the memory of blocks: once a chunk of this size was freed, it stops mapping smaller ones anew."""
    bytes(KEPT)


class Engine:
    """Literals compiled for Hyperscan, by their numbers; empty ones are left out."""

    def __init__(
        self,
        literals: Sequence[bytes],
        extra: Sequence[bytes] = (),
        rests: Sequence[int] = (),
        *,
        key: str = "",
        cache_dir: Path | None = None,
    ) -> None:
        """Compile the literals, and extra ones that are numbered after them.

        Of each the last bytes are left out, as many as `rests` says. What is
        compiled is kept in `cache_dir` if there is a `key` that tells the literals
        from others; then they are not looked at when it lies there.
        """
        self._given = literals, extra
        self.size = len(literals) + len(extra)
        self.rests = (
            [literal[len(literal) - rest :] for literal, rest in zip(self.literals, rests, strict=True)]
            if rests
            else []
        )
        """What has to follow after the end that the engine tells; empty when every literal is whole."""
        key = literals_key([key.encode(), *extra])[:24] if key else ""
        self.database = compile_literals(self._cut, cache_dir, key)

    @cached_property
    def literals(self) -> list[bytes]:
        """All literals, the extra ones last."""
        literals, extra = self._given
        return [*literals, *extra]

    def _cut(self) -> dict[int, bytes]:
        if not self.rests:
            return {number: literal for number, literal in enumerate(self.literals) if literal}
        return {
            number: literal.removesuffix(rest)
            for number, (literal, rest) in enumerate(zip(self.literals, self.rests, strict=True))
            if literal
        }

    def cut_for(self, sample: bytes) -> Engine:
        """The same literals, cut where the sample seldom has what they then end with.

        The engine hashes the ends of literals. In a large log the pairs of
        characters that are common in just this log cost a third of its time.
        """
        counts = Counter(pairwise(sample))
        weights = {pair: log(count + 1) for pair, count in counts.items()}
        rests = [_rest(literal, weights) for literal in self.literals]
        for number, (literal, rest) in enumerate(zip(self.literals, rests, strict=True)):
            # What is found often would cost a comparison each time, and so would what is found in vain.
            if rest and sample.count(literal[:-rest]) >= OFTEN:
                rests[number] = 0
        return Engine(self.literals, rests=rests)


def _rest(literal: bytes, weights: dict[tuple[int, int], float]) -> int:
    if len(literal) <= SHORTEST_CUT:
        return 0
    costs = [weights.get(pair, 0.0) for pair in pairwise(literal)]
    ends = range(len(literal), SHORTEST_CUT - 1, -1)
    return len(literal) - min(ends, key=lambda end: costs[end - 2] + costs[end - 3] + costs[end - 4])


@dataclass(slots=True)
class Cut:
    """The literals cut for one kind of blocks, once that kind is known."""

    engine: Engine | None = None
    scratch: hyperscan.Scratch | None = None
    whole_bytes: int = 0
    """Bytes scanned for whole literals since they were last cut."""
    after: int = field(default_factory=lambda: CUT_AFTER)


class Worker:
    """Scratch space, buffer and the shapes met so far; one a thread."""

    def __init__(self, engine: Engine, matcher: Matcher, extra: Sequence[bytes]) -> None:
        """Take the literals of the matcher, and extra ones that are only counted; those are texts -1, -2 ..."""
        self._engine = engine
        self._scratch = hyperscan.Scratch(engine.database)
        self._cuts = {True: Cut(), False: Cut()}
        """The literals cut for calm blocks, and for those in a storm."""
        self._rests: Sequence[bytes] = ()
        """What has to follow the literals of the present block."""
        self._matcher = matcher
        self._buffer = bytearray()
        _keep_freed_memory()
        self._lookup = Lookup(matcher)
        self._ends: defaultdict[int, list[int]] = defaultdict(list)
        """Where the literals that stand in the present block end."""
        self._start(Limits(), 0, is_frugal=False)
        self._on_match = self._make_callback()
        self._many: list[list[int]] = []
        """The same for every literal, empty or not; used in storms."""
        self._on_many: OnMatch | None = None

    @property
    def tracks(self) -> dict[int, Track]:
        """The texts that were found, and the extra literals."""
        return self._lookup.tracks

    def _start(self, limits: Limits, source: int, *, is_frugal: bool) -> None:
        self._lookup.start(limits)
        self._clear_ends()
        self._source = source
        self._limits = limits
        self._is_calm = True
        self._block = Block(b"\n", 1, starts_line=True, ends_line=True)
        self._keeper = LineKeeper(limits, is_frugal=is_frugal)
        self._wanted: dict[int, set[int]] = {}
        self._lines: dict[int, bytes] = {}
        self._parsed: dict[int, list[Record]] = {}

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
        let_go_at, fresh = LET_GO, 0
        for block in reader:
            if reader.bytes >= let_go_at:
                for track in self.tracks.values():
                    track.late.let_go(fresh)
                let_go_at, fresh = reader.bytes + LET_GO, block.first
            self._block = block
            self._lookup.begin(block, self._ends.keys())
            self._scan(block)
            self._settle_block()
            if progress is not None:
                progress(reader.bytes)
        return reader

    def _scan(self, block: Block) -> None:
        """Find the literals; once much was read, by what is rare in such blocks."""
        cut = self._cut = self._cuts[self._is_calm]
        if cut.engine is None:
            cut.whole_bytes += len(block.text)
            if cut.whole_bytes > cut.after:
                cut.whole_bytes = 0
                cut.after *= 2
                cut.engine = self._engine.cut_for(block.text[-SAMPLE:])
                cut.scratch = hyperscan.Scratch(cut.engine.database)
        engine = cut.engine or self._engine
        scratch = cut.scratch if cut.engine is not None else self._scratch
        self._rests = engine.rests
        if self._is_calm:
            engine.database.scan(block.text, self._on_match, scratch=scratch)
        else:
            self._on_many = self._on_many or self._make_storm_callback()
            engine.database.scan(block.text, self._on_many, scratch=scratch)
            for literal in compress(range(len(self._many)), self._many):
                self._ends[literal] = self._many[literal]
        self._is_calm = sum(map(len, self._ends.values())) <= CALM

    def _make_callback(self) -> OnMatch:
        ends_of = self._ends

        # A truthy return would end the scan.
        def on_match(literal: int, _start: int, end: int, _flags: int, _context: object) -> None:
            ends_of[literal].append(end)

        return on_match

    def _make_storm_callback(self) -> OnMatch:
        self._many = [[] for _ in range(self._engine.size)]
        appends = [ends.append for ends in self._many]

        # Called three million times a GiB, and a third faster than the other, but all lists have to be looked through.
        def on_match(literal: int, _start: int, end: int, _flags: int, _context: object) -> None:
            appends[literal](end)

        return on_match

    # ---- the end of a block, and of the source

    def _settle_block(self) -> None:
        """Bring counts, kept lines and windows up to date with the hits of the block."""
        block = self._block
        found: list[tuple[int, Track, list[int], list[int]]] = []
        early: set[int] = set()
        late: set[int] = set()
        for atom, places in self._places_by_text().items():
            track = self._lookup.track(atom)
            if track.count_only(block, places):
                continue
            chosen = track.choose(places)
            found.append((atom, track, places, chosen))
            early.update(places[: max(0, EARLY_WINDOWS - track.tally.count)], track.ranked)
            if self._keeper.has_time:
                late.update(chosen, places[-1:])
        for atom, track, places, chosen in found:
            track.update(block, places, chosen)
            if atom >= 0:
                for place in chosen:
                    self._keep(atom, place)
        self._keeper.add(block, self._starts(early), self._starts(late - early))

    def _places_by_text(self) -> dict[int, list[int]]:
        """Where the lines start on which each text stands."""
        places_of: dict[int, list[int]] = {}
        text = self._block.text
        false = 0
        for literal, ends in self._ends.items():
            rest = self._rests[literal] if self._rests else b""
            if rest:
                found = len(ends)
                ends[:] = [end + len(rest) for end in ends if text.startswith(rest, end)]
                false += found - len(ends)
                if not ends:
                    continue
            ends.sort()
            extra = literal - len(self._matcher.literals)
            if extra < 0:
                self._lookup.look_up(literal, ends)
            else:
                places_of[-1 - extra] = self._marked_places(-1 - extra, ends)
        self._clear_ends()
        if false > CALM:
            # The log has changed, and what was rare in it is no longer: learn it again, but ever less often.
            self._cut.engine = None
        for group in self._lookup.touched:
            for atom in group.atoms:
                known = places_of.get(atom)
                places_of[atom] = group.places if known is None else sorted({*known, *group.places})
        return places_of

    def _clear_ends(self) -> None:
        for ends in self._ends.values():
            ends.clear()
        self._ends.clear()

    def _marked_places(self, atom: int, ends: list[int]) -> list[int]:
        """Where the lines with an extra literal start; once its first lines are kept, only the last of them."""
        rfind = self._block.text.rfind
        wanted = self._limits.keep_last
        size = wanted if self._lookup.track(atom).room == 0 else len(ends)
        while True:
            places = list(dict.fromkeys([rfind(b"\n", 0, end) for end in ends[-size:]]))
            if len(places) >= wanted or size >= len(ends):
                return places
            size *= 4  # several on a line

    def _starts(self, places: set[int]) -> list[tuple[int, int]]:
        block = self._block
        return [(block.number_at(place), raw_start(block, place)) for place in sorted(places)]

    def _keep(self, atom: int, place: int) -> None:
        number = self._block.number_at(place)
        if number not in self._lines:
            self._lines[number] = line_at(self._block, place)
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
            records = read_records(line, number)
            if len(line) < LONGEST_LINE:  # of longer ones a part may have been read
                self._parsed[number] = records
            for record in records:
                found += self._matcher.verify(sorted(self._wanted[number]), record, self._source)
        return found

    def store(self) -> LineStore:
        """The lines kept of the source."""
        store = self._keeper.finish()
        store.remember(self._parsed)
        return store
