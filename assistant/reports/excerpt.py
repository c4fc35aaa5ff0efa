"""The decisive excerpt: the verdict and its lines in as few tokens as asked for, to paste into a chat or an issue.

Made of blocks, each with a rank: the verdict and the line that decides are
always there, the rest comes in the order of its use for somebody who was not
there, as long as it fits. Everything is masked before it becomes Markdown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assistant.masking import Masker
from assistant.reports._words import (
    Clock,
    began,
    called,
    grouped,
    headline,
    owner,
    place,
    run_facts,
    tag,
    title,
    versions,
    who,
)
from assistant.reports.markdown import _block, _code, _text
from assistant.values import fill, fill_command, values_of
from assistant.verdict import Diagnosis, Finding, Line

if TYPE_CHECKING:
    from assistant.reports.text import LinesAround
    from corpus.catalogue import Catalogue

Counter = Callable[[str], int]
Mask = Callable[[str], str]
LEAST: Final = 200
"""Tokens below which not even the verdict and its line fit."""
AROUND: Final = (10, 5, 2, 0)
"""Lines before and after the deciding one, tried in this order."""
LINE: Final = 400
"""Characters of a log line; the deciding one may take more."""
DECIDING_LINE: Final = 1_200
DOWNSTREAM: Final = 8


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of Markdown: where it stands, and how soon it is given up."""

    order: int
    rank: int
    """1 is the last to go; of 0 there is no giving up."""
    text: str


def render(
    diagnosis: Diagnosis,
    catalogue: Catalogue | None = None,
    *,
    count: Counter,
    max_tokens: int,
    lines_around: LinesAround | None = None,
    around: int = AROUND[0],
    is_masked: bool = True,
) -> str:
    """The excerpt as Markdown of at most `max_tokens` tokens as `count` counts them (LEAST at least)."""
    masker = Masker(_hosts(diagnosis))
    mask: Mask = masker if is_masked else str
    blocks = list(_blocks(diagnosis, catalogue, mask))
    kept = [block for block in blocks if block.rank == 0]
    budget = max(LEAST, max_tokens) - count(_footer(diagnosis, masker, is_masked)) - 20
    lead = diagnosis.initiating
    if lead is not None and lead.evidence:
        share = budget if len(blocks) == 1 else budget * 2 // 3
        kept.append(_deciding(lead, lines_around, around, mask, lambda text: count(text) <= share - _size(kept, count)))
    left = budget - _size(kept, count)
    for block in sorted((block for block in blocks if block.rank), key=lambda block: block.rank):
        cost = count(block.text) + 2
        if cost <= left:
            kept.append(block)
            left -= cost
    body = "\n\n".join(block.text for block in sorted(kept, key=lambda block: block.order))
    return f"{body}\n\n{_footer(diagnosis, masker, is_masked)}\n"


def _size(blocks: Sequence[Block], count: Counter) -> int:
    return sum(count(block.text) + 2 for block in blocks)


def _hosts(diagnosis: Diagnosis) -> set[str]:
    found = {*diagnosis.run.hosts}
    found |= {source.host for source in diagnosis.sources if source.host}
    found |= {host for finding in diagnosis.all_findings() for host in finding.hosts}
    found |= {line.host for finding in diagnosis.all_findings() for line in finding.evidence if line.host}
    return found


def _footer(diagnosis: Diagnosis, masker: Masker, is_masked: bool) -> str:
    if not is_masked:
        return f"Diagnosed by firstfault {diagnosis.version}. Nothing in it is masked."
    nouns = {"ip": "address", "email": "e-mail address", "mac": "MAC address"}
    counts = [(count, nouns.get(kind, kind)) for kind, count in masker.counts().items()]
    told = ", ".join(
        f"{count} {noun if count == 1 else noun + ('es' if noun[-1] == 's' else 's')}" for count, noun in counts
    )
    return f"Diagnosed by firstfault {diagnosis.version}. Masked: {told or 'nothing found to mask'}."


def _blocks(diagnosis: Diagnosis, catalogue: Catalogue | None, mask: Mask) -> Iterator[Block]:
    lead = diagnosis.initiating
    clock = Clock(diagnosis)
    what = title(lead) if lead is not None else headline(diagnosis).rstrip(".")
    yield Block(0, 0, f"## {diagnosis.status}: {_text(mask(what))}")
    yield Block(1, 1, _text(mask(headline(diagnosis))))
    facts = [*run_facts(diagnosis, clock), versions(diagnosis.run)]
    shown = ", ".join(fact for fact in facts if fact)
    if shown:
        yield Block(2, 3, f"Run: {_text(mask(shown))}")
    if lead is not None:
        yield from _of_lead(diagnosis, lead, mask)
        yield from _of_entry(diagnosis, lead, catalogue, mask)
    followed = [finding for finding in diagnosis.findings if finding.role == "downstream"]
    if followed:
        yield Block(8, 4, "What followed:\n" + "\n".join(_downstream(diagnosis, followed, mask)))
    yield from _open(diagnosis, mask)


