"""The blocks of the text report that are not findings: near misses, the unexplained, the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from assistant.console import size
from assistant.reports._page import Page
from assistant.reports._words import Clock, listing, named, plural, run_facts, skew, versions
from assistant.verdict import Candidate, CollectiveGroup, CollectiveRank, Diagnosis, Line, NearMiss, Unexplained

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue

MOST_MISSES: Final = 3
MOST_EXCERPTS: Final = 2
MOST_CANDIDATES: Final = 3
EXCERPT_ROWS: Final = 10
MOST_WARNINGS: Final = 8
MOST_NEW: Final = 10


def collectives(page: Page, diagnosis: Diagnosis) -> None:
    """The state of each collective that hung, ranks in the same state together."""
    for number, group in enumerate(diagnosis.collectives[:3]):
        name = f"group {group.group}" + (f", sequence number {group.seq}" if group.seq is not None else "")
        page.head("" if number else "COLLECTIVE", name)
        for ranks, state in states(group):
            page.text(state, lead=f"{named(ranks)}: ", indent=2)
    page.gap()


def states(group: CollectiveGroup) -> Iterator[tuple[list[int], str]]:
    """Ranks that are in the same state, and the state in words."""
    found: dict[str, list[int]] = {}
    for rank in group.ranks:
        found.setdefault(_state(rank), []).append(rank.rank)
    for state, ranks in found.items():
        yield ranks, state


def _state(rank: CollectiveRank) -> str:
    facts = [rank.state.replace("-", " ")] if rank.state else []
    facts += [rank.op] if rank.op else []
    facts += [f"{rank.numel:,} elements"] if rank.numel is not None else []
    facts += [f"last enqueued {rank.enqueued}"] if rank.enqueued is not None else []
    facts += [f"last completed {rank.completed}"] if rank.completed is not None else []
    return ", ".join(facts)


def near_misses(page: Page, diagnosis: Diagnosis, catalogue: Catalogue | None) -> None:
    """Lines that almost carry a signature, above what the entry expects."""
    shown = ""
    for number, miss in enumerate(diagnosis.near_misses[:MOST_MISSES]):
        page.head("" if number else "NEAR MISS", miss.entry.title, miss.entry.id)
        if miss.line.place != shown:
            shown = miss.line.place
            page.line(shown, miss.line.text, rows=3, indent=2)
        expected = expected_text(miss, catalogue)
        if expected:
            page.text(expected, lead="expected  ", indent=2)
        page.text(miss.reason, lead="missing   ", indent=2)
    if len(diagnosis.near_misses) > MOST_MISSES:
        page.text(f"and {len(diagnosis.near_misses) - MOST_MISSES} more (--format json)", indent=2)
    page.gap()


def expected_text(miss: NearMiss, catalogue: Catalogue | None) -> str:
    """The signature that the line was held against, as its entry writes it."""
    head = catalogue.heads.get(miss.entry.id) if catalogue is not None else None
    if head is None:
        return ""
    texts = next((item.texts for item in head.signatures if item.name == miss.signature), ())
    return " / ".join(texts)


def unexplained(page: Page, diagnosis: Diagnosis) -> None:
    """Excerpts that no entry explains, and the nearest entries; what was shown above is not shown twice."""
    shown = {line.place for finding in diagnosis.findings for line in finding.evidence[:1]}
    items = [item for item in diagnosis.unexplained if item.candidates or {line.place for line in item.excerpt} - shown]
    for number, item in enumerate(items[:MOST_EXCERPTS]):
        lines = item.excerpt
        page.head("" if number else "NO ENTRY FOR", lines[0].place if lines else "", style="cyan")
        if {line.place for line in lines} - shown:
            _excerpt(page, lines)
        _candidates(page, item)
    if len(items) > MOST_EXCERPTS:
        page.text(f"and {plural(len(items) - MOST_EXCERPTS, 'more excerpt')} (--format json)")
    page.gap()


def _excerpt(page: Page, lines: Sequence[Line]) -> None:
    digits = len(str(lines[-1].line))
    for line in lines[:EXCERPT_ROWS]:
        page.raw(f"{line.line:>{digits}}  {line.text}", indent=2)
    if len(lines) > EXCERPT_ROWS:
        page.raw(f"... {plural(len(lines) - EXCERPT_ROWS, 'more line')}", indent=2)


def _candidates(page: Page, item: Unexplained) -> None:
    for candidate in item.candidates[:MOST_CANDIDATES]:
        page.text(f"{candidate.entry.title} ({candidate.entry.id})", lead="nearest  ", indent=2)
        page.text(_lacks(candidate), indent=11)


def _lacks(candidate: Candidate) -> str:
    parts = [f"has {listing(candidate.matched)}"] if candidate.matched else []
    parts += [f"lacks {listing(candidate.missing)}"] if candidate.missing else []
    return "; ".join([*parts, *([candidate.reason] if candidate.reason else [])])


def last_lines(page: Page, diagnosis: Diagnosis) -> None:
    """What the logs end with, where nothing in them tells why, and what was looked for there."""
    places: dict[str, list[Line]] = {}
    for line in diagnosis.run.last_lines:
        places.setdefault(line.source, []).append(line)
    for number, (source, lines) in enumerate(places.items()):
        page.head("" if number else "LOG ENDS", source, style="cyan")
        _excerpt(page, lines)
    if places:
        step = diagnosis.run.last_step
        reached = f"the last step is {step}; " if step is not None else ""
        page.text(f"{reached}no line of a fault and none of completion stands in what was read")
    page.gap()


def baseline(page: Page, diagnosis: Diagnosis) -> None:
    """What only this run printed, and where it parts from the one that went well."""
    found = diagnosis.baseline
    if found is None:
        return
    against = f"{listing(found.paths)}: {plural(found.lines, 'line')} of {plural(found.templates, 'kind')}"
    page.head("BASELINE", against + (" (a sample: too many different lines)" if found.sampled else ""))
    if not found.new:
        page.text("this run printed nothing that the good one did not, the quoted lines aside")
    for item in found.new[:MOST_NEW]:
        more = [f"{item.count} times"] if item.count > 1 else []
        more += [f"with {plural(item.lines - 1, 'more new line')}"] if item.lines > 1 else []
        page.line(item.line.place, item.line.text, rows=2, indent=2, tail=", ".join(more))
    if found.new_total > MOST_NEW:
        page.text(f"and {plural(found.new_total - MOST_NEW, 'more new block')} (--format json)", indent=2)
    if found.last_common is not None:
        page.head("PARTING", "the last milestone of both")
        page.line(found.last_common.place, found.last_common.text, rows=2, indent=2)
    for number, line in enumerate(found.went_on):
        if number == 0:
            page.text("and how the good run went on")
        page.line(line.place, line.text, rows=2, indent=2)
    page.gap()


def run_rows(page: Page, diagnosis: Diagnosis, clock: Clock) -> None:
    """Facts about the run, and what was read."""
    facts = ", ".join(run_facts(diagnosis, clock))
    known = versions(diagnosis.run)
    if diagnosis.status == "healthy":
        if not diagnosis.findings:
            page.close_up()
        both = ", ".join(part for part in (facts, known) if part)
        page.head("RUN", both if len(both) <= page.body else facts)
    elif facts or known:
        page.head("RUN", facts or known)
        page.text(known if facts else "")
        page.text(skew(diagnosis.run), lead="clocks differ: ")
        sampled = listing([name.replace("_", " ") for name in diagnosis.run.sampled])
        page.text(sampled, lead="from a sample of the lines: ", style="dim")
    page.head("READ", _read(diagnosis))


def _read(diagnosis: Diagnosis) -> str:
    # An empty file is listed, for its name may tell of a rank, but nothing was read there.
    sources = [source for source in diagnosis.sources if source.bytes or source.problems] or diagnosis.sources
    lines = sum(source.lines for source in sources)
    amount = size(sum(source.bytes for source in sources))
    files = sources[0].path if len(sources) == 1 else plural(len(sources), "source")
    text = f"{files}: {plural(lines, 'line')}, {amount}"
    if diagnosis.corpus.entries:
        text += f", against {plural(diagnosis.corpus.entries, 'entry', 'entries')}"
    if diagnosis.corpus.overlays:
        text += f" (with {listing(diagnosis.corpus.overlays)})"
    return text


def warnings(page: Page, diagnosis: Diagnosis) -> None:
    """What limits this verdict; a problem of a source that a warning tells already is not told twice."""
    found = list(dict.fromkeys(diagnosis.warnings))
    for source in diagnosis.sources:
        for problem in source.problems:
            if not any(source.path in text and problem in text for text in diagnosis.warnings):
                found.append(f"{source.path}: {problem}")
    for number, text in enumerate(found[:MOST_WARNINGS]):
        page.head("" if number else "WARNING" + "S" * (len(found) > 1), text, label_style="bold yellow")
    if len(found) > MOST_WARNINGS:
        page.text(f"and {plural(len(found) - MOST_WARNINGS, 'more warning')} (--format json)")
