"""The verdict for people: what came first, what followed, whose it is, what to do.

Plain strings, no markup language: log text can therefore never be markup, and
the first row appears without the 40 ms that a rendering library costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from assistant.reports._findings import downstream, first_fault, others
from assistant.reports._page import Page
from assistant.reports._rest import baseline, collectives, last_lines, near_misses, run_rows, unexplained, warnings
from assistant.reports._words import Clock, headline, listing, owner, plural, suspected
from assistant.values import fill, fill_command, values_of
from assistant.verdict import Diagnosis, Finding

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue

LinesAround = Callable[[str, int, int], Sequence[tuple[int, str]]]
"""(source, line, n) -> the numbered lines from n before to n after that one, as far as they are at hand."""

STYLES: Final = {"healthy": "bold green", "degraded": "bold yellow", "inconclusive": "bold yellow"}
MOST_CHECKS = 3
MOST_FIXES = 3
MOST_FETCHES = 4


def render(
    diagnosis: Diagnosis,
    catalogue: Catalogue | None = None,
    *,
    width: int = 100,
    colour: bool = False,
    context: int = 0,
    lines_around: LinesAround | None = None,
) -> str:
    """The diagnosis as text of so many columns; three rows where there is nothing to tell."""
    page = Page(width, colour=colour)
    clock = Clock(diagnosis)
    label = diagnosis.status.upper()
    page.head(label, headline(diagnosis), label_style=STYLES.get(diagnosis.status, "bold red"), style="bold")
    if diagnosis.status != "healthy" or diagnosis.findings:
        page.gap()
    if diagnosis.initiating is not None:
        around = lines_around if context > 0 else None
        first_fault(page, diagnosis, diagnosis.initiating, clock, catalogue, context=context, around=around)
    downstream(page, diagnosis, clock, catalogue)
    others(page, diagnosis, clock, catalogue)
    collectives(page, diagnosis)
    _suspects(page, diagnosis)
    _fetch_next(page, diagnosis)
    lead = diagnosis.initiating or _most_telling(diagnosis)
    if lead is not None and diagnosis.status != "healthy":
        _what_to_do(page, diagnosis, lead)
    near_misses(page, diagnosis, catalogue)
    unexplained(page, diagnosis)
    last_lines(page, diagnosis)
    baseline(page, diagnosis)
    run_rows(page, diagnosis, clock)
    warnings(page, diagnosis)
    _more(page, diagnosis, lead)
    return str(page)


def _most_telling(diagnosis: Diagnosis) -> Finding | None:
    """Without a first fault, the consequence whose checks lead furthest."""
    found = [finding for finding in diagnosis.findings if finding.role == "downstream" and finding.entry]
    return next((finding for finding in found if finding.checks), None)


def _suspects(page: Page, diagnosis: Diagnosis) -> None:
    for number, suspect in enumerate(diagnosis.suspects[:8]):
        page.head("" if number else "SUSPECTS", suspected(suspect, diagnosis.run))
        page.text(suspect.because, indent=2)
    if len(diagnosis.suspects) > 8:
        rest = diagnosis.suspects[8:]
        page.text(f"and {plural(len(rest), 'more suspect')}")
    page.gap()


def _fetch_next(page: Page, diagnosis: Diagnosis) -> None:
    for number, item in enumerate(diagnosis.fetch_next[:MOST_FETCHES]):
        page.head("" if number else "FETCH NEXT", item.what)
        page.command(item.command or "", indent=2)
        below = diagnosis.fetch_next[number + 1 : MOST_FETCHES]
        if not below or below[0].why != item.why:  # a reason for several stands once, under the last of them
            page.text(item.why, lead="why: ", indent=2)
    if len(diagnosis.fetch_next) > MOST_FETCHES:
        page.text(f"and {len(diagnosis.fetch_next) - MOST_FETCHES} more (--format json)")
    page.gap()


def _what_to_do(page: Page, diagnosis: Diagnosis, finding: Finding) -> None:
    """Owner, checks and cure; a consequence is only checked, for its cure is not the cure."""
    is_cause = diagnosis.initiating is not None
    values = values_of(finding, diagnosis)
    page.head("OWNER", owner(finding) if is_cause else "not known before the cause is")
    page.gap()
    for number, check in enumerate(finding.checks[:MOST_CHECKS], start=1):
        page.head("CONFIRM" if number == 1 else "", fill(check.step, values), lead=f"{number}. ")
        page.command(fill_command(check.command or "", values), indent=3)
        page.text(fill(check.expect, values), lead="expect: ", indent=3)
    page.gap()
    for number, fix in enumerate(finding.fix[:MOST_FIXES] if is_cause else (), start=1):
        page.head("FIX" if number == 1 else "", fill(fix.step, values), lead=f"{number}. ")
        page.command(fill_command(fix.command or "", values), indent=3)
    page.gap()
    if finding.verify is not None and is_cause:
        page.head("FIXED WHEN", fill(finding.verify.expect, values))
        page.command(fill_command(finding.verify.command or "", values))
        page.gap()


def _more(page: Page, diagnosis: Diagnosis, lead: Finding | None) -> None:
    """What to type next."""
    if diagnosis.status == "healthy" or lead is None or lead.entry is None:
        return
    hidden = [
        plural(len(items) - most, noun)
        for items, most, noun in ((lead.checks, MOST_CHECKS, "more check"), (lead.fix, MOST_FIXES, "more fix step"))
        if len(items) > most
    ]
    what = listing(["mechanism", "FAQ", "look-alikes", *hidden], most=9)
    page.gap()
    page.head("MORE", f"firstfault show {lead.entry.id}  ({what})", label_style="dim", style="dim")
