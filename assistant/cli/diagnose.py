"""`firstfault PATH...`: read logs, say which fault came first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from assistant import __version__
from assistant.cli.common import building, color_option, corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console, Progress, escape, exit_code, is_terminal
from assistant.settings import Settings
from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from assistant.diagnosis.pipeline import Outcome
    from assistant.reports.text import LinesAround
    from assistant.verdict import Diagnosis
    from corpus.catalogue import Catalogue
    from index.retriever import Retriever


@verb("diagnose")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(readable=False))
@click.option("--format", type=click.Choice(["text", "json", "markdown"]), help="Form of the result (default text).")
@click.option(
    "--context", "-C", type=click.IntRange(0, 1000), metavar="N", help="Show N lines before and after the first fault."
)
@click.option("--semantic", type=click.Choice(["auto", "always", "never"]),
              help="Look for unexplained lines by meaning: auto where an index lies ready, always builds one.")  # fmt: skip
@click.option("--baseline", multiple=True, metavar="PATH", type=click.Path(readable=False),
              help="Logs of a run that went well: show what only this run printed, and where the two part.")  # fmt: skip
@click.option("--exit-code", is_flag=True, default=None, help="Exit 10, 11 or 12 by the verdict (see `firstfault -h`).")
@click.option("--quiet", "-q", is_flag=True, default=None, help="No progress on stderr.")
@click.option("--interactive", "-i", is_flag=True, help="Look into the verdict in the terminal user interface.")
@corpus_option
@color_option
@click.pass_context
def command(
    context: click.Context,
    /,
    paths: tuple[str, ...],
    corpus: tuple[Path, ...],
    baseline: tuple[str, ...],
    interactive: bool,
    **flags: str | int | bool | None,
) -> None:
    """Say which fault came first in logs, with the lines that prove it.

    PATH is a file, a directory (one log per rank, a dmesg next to them), an archive, or - for stdin; without any,
    stdin is read. Reads .gz .bz2 .xz .zst and members of tar and zip.
    """
    if not paths and (sys.stdin is None or is_terminal(sys.stdin)):
        raise click.UsageError("Nothing to read: name a log file or a directory, or pipe a log in", context)
    settings = settings_from(corpus=corpus, **flags)
    if interactive:
        from assistant.cli.tui import interact

        context.exit(interact(paths, settings, Console()))
    context.exit(report(paths, settings, load_catalogue(settings), Console(), baseline))


def report(
    paths: tuple[str, ...],
    settings: Settings,
    catalogue: Catalogue,
    console: Console,
    baseline: tuple[str, ...] = (),
) -> int:
    """Diagnose, print the result, and return the exit status."""
    from assistant import reports
    from assistant.chat.session import remember

    diagnosis, lines_around = run(paths, settings, catalogue, console, baseline)
    untold = remember(diagnosis) if settings.session else ""
    options: dict[str, object] = {}
    if settings.format == "text":
        options = {
            "width": console.width(settings.width or None),
            "colour": console.colour(settings.color),
            "context": settings.context,
            "lines_around": lines_around,
        }
    console.result(reports.render(settings.format, diagnosis, catalogue, **options))
    if untold and not settings.quiet:
        console.say(escape(untold))
    troubled = [source for source in diagnosis.sources if source.problems]
    if troubled and not settings.quiet:
        console.say(trouble(diagnosis))
    return exit_code(diagnosis.status, by_status=settings.exit_code, partial=bool(troubled))


def trouble(diagnosis: Diagnosis) -> str:
    """What could not be read whole: the reason for exit status 5, in one sentence."""
    troubled = [source for source in diagnosis.sources if source.problems]
    first = troubled[0]
    more = f", and {len(troubled) - 1} more" if len(troubled) > 1 else ""
    return (
        f"{len(troubled)} of {len(diagnosis.sources)} sources could not be read whole: "
        f"{escape(first.path)} ({escape(first.problems[0])}){more}. What could be read is diagnosed."
    )


def run(
    paths: tuple[str, ...],
    settings: Settings,
    catalogue: Catalogue,
    console: Console,
    baseline: tuple[str, ...] = (),
) -> tuple[Diagnosis, LinesAround]:
    """The diagnosis, and a way to see the lines around one that it names."""
    from assistant.diagnosis import pipeline

    progress = console.progress("none" if settings.quiet else settings.progress)
    try:
        outcome = pipeline.diagnose_run(
            paths or ("-",),
            catalogue=catalogue,
            options=pipeline.Options(version=__version__, baseline=baseline),
            stdin=_stdin() if not paths or "-" in paths else None,
            progress=by_source(progress),
        )
    finally:
        progress.finish()
    return _with_candidates(outcome, settings, console), outcome.lines_around


def _with_candidates(outcome: Outcome, settings: Settings, console: Console) -> Diagnosis:
    """The nearest entries for what nothing explains; the verdict stands when they cannot be had."""
    from assistant.candidates import with_candidates

    def opened(catalogue: Catalogue) -> Retriever | None:
        from assistant.retrieval import at_hand, open_retriever

        if settings.semantic != "always":
            return at_hand(catalogue)
        with building(console, settings) as progress:
            return open_retriever(catalogue, progress=progress)

    try:
        return with_candidates(outcome, settings.semantic, opened)
    except FirstfaultError as error:
        console.say(f"nothing was looked for by meaning: {error}")
        return outcome.diagnosis


def by_source(progress: Progress) -> Callable[[str, int, int | None], None]:
    """The pipeline's view of a progress display: a source's name, bytes done, bytes expected."""
    current: list[str] = []

    def report(source: str, done: int, expected: int | None) -> None:
        if current != [source]:
            current[:] = [source]
            progress.start(source, expected)
        progress.update(done)

    return report


def _stdin() -> BinaryIO:
    """The bytes of stdin; raises FirstfaultError where it is closed."""
    if sys.stdin is None:
        raise FirstfaultError("stdin is closed.", "Name a log file, or pipe a log in.")
    return sys.stdin.buffer
