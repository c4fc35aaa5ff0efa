"""`firstfault ask QUESTION`: a question about the last diagnosis, a log, or an entry."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

import click

from assistant.cli.common import color_option, complete_id, corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console, is_terminal
from assistant.settings import Settings

if TYPE_CHECKING:
    from assistant.chat.contract import Answer
    from assistant.chat.conversation import Conversation
    from assistant.chat.session import Session
    from corpus.catalogue import Catalogue

MAX_STDIN = 4 << 20
"""Bytes of pasted output that are read; more is a log, and `firstfault FILE` reads those."""


@verb("ask")
@click.argument("words", nargs=-1, metavar="QUESTION [-]")
@click.option("--log", "logs", multiple=True, metavar="PATH", type=click.Path(readable=False),
              help="Diagnose this log first and ask about it (may be repeated).")  # fmt: skip
@click.option("--entry", metavar="ID", shell_complete=complete_id, help="Ask about this entry.")
@click.option("--no-build", is_flag=True, help="Where no index lies ready, say so and stop instead of going by words.")
@click.option("--format", type=click.Choice(["text", "json"]), help="Form of the answer (default text).")
@corpus_option
@color_option
@click.pass_context
def command(
    context: click.Context,
    /,
    words: tuple[str, ...],
    logs: tuple[str, ...],
    entry: str | None,
    no_build: bool,
    format: str | None,
    **flags: object,
) -> None:
    """Ask about the last diagnosis, another log, or an entry; every sentence of the answer names its place.

    The first question goes by words while the index that finds by meaning is built in the background; set
    FIRSTFAULT_BACKGROUND_BUILD=no to keep it from that, FIRSTFAULT_SEMANTIC=always to wait for the index.

    The output of a command may be piped in, or read with -; it is judged by the checks of the finding:

    \b
      firstfault ask "how do I confirm it?"
      lspci -vv | firstfault ask
    """
    pasted = _piped() if "-" in words or _has_pipe(sys.stdin) else ""
    question = " ".join(word for word in words if word != "-").strip()
    if not question and not pasted.strip():
        raise click.UsageError("Nothing is asked: write a question, or pipe the output of a command in", context)
    settings = settings_from(**flags)
    console = Console()
    catalogue = load_catalogue(settings)
    session = session_for(logs, entry, settings, catalogue, console)
    talk = open_talk(catalogue, session, settings, console, no_build=no_build)
    answer = talk.paste(pasted, question) if pasted.strip() else talk.say(question)
    if settings.session:
        keep(talk, console)
    if (format or settings.format) == "json":
        console.result(answer.model_dump_json(by_alias=True, indent=2))
    else:
        console.result(render(answer, console.width(settings.width or None), colour=console.colour(settings.color)))


def _has_pipe(stream: object) -> bool:
    """Whether something is piped or redirected in; a terminal, a socket or nothing is not waited for."""
    if stream is None or is_terminal(stream):
        return False
    try:
        mode = os.fstat(stream.fileno()).st_mode  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _piped() -> str:
    data = sys.stdin.buffer.read(MAX_STDIN) if sys.stdin is not None else b""
    return data.decode("utf-8", "replace")


def session_for(
    logs: tuple[str, ...], entry: str | None, settings: Settings, catalogue: Catalogue, console: Console
) -> Session:
    """The session to go on with: of the named logs, else the kept one; a named entry comes into focus."""
    import dataclasses

    from assistant.chat.session import Session, start

    if logs:
        from assistant.cli.diagnose import run

        diagnosis, _ = run(logs, settings, catalogue, console)
        session = start(diagnosis)
    else:
        session = _kept(may_be_broken=entry is not None) or Session()
    if entry is not None:
        name = catalogue.resolve(entry).id
        session = dataclasses.replace(session, focus=(name, *(key for key in session.focus if key != name)))
    return session


def _kept(*, may_be_broken: bool) -> Session | None:
    """The kept session; where an entry is named, a broken one is no obstacle."""
    from assistant.chat.session import SessionError, load

    try:
        return load()
    except SessionError:
        if not may_be_broken:
            raise
        return None


def open_talk(
    catalogue: Catalogue, session: Session, settings: Settings, console: Console, *, no_build: bool = False
) -> Conversation:
    """A conversation with the index, where one lies ready."""
    from assistant.chat.conversation import Conversation
    from assistant.cli.retrieving import open_for_question

    search = open_for_question(catalogue, settings, console, settings.semantic, no_build=no_build)
    return Conversation(catalogue, session, search)


def keep(talk: Conversation, console: Console) -> None:
    """Keep the session for the next question."""
    from assistant.chat.session import save

    try:
        save(talk.session)
    except OSError as error:
        console.say(f"the conversation could not be kept ({error.strerror}); the next question starts anew.")


def render(answer: Answer, width: int, *, colour: bool) -> str:
    """An answer for a terminal: prose wrapped, commands whole, log text escaped."""
    from assistant.chat.draft import render_line
    from assistant.console import escape
    from assistant.reports._page import wrap

    rows: list[str] = []
    for line in answer.lines:
        text = "\n".join(escape(row) for row in render_line(line).split("\n"))
        if line.form == "command":
            rows += text.split("\n")
        elif line.form == "quote":
            rows.append(text if len(text) <= 2 * width else f"{text[: 2 * width - 4]} ...")
        else:
            rows += wrap(text, width)
    if answer.follow_ups:
        rows += ["", *wrap("next: " + "  |  ".join(escape(text) for text in answer.follow_ups), width)]
    shown = "\n".join(rows)
    return _dim(shown) if colour else shown


def _dim(text: str) -> str:
    """Places stand back behind what they prove."""
    import re

    return re.sub(r"\[[^\[\]\s]+[#:][^\[\]\s]*\]", lambda found: f"\x1b[2m{found.group()}\x1b[22m", text)
