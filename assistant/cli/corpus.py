"""`firstfault corpus ...`: the author's tools, as `python -m corpus`."""

from __future__ import annotations

import click

from assistant.cli.group import verb
from assistant.console import ExitCode


@verb(
    "corpus",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, /, arguments: tuple[str, ...]) -> None:
    """Write, check and test entries; everything behind the verb goes to `python -m corpus`."""
    from corpus.authoring.cli import main

    try:
        code = main(list(arguments))
    except SystemExit as end:  # its parser ends so on --help and on a usage error
        code = end.code if isinstance(end.code, int) else ExitCode.USAGE
    context.exit(code)
