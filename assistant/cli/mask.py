"""`firstfault mask`: a log without secrets, names and addresses, line by line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from assistant.cli.common import settings_from
from assistant.cli.group import verb
from assistant.console import Console, is_terminal
from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from assistant.masking import Masker

MAX_LINE = 1 << 20
"""Bytes of a line that are looked at; the rest of a longer one is left out, for it could not be masked."""


class UnreadableError(FirstfaultError):
    """The file cannot be read."""


@verb("mask")
@click.argument("path", required=False, metavar="[FILE]", type=click.Path())
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="A host name to mask as well (may be repeated).")
@click.option("--quiet", "-q", is_flag=True, default=None, help="Do not say how much was masked.")
@click.pass_context
def command(context: click.Context, /, path: str | None, hosts: tuple[str, ...], quiet: bool | None) -> None:
    """Print a log with secrets, hosts, users, e-mails and network addresses masked; without FILE that of stdin.

    The same name gets the same number all over the log. Compressed logs are piped in: zcat job.log.gz | firstfault
    mask. Read the result before you share it, for no list of secrets is complete.
    """
    from assistant.masking import Masker

    if path in {None, "-"} and (sys.stdin is None or is_terminal(sys.stdin)):
        raise click.UsageError("Nothing to mask: name a log file, or pipe a log in", context)
    settings = settings_from(quiet=quiet)
    console = Console()
    masker = Masker(hosts)
    console.pieces(masked(_lines(path), masker))
    if not settings.quiet:
        counts = ", ".join(f"{kind}: {count}" for kind, count in masker.counts().items())
        console.say(f"masked {counts or 'nothing'}; read it before you share it.")


def _lines(path: str | None) -> Iterator[bytes]:
    try:
        if path in {None, "-"}:
            yield from _cut(sys.stdin.buffer)
        else:
            with Path(str(path)).open("rb") as file:
                yield from _cut(file)
    except OSError as error:
        raise UnreadableError(
            f"`{path}` cannot be read: {error.strerror}.", "Name a log file, or pipe a log in."
        ) from error


def _cut(file: BinaryIO) -> Iterator[bytes]:
    """Lines, those that are too long without their end."""
    while line := file.readline(MAX_LINE):
        yield line
        if not line.endswith(b"\n") and len(line) == MAX_LINE:
            while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            yield b" ... (cut)\n"


def masked(lines: Iterable[bytes], masker: Masker) -> Iterator[str]:
    """The lines masked; a private key is taken out however many lines it has."""
    in_key = False
    for line in lines:
        text = line.decode("utf-8", "replace")
        if in_key:
            _, mark, rest = text.partition("-----END")
            if not mark:
                continue
            text, in_key = mark + rest, False
        elif "PRIVATE KEY-----" in text and "-----BEGIN" in text and "-----END" not in text:
            in_key = True
            text = text.rstrip("\r\n") + "\n"
        yield masker(text)
