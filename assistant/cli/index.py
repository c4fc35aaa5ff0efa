"""`firstfault index build|status`: the index that finds entries by meaning and by words."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from assistant.cli.common import building, corpus_option, load_catalogue, settings_from
from assistant.cli.group import VERBS
from assistant.console import Console

if TYPE_CHECKING:
    from assistant.retrieval import Description

SCHEMA: Final = "firstfault.index/1"
_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group("index", context_settings=_CONTEXT, short_help=VERBS["index"], no_args_is_help=False)
def command() -> None:
    """Build the index by which questions and unfamiliar lines find entries, or show its state.

    A wheel ships the index of its corpus. One is needed for a checkout, for entries of your own, and for another
    encoder; without any, questions are answered by words alone.
    """


@command.command("build", context_settings=_CONTEXT)
@click.option(
    "--encoder",
    metavar="NAME_OR_FOLDER",
    help="Encode with this sentence-transformers model or exported folder (default: the bundled encoder).",
)
@click.option("--no-progress", is_flag=True, help="Nothing on stderr but errors.")
@corpus_option
def build(encoder: str | None, no_progress: bool, corpus: tuple[Path, ...]) -> None:
    """Build the index of the corpus; passages that were encoded before are not encoded again.

    Ctrl-C leaves the old index as it was and keeps what is encoded. Nothing is downloaded.
    """
    from assistant.retrieval import build_index, index_folder

    settings = settings_from(corpus=corpus, progress="none" if no_progress else None)
    console = Console()
    started = time.monotonic()
    with building(console, settings) as progress:
        manifest = build_index(load_catalogue(settings), encoder=encoder, progress=progress)
    seconds = time.monotonic() - started
    console.result(f"{manifest.count:,} passages by {manifest.encoder} in {seconds:.1f} s: {index_folder()}")


@command.command("status", context_settings=_CONTEXT)
@click.option("--format", type=click.Choice(["text", "json"]), help="Form of the result (default text).")
@corpus_option
def status(format: str | None, corpus: tuple[Path, ...]) -> None:
    """Show where the index lies, whether it belongs to this corpus, and what it was built with."""
    from assistant.retrieval import describe

    settings = settings_from(corpus=corpus)
    found = describe(load_catalogue(settings))
    if (format or settings.format) == "json":
        Console().result(json.dumps(as_data(found), indent=2, ensure_ascii=False))
    else:
        Console().result(render(found))


def as_data(found: Description) -> dict[str, Any]:
    """The state of an index as JSON."""
    manifest = found.manifest
    built = manifest and {
        "corpus": manifest.corpus,
        "encoder": manifest.encoder,
        "revision": manifest.revision,
        "spec": manifest.spec or "bundled",
        "dimension": manifest.dimension,
        "passages": manifest.count,
        "built_with": manifest.built_with,
    }
    return {
        "schema": SCHEMA,
        "state": found.state,
        "folder": str(found.folder),
        "shipped": found.is_shipped,
        "corpus": found.corpus,
        "matches": found.is_of_corpus,
        "index": built,
        "problem": found.problem or None,
    }


def render(found: Description) -> str:
    """The same for people."""
    manifest = found.manifest
    rows = [("index", f"{found.folder}{' (shipped with the program)' if found.is_shipped else ''}")]
    rows.append(("state", "ready" if found.state == "ready" else f"{found.state}: {found.problem}"))
    if manifest is not None:
        same = "this corpus" if found.is_of_corpus else f"another corpus ({manifest.corpus[:12]})"
        own = f", opened from {manifest.spec}" if manifest.spec else ", bundled"
        rows += [
            ("built from", same),
            ("encoder", f"{manifest.encoder} ({manifest.revision}), {manifest.dimension} dimensions{own}"),
            ("passages", f"{manifest.count:,}"),
            ("built with", manifest.built_with),
        ]
    rows.append(("corpus", found.corpus))
    return "\n".join(f"{name:<11}{text}" for name, text in rows)
