"""The store: a directory with the vectors of passages, the words of all, and what ties them together.

    manifest.json   what it was made from: corpus digest, encoder, dimension, count, runtime
    ids.json        passage ids and digests, in order
    vectors.faiss   a flat inner-product index of those that have a vector, in that order; or vectors.f16, the form
                    that ships
    lexical/        the words (index.lexical)

It is written beside and renamed, so a killed build leaves the old one as it
was, and vectors that were computed survive it (index.vectors). FAISS pads
short results with -1; that never leaves this module.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus.catalogue import Catalogue
from index.errors import REBUILD, BrokenIndexError, RetrievalError, StaleIndexError
from index.lexical import LexicalIndex
from index.passages import IN_WORDS_ONLY, Passage, entry_passages, family_passages
from index.vectors import VectorCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from index.encoder import Encoder

    Vectors = NDArray[np.float32]
    Numbers = NDArray[np.int64]

FORM = 2
"""Version of the directory's layout; an index of another form is built again."""
FILES = frozenset({"manifest.json", "ids.json", "vectors.faiss", "vectors.f16", "lexical"})
BATCH = 64
"""Passages encoded between two calls of `progress`: a fraction of a second."""
Progress = Callable[[int, int], None]
"""Called with passages done and passages in all; raising from it interrupts the build."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index was made from."""

    corpus: str
    encoder: str
    revision: str
    dimension: int
    count: int
    built_with: str
    digest: str
    """SHA-256 over the ids file, so that vectors and ids of two builds are never mixed."""
    form: int = FORM
    spec: str = ""
    """The name or folder by which `open_encoder` finds this encoder again; empty for the bundled one."""


class Store:
    """A loaded index."""

    def __init__(self, manifest: Manifest, ids: list[str], vectors: Any, lexical: LexicalIndex) -> None:
        """Take the parts; use `load_store` or `build_store`."""
        self.manifest = manifest
        self.ids = ids
        self.lexical = lexical
        self._faiss = vectors
        self._rows = _with_vectors(ids)

    def __len__(self) -> int:
        return len(self.ids)

    def scores(self, queries: Vectors) -> Vectors:
        """The best inner product of every passage with any of the queries, float32 of shape (count,).

        -1 for passages without a vector, below all that have one. Flat search computes them all anyway (0.4 ms for 10,000 passages), and whoever
        restricts the search to some entries needs those below the first k as well.
        """
        import numpy as np

        best = np.full(len(self.ids), -1.0, dtype=np.float32)
        for query in queries:
            numbers, found = self.nearest(query, len(self._rows))
            best[numbers] = np.maximum(best[numbers], found)
        return best

    def nearest(self, query: Vectors, k: int) -> tuple[Numbers, Vectors]:
        """Positions and inner products of the k nearest passages to one vector, best first.

        Fewer than k when the index holds fewer.
        """
        distances, numbers = self._faiss.search(query.reshape(1, -1), max(1, min(k, len(self._rows))))
        kept = numbers[0] >= 0
        return self._rows[numbers[0][kept]], distances[0][kept]


def _with_vectors(ids: Sequence[str]) -> Numbers:
    """Positions of the passages that have a vector, by the kind in their ids: `xid-79-...#faq-3`."""
    import numpy as np

    kinds = (identifier.rpartition("#")[2].rpartition("-")[0] for identifier in ids)
    return np.array([at for at, kind in enumerate(kinds) if kind not in IN_WORDS_ONLY], dtype=np.int64)


def all_passages(catalogue: Catalogue) -> list[Passage]:
    """The passages of all live entries and of their families, in a fixed order."""
    passages: list[Passage] = []
    families = set()
    for entry in sorted(catalogue.heads):
        head = catalogue.heads[entry]
        if head.status == "retired":
            continue
        families.add(head.family)
        body = catalogue.body(entry)
        # While entries are merged an id may still lie there that another one already has as an alias.
        if body["id"] == entry:
            passages += entry_passages(body)
    for family in sorted(families):
        body = catalogue.family(family)
        passages += family_passages(body) if body else []
    return passages


def build_store(
    folder: Path,
    catalogue: Catalogue,
    encoder: Encoder,
    *,
    cache: Path | None = None,
    progress: Progress | None = None,
    half: bool = False,
    spec: str = "",
) -> Manifest:
    """Build the index of a catalogue into `folder`, replacing what lies there once it is done.

    Vectors found in the `cache` file are reused and new ones are kept in it.
    With `half` the vectors are written in 16 bits, the form that ships.
    `spec` is how the encoder is opened again. Raises RetrievalError when the
    folder cannot be written.
    """
    refuse_foreign(folder)
    passages = all_passages(catalogue)
    vectors = encode_passages(passages, encoder, cache, progress)
    return write_store(folder, passages, vectors, catalogue.digest, encoder, half=half, spec=spec)


