"""Verification: which of the proposed entries the records really carry, and how near the others come.

Retrieval proposes, this decides. All signatures of the candidates are tried,
those of tier `candidate` included, in the context they ask for; a line that a
terminal, a container runtime or a paste wrapped is put together again. For
every signature of tier `scan` the answer is that of the scan: the others are
matched apart from them and never hide one of their hits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from corpus.catalogue import Catalogue
from corpus.head import Head
from corpus.match import AtomHit, Matcher, Resolution
from corpus.record import Record
from corpus.signature import Capture
from corpus.wording import BuiltWording
from index.nearmiss import NearMissIndex

MAX_JOINED = 3
"""Lines that may make up one wrapped message."""
WRAPPED_FROM = 40
"""Shorter lines end where their message ends; nobody wraps below this many characters."""
NEAR_LINES = 400
"""Distinct lines compared with the signatures word by word."""

_TAG = re.compile(r"[A-Za-z][\w.\-]{1,40}(?:\[\d+\])?: ")
"""`srun: `, `slurmstepd: `, `RuntimeError: `: what begins a message, never what goes on with one."""

Records = Sequence[Record] | Mapping[int, Sequence[Record]]
"""The records of one source in order, or of several by their number."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A signature of a candidate, found with all it asks for."""

    entry: str
    signature: str
    tier: str
    """`scan` or `candidate`."""
    source: int
    record: Record
    captures: dict[str, Capture]
    joined: int = 1
    """Lines that were put together for it; 1 for a line as it stands."""

    @property
    def redacted(self) -> tuple[str, ...]:
        """Names of the values that somebody blacked out in the log."""
        return tuple(sorted(name for name, capture in self.captures.items() if capture.redacted))


@dataclass(frozen=True, slots=True)
class Near:
    """A candidate that is not there, and how near its nearest signature comes."""

    entry: str
    signature: str
    source: int
    record: Record
    reason: str
    """The context that is missing, or the first words that differ."""
    score: float
    """Share of the signature that is there, 0 to 1; 1 when only the context is missing."""
    matched: tuple[str, ...] = ()
    expected: str = ""
    found: str = ""


def verify_candidates(
    records: Records,
    entries: Iterable[str],
    catalogue: Catalogue,
    *,
    counts: Mapping[str, int] | None = None,
    progress: Mapping[int, Sequence[int]] | None = None,
) -> list[Verified | Near]:
    """Try every signature of the candidates on the records.

    `entries` are ids or aliases, in the order of preference; unknown ids raise
    UnknownEntryError. `counts` gives exact numbers of a signature text where
    only some of its lines are among the records, `progress` the lines of each
    source on which the job made a step (see Matcher.resolve).

    Gives all hits in order of source and line, then at most one Near for each
    candidate without a hit, the nearest first.
    """
    sources = records if isinstance(records, Mapping) else {0: records}
    heads = list({head.id: head for head in (catalogue.resolve(entry) for entry in entries)}.values())
    verified = _hits(sources, heads, catalogue, counts or {}, progress)
    hit = {item.entry for item in verified.hits}
    missing = [head for head in heads if head.id not in hit]
    return [*verified.hits, *_near(sources, missing, verified.unmet)]


@dataclass(frozen=True)
class _Found:
    hits: list[Verified]
    unmet: list[Near]


def _hits(
    sources: Mapping[int, Sequence[Record]],
    heads: Sequence[Head],
    catalogue: Catalogue,
    counts: Mapping[str, int],
    progress: Mapping[int, Sequence[int]] | None,
) -> _Found:
    hits: dict[tuple[str, str, int, int], Verified] = {}
    unmet: list[Near] = []
    for tier in ("scan", "candidate"):
        matcher = Matcher(heads, catalogue.literals, with_candidates=tier == "candidate")
        found, joined = _find(matcher, sources)
        numbers = {atom: number for text, number in counts.items() if (atom := matcher.atom(text)) is not None}
        resolved = matcher.resolve(found, counts=numbers, progress=progress)
        tiers = {(head.id, item.name): item.tier for head in heads for item in head.signatures}
        for hit in resolved.hits:
            if tier == "scan" or tiers[hit.entry, hit.signature] == "candidate":
                lines = joined.get(id(hit.record), 1)
                key = (hit.entry, hit.signature, hit.source, hit.record.number)
                hits.setdefault(
                    key, Verified(hit.entry, hit.signature, tier, hit.source, hit.record, hit.captures, lines)
                )
        if tier == "candidate":
            unmet = _unmet(resolved)
    ordered = sorted(hits.values(), key=lambda hit: (hit.source, hit.record.number, hit.entry, hit.signature))
    return _Found(ordered, unmet)


