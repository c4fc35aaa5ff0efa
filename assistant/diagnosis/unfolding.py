"""Text that was broken at a fixed width is read as if it had not been.

The proof that it was broken is a signature that stands across a break: no
twelve literal characters do that by chance. Without it nothing is joined.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from assistant.logs.folded import Folding, foldings, unfold
from corpus.match import AtomHit, Matcher
from corpus.record import Record
from index.scanner import Scanner, SourceScan

if TYPE_CHECKING:
    from assistant.diagnosis.reading import ReadSource

MOST_BREAKS: Final = 400
"""Guessed breaks that are tried on one source."""


def unfold_source(source: ReadSource, scanner: Scanner, matcher: Matcher, index: int) -> None:
    """Replace records and hits of a source by those of its unbroken text, where a break is proven."""
    lines = [
        line.decode("utf-8", "replace").rstrip("\r") for line in source.scan.windows.span(1, source.scan.lines + 1)
    ]
    records = {record.number - 1: record for record in reversed(source.records)}
    for folding in foldings(lines, records):
        if len(folding.continued) <= MOST_BREAKS and _is_proven(lines, folding, scanner, matcher):
            _join(source, lines, folding, scanner, index)
            return


def _is_proven(lines: list[str], folding: Folding, scanner: Scanner, matcher: Matcher) -> bool:
    """Whether some signature matches the joined line and neither of its pieces."""
    joined = [text for first, text in unfold(lines, folding) if first in folding.continued]
    pieces = [lines[at] for at in sorted(folding.continued | {at + 1 for at in folding.continued})]
    found = {hit.atom for hit in _scan(joined, scanner).hits}
    if not found:
        return False
    return not found <= {hit.atom for hit in _scan(pieces, scanner).hits}


def _scan(lines: list[str], scanner: Scanner, source: int = 0) -> SourceScan:
    return scanner.scan(io.BytesIO("\n".join([*lines, ""]).encode("utf-8", "replace")), source=source)


def _join(source: ReadSource, lines: list[str], folding: Folding, scanner: Scanner, index: int) -> None:
    whole = unfold(lines, folding)
    places = [first + 1 for first, _ in whole]
    scan = _scan([text for _, text in whole], scanner, index)
    move = _mover(places)
    source.records = [move(record) for record in scan.windows.records(1, scan.lines + 1)]
    source.scan = replace(
        source.scan,
        tallies=scan.tallies,
        hits=[_moved(hit, move) for hit in scan.hits],
        marker_lines=[[places[number - 1] for number in numbers] for numbers in scan.marker_lines],
    )
    source.notes.append(
        f"the lines are broken at {folding.width} columns and were read joined; the place given is that of the first piece"
    )


def _mover(places: list[int]) -> Callable[[Record], Record]:
    return lambda record: replace(record, number=places[record.number - 1])


def _moved(hit: AtomHit, move: Callable[[Record], Record]) -> AtomHit:
    return hit._replace(record=move(hit.record))
