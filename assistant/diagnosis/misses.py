"""What stays open: near misses of entries, and excerpts that no entry explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.diagnosis.events import Tier
from assistant.diagnosis.findings import FindingBuilder, entry_ref
from assistant.diagnosis.groups import Group, Ordered
from assistant.diagnosis.reading import Run
from assistant.verdict import Candidate, NearMiss, Unexplained
from corpus.record import Record

if TYPE_CHECKING:
    from assistant.diagnosis.pipeline import Facts
    from index.nearmiss import Near, NearMissIndex

MAX_LINES = 400
"""Lines compared with the signatures when near misses are looked for."""
EXCERPT_LINES = 12
MAX_EXCERPTS = 4


def near_misses(run: Run, facts: Facts, builder: FindingBuilder, limit: int) -> tuple[NearMiss, ...]:
    """Lines that almost carry a signature, and hits whose context was not fulfilled; the nearest first."""
    from index.nearmiss import NearMissIndex  # a verdict that needs no near miss does without its words

    found: list[tuple[float, NearMiss]] = []
    places = _telling_lines(run, facts)
    index = NearMissIndex.of(run.catalogue, but_wrappers=True)
    heads = run.catalogue.heads
    # A line that a failure or a wrapper has is known: the exit code of a worker is not nearly another one's.
    known = {(hit.source, hit.record.number) for hit in facts.resolution.hits if heads[hit.entry].kind != "class"}
    harmless = {(event.source, event.line) for event in facts.events if event.harmless}
    passed = harmless | known
    for near in index.search([record.text for _, record in places], limit=limit * 2):
        source, record = places[near.position]
        if (source, record.number) in passed:
            continue
        if any(hit.entry == near.entry for hit in facts.resolution.hits):
            continue
        found.append((near.score, _from_near(run, builder, near, source, record)))
    unmet = [item for item in facts.resolution.unmet if (item.source, item.record.number) not in harmless]
    for item in unmet[:limit]:
        head = run.catalogue.heads[item.entry]
        line = builder.line(item.source, item.record)
        found.append((1.0, NearMiss(entry=entry_ref(head), line=line, signature=item.signature, reason=item.reason)))
    found.sort(key=lambda pair: (-pair[0], pair[1].line.source, pair[1].line.line, pair[1].entry.id))
    return tuple(miss for _, miss in found[:limit])


def _from_near(run: Run, builder: FindingBuilder, near: Near, source: int, record: Record) -> NearMiss:
    return NearMiss(
        entry=entry_ref(run.catalogue.heads[near.entry]),
        line=builder.line(source, record),
        signature=near.signature,
        reason=near.reason,
    )


def _telling_lines(run: Run, facts: Facts) -> list[tuple[int, Record]]:
    """Lines of error blocks first; then, in small inputs, every distinct line."""
    chosen: list[tuple[int, Record]] = []
    # A loss line differs from one that is nan in exactly the word that matters: healthy, not nearly a fault.
    steps = {(mark.source, mark.line) for mark in facts.progress.marks}
    for source, episodes in enumerate(facts.episodes):
        for episode in episodes[:80]:
            chosen += [(source, record) for record in episode.lines[-6:]]
    if len(chosen) < MAX_LINES:
        for source, records in enumerate(run.records):
            chosen += [(source, record) for record in (*records[:80], *records[-160:])]
    seen: set[tuple[int, int]] = set()
    unique = []
    for source, record in chosen:
        if record.message and (source, record.number) not in seen and (source, record.number) not in steps:
            seen.add((source, record.number))
            unique.append((source, record))
    return unique[:MAX_LINES]


def unexplained(run: Run, ordered: Ordered, builder: FindingBuilder) -> tuple[Unexplained, ...]:
    """Excerpts of the observed episodes, with the entries whose wording is nearest."""
    groups = [ordered.initiating] if ordered.initiating is not None else []
    # Error lines below a known first fault are its noise; an exception of its own is not.
    followers = [group for group in ordered.downstream if not groups or group.tier < Tier.ERROR_LINE]
    groups += [*ordered.independent, *followers]
    observed = [group for group in groups if _is_open(group)][:MAX_EXCERPTS]
    if not observed:
        return ()
    from index.nearmiss import NearMissIndex

    index = NearMissIndex.of(run.catalogue)
    return tuple(_excerpt(run, group, builder, index) for group in observed)


def _is_open(group: Group) -> bool:
    """Whether no entry knows the message itself; a broad class only knows its shape."""
    return (group.head is None or group.head.broad) and group.first.episode is not None


def _excerpt(run: Run, group: Group, builder: FindingBuilder, index: NearMissIndex) -> Unexplained:
    event = group.first
    assert event.episode is not None
    lines = event.episode.lines
    if len(lines) > EXCERPT_LINES:
        lines = [*lines[:2], *lines[-(EXCERPT_LINES - 2) :]]
    if event.record not in lines:
        lines = [*lines[: EXCERPT_LINES - 1], event.record]
    unique = list({record.number: record for record in lines}.values())
    candidates = []
    for rank, near in enumerate(index.search([record.text for record in unique], limit=3), start=1):
        candidates.append(
            Candidate(
                entry=entry_ref(run.catalogue.heads[near.entry]),
                score=near.score,
                channels={"literal": rank},
                matched=near.matched[:12],
                missing=(near.expected,),
                reason=near.reason,
            )
        )
    excerpt = tuple(builder.line(event.source, record) for record in unique)
    return Unexplained(excerpt=excerpt, candidates=tuple(candidates))
