"""`firstfault index build|status`: the index that finds entries by meaning and by words."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from assistant.cli.common import building, corpus_option, load_catalogue, settings_from
from assistant.cli.group import VERBS
from assistant.console import Console
from assistant.settings import Settings
from corpus.errors import FirstfaultError
from index.errors import REBUILD, RetrievalError

if TYPE_CHECKING:
    from assistant.retrieval import Description

SCHEMA: Final = "firstfault.index/1"
_CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group("index", context_settings=_CONTEXT, short_help=VERBS["index"], no_args_is_help=False)
def command() -> None:
    """Build the index by which questions and unfamiliar lines find entries, or show its state.

    A wheel ships the index of its corpus. In a checkout, with entries of your own or with another encoder the first
    question has one built in the background, and goes by words meanwhile.
    """


@command.command("build", context_settings=_CONTEXT)
@click.option(
    "--encoder",
    metavar="NAME_OR_FOLDER",
    help="Encode with this sentence-transformers model or exported folder (default: the bundled encoder).",
)
@click.option("--background", is_flag=True, help="Build in a process of its own, at the lowest priority, and return.")
@click.option("--no-progress", is_flag=True, help="Nothing on stderr but errors.")
@click.option("--low-priority", is_flag=True, hidden=True)
@corpus_option
def build(
    encoder: str | None, background: bool, no_progress: bool, low_priority: bool, corpus: tuple[Path, ...]
) -> None:
    """Build the index of the corpus; passages that were encoded before are not encoded again.

    Ctrl-C leaves the old index as it was and keeps what is encoded. Nothing is downloaded.
    """
    settings = settings_from(corpus=corpus, progress="none" if no_progress else None)
    if low_priority:
        _build_quietly(settings)
    elif background:
        if encoder is not None:
            raise click.UsageError("--background builds with the encoder of the index; leave --encoder away")
        _start(settings, Console())
    else:
        _build(encoder, settings, Console())


def _build(encoder: str | None, settings: Settings, console: Console) -> None:
    """Build while a person waits; a build that is already going on is waited for first, as its work is kept."""
    from assistant.building import Busy, claimed, forget_failure, running, wait
    from assistant.retrieval import build_index, index_folder

    folder = index_folder()
    forget_failure(folder)
    started = time.monotonic()
    manifest = None
    with building(console, settings) as progress:
        catalogue = load_catalogue(settings)
        while manifest is None:
            try:
                with claimed(folder) as note:

                    def tell(done: int, total: int, note: Callable[[int, int], None] = note) -> None:
                        progress(done, total)
                        note(done, total)

                    manifest = build_index(catalogue, encoder=encoder, progress=tell)
            except Busy:
                other = running(folder)
                if other is not None:
                    console.say(f"process {other.pid} is building the index; waiting for it.")
                wait(folder, lambda done, total: progress(done, total) if total else None, seconds=0)
    seconds = time.monotonic() - started
    console.result(f"{manifest.count:,} passages by {manifest.encoder} in {seconds:.1f} s: {folder}")


def _build_quietly(settings: Settings) -> None:
    """The builder in the background: nobody reads what it says, so a failure is kept for the next question."""
    from assistant.building import Busy, claimed, forget_failure, note_failure
    from assistant.retrieval import index_folder, rebuild_index

    os.nice(19)
    folder = index_folder()
    catalogue = load_catalogue(settings)
    try:
        with claimed(folder) as note:
            rebuild_index(catalogue, progress=note)
    except Busy:
        return
    except FirstfaultError as error:
        note_failure(folder, catalogue.digest, str(error))
        raise
    except Exception as error:
        note_failure(folder, catalogue.digest, f"internal error ({type(error).__name__}). {REBUILD}")
        raise
    forget_failure(folder)


def _start(settings: Settings, console: Console) -> None:
    from assistant.building import forget_failure, running, start
    from assistant.retrieval import index_folder

    folder = index_folder()
    forget_failure(folder)
    if running(folder) is not None:
        console.result("The index is being built already.")
    elif start(folder, settings.corpus_paths):
        console.result("The index is being built in the background; `firstfault index status` shows how far it is.")
    else:
        raise RetrievalError(f"no index can be built in `{folder}`.", "Name a writable place: FIRSTFAULT_CACHE_DIR.")


@command.command("status", context_settings=_CONTEXT)
@click.option("--format", type=click.Choice(["text", "json"]), help="Form of the result (default text).")
@corpus_option
def status(format: str | None, corpus: tuple[Path, ...]) -> None:
    """Show where the index lies, whether it belongs to this corpus, and what it was built with."""
    from assistant.building import failure, running
    from assistant.retrieval import describe, index_folder

    settings = settings_from(corpus=corpus)
    catalogue = load_catalogue(settings)
    found = describe(catalogue)
    going_on, reason = running(index_folder()), failure(index_folder(), catalogue.digest)
    if (format or settings.format) == "json":
        data = as_data(found)
        data["building"] = going_on and {"pid": going_on.pid, "done": going_on.done, "total": going_on.total}
        data["failed"] = reason or None
        Console().result(json.dumps(data, indent=2, ensure_ascii=False))
        return
    rows = [render(found)]
    if going_on is not None:
        far = f"{going_on.done:,} of {going_on.total:,} passages" if going_on.total else "begun"
        rows.append(f"building   {far}, process {going_on.pid} (stopping it keeps what is encoded)")
    if reason:
        rows.append(f"failed     {reason}")
    Console().result("\n".join(rows))


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
