"""How a verb gets at entries by meaning: the index that lies ready, else words, while one is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from assistant.cli.common import building

if TYPE_CHECKING:
    from assistant.chat.search import Search
    from assistant.console import Console
    from assistant.settings import Settings
    from corpus.catalogue import Catalogue

Mode = Literal["auto", "always", "never"]
BY_WORDS: Final = "this answer was found by words; "


def open_for_question(
    catalogue: Catalogue, settings: Settings, console: Console, mode: Mode, *, no_build: bool = False
) -> Search:
    """Something to search with.

    `always` waits for an index to be built, `never` goes by words. `auto` takes
    what lies ready; where nothing does it goes by words at once, and has the
    index built in the background. With `no_build` a missing index is the
    RetrievalError that says what to type.
    """
    from assistant.retrieval import open_retriever

    if mode == "never":
        from assistant.chat.material import Material
        from assistant.chat.search import WordSearch

        return WordSearch(Material(catalogue))
    if mode == "always" or no_build:
        with building(console, settings) as progress:
            return open_retriever(catalogue, no_build=no_build, progress=progress)
    from assistant.chat.search import WordSearch, open_search

    if not settings.background_build:
        # The only way for an index to follow its corpus; a question waits for it where little is new.
        with building(console, settings) as progress:
            return open_search(catalogue, progress=progress)
    found = open_search(catalogue)
    if isinstance(found, WordSearch):
        sentence = _have_it_built(catalogue, settings)
        if sentence and not settings.quiet:
            console.say(sentence)
    return found


def _have_it_built(catalogue: Catalogue, settings: Settings) -> str:
    """Start a build where none is going on, and say what a person should know."""
    from assistant.building import failure, running, start
    from assistant.retrieval import index_folder

    folder = index_folder()
    reason = failure(folder, catalogue.digest)
    if reason:
        return f"{BY_WORDS}the index that finds by meaning could not be built: {reason}"
    going_on = running(folder)
    if going_on is not None:
        far = f" ({going_on.done:,} of {going_on.total:,} passages)" if going_on.total else ""
        return f"{BY_WORDS}the index that finds by meaning is being built{far}."
    if start(folder, settings.corpus_paths):
        return (
            f"{BY_WORDS}the index that finds by meaning is now being built in the background, once for this "
            "corpus, and later questions use it. `firstfault index status` shows how far it is."
        )
    return ""