def _of_lead(diagnosis: Diagnosis, lead: Finding, mask: Mask) -> Iterator[Block]:
    rows = [
        f"- Where: {place(lead, diagnosis.run)}" if place(lead, diagnosis.run) else "",
        f"- Began: {began(lead)}" if lead.onset else "",
        f"- Proof: {tag(lead)}",
        f"- Owner: {owner(lead)}",
        f"- Own code: {called(lead.code)}" if lead.code is not None else "",
    ]
    yield Block(3, 2, "\n".join(_text(mask(row)) for row in rows if row))
    if lead.because:
        yield Block(4, 5, f"Because {_text(mask(lead.because))}")
    more = [f"{line.place}  {_cut(line.text)}" for line in lead.evidence[1:6]]
    if more:
        yield Block(6, 6, f"More lines of it:\n\n{_block(mask(chr(10).join(more)).split(chr(10)))}")


def _of_entry(diagnosis: Diagnosis, lead: Finding, catalogue: Catalogue | None, mask: Mask) -> Iterator[Block]:
    """What the entry says of it, and the first step to confirm and to mend it."""
    values = values_of(lead, diagnosis)
    if lead.entry is not None and catalogue is not None and lead.entry.id in catalogue.heads:
        body = catalogue.body(lead.entry.id)
        yield Block(7, 3, f"{_code(lead.entry.id)}: {_text(mask(fill(body['summary'], values)))}")
    for order, rank, what, steps in ((10, 7, "Confirm", lead.checks), (11, 8, "Fix", lead.fix)):
        rows = [
            f"- {what}: {_text(mask(fill(step.step, values)))}"
            + (f" {_code(mask(fill_command(step.command, values)))}" if step.command else "")
            for step in steps[:2]
        ]
        if rows:
            yield Block(order, rank, "\n".join(rows))


def _downstream(diagnosis: Diagnosis, findings: Sequence[Finding], mask: Mask) -> Iterator[str]:
    groups = grouped(findings)
    for group in groups[:DOWNSTREAM]:
        first = group[0]
        times = sum(finding.count for finding in group)
        where = who(
            [rank for item in group for rank in item.ranks],
            [host for item in group for host in item.hosts],
            diagnosis.run,
        )
        row = f"{title(first)}" + (f" ({times}x)" if times > 1 else "") + (f", {where}" if where else "")
        line = f" {_code(mask(_cut(first.evidence[0].text, 160)))}" if first.evidence else ""
        yield f"- {_text(mask(row))}{line}"
    if len(groups) > DOWNSTREAM:
        yield f"- and {len(groups) - DOWNSTREAM} more"


def _open(diagnosis: Diagnosis, mask: Mask) -> Iterator[Block]:
    """What no entry explains, who is suspected, and which log to fetch."""
    for number, item in enumerate(diagnosis.unexplained[:2]):
        lines = [f"{line.place}  {_cut(line.text)}" for line in item.excerpt[:20]]
        yield Block(9, 2 + number * 4, f"Not explained:\n\n{_block(mask(chr(10).join(lines)).split(chr(10)))}")
    ends = [f"{line.place}  {_cut(line.text)}" for line in diagnosis.run.last_lines]
    if ends:
        yield Block(9, 3, f"The logs end with:\n\n{_block(mask(chr(10).join(ends)).split(chr(10)))}")
    rows = [f"- {item.reason}: {item.because}" for item in diagnosis.suspects[:4]]
    if rows:
        yield Block(12, 5, "Suspects:\n" + "\n".join(_text(mask(row)) for row in rows))
    if diagnosis.initiating is None and diagnosis.fetch_next:
        fetch = [
            f"- {item.what}" + (f": `{item.command}`" if item.command else "") for item in diagnosis.fetch_next[:3]
        ]
        yield Block(13, 6, "To fetch next:\n" + "\n".join(_text(mask(row)) for row in fetch))


def _deciding(
    lead: Finding, lines_around: LinesAround | None, around: int, mask: Mask, fits: Callable[[str], bool]
) -> Block:
    """The line that decides, with as many lines around it as fit."""
    line = lead.evidence[0]
    text = ""
    for number in dict.fromkeys([around, *(number for number in AROUND if number < around)]):
        shown = _with_lines(line, lines_around, number)
        text = f"{_code(mask(line.place))}:\n\n{_block(mask(chr(10).join(shown)).split(chr(10)))}"
        if fits(text):
            return Block(5, 0, text)
    while len(text) > 200 and not fits(text):
        # A line of a megabyte without a blank: less and less of it.
        line = line.model_copy(update={"text": line.text[: len(line.text) * 2 // 3]})
        text = f"{_code(mask(line.place))}:\n\n{_block(mask(f'{line.text} …').split(chr(10)))}"
    return Block(5, 0, text)


def _with_lines(line: Line, lines_around: LinesAround | None, number: int) -> list[str]:
    if lines_around is None or not number:
        return [f"> {_cut(line.text, DECIDING_LINE)}"]
    found = lines_around(line.source, line.line, number)
    if not any(at == line.line for at, _ in found):
        return [f"> {_cut(line.text, DECIDING_LINE)}"]
    return [f"> {_cut(text, DECIDING_LINE)}" if at == line.line else f"  {_cut(text)}" for at, text in found]


def _cut(text: str, most: int = LINE) -> str:
    return text if len(text) <= most else f"{text[:most]} …"
