"""The verdict as the skeleton of a post-mortem: what is known is filled in, the rest asks for an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assistant.console import escape
from assistant.reports._rest import expected_text, states
from assistant.reports._words import (
    INHERITED,
    Clock,
    began,
    heading,
    headline,
    inherited,
    owner,
    place,
    ranges,
    run_facts,
    skew,
    suspected,
    tag,
    title,
    versions,
)
from assistant.values import fill, fill_command, values_of
from assistant.verdict import Diagnosis, Finding, Line

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue

ASK = "_to be filled in_"


def render(diagnosis: Diagnosis, catalogue: Catalogue | None = None) -> str:
    """The diagnosis as Markdown."""
    clock = Clock(diagnosis)
    lead = diagnosis.initiating
    blocks = [
        f"# Post-mortem: {_text(title(lead)) if lead else diagnosis.status}",
        f"**{diagnosis.status}.** {_text(headline(diagnosis))}",
        _facts(diagnosis, clock),
        "## First fault",
        *(_first_fault(diagnosis, lead) if lead else ["No first fault is in these logs."]),
        *_timeline(diagnosis, clock),
        *_open_questions(diagnosis, catalogue),
        *_actions(diagnosis, lead),
        f"## Impact\n\n- Time lost: {ASK}\n- Work lost since the last checkpoint: {ASK}\n- Others affected: {ASK}",
        f"## What would have caught it earlier\n\n{ASK}",
        *_appendix(diagnosis),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _text(text: str) -> str:
    """Text as text: nothing in it is Markdown or HTML, except code between single backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0 or "" in parts[1::2]:
        return _plain(text)
    return "".join(_code(part) if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", escape(text))


def _code(text: str) -> str:
    """Text as inline code, with a fence longer than any run of backticks in it."""
    shown = escape(text)
    fence = "`" * (max(map(len, re.findall(r"`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _block(lines: Sequence[str], language: str = "text") -> str:
    shown = [escape(line) for line in lines]
    fence = "`" * max(3, max((len(run) for line in shown for run in re.findall(r"`+", line)), default=0) + 1)
    return "\n".join([f"{fence}{language}", *shown, fence])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in [list(head), ["---"] * len(head), *cells]]
    return "\n".join(lines)


def _facts(diagnosis: Diagnosis, clock: Clock) -> str:
    facts = run_facts(diagnosis, clock)
    rows = [f"- Run: {_text(', '.join(facts))}"] if facts else []
    if diagnosis.run.versions:
        rows.append(f"- Versions: {_text(versions(diagnosis.run))}")
    if differ := skew(diagnosis.run):
        rows.append(f"- Clocks differ: {_text(differ)}")
    rows.append(f"- Date, author, reviewers: {ASK}")
    return "\n".join(rows)


def _first_fault(diagnosis: Diagnosis, finding: Finding) -> Iterator[str]:
    entry = finding.entry
    yield "\n".join(
        row
        for row in (
            f"- What: {_text(title(finding))}" + (f" ({_code(entry.id)})" if entry else ""),
            f"- Where: {_text(place(finding, diagnosis.run) or 'unknown')}",
            f"- Began: {_text(began(finding))}" if finding.onset else "",
            f"- Proof: {_text(tag(finding))}",
            f"- Owner: {_text(owner(finding))}",
            _own_code(finding),
            f"- Because: {_text(finding.because)}" if finding.because else "",
            f"- Refuted by: {_text(finding.refuted_by)}" if finding.refuted_by else "",
        )
        if row
    )
    yield from _evidence(finding.evidence)


def _own_code(finding: Finding) -> str:
    if finding.code is None:
        return ""
    function = f" in {_code(finding.code.function)}" if finding.code.function else ""
    return f"- Your code: {_code(finding.code.place)}{function} ({_code(finding.code.at.place)})"


def _evidence(lines: Sequence[Line]) -> Iterator[str]:
    for line in lines:
        yield f"{_code(line.place)}\n\n{_block([line.text])}"


def _timeline(diagnosis: Diagnosis, clock: Clock) -> Iterator[str]:
    findings = list(diagnosis.all_findings())
    if not findings:
        return
    yield "## Timeline"
    rows = [
        [
            _text(inherited(finding) + finding.onset if finding.onset else clock.when(finding) or "?"),
            heading(finding).lower(),
            _text(place(finding, diagnosis.run) or "?"),
            _text(title(finding)) + (f" ({finding.count}x)" if finding.count > 1 else ""),
            _text(tag(finding)),
            _code(finding.evidence[0].place) if finding.evidence else "",
        ]
        for finding in sorted(findings, key=lambda finding: (finding.onset is None, finding.onset or ""))
    ]
    yield _table(["Began", "Part", "Where", "What", "Proof", "Line"], rows)
    if any(map(inherited, findings)):
        yield f"`~`: the line itself gives no time; this is that of the {INHERITED} above it."


def _open_questions(diagnosis: Diagnosis, catalogue: Catalogue | None) -> Iterator[str]:
    rows = []
    for suspect in diagnosis.suspects:
        rows.append(
            f"- [ ] {_text(suspected(suspect, diagnosis.run).replace(': ', ' is ', 1))}: {_text(suspect.because)}"
        )
    for item in diagnosis.fetch_next:
        command = f": {_code(item.command)}" if item.command else ""
        rows.append(f"- [ ] Fetch {_text(item.what)}{command}. {_text(item.why)}")
    for miss in diagnosis.near_misses:
        expected = expected_text(miss, catalogue)
        rows.append(
            f"- [ ] Near miss of {_code(miss.entry.id)} at {_code(miss.line.place)}: {_text(miss.reason)}"
            + (f" (expected {_code(expected)})" if expected else "")
        )
    if rows:
        yield "## Open questions"
        yield "\n".join(rows)
    if diagnosis.run.last_lines:
        yield "The logs end with:"
        yield _block([f"{line.place}  {line.text}" for line in diagnosis.run.last_lines])
    for unexplained in diagnosis.unexplained:
        yield "Unexplained:"
        yield _block([f"{line.place}  {line.text}" for line in unexplained.excerpt])


def _actions(diagnosis: Diagnosis, lead: Finding | None) -> Iterator[str]:
    if lead is None:
        return
    values = values_of(lead, diagnosis)
    steps: list[tuple[str, str, str | None]] = [("Confirm", check.step, check.command) for check in lead.checks]
    steps += [("Fix", fix.step, fix.command) for fix in lead.fix]
    steps += [("Fixed when", lead.verify.expect, lead.verify.command)] if lead.verify else []
    if steps:
        yield "## Actions"
        yield "\n".join(
            f"- [ ] {what}: {_text(fill(step, values))}"
            + (f" {_code(fill_command(command, values))}" if command else "")
            for what, step, command in steps
        )


def _appendix(diagnosis: Diagnosis) -> Iterator[str]:
    yield "## Sources"
    rows = [
        [_code(source.path), f"{source.lines:,}", f"{source.bytes:,}", _text("; ".join(source.problems))]
        for source in diagnosis.sources
    ]
    yield _table(["Source", "Lines", "Bytes", "Problems"], rows)
    if diagnosis.warnings:
        yield "\n".join(f"- Warning: {_text(warning)}" for warning in diagnosis.warnings)
    if diagnosis.collectives:
        table = [
            [_text(group.group), str(group.seq if group.seq is not None else "?"), ranges(ranks), _text(state)]
            for group in diagnosis.collectives
            for ranks, state in states(group)
        ]
        yield "## Collectives"
        yield _table(["Group", "Sequence", "Ranks", "State"], table)
    corpus = diagnosis.corpus
    digest = f", digest {_code(corpus.digest[:12])}" if corpus.digest else ""
    yield f"Written by firstfault {diagnosis.version} from {corpus.entries} entries{digest}."
