"""The blocks of the text report that show findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from assistant.reports._page import Page, cells
from assistant.reports._words import (
    HEADINGS,
    INHERITED,
    Clock,
    called,
    finding_ids,
    grouped,
    heading,
    listing,
    place,
    plural,
    tag,
    title,
)
from assistant.verdict import Diagnosis, EvidenceLine, Finding

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue

_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}|\{\?|\?\}")
FIRST_ROWS: Final = 6
"""Rows that the deciding line may take."""
OTHER_ROWS: Final = 2
MOST_GROUPS: Final = 6
MOST_LINES: Final = 3
_TOLD_ELSEWHERE: Final = frozenset({"rank", "host"})


def first_fault(
    page: Page,
    diagnosis: Diagnosis,
    finding: Finding,
    clock: Clock,
    catalogue: Catalogue | None,
    *,
    context: int,
    around: Callable[[str, int, int], Sequence[tuple[int, str]]] | None,
) -> None:
    """The initiating finding, in full."""
    _title_rows(page, "INITIATING", diagnosis, finding, clock, style="bold", label_style="bold red")
    shown = around(finding.evidence[0].source, finding.evidence[0].line, context) if around and finding.evidence else ()
    if shown:
        _in_context(page, finding.evidence[0], shown, focus(finding, finding.evidence[0], catalogue))
    for number, line in enumerate(finding.evidence[:MOST_LINES]):
        if number == 0 and not shown:
            page.line(line.place, line.text, rows=FIRST_ROWS, focus=focus(finding, line, catalogue), style="bold")
        elif number:
            page.line(line.place, line.text, rows=OTHER_ROWS, focus=focus(finding, line, catalogue))
    if len(finding.evidence) > MOST_LINES:
        page.text(f"and {plural(len(finding.evidence) - MOST_LINES, 'more line')} (--format json)", style="dim")
    _reasons(page, finding)
    page.gap()


def _in_context(page: Page, line: EvidenceLine, shown: Sequence[tuple[int, str]], start: int) -> None:
    page.raw(line.source, style="cyan")
    digits = len(str(max(number for number, _ in shown)))
    for number, text in shown:
        if number == line.line:
            page.hanging(f"> {number:>{digits}}  ", text, rows=FIRST_ROWS, focus=start, style="bold")
        else:
            page.raw(f"  {number:>{digits}}  {text}")


def focus(finding: Finding, line: EvidenceLine, catalogue: Catalogue | None) -> int:
    """Where in a long line the signature stands: at its first words, else before the first value that it bound."""
    head = catalogue.heads.get(finding.entry.id) if catalogue is not None and finding.entry is not None else None
    texts = [text for item in head.signatures if item.name == line.signature for text in item.texts] if head else []
    for text in texts:
        literal = next((piece for piece in _PLACEHOLDER.split(text) if len(piece.strip()) >= 4), "").strip()
        place = line.text.find(literal) if literal else -1
        if place >= 0:
            return place
    places = [line.text.find(value) for value in line.captures.values() if len(value) > 2]
    return max(0, min((place for place in places if place >= 0), default=0) - 40)


def _title_rows(
    page: Page, label: str, diagnosis: Diagnosis, finding: Finding, clock: Clock, *, style: str, label_style: str
) -> None:
    """Who, when, what, tag: in one row where there is room, else who and when above what."""
    notes = [f"{finding.count}x"] if finding.count > 1 else []
    notes += [clock.began(finding)] if clock.began(finding) else []
    name = title(finding) + (f" ({', '.join(notes)})" if notes else "")
    proof = tag(finding)
    where, when = place(finding, diagnosis.run), clock.when_told(finding)
    lead = "   ".join(part for part in (where, when) if part)
    if cells(lead) + 2 + cells(proof) > page.body and when != clock.when(finding):
        # What the mark of the time means has no room beside the place; it stands with the rest below.
        lead = "   ".join(part for part in (where, clock.when(finding)) if part)
        name += f" (~: {INHERITED})"
    one_row = "   ".join(part for part in (lead, name) if part)
    if not lead or cells(one_row) + 3 + cells(proof) <= page.body:
        page.head(label, one_row, proof, style=style, label_style=label_style)
    else:
        page.head(label, lead, proof, label_style=label_style)
        page.text(name, style=style)


def _reasons(page: Page, finding: Finding) -> None:
    if finding.code is not None:
        page.text(called(finding.code), lead="your code   ")
    values = {key: value for key, value in _captures(finding).items() if key not in _TOLD_ELSEWHERE}
    if values:
        page.text(", ".join(f"{key} {value}" for key, value in values.items()), lead="values      ")
    page.text(finding.because, lead="because     ")
    page.text(finding.refuted_by, lead="refuted by  ")


def _captures(finding: Finding) -> dict[str, str]:
    """The bound values of all evidence; those of the deciding line win."""
    found: dict[str, str] = {}
    for line in reversed(finding.evidence):
        found.update(line.captures)
    return found


def downstream(page: Page, diagnosis: Diagnosis, clock: Clock, catalogue: Catalogue | None) -> None:
    """What the first fault brought about, same stories together."""
    _groups(page, "DOWNSTREAM", diagnosis, [f for f in diagnosis.findings if f.role == "downstream"], clock, catalogue)


def others(page: Page, diagnosis: Diagnosis, clock: Clock, catalogue: Catalogue | None) -> None:
    """Faults that are no part of the chain: of earlier attempts, got over, no faults at all, or of something else."""
    elsewhere = {finding.id for finding in diagnosis.independent}
    elsewhere |= {suspect.finding for suspect in diagnosis.suspects if suspect.finding is not None}
    rest = [finding for finding in diagnosis.all_findings() if finding.id not in elsewhere]
    _groups(page, "INDEPENDENT", diagnosis, diagnosis.independent, clock, catalogue)
    aside = [finding for finding in rest if finding.role == "recovered"]
    for label in dict.fromkeys(HEADINGS.values()):
        _groups(page, label, diagnosis, [f for f in aside if heading(f) == label], clock, catalogue)
    _groups(page, "UNRELATED", diagnosis, [f for f in rest if f.role == "unrelated"], clock, catalogue)


def _groups(
    page: Page,
    label: str,
    diagnosis: Diagnosis,
    findings: Iterable[Finding],
    clock: Clock,
    catalogue: Catalogue | None,
) -> None:
    groups = grouped(findings)
    for number, group in enumerate(groups[:MOST_GROUPS]):
        merged = merge(group)
        _title_rows(page, "" if number else label, diagnosis, merged, clock, style="", label_style="bold")
        if label != "DOWNSTREAM" and len(diagnosis.run.attempts) > 1:
            page.text(f"attempt {merged.attempt}", indent=2, style="dim")
        if merged.evidence:
            line = merged.evidence[0]
            page.line(line.place, line.text, rows=OTHER_ROWS, focus=focus(merged, line, catalogue), indent=2)
        if label != "DOWNSTREAM":
            page.text(merged.because, lead="because  ", indent=2)
    if len(groups) > MOST_GROUPS:
        names = [title(group[0]) for group in groups[MOST_GROUPS:]]
        page.text(f"and {len(names)} more: {listing(names, most=4)}")
    page.gap()


def merge(group: Sequence[Finding]) -> Finding:
    """One finding that stands for several of the same story: all ranks, all hosts, the sum of the counts."""
    first = group[0]
    if len(group) == 1:
        return first
    ranks = tuple(sorted({rank for finding in group for rank in finding.ranks}))
    hosts = tuple(dict.fromkeys(host for finding in group for host in finding.hosts))
    count = sum(finding.count for finding in group)
    return first.model_copy(
        update={"ranks": ranks, "hosts": hosts, "count": count, "id": finding_ids([finding.id for finding in group])}
    )
