"""What several verbs share: settings from flags, the catalogue, options, completion of ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from assistant.settings import Settings, cache_dir, load_settings

if TYPE_CHECKING:
    from assistant.console import Console
    from corpus.catalogue import Catalogue

Function = TypeVar("Function", bound=Callable[..., Any])


def load_catalogue(settings: Settings) -> Catalogue:
    """The bundled corpus with the directories of the settings layered over it."""
    from corpus.catalogue import Catalogue

    return Catalogue.load(overlays=settings.corpus_paths, cache_dir=cache_dir())


@contextmanager
def building(console: Console, settings: Settings) -> Iterator[Callable[[int, int], None]]:
    """The progress of building the index, on stderr; Ctrl-C says what is kept."""
    progress = console.progress("none" if settings.quiet else settings.progress)
    counted: list[tuple[int, int]] = []

    def report(done: int, total: int) -> None:
        if not counted:
            progress.start("building the index:", total, "passages")
        counted[:] = [(done, total)]
        progress.update(done)

    try:
        yield report
    except KeyboardInterrupt:
        progress.finish()
        if counted and counted[0][0]:
            done, total = counted[0]
            console.say(f"{done:,} of {total:,} passages are kept; `firstfault index build` goes on from there.")
        raise
    finally:
        progress.finish()


def settings_from(**flags: object) -> Settings:
    """The settings in force; directories named by `--corpus` come on top of those of the settings file."""
    named = flags.pop("corpus", None)
    settings = load_settings(flags)
    if not named:
        return settings
    assert isinstance(named, tuple)
    paths = (*settings.corpus_paths, *named)
    return load_settings({**flags, "corpus_paths": paths})


def corpus_option(function: Function) -> Function:
    """`--corpus DIR`."""
    option = click.option(
        "--corpus",
        multiple=True,
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Layer the entries of this directory over the bundled ones (may be repeated).",
    )
    return option(function)


def color_option(function: Function) -> Function:
    """`--color auto|always|never`."""
    option = click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        help="Colour; auto follows NO_COLOR and the terminal.",
    )
    return option(function)


def complete_id(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids that begin with what was typed."""
    heads = load_catalogue(load_settings()).heads
    return [CompletionItem(key, help=head.title) for key, head in sorted(heads.items()) if key.startswith(incomplete)]
