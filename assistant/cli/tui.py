"""`firstfault` alone, or `-i`: the terminal user interface; when it is left, the verdict stays on the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from assistant import __version__
from assistant.cli.common import color_option, corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console, exit_code, is_terminal
from assistant.settings import Settings
from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from assistant.tui.services import Demo, Services
    from corpus.catalogue import Catalogue


class NoScreenError(FirstfaultError):
    """The terminal user interface cannot be shown here."""

    exit_code = 2


@verb("tui")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(readable=False))
@corpus_option
@color_option
@click.pass_context
def command(context: click.Context, /, paths: tuple[str, ...], **flags: object) -> None:
    """Open the terminal user interface, on the verdict about PATH or on its first screen.

    `firstfault` alone does the same. Leaving it with Ctrl+Q leaves the verdict on the terminal.
    """
    context.exit(interact(paths, settings_from(**flags), Console()))


def interact(paths: tuple[str, ...], settings: Settings, console: Console) -> int:
    """Run the interface until it is left, then print the verdict it ended with."""
    app_class, start_class = _interface()
    pipe = _free_stdin(paths)
    # Textual takes NO_COLOR out of the environment, so the verdict's colour is decided before.
    colour = console.colour(settings.color)
    if settings.color == "never":
        os.environ["NO_COLOR"] = "1"
    app = app_class(_services(settings), start_class(tuple(path for path in paths if path != "-"), pipe))
    app.run()
    if app.fatal is not None:
        raise app.fatal
    if app.case is None:
        return exit_code("healthy", by_status=False, partial=False)
    from assistant.reports import text

    diagnosis = app.case.diagnosis
    console.result(
        text.render(diagnosis, app.case.catalogue, width=console.width(settings.width or None), colour=colour)
    )
    troubled = any(source.problems for source in diagnosis.sources)
    return exit_code(diagnosis.status, by_status=settings.exit_code, partial=troubled)


def _interface() -> tuple[type, type]:
    """The app and its start; textual is imported nowhere else."""
    if not is_terminal(sys.stderr):
        raise NoScreenError("The interface needs a terminal, and stderr is none.", "Without -i the verdict is printed.")
    try:
        from assistant.tui.app import FirstfaultApp
        from assistant.tui.services import Start
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "textual":
            raise
        raise NoScreenError(
            "The interface needs the package textual, which is not installed.", "pip install textual"
        ) from error
    return FirstfaultApp, Start


def _free_stdin(paths: Sequence[str]) -> BinaryIO | None:
    """Where a log is piped in, move it aside so that keys come from the terminal."""
    if is_terminal(sys.stdin):
        return None
    pipe = None
    if sys.stdin is not None and (not paths or "-" in paths):
        pipe = os.fdopen(os.dup(0), "rb", buffering=0)
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError as error:
        raise NoScreenError(
            "The interface needs a terminal to read keys from, and there is none.", "Without -i the verdict is printed."
        ) from error
    os.dup2(terminal, 0)
    os.close(terminal)
    return pipe


def _services(settings: Settings) -> Services:
    from assistant.cli.crash import write_report
    from assistant.retrieval import index_folder
    from assistant.tui.conversation import ChatConversation, Conversation
    from assistant.tui.keys import checked
    from assistant.tui.services import Services

    def conversation(catalogue: Catalogue) -> Conversation:
        overlays = settings.corpus_paths if settings.background_build else None
        folder = None if settings.semantic == "never" else index_folder()
        return ChatConversation(catalogue, folder, keeps=settings.session, overlays=overlays)

    def crash(error: Exception) -> Path | None:
        return write_report(error, ["tui"])

    return Services(lambda: load_catalogue(settings), conversation, _demos, crash, __version__, checked(settings.keys))


def _demos() -> list[Demo]:
    from assistant.cli.demo import choose, incidents
    from assistant.tui.services import Demo

    known = incidents()
    best = choose(None, known)
    ordered = [best, *(item for item in known if item is not best)]
    return [Demo(item.name, item.title, item.folder, item.sources) for item in ordered]
