"""`firstfault excerpt`: the decisive excerpt of a log, masked and in a budget of tokens."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from assistant.cli.common import corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console, exit_code
from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from assistant.reports.text import LinesAround
    from assistant.settings import Settings
    from assistant.verdict import Diagnosis
    from corpus.catalogue import Catalogue


class NothingKeptError(FirstfaultError):
    """No log was named and no diagnosis is kept."""

    exit_code = 2


@verb("excerpt")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(readable=False))
@click.option("--max-tokens", type=click.IntRange(200, 1_000_000), default=2_000, show_default=True, metavar="N",
              help="Tokens it may take at most, counted as cl100k_base.")  # fmt: skip
@click.option("--context", "-C", "context_", type=click.IntRange(0, 1000), default=10, show_default=True, metavar="N",
              help="Lines before and after the first fault, where they fit.")  # fmt: skip
@click.option("--mask/--no-mask", default=True, help="Take secrets, hosts, users, e-mails and addresses out (default).")
@corpus_option
@click.pass_context
def command(
    context: click.Context, /, paths: tuple[str, ...], max_tokens: int, context_: int, mask: bool, **flags: object
) -> None:
    """Print the decisive excerpt of a log as Markdown, to paste into a chat model or a public issue.

    It holds the verdict, the first fault with the lines around it, what the entry says, and what followed, as far as
    the budget goes. Without PATH it is that of the last diagnosis. Nothing is sent anywhere; read it before you do:

    \b
      firstfault excerpt job.log
      firstfault excerpt --max-tokens 800 logs/ | wl-copy
    """
    from assistant.reports import excerpt
    from assistant.tokens import counter

    settings = settings_from(**flags)
    console = Console()
    count = counter()
    catalogue = load_catalogue(settings)
    diagnosis, lines_around = diagnosed(paths, settings, catalogue, console)
    text = excerpt.render(
        diagnosis, catalogue, count=count, max_tokens=max_tokens, lines_around=lines_around, around=context_,
        is_masked=mask,
    )  # fmt: skip
    console.result(text)
    if not settings.quiet:
        console.say(f"{count(text):,} tokens; read it before you share it, for no list of secrets is complete.")
    context.exit(exit_code(diagnosis.status, by_status=False, partial=any(item.problems for item in diagnosis.sources)))


def diagnosed(
    paths: tuple[str, ...], settings: Settings, catalogue: Catalogue, console: Console
) -> tuple[Diagnosis, LinesAround | None]:
    """The diagnosis of these logs or of a pipe, else the last one, whose lines around are not kept."""
    from assistant.cli.ask import _has_pipe
    from assistant.cli.diagnose import run

    if paths or _has_pipe(sys.stdin):
        return run(paths, settings, catalogue, console)
    from assistant.chat.session import load

    session = load()
    if session is None or session.diagnosis is None:
        sentence = "No log is named, and no diagnosis is kept."
        raise NothingKeptError(sentence, "Type `firstfault excerpt LOG`.")
    return session.diagnosis, None