def write_store(
    folder: Path,
    passages: Sequence[Passage],
    vectors: Vectors,
    corpus: str,
    encoder: Encoder,
    *,
    half: bool = False,
    spec: str = "",
) -> Manifest:
    """Write an index beside `folder` and put it in its place; raises RetrievalError when that cannot be done."""
    refuse_foreign(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        manifest = _write(made, passages, vectors, corpus, encoder, half=half, spec=spec)
        _swap(made, folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return manifest


def memory_store(passages: Sequence[Passage], vectors: Vectors, corpus: str, encoder: Encoder) -> Store:
    """The same index without a folder, for a place where nothing can be written."""
    manifest = _manifest(_ids(passages), passages, corpus, encoder, "")
    lexical = LexicalIndex.build([passage.encoded_text for passage in passages])
    return Store(manifest, [passage.id for passage in passages], _flat(vectors), lexical)


def _unwritable(folder: Path, error: OSError) -> RetrievalError:
    return RetrievalError(
        f"the index cannot be written to `{folder}` ({error.strerror or error}).", "Free or name another place."
    )


def encode_passages(
    passages: Sequence[Passage], encoder: Encoder, cache: Path | None = None, progress: Progress | None = None
) -> Vectors:
    """Vectors of those of these passages that have one, float32 of shape (vectors, dimension); each text once."""
    import numpy as np

    space = _space(encoder)
    passages = [passage for passage in passages if passage.has_vector]
    digests = [passage.digest for passage in passages]
    with VectorCache(cache) as kept:
        known = kept.get(space, digests, encoder.dimension)
        texts = {passage.digest: passage.encoded_text for passage in passages if passage.digest not in known}
        missing = list(texts)
        total = len(set(digests))
        for start in range(0, len(missing), BATCH):
            if progress is not None:
                progress(total - len(missing) + start, total)
            some = missing[start : start + BATCH]
            found = encoder.encode([texts[digest] for digest in some])
            kept.put(space, some, found)
            known.update(zip(some, found, strict=True))
        if progress is not None:
            progress(total, total)
        kept.prune(space, digests)
    if not passages:
        return np.zeros((0, encoder.dimension), dtype=np.float32)
    return np.stack([known[digest] for digest in digests]).astype(np.float32)


def unknown_texts(passages: Sequence[Passage], encoder: Encoder, cache: Path) -> int:
    """How many texts a build would have to encode, because the cache file lacks their vectors."""
    digests = {passage.digest for passage in passages if passage.has_vector}
    if not cache.is_file():
        return len(digests)
    with VectorCache(cache) as kept:
        return len(digests) - len(kept.get(_space(encoder), list(digests), encoder.dimension))


def _space(encoder: Encoder) -> str:
    """The weights and what computes with them; a name is only what somebody called their folder."""
    return f"{encoder.revision} {encoder.form}"


def _write(
    folder: Path, passages: Sequence[Passage], vectors: Vectors, corpus: str, encoder: Encoder, *, half: bool, spec: str
) -> Manifest:
    ids = _ids(passages)
    (folder / "ids.json").write_bytes(ids)
    (folder / "lexical").mkdir()
    LexicalIndex.build([passage.encoded_text for passage in passages]).save(folder / "lexical")
    if half:
        (folder / "vectors.f16").write_bytes(vectors.astype("<f2").tobytes())
    else:
        import faiss

        faiss.write_index(_flat(vectors), str(folder / "vectors.faiss"))
    manifest = _manifest(ids, passages, corpus, encoder, spec)
    # Last: a directory without a manifest is no index.
    (folder / "manifest.json").write_text(json.dumps(asdict(manifest), indent=1) + "\n", encoding="utf-8")
    return manifest


def _ids(passages: Sequence[Passage]) -> bytes:
    return json.dumps({passage.id: passage.digest[:16] for passage in passages}, indent=0).encode()


def _manifest(ids: bytes, passages: Sequence[Passage], corpus: str, encoder: Encoder, spec: str) -> Manifest:
    return Manifest(
        corpus, encoder.name, encoder.revision, encoder.dimension, len(passages), encoder.form,
        hashlib.sha256(ids).hexdigest(), spec=spec,
    )  # fmt: skip


def _flat(vectors: Vectors) -> Any:
    import faiss
    import numpy as np

    # One thread: under contention a second one costs more than the whole search.
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(np.ascontiguousarray(vectors, dtype=np.float32))
    return flat


def refuse_foreign(folder: Path) -> None:
    """Never replace a folder that is not an index: --index may name anything."""
    if folder.is_dir() and not {path.name for path in folder.iterdir()} <= FILES:
        raise RetrievalError(f"`{folder}` is not an index and is not empty.", "Name another folder.")


def _swap(made: Path, folder: Path) -> None:
    old = made.with_name(made.name + ".old")
    with contextlib.suppress(FileNotFoundError):
        folder.rename(old)
    try:
        made.rename(folder)
    except OSError:
        # Another process was quicker; its index is as good as this one.
        if not (folder / "manifest.json").is_file():
            with contextlib.suppress(OSError):
                old.rename(folder)
            raise
    shutil.rmtree(old, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what killed builds left beside the index, a day after they were started."""
    newest = max((path.stat().st_mtime for path in folder.parent.iterdir()), default=0.0)
    for left in folder.parent.glob(f".{folder.name}-*"):
        if left.stat().st_mtime < newest - 86_400:
            shutil.rmtree(left, ignore_errors=True)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an index; raises BrokenIndexError when there is none or it cannot be read."""
    try:
        return Manifest(**json.loads((folder / "manifest.json").read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise BrokenIndexError(f"there is no index in `{folder}`.", REBUILD) from error
    except (OSError, ValueError, TypeError) as error:
        raise BrokenIndexError(f"the manifest of the index in `{folder}` cannot be read ({error}).", REBUILD) from error


def check_manifest(manifest: Manifest, corpus: str, encoder: Encoder | None) -> None:
    """Whether an index belongs to this corpus digest and encoder; raises StaleIndexError.

    The space counts, not the runtime: vectors that SentenceTransformer.encode
    made are asked with the ONNX form of the same weights.
    """
    if manifest.form != FORM:
        raise StaleIndexError(f"the index has form {manifest.form}, this firstfault reads {FORM}.", REBUILD)
    if manifest.corpus != corpus:
        raise StaleIndexError("the index was built from another corpus.", REBUILD)
    if encoder is not None and (manifest.revision, manifest.dimension) != (encoder.revision, encoder.dimension):
        raise StaleIndexError(
            f"the index was built with the encoder `{manifest.encoder}` ({manifest.revision}), "
            f"not with `{encoder.name}` ({encoder.revision}).",
            "Type `firstfault index build --encoder NAME`, or ask with the encoder of the index.",
        )


def load_store(folder: Path, corpus: str | None = None, encoder: Encoder | None = None) -> Store:
    """Load an index, checked against a corpus digest and an encoder where they are given.

    Raises StaleIndexError when it belongs to others, BrokenIndexError when it is
    missing or damaged.
    """
    manifest = read_manifest(folder)
    check_manifest(manifest, corpus if corpus is not None else manifest.corpus, encoder)
    try:
        raw = (folder / "ids.json").read_bytes()
        ids = list(json.loads(raw))
        vectors = _read_vectors(folder, manifest)
    # FAISS raises RuntimeError for whatever is wrong with its file.
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        raise BrokenIndexError(f"the index in `{folder}` cannot be read ({str(error)[:160]}).", REBUILD) from error
    if hashlib.sha256(raw).hexdigest() != manifest.digest or not (
        len(ids) == manifest.count and vectors.ntotal == len(_with_vectors(ids)) and vectors.d == manifest.dimension
    ):
        raise BrokenIndexError(f"the files of the index in `{folder}` do not belong together.", REBUILD)
    lexical = LexicalIndex.load(folder / "lexical")
    if lexical.count != manifest.count:
        raise BrokenIndexError(f"the files of the index in `{folder}` do not belong together.", REBUILD)
    return Store(manifest, ids, vectors, lexical)


def release_folder() -> Path:
    """Where a wheel carries the index of its own corpus; a checkout has none."""
    return Path(__file__).parent / "release"


def open_store(folder: Path, corpus: str, encoder: Encoder | None = None) -> Store:
    """The index in `folder`, else the one that ships, if either belongs to this corpus and encoder.

    Raises what `load_store` says of `folder` when neither does.
    """
    try:
        return load_store(folder, corpus, encoder)
    except RetrievalError:
        if (release_folder() / "manifest.json").is_file():
            with contextlib.suppress(RetrievalError):
                return load_store(release_folder(), corpus, encoder)
        raise


def _read_vectors(folder: Path, manifest: Manifest) -> Any:
    half = folder / "vectors.f16"
    if half.is_file():
        import numpy as np

        flat = np.fromfile(half, dtype="<f2").astype(np.float32)
        return _flat(flat.reshape(-1, manifest.dimension))
    path = folder / "vectors.faiss"
    if not os.access(path, os.R_OK):
        raise FileNotFoundError(f"{path.name} is missing")
    import faiss

    faiss.omp_set_num_threads(1)
    return faiss.read_index(str(path))
