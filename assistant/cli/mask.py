"""`firstfault mask`: a log without secrets, names and addresses, line by line."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from assistant.cli.common import settings_from
from assistant.cli.group import verb
from assistant.console import Console, ExitCode, is_terminal
from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from assistant.logs.streams import Source
    from assistant.masking import Masker
    from index.blocks import Readable

MAX_LINE = 1 << 20
"""Bytes of a line that are looked at; the rest of a longer one is left out, for it could not be masked."""


MAX_PREFIX = 2_000
"""Bytes of a line in which its prefix is looked for."""


class UnreadableError(FirstfaultError):
    """The file cannot be read."""


@verb("mask")
@click.argument("path", required=False, metavar="[FILE]", type=click.Path(readable=False))
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="A host name to mask as well (may be repeated).")
@click.option("--quiet", "-q", is_flag=True, default=None, help="Do not say how much was masked.")
@click.pass_context
def command(context: click.Context, /, path: str | None, hosts: tuple[str, ...], quiet: bool | None) -> None:
    """Print a log with secrets, hosts, users, e-mails and network addresses masked; without FILE that of stdin.

    The same name gets the same number all over the log. Reads what a diagnosis reads, compressed logs and other
    encodings too. Read the result before you share it, for no list of secrets is complete.
    """
    from assistant.logs.sources import expand
    from assistant.masking import Masker

    if path in {None, "-"} and (sys.stdin is None or is_terminal(sys.stdin)):
        raise click.UsageError("Nothing to mask: name a log file, or pipe a log in", context)
    settings = settings_from(quiet=quiet)
    console = Console()
    piped = path in {None, "-"}
    sources, _ = expand(["-" if piped else str(path)], sys.stdin.buffer if piped else None)
    problems: list[str] = []
    names = set(hosts) if piped else {*hosts, *_hosts(_lines(sources, []))}
    masker = Masker(names)
    console.pieces(masked(_lines(sources, problems), masker))
    for problem in problems:
        console.say(f"{problem}.")
    if not settings.quiet:
        counts = ", ".join(f"{kind}: {count}" for kind, count in masker.counts().items())
        console.say(f"masked {counts or 'nothing'}; read it before you share it.")
    context.exit(ExitCode.PARTIAL if problems else ExitCode.DONE)


def _hosts(lines: Iterable[bytes]) -> set[str]:
    """The hosts that the prefixes of the lines name, so that they are known wherever else they stand."""
    from corpus.record import read_records

    return {record.host for line in lines for record in read_records(line[:MAX_PREFIX], 1) if record.host is not None}


class _Raw(io.RawIOBase):
    """A source as a stream that can be read by lines."""

    def __init__(self, stream: Readable) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        return self._stream.readinto(memoryview(buffer)) or 0


def _lines(sources: Sequence[Source], problems: list[str]) -> Iterator[bytes]:
    """The lines of sources as a diagnosis reads them: decompressed and in UTF-8."""
    from index.blocks import as_utf8

    for source in sources:
        try:
            with source.open() as stream:
                yield from _cut(io.BufferedReader(_Raw(as_utf8(stream))))
                problems += stream.problems
        except OSError as error:
            raise UnreadableError(
                f"`{source.path}` cannot be read: {error.strerror}.", "Name a log file, or pipe a log in."
            ) from error


def _cut(file: io.BufferedReader) -> Iterator[bytes]:
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
