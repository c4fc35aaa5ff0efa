"""`firstfault list`: the entries of the corpus."""

from __future__ import annotations

import click

from assistant.cli.common import corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console
from corpus.errors import FirstfaultError


class UnknownFamilyError(FirstfaultError):
    """No entry belongs to that family."""


@verb("list")
@click.option("--family", "-f", metavar="F", help="Only entries of this family.")
@click.option("--kind", "-k", type=click.Choice(["failure", "class", "wrapper"]), help="Only entries of this kind.")
@click.option("--status", type=click.Choice(["draft", "verified", "retired"]), help="Only entries in this state.")
@corpus_option
def command(family: str | None, kind: str | None, status: str | None, **flags: object) -> None:
    """List the entries of the corpus, one a row: id, family, kind, state, title."""
    console = Console()
    heads = load_catalogue(settings_from(**flags)).heads.values()
    if family is not None and family not in {head.family for head in heads}:
        raise _unknown_family(family, sorted({head.family for head in heads}))
    chosen = [
        head
        for head in sorted(heads, key=lambda head: (head.family, head.id))
        if family in (None, head.family) and kind in (None, head.kind) and status in (None, head.status)
    ]
    if not chosen:
        console.say("no entry is like that.")
        return
    rows = [(head.id, head.family, head.kind, head.status, head.title) for head in chosen]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows
    ]
    console.result("\n".join(lines))


def _unknown_family(name: str, known: list[str]) -> UnknownFamilyError:
    import difflib

    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"Did you mean `{close[0]}`?" if close else f"Families: {', '.join(known)}."
    return UnknownFamilyError(f"No family is called `{name}`.", hint)