def _find(matcher: Matcher, sources: Mapping[int, Sequence[Record]]) -> tuple[list[AtomHit], dict[int, int]]:
    """Hits on the records as they stand, then those that only a joined line carries, with its number of lines."""
    found: list[AtomHit] = []
    lines: dict[int, int] = {}
    for source, records in sources.items():
        plain = matcher.scan_records(records, source)
        found += plain
        taken = {(hit.atom, hit.record.number) for hit in plain}
        joins = {id(join.record): join for join in _joins(records)}
        for hit in matcher.scan_records([join.record for join in joins.values()], source):
            join = joins[id(hit.record)]
            inside = any((hit.atom, number) in taken for number in join.numbers)
            if inside or not any(hit.start < border < hit.end for border in join.borders):
                continue
            taken.update((hit.atom, number) for number in join.numbers)
            lines[id(hit.record)] = len(join.numbers)
            found.append(hit)
    return found, lines


@dataclass(frozen=True, slots=True)
class _Join:
    record: Record
    numbers: tuple[int, ...]
    borders: tuple[int, ...]
    """Positions in the text where one line ends and the next begins."""


def _joins(records: Sequence[Record]) -> Iterator[_Join]:
    """Neighbouring lines that may be one message: with a blank between them, and cut within a word."""
    for start in range(len(records)):
        last = records[start]
        texts = [last.text]
        numbers = [last.number]
        for following in records[start + 1 : start + MAX_JOINED]:
            if not _continues(last, following):
                break
            texts.append(following.message)
            numbers.append(following.number)
            last = following
            for glue in (" ", ""):
                borders: list[int] = []
                end = 0
                for text in texts[:-1]:
                    end += len(text.rstrip()) + (len(glue) if borders else 0)
                    borders.append(end)
                whole = glue.join([*(text.rstrip() for text in texts[:-1]), texts[-1]])
                first = records[start]
                yield _Join(replace(first, text=whole), tuple(numbers), tuple(borders))


def _continues(line: Record, following: Record) -> bool:
    """Whether the next line can be the rest of this one: a long line, and no prefix that begins a new message."""
    if len(line.text) < WRAPPED_FROM or not following.message or _TAG.match(following.message):
        return False
    bare = following.time is None and following.level is None and following.program is None
    if bare and following.rank is None and following.pid is None:
        return True
    # Container runtimes cut at 16 KiB and repeat the prefix, time included.
    return following.stream == line.stream and (following.time is None or following.time == line.time)


def _unmet(resolved: Resolution) -> list[Near]:
    return [Near(item.entry, item.signature, item.source, item.record, item.reason, 1.0) for item in resolved.unmet]


def _near(sources: Mapping[int, Sequence[Record]], heads: Sequence[Head], unmet: Sequence[Near]) -> list[Near]:
    """For each of these entries the nearest miss; a missing context before a differing word."""
    wanted = {head.id for head in heads}
    best: dict[str, Near] = {}
    for near in unmet:
        if near.entry in wanted:
            best.setdefault(near.entry, near)
    rest = [head for head in heads if head.id not in best]
    if rest:
        places = _distinct(sources)
        index = NearMissIndex(BuiltWording(rest))
        for miss in index.search([record.text for _, record in places], limit=len(rest)):
            source, record = places[miss.position]
            best[miss.entry] = Near(
                miss.entry, miss.signature, source, record, miss.reason, miss.score, miss.matched, miss.expected, miss.found
            )  # fmt: skip
    return sorted(best.values(), key=lambda near: (-near.score, near.source, near.record.number, near.entry))


def _distinct(sources: Mapping[int, Sequence[Record]]) -> list[tuple[int, Record]]:
    places: dict[str, tuple[int, Record]] = {}
    for source, records in sources.items():
        for record in records:
            if len(places) >= NEAR_LINES:
                break
            places.setdefault(record.message, (source, record))
    return list(places.values())
