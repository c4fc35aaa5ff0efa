"""`firstfault doctor`: what is installed, what is configured, and whether it works."""

from __future__ import annotations

import io
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING, Final

import click

from assistant import __version__
from assistant.cli.common import corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console, ExitCode, counted, is_terminal
from assistant.settings import Settings, cache_dir, config_file, unknown_variables
from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue
    from corpus.head import Head

PACKAGES: Final = ("pydantic", "hyperscan", "click", "platformdirs", "isal", "zstandard")
Finding = tuple[str, str, bool]
"""What was looked at, what was found, and whether it is in order."""


@verb("doctor")
@corpus_option
@click.pass_context
def command(context: click.Context, /, **flags: object) -> None:
    """Check this installation: versions, corpus, scanner, settings, directories, terminal."""
    console = Console()
    settings = settings_from(**flags)
    is_sound = True
    for name, found, is_good in findings(settings, console):
        is_sound = is_sound and is_good
        console.result(f"{name:<12} {found}" if is_good else f"{name:<12} PROBLEM: {found}")
    context.exit(ExitCode.DONE if is_sound else ExitCode.CORPUS)


def findings(settings: Settings, console: Console) -> Iterator[Finding]:
    """Everything worth knowing in a bug report; nothing here names a log."""
    yield "firstfault", f"{__version__} in {sys.prefix}", True
    yield "python", f"{platform.python_version()} on {platform.platform()}", True
    for package in PACKAGES:
        yield _package(package)
    yield from _knowledge(settings)
    yield "settings", _settings(settings), True
    yield _cache()
    yield "terminal", _terminal(console, settings), True
    for name in unknown_variables():
        yield "variable", f"{name} means nothing to firstfault; is it misspelled?", True


def _package(name: str) -> Finding:
    try:
        return name, metadata.version(name), True
    except metadata.PackageNotFoundError:
        return name, f"not installed; install it with `pip install {name}`", False


def _knowledge(settings: Settings) -> Iterator[Finding]:
    try:
        catalogue = load_catalogue(settings)
    except FirstfaultError as error:
        yield "corpus", str(error), False
        return
    families = {head.family for head in catalogue.heads.values()}
    overlays = f", with {', '.join(catalogue.overlays)}" if catalogue.overlays else ""
    yield (
        "corpus",
        f"{counted(len(catalogue.heads), 'entry', 'entries')} in {counted(len(families), 'family', 'families')}{overlays}",
        True,
    )
    yield "digest", catalogue.digest, True
    try:
        yield _scanner(catalogue)
    except Exception as error:  # noqa: BLE001  a native library can fail in any way; the point is to say so
        yield "scanner", f"{type(error).__name__}: {error}", False


def _scanner(catalogue: Catalogue) -> Finding:
    """Scan the text of a signature, to see that the engine runs on this processor."""
    from corpus.match import Matcher
    from index.scanner import Scanner

    probe = next(text for head in catalogue.heads.values() for text in _plain_texts(head))
    scanner = Scanner(Matcher.of(catalogue))
    found = scanner.scan(io.BytesIO(f"calm\n{probe}\ncalm\n".encode()))
    is_good = found.lines == 3 and [hit.record.number for hit in found.hits[:1]] == [2]
    return "scanner", "works" if is_good else f"does not find `{probe}`", is_good


def _plain_texts(head: Head) -> Iterator[str]:
    """Texts of an entry that match themselves, because they have no placeholders and need no company."""
    for signature in head.signatures:
        if signature.tier == "scan" and len(signature.texts) == 1 and "{" not in signature.texts[0]:
            yield signature.texts[0]


def _settings(settings: Settings) -> str:
    path = config_file()
    state = "" if path.is_file() else " (not there, which is fine)"
    changed = ", ".join(f"{key} from {place}" for key, place in sorted(settings.origin.items()))
    return f"{path}{state}" + (f"; {changed}" if changed else "")


def _cache() -> Finding:
    path = cache_dir()
    nearest = next((parent for parent in (path, *path.parents) if parent.exists()), path)
    writable = os.access(nearest, os.W_OK)
    return "cache", f"{path}" + ("" if writable else " (not writable: everything works, a little slower)"), True


def _terminal(console: Console, settings: Settings) -> str:
    where = "terminal" if is_terminal(console.stdout) else "no terminal"
    colour = "colour" if console.colour(settings.color) else "no colour"
    encoding = getattr(console.stdout, "encoding", None) or "unknown encoding"
    return f"{where}, {console.width(settings.width or None)} columns, {colour}, {encoding}"
