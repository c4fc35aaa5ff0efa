"""`firstfault search TEXT`: entries by meaning, by words, or by the lines of a log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from assistant.cli.common import corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console

if TYPE_CHECKING:
    from assistant.chat.contract import SearchResult
    from assistant.chat.search import Dense, Search
    from corpus.catalogue import Catalogue

MOST_TEXT = 240
"""Characters of a passage in a text result."""
MAX_STDIN = 1 << 20


@verb("search")
@click.argument("words", nargs=-1, metavar="TEXT")
@click.option("--limit", "-n", type=click.IntRange(1, 100), default=8, show_default=True, metavar="N",
              help="How many entries.")  # fmt: skip
@click.option("--semantic/--no-semantic", default=None, help="Always, or never, search by meaning (default: as fits).")
@click.option("--no-build", is_flag=True, help="Where no index lies ready, say so and stop instead of going by words.")
@click.option("--format", type=click.Choice(["text", "json"]), help="Form of the result (default text).")
@corpus_option
@click.pass_context
def command(
    context: click.Context,
    /,
    words: tuple[str, ...],
    limit: int,
    semantic: bool | None,
    no_build: bool,
    format: str | None,
    **flags: object,
) -> None:
    """Search the corpus: a question in words, an error name, or a piece of log; - reads it from stdin.

    While no index lies ready it goes by words and has one built in the background; --semantic waits for it, a minute
    or more. Says when nothing in the corpus answers; what it lists then is only the nearest.
    """
    text = " ".join(words).strip()
    if text == "-":
        text = sys.stdin.buffer.read(MAX_STDIN).decode("utf-8", "replace").strip() if sys.stdin is not None else ""
    if not text:
        raise click.UsageError("Nothing to search for: write some words or a line of a log", context)
    from assistant.cli.retrieving import open_for_question

    settings = settings_from(**flags)
    console = Console()
    catalogue = load_catalogue(settings)
    dense = settings.semantic if semantic is None else "always" if semantic else "never"
    search = open_for_question(catalogue, settings, console, dense, no_build=no_build)
    found = find(text, catalogue, search, limit, dense)
    if (format or settings.format) == "json":
        console.result(found.model_dump_json(by_alias=True, indent=2))
    else:
        console.result(render(found, console.width(settings.width or None)))


def find(text: str, catalogue: Catalogue, search: Search, limit: int, dense: Dense) -> SearchResult:
    """The entries that answer a text, as the JSON contract has them."""
    from assistant.chat.contract import Found, FoundPassage, SearchResult
    from assistant.chat.naming import named_first
    from assistant.chat.search import covers
    from assistant.verdict import EntryRef

    hits = [hit for hit in search.search(text, k=limit, dense=dense) if hit.entry in catalogue.heads]
    found = named_first(hits, text, catalogue, limit)
    is_named = bool(found) and "name" in found[0].channels
    results = []
    for hit in found:
        head = catalogue.heads[hit.entry]
        fields = ("id", "title", "family", "kind", "severity", "scope", "restart", "status", "reviewed")
        entry = EntryRef.model_validate({name: getattr(head, name) for name in fields})
        passage = FoundPassage(kind=hit.passage.kind, text=hit.passage.text, id=hit.passage.id)
        results.append(Found(entry=entry, score=hit.score, passage=passage, channels=dict(hit.channels)))
    return SearchResult(covered=is_named or covers(hits), results=tuple(results))


def render(found: SearchResult, width: int) -> str:
    """One block an entry: title, id, the passage by which it was found."""
    from assistant.console import escape
    from assistant.reports._page import cells, wrap

    if not found.results:
        return "Nothing in the corpus answers this."
    rows = [] if found.covered else ["Nothing in the corpus answers this; the nearest are:", ""]
    for item in found.results:
        channels = ", ".join(f"{name} {rank}" for name, rank in item.channels.items())
        name = f"{item.entry.id}  {item.entry.title}"
        rows += (
            [name]
            if cells(name) <= width
            else [item.entry.id, *(f"  {row}" for row in wrap(item.entry.title, width - 2))]
        )
        text = item.passage.text if len(item.passage.text) <= MOST_TEXT else f"{item.passage.text[:MOST_TEXT]} ..."
        rows += [f"    {row}" for row in wrap(escape(f"{item.passage.kind}: {text}"), width - 4)]
        rows.append(f"    ({channels})")
    return "\n".join(rows)
