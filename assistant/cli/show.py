"""`firstfault show ID`: an entry, whole or by section."""

from __future__ import annotations

import click

from assistant.cli.common import color_option, complete_id, corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console


@verb("show")
@click.argument("entry", metavar="ID", shell_complete=complete_id)
@click.option("--section", "-s", "sections", multiple=True, metavar="S", help="Only this section (may be repeated).")
@click.option("--format", type=click.Choice(["text", "json"]), help="Form of the result (default text).")
@corpus_option
@color_option
def command(entry: str, sections: tuple[str, ...], format: str | None, color: str | None, **flags: object) -> None:
    """Show an entry: what it is, how to confirm it, how to mend it.

    ID is an entry's id or an older name of it; `firstfault list` shows all ids. Sections are called like the keys of
    an entry: mechanism, check, fix, faq, confused_with, signature ...
    """
    settings = settings_from(color=color, **flags)
    console = Console()
    catalogue = load_catalogue(settings)
    body = catalogue.body(entry)
    if format == "json":
        import json

        console.result(json.dumps(body, indent=2, ensure_ascii=False))
        return
    from assistant.reports import entry as report

    console.result(
        report.render(
            body,
            catalogue.family(body["family"]),
            catalogue,
            sections=sections,
            width=console.width(settings.width or None),
            colour=console.colour(settings.color),
        )
    )
