"""The index of a catalogue: found where one lies, built where one is needed, in nobody's way.

    at_hand(catalogue)           what lies ready, or None: never builds, never raises
    up_to_date(catalogue)        the same, and brings an index up to date where that takes a moment
    open_retriever(catalogue)    builds what is missing; with `no_build` an error that says what to type
    build_index(catalogue)       `firstfault index build`
    rebuild_index(catalogue)     the same with the encoder that the index has
    describe(catalogue)          `firstfault index status`

The index of this machine lies in the cache directory; a wheel ships the one of
its own corpus. Where nothing can be written the index lives in memory. Nothing
heavy is imported before an index is really loaded or built.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from assistant.settings import cache_dir
from corpus.errors import FirstfaultError
from index.errors import RetrievalError, StaleIndexError

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue
    from index.encoder import Encoder
    from index.retriever import Retriever
    from index.store import Manifest, Store

Counted = Callable[[int, int], None]
"""Called with passages done and passages in all; an exception out of it stops the build."""
State = Literal["ready", "missing", "stale", "broken"]
FEW: Final = 48
"""New passages up to which a question waits for them: less than a second, once for every state of the corpus."""
BUNDLED: Final = ""
"""How the manifest of an index names the encoder that comes with the program."""


def index_folder() -> Path:
    """Where the index of this machine lies."""
    return cache_dir() / "index"


def vectors_file(folder: Path) -> Path:
    """Where vectors are kept that were computed before, next to the index."""
    return folder.with_name("vectors.sqlite3")


def at_hand(catalogue: Catalogue, folder: Path | None = None) -> Retriever | None:
    """A retriever over an index that lies ready for this catalogue; None where there is none."""
    try:
        return _opened(catalogue, folder or index_folder())
    except (FirstfaultError, ImportError):
        return None


def up_to_date(
    catalogue: Catalogue, folder: Path | None = None, *, progress: Counted | None = None
) -> Retriever | None:
    """What lies ready; an index of an older corpus is built again where few passages are new. Never raises."""
    place = folder or index_folder()
    found = at_hand(catalogue, place)
    if found is not None or not (place / "manifest.json").is_file():
        return found
    try:
        from index.store import all_passages, unknown_texts

        encoder, spec = _encoder_to_build_with(place)
        if unknown_texts(all_passages(catalogue), encoder, vectors_file(place)) > FEW:
            return None
        return _retriever(catalogue, _built(catalogue, place, encoder, spec, progress), encoder)
    except (FirstfaultError, ImportError):
        return None


def open_retriever(
    catalogue: Catalogue, *, folder: Path | None = None, no_build: bool = False, progress: Counted | None = None
) -> Retriever:
    """A retriever over the index of this catalogue, which is built where it is missing, stale or broken.

    A build that goes on in another process is waited for, not done twice. With `no_build` raises the RetrievalError that says what to type.
    """
    place = folder or index_folder()
    try:
        return _opened(catalogue, place)
    except RetrievalError:
        if no_build:
            raise
    from assistant.building import Busy, claimed, wait

    while True:
        try:
            with claimed(place) as note:

                def tell(done: int, total: int, note: Counted = note) -> None:
                    note(done, total)
                    if progress is not None:
                        progress(done, total)

                encoder, spec = _encoder_to_build_with(place)
                return _retriever(catalogue, _built(catalogue, place, encoder, spec, tell), encoder)
        except Busy:
            wait(place, lambda done, total: progress(done, total) if progress and total else None, seconds=0)
            with contextlib.suppress(RetrievalError):
                return _opened(catalogue, place)


def build_index(
    catalogue: Catalogue, *, folder: Path | None = None, encoder: str | None = None, progress: Counted | None = None
) -> Manifest:
    """Build the index with the encoder of this name or folder, and let it be opened with that one from now on."""
    from index.encoder import open_encoder
    from index.store import build_store

    place = folder or index_folder()
    spec = _lasting(encoder)
    return build_store(
        place, catalogue, open_encoder(spec or None), cache=vectors_file(place), progress=progress, spec=spec
    )


def rebuild_index(catalogue: Catalogue, *, folder: Path | None = None, progress: Counted | None = None) -> Manifest:
    """Build the index anew with the encoder it was built with; with the bundled one where that is gone."""
    from index.store import build_store

    place = folder or index_folder()
    encoder, spec = _encoder_to_build_with(place)
    return build_store(place, catalogue, encoder, cache=vectors_file(place), progress=progress, spec=spec)


@dataclass(frozen=True, slots=True)
class Description:
    """What lies ready, or why nothing does."""

    state: State
    folder: Path
    manifest: Manifest | None
    corpus: str
    """Digest of the catalogue that was asked for."""
    is_shipped: bool = False
    problem: str = ""

    @property
    def is_of_corpus(self) -> bool:
        """Whether the index was built from this catalogue."""
        return self.manifest is not None and self.manifest.corpus == self.corpus


def describe(catalogue: Catalogue, folder: Path | None = None) -> Description:
    """The index that would be used, loaded once to see that it works; else the state of the one in `folder`."""
    from index.store import release_folder

    place = folder or index_folder()
    manifest = _manifest(place)
    problem = ""
    state: State = "ready"
    try:
        used = _opened(catalogue, place).store.manifest
    except StaleIndexError as error:
        state, problem = "stale", str(error)
    except (RetrievalError, ImportError) as error:
        state, problem = "broken" if (place / "manifest.json").exists() else "missing", str(error)
    else:
        if used != manifest:
            return Description("ready", release_folder(), used, catalogue.digest, is_shipped=True)
    return Description(state, place, manifest, catalogue.digest, problem=problem)


def _opened(catalogue: Catalogue, folder: Path) -> Retriever:
    """The index in `folder`, or the one that ships, asked with the encoder it was built with."""
    from index.encoder import OnnxEncoder, open_encoder
    from index.store import open_store, release_folder

    manifest = _manifest(folder)
    own = manifest is not None and manifest.corpus == catalogue.digest
    # Only the index of this machine has an encoder of its own; of another corpus it is not loaded in vain.
    spec = manifest.spec if own and manifest is not None else BUNDLED
    for name in dict.fromkeys((spec, BUNDLED)):
        try:
            encoder = open_encoder(name or None)
            if isinstance(encoder, OnnxEncoder) and (own or _manifest(release_folder()) is not None):
                encoder.load_soon()
            return _retriever(catalogue, open_store(folder, catalogue.digest, encoder), encoder)
        except RetrievalError:
            if name == BUNDLED:
                raise
    raise AssertionError("unreachable")


def _retriever(catalogue: Catalogue, store: Store, encoder: Encoder) -> Retriever:
    from index.retriever import Retriever

    return Retriever(catalogue, store, encoder=encoder)


def _manifest(folder: Path) -> Manifest | None:
    from index.store import read_manifest

    with contextlib.suppress(RetrievalError):
        return read_manifest(folder)
    return None


def _lasting(encoder: str | None) -> str:
    """A name or folder in the form in which it is found again from another directory."""
    if encoder is None or encoder == "bundled":
        return BUNDLED
    folder = Path(encoder).expanduser()
    return str(folder.resolve()) if folder.exists() else encoder


def _encoder_to_build_with(folder: Path) -> tuple[Encoder, str]:
    """The encoder of the index that lies there, as long as it can be had; else the bundled one."""
    from index.encoder import open_encoder

    manifest = _manifest(folder)
    if manifest is not None and manifest.spec:
        with contextlib.suppress(RetrievalError):
            return open_encoder(manifest.spec), manifest.spec
    return open_encoder(), BUNDLED


def _built(catalogue: Catalogue, folder: Path, encoder: Encoder, spec: str, progress: Counted | None) -> Store:
    """A new index in `folder`, or in memory where nothing can be written."""
    from index.store import all_passages, encode_passages, load_store, memory_store, write_store

    passages = all_passages(catalogue)
    vectors = encode_passages(passages, encoder, vectors_file(folder), progress)
    try:
        write_store(folder, passages, vectors, catalogue.digest, encoder, spec=spec)
        return load_store(folder, catalogue.digest, encoder)
    except RetrievalError:
        return memory_store(passages, vectors, catalogue.digest, encoder)
