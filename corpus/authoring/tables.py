"""The generated tables of corpus/README.md: coverage, placeholders, lint codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from corpus.errors import CorpusError
from corpus.lint import all_codes
from corpus.model import FAMILIES, Entry
from corpus.placeholders import KINDS
from corpus.reader import CorpusFiles

_BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.S)


def refresh(files: CorpusFiles) -> tuple[Path, str]:
    """README.md and the text it should have, with every generated block written anew."""
    path = files.root / "README.md"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CorpusError(f"`{path}` cannot be read.", "The generated tables live in it.") from error
    tables = {"coverage": coverage(files), "placeholders": placeholders(), "codes": codes()}
    return path, _BLOCK.sub(lambda block: f"{block[1]}{tables[block[2]]}\n{block[3]}", text)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; bars and angle brackets in cells are escaped."""
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join(' --- ' for _ in header)}|"]
    lines += [f"| {' | '.join(_escaped(str(cell)) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _escaped(cell: str) -> str:
    """A cell that Markdown shows as it is; text between backticks needs no escape but for bars."""
    pieces = cell.replace("|", "\\|").split("`")
    return "`".join(piece if index % 2 else piece.replace("<", "&lt;") for index, piece in enumerate(pieces))


def coverage(files: CorpusFiles) -> str:
    """Entries, signatures and logs of each family."""
    header = (
        "family",
        "entries",
        "full",
        "brief",
        "class",
        "broad",
        "wrapper",
        "draft",
        "signatures",
        "firing",
        "quiet",
    )
    live = [entry for entry in files.entries if entry.status != "retired"]
    families = list(dict.fromkeys([*FAMILIES, *(entry.family for entry in live)]))
    rows = [(name, *_counts([entry for entry in live if entry.family == name])) for name in families]
    total = ("**all**", *_counts(live))
    tail = f"\n\n{len(files.healthy)} healthy logs, {len(files.incidents)} incidents."
    return table(header, [*rows, total]) + tail


def _counts(entries: Sequence[Entry]) -> tuple[int, ...]:
    failures = [entry for entry in entries if entry.kind == "failure"]
    logs = [case for entry in entries for case in entry.log]
    return (
        len(entries),
        sum(entry.depth == "full" for entry in failures),
        sum(entry.depth == "brief" for entry in failures),
        sum(entry.kind == "class" and not entry.broad for entry in entries),
        sum(entry.broad for entry in entries),
        sum(entry.kind == "wrapper" for entry in entries),
        sum(entry.status == "draft" for entry in entries),
        sum(len(entry.signature) for entry in entries),
        sum(bool(case.fires) for case in logs),
        sum(not case.fires for case in logs),
    )


def placeholders() -> str:
    """Each placeholder with what it takes and refuses."""
    rows = [
        (f"`{{{name}}}`", kind.about, _quoted(kind.accepts), _quoted(kind.refuses) or "-")
        for name, kind in KINDS.items()
    ]
    return table(("placeholder", "takes", "for example", "refuses"), rows)


def _quoted(examples: Iterable[str]) -> str:
    return " ".join(f"`{example}`" for example in examples if example.strip())


def codes() -> str:
    """Every lint code with why it exists and how to mend what it finds."""
    return table(("code", "finds", "why", "mend"), all_codes())
