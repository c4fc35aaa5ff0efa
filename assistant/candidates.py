"""Candidates for what literals did not decide: retrieval proposes entries, verification says what each lacks.

A diagnosis stands without any of this. Where it leaves an excerpt unexplained
and an index lies ready, the excerpt is asked for, and every entry found is
tried on its lines. A candidate is a place to look, never a verdict: even one
whose signature stands there is only said to have it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from assistant.verdict import Candidate, Diagnosis, Line, Unexplained

if TYPE_CHECKING:
    from assistant.diagnosis.pipeline import Outcome
    from assistant.diagnosis.reading import Run
    from corpus.catalogue import Catalogue
    from corpus.head import Head
    from corpus.record import Record
    from index.retriever import Result, Retriever
    from index.verify import Near, Verified

Semantic = Literal["auto", "always", "never"]
Opener = Callable[["Catalogue"], "Retriever | None"]
"""Gives the retriever; None where there is no index, and none is to be built."""
PROPOSED: Final = 20
"""Entries that are tried on the lines; the right one is among them in 98 of 100 logs."""
SHOWN: Final = 5
"""Candidates of one excerpt."""
NEAR_ENOUGH: Final = 0.45
"""Cosine below which an entry of which no wording stands there is no candidate."""
END: Final = 200
"""Lines at the end of a log that just ends which are looked at,"""
TAIL: Final = 12
"""and those of them that are asked for."""
_DECIDED: Final = frozenset({"identified", "degraded", "healthy"})
_MATCHED: Final = 12
_WORD: Final = re.compile(r"[A-Za-z]\w{2,}")


def with_candidates(outcome: Outcome, semantic: Semantic, opener: Opener) -> Diagnosis:
    """The diagnosis with candidates by meaning; as it was where literals decided or there is no index.

    In `auto` only excerpts that nothing explains are looked at. With `always`
    the line of a class of errors, a lone symptom, and the end of a log that
    just ends are as well.
    """
    diagnosis = outcome.diagnosis
    if semantic == "never" or diagnosis.status in _DECIDED:
        return diagnosis
    open_ = list(diagnosis.unexplained)
    if semantic == "always":
        open_ += _undecided(outcome)
    if not open_:
        return diagnosis
    started = time.perf_counter()
    retriever = opener(outcome.run.catalogue)
    if retriever is None:
        return diagnosis
    found = tuple(_with_those_found(item, outcome.run, retriever) for item in open_)
    kept = tuple(item for number, item in enumerate(found) if item.candidates or number < len(diagnosis.unexplained))
    spent = round((time.perf_counter() - started) * 1000, 1)
    timings = {**diagnosis.timings_ms, "retrieve": spent}
    if "total" in timings:
        timings["total"] = round(timings["total"] + spent, 1)
    return diagnosis.model_copy(update={"unexplained": kept, "timings_ms": timings})


def _undecided(outcome: Outcome) -> list[Unexplained]:
    """What a verdict that names no cause rests on, where no excerpt says it already."""
    diagnosis = outcome.diagnosis
    if diagnosis.unexplained:
        return []
    if diagnosis.findings:
        lines: dict[tuple[str, int], Line] = {}
        for finding in diagnosis.findings[:3]:
            for line in finding.evidence[:2]:
                fields = {name: getattr(line, name) for name in Line.model_fields}
                lines.setdefault((line.source, line.line), Line(**fields))
        return [Unexplained(excerpt=tuple(lines.values()))]
    return _ends(outcome.run) if diagnosis.status == "inconclusive" else []


def _ends(run: Run) -> list[Unexplained]:
    """The last lines of a log without a fault that speak of something wrong; calm lines are near to nothing."""
    from index.query import is_telling

    number = max(range(len(run.sources)), key=lambda position: run.sources[position].scan.lines)
    source = run.sources[number]
    excerpt = tuple(
        Line(
            source=source.path, line=record.number, text=run.raw_line(number, record.number) or record.raw,
            rank=record.rank, host=record.host,
        )
        for record in [record for record in source.records[-END:] if is_telling(record)][-TAIL:]
    )  # fmt: skip
    return [Unexplained(excerpt=excerpt)] if excerpt else []


def _with_those_found(item: Unexplained, run: Run, retriever: Retriever) -> Unexplained:
    """An excerpt with its nearest entries: those with wording there first, then by rank."""
    records = records_of(item.excerpt, run)
    if not records:
        return item
    text = "\n".join(record.text for lines in records.values() for record in lines)
    return item.model_copy(update={"candidates": propose(text, records, retriever, item.candidates)})


def records_of(lines: Sequence[Line], run: Run) -> dict[int, list[Record]]:
    """The records of these lines, by the number of their source."""
    wanted: dict[str, set[int]] = {}
    for line in lines:
        wanted.setdefault(line.source, set()).add(line.line)
    return {
        number: [record for record in source.records if record.number in wanted[source.path]]
        for number, source in enumerate(run.sources)
        if source.path in wanted
    }


def propose(
    text: str, records: dict[int, list[Record]], retriever: Retriever, known: Iterable[Candidate] = ()
) -> tuple[Candidate, ...]:
    """The entries nearest to an excerpt, each with what of it stands there and what does not."""
    from index.verify import Verified, verify_candidates

    catalogue = retriever.catalogue
    found_by_meaning = retriever.search(text, k=PROPOSED, dense="always")
    # The shape of a message was asked for before; that of another one is no place to look.
    results = {result.entry: result for result in found_by_meaning if not catalogue.heads[result.entry].broad}
    literal = {candidate.entry.id: candidate for candidate in known}
    entries = [*results, *(entry for entry in literal if entry not in results)]
    tried: dict[str, Verified | Near] = {}
    for found in verify_candidates(records, entries, catalogue):
        tried.setdefault(found.entry, found)
    ranked = []
    for place, entry in enumerate(entries):
        item, result = tried.get(entry), results.get(entry)
        if item is None and (result is None or (result.similarity or 0.0) < NEAR_ENOUGH):
            if entry in literal and result is None:
                ranked.append((1, place, literal[entry]))
            continue
        candidate = _candidate(catalogue.heads[entry], item, result, literal.get(entry), text)
        ranked.append((0 if isinstance(item, Verified) else 1, place, candidate))
    ranked.sort(key=lambda row: row[:2])
    return tuple(candidate for _, _, candidate in ranked[:SHOWN])


def _candidate(
    head: Head, item: Verified | Near | None, result: Result | None, literal: Candidate | None, text: str
) -> Candidate:
    from assistant.diagnosis.findings import entry_ref
    from index.verify import Verified

    channels = dict(literal.channels) if literal is not None else {}
    channels |= result.channels if result is not None else {}
    score = result.score if result is not None else literal.score if literal is not None else 0.0
    matched: tuple[str, ...]
    missing: tuple[str, ...] = ()
    if isinstance(item, Verified):
        matched, reason = (_text_of(head, item.signature),), _stands(item)
    elif item is not None:
        matched, missing, reason = item.matched[:_MATCHED], (item.expected,) if item.expected else (), item.reason
    else:
        expected, matched = _nearest_text(head, text)
        missing = (expected,) if expected else ()
        near = f" ({result.passage.kind}: {_short(result.passage.text)})" if result is not None else ""
        reason = f"near in meaning only{near}"
    return Candidate(
        entry=entry_ref(head), score=score, channels=channels, matched=matched, missing=missing, reason=reason
    )


def _stands(item: Verified) -> str:
    if item.tier == "candidate":
        return f"its wording stands in line {item.record.number}, but is too short or general to prove it"
    if item.joined > 1:
        return f"its wording stands there, wrapped over {item.joined} lines from line {item.record.number}"
    return f"its wording stands in line {item.record.number}, but the whole log does not bear it out"


def _text_of(head: Head, signature: str) -> str:
    return next((" / ".join(item.texts) for item in head.signatures if item.name == signature), signature)


def _nearest_text(head: Head, text: str) -> tuple[str, tuple[str, ...]]:
    """The wording of an entry that shares most words with an excerpt, and those words."""
    from corpus.signature import parse

    here = {word.lower() for word in _WORD.findall(text)}
    best: tuple[float, str, tuple[str, ...]] = (-1.0, "", ())
    for item in head.signatures:
        wording = "".join("..." if part.kind else part.literal for part in parse(item.texts[0])[0])
        words = list(dict.fromkeys(_WORD.findall(wording)))
        shared = tuple(word for word in words if word.lower() in here)
        share = len(shared) / max(1, len(words))
        if share > best[0]:
            best = (share, wording, shared)
    return _short(best[1]), best[2][:_MATCHED]


def _short(text: str, most: int = 90) -> str:
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} ..."
