"""`firstfault demo`: a bundled incident, diagnosed like a log of your own."""

from __future__ import annotations

import contextlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from assistant.cli.common import color_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console
from corpus.errors import CorpusError, FirstfaultError

BEST: Final = ("xid-79", "xid", "nccl")
"""The incident shown without a name: the first whose file name begins so."""


class UnknownIncidentError(FirstfaultError):
    """No bundled incident has that name."""


@dataclass(frozen=True, slots=True)
class Incident:
    """A bundled log with its title."""

    name: str
    title: str
    folder: Path
    sources: tuple[str, ...]


def incidents(folder: Path | None = None) -> list[Incident]:
    """All bundled incidents, by name."""
    from corpus.catalogue import bundled_dir

    place = folder or bundled_dir() / "incidents"
    found = []
    for path in sorted(place.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        found.append(Incident(path.stem, table["title"], place, tuple(table["sources"])))
    if not found:
        raise CorpusError(f"No incident lies in {place}.", "Reinstall firstfault.")
    return found


def choose(name: str | None, known: list[Incident]) -> Incident:
    """The incident of that name, or the best one."""
    if name is None:
        begun = (item for start in BEST for item in known if item.name.startswith(start))
        return next(begun, known[0])
    for item in known:
        if item.name == name:
            return item
    import difflib

    close = difflib.get_close_matches(name, [item.name for item in known], n=1, cutoff=0.3)
    hint = f"Did you mean `firstfault demo {close[0]}`?" if close else "`firstfault demo` lists them."
    raise UnknownIncidentError(f"No incident is called `{name}`.", hint)


def _complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(item.name, help=item.title) for item in incidents() if item.name.startswith(incomplete)]


@verb("demo")
@click.argument("name", required=False, shell_complete=_complete)
@click.option("--format", type=click.Choice(["text", "json", "markdown"]), help="Form of the result (default text).")
@click.option("--context", "-C", type=click.IntRange(0, 1000), metavar="N", help="Lines around the first fault.")
@color_option
@click.pass_context
def command(context: click.Context, /, name: str | None, **flags: object) -> None:
    """Diagnose a bundled incident; without NAME the best one, followed by the names of the others."""
    from assistant.cli.diagnose import report

    console = Console()
    settings = settings_from(**flags)
    known = incidents()
    chosen = choose(name, known)
    console.say(f"{chosen.title}\n  {chosen.folder}: {' '.join(chosen.sources)}\n")
    with contextlib.chdir(chosen.folder):
        code = report(chosen.sources, settings, load_catalogue(settings), console)
    if name is None:
        width = max(len(item.name) for item in known)
        rows = [f"  firstfault demo {item.name:<{width}}  {item.title}" for item in known if item is not chosen]
        console.say("\n".join(["more to see:", *rows]))
    context.exit(code)
