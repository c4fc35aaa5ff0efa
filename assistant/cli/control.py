"""`firstfault control BEFORE AFTER`: two runs that differ in one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from assistant import __version__
from assistant.cli.common import color_option, corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console, ExitCode

if TYPE_CHECKING:
    from assistant.comparison import Changed


@verb("control")
@click.argument("before", metavar="BEFORE", type=click.Path(readable=False))
@click.argument("after", metavar="AFTER", type=click.Path(readable=False))
@click.option("--changed", type=click.Choice(["node", "input", "config", "fix", "nothing"]),
              help="The one thing that differs (default: the node, where the logs name other hosts).")  # fmt: skip
@click.option("--format", type=click.Choice(["text", "json"]), help="Form of the result (default text).")
@click.option("--quiet", "-q", is_flag=True, default=None, help="No progress on stderr.")
@corpus_option
@color_option
@click.pass_context
def command(
    context: click.Context, /, before: str, after: str, changed: str | None, format: str | None, **flags: object
) -> None:
    """Say what became of a fault in a second run that differs in one thing.

    BEFORE is the run that failed, AFTER the one on another node, with another input or configuration, or with the fix:
    a file, a directory or an archive each. Says whether the fault follows the workload, stays with the node, is gone
    or is there again, on which lines that rests, and what two runs do not prove.
    """
    from assistant.cli.diagnose import run
    from assistant.diagnosis.control import compare_runs

    settings = settings_from(**flags)
    console = Console()
    catalogue = load_catalogue(settings)
    first, _ = run((before,), settings, catalogue, console)
    second, _ = run((after,), settings, catalogue, console)
    control = compare_runs(
        first,
        second,
        catalogue,
        before_paths=(before,),
        after_paths=(after,),
        changed=cast("Changed | None", changed),
        version=__version__,
    )
    if (format or "text") == "json":
        console.result(control.model_dump_json(indent=2))
    else:
        from assistant.reports.control import render

        console.result(
            render(control, width=console.width(settings.width or None), colour=console.colour(settings.color))
        )
    troubled = any(source.problems for diagnosis in (first, second) for source in diagnosis.sources)
    context.exit(ExitCode.PARTIAL if troubled else ExitCode.DONE)
