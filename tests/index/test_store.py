"""The index on disk: built once, tied to its corpus and encoder, never half written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corpus.catalogue import Catalogue
from index.errors import BrokenIndexError, RetrievalError, StaleIndexError
from index.passages import IN_WORDS_ONLY, Passage
from index.store import BATCH, Store, all_passages, build_store, load_store, open_store
from tests.index.bodies import BUS, DISK, FAMILY, MEMORY, body, catalogue_of
from tests.index.hashing import HashingEncoder

CATALOGUE = catalogue_of(BUS, MEMORY, DISK, families=(FAMILY,))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


def embedded(catalogue: Catalogue) -> list[Passage]:
    return [passage for passage in all_passages(catalogue) if passage.has_vector]


def kinds(store: Store) -> list[str]:
    return [identifier.rpartition("#")[2].rpartition("-")[0] for identifier in store.ids]


def test_what_was_built_is_loaded(folder: Path) -> None:
    encoder = HashingEncoder()
    manifest = build_store(folder, CATALOGUE, encoder)
    store = load_store(folder, CATALOGUE.digest, encoder)
    assert store.manifest == manifest
    assert store.ids == [passage.id for passage in all_passages(CATALOGUE)]
    assert len(store) == manifest.count == store.lexical.count
    assert {path.name for path in folder.iterdir()} == {"manifest.json", "ids.json", "vectors.faiss", "lexical"}


def test_families_are_indexed_and_retired_entries_are_not(folder: Path) -> None:
    gone = body("gone", "Gone", "gone", status="retired", replaced_by="xid-79")
    build_store(folder, catalogue_of(BUS, gone, families=(FAMILY,)), HashingEncoder())
    entries = {identifier.split("#")[0] for identifier in load_store(folder).ids}
    assert entries == {"xid-79", "family:host-os"}


def test_padding_never_leaves_the_store(folder: Path) -> None:
    encoder = HashingEncoder()
    build_store(folder, CATALOGUE, encoder)
    store = load_store(folder)
    numbers, scores = store.nearest(encoder.encode(["bus"])[0], 10_000)
    assert sorted(numbers.tolist()) == [at for at, kind in enumerate(kinds(store)) if kind not in IN_WORDS_ONLY]
    assert len(numbers) == len(scores)
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)


def test_commands_and_printed_lines_have_no_vector(folder: Path) -> None:
    encoder = HashingEncoder()
    build_store(folder, CATALOGUE, encoder)
    store = load_store(folder)
    scores = store.scores(encoder.encode(["bus"]))
    without = {kind for kind, score in zip(kinds(store), scores.tolist(), strict=True) if score == -1.0}
    assert without == IN_WORDS_ONLY & set(kinds(store)) != set()


def test_an_empty_corpus_gives_an_empty_index(folder: Path) -> None:
    build_store(folder, catalogue_of(), HashingEncoder())
    store = load_store(folder)
    assert len(store) == 0
    assert store.nearest(np.zeros(64, dtype=np.float32), 5)[0].tolist() == []
    assert store.scores(np.zeros((1, 64), dtype=np.float32)).tolist() == []


def test_a_score_is_that_of_the_best_window(folder: Path) -> None:
    encoder = HashingEncoder()
    build_store(folder, CATALOGUE, encoder)
    store = load_store(folder)
    both = store.scores(encoder.encode(["bus", "memory"]))
    assert (
        both.tolist()
        == np.maximum(store.scores(encoder.encode(["bus"])), store.scores(encoder.encode(["memory"]))).tolist()
    )


def test_a_passage_is_encoded_once(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "vectors.sqlite3"
    build_store(folder, CATALOGUE, HashingEncoder(), cache=cache)
    again = HashingEncoder()
    more = body("more", "One more", "one more line")
    build_store(folder, catalogue_of(BUS, MEMORY, DISK, more, families=(FAMILY,)), again, cache=cache)
    assert set(again.encoded) == {passage.encoded_text for passage in embedded(catalogue_of(more))}
    other = HashingEncoder(revision="2")
    build_store(folder, CATALOGUE, other, cache=cache)
    assert len(other.encoded) == len({passage.digest for passage in embedded(CATALOGUE)})


def test_a_killed_build_leaves_the_old_index_and_loses_little(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "vectors.sqlite3"
    build_store(folder, CATALOGUE, HashingEncoder(), cache=cache)
    before = (folder / "manifest.json").read_bytes()
    many = catalogue_of(*(body(f"entry-{n}", f"Title {n}", f"line number {n}") for n in range(BATCH)))
    with pytest.raises(KeyboardInterrupt):
        build_store(folder, many, HashingEncoder(fails_at=BATCH + 5), cache=cache)
    assert (folder / "manifest.json").read_bytes() == before
    load_store(folder, CATALOGUE.digest)
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".index")] == []
    second = HashingEncoder()
    build_store(folder, many, second, cache=cache)
    assert len(second.encoded) == len({passage.digest for passage in embedded(many)}) - BATCH


def test_progress_counts_up_and_may_interrupt(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    build_store(folder, CATALOGUE, HashingEncoder(), progress=lambda done, total: seen.append((done, total)))
    total = len({passage.digest for passage in embedded(CATALOGUE)})
    assert seen[0] == (0, total)
    assert seen[-1] == (total, total)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_store(folder.with_name("other"), CATALOGUE, HashingEncoder(), progress=stop)
    assert not folder.with_name("other").exists()


def test_the_form_that_ships_answers_nearly_the_same(folder: Path) -> None:
    encoder = HashingEncoder()
    build_store(folder, CATALOGUE, encoder)
    half = folder.with_name("release")
    build_store(half, CATALOGUE, encoder, half=True)
    assert (half / "vectors.f16").stat().st_size == len(embedded(CATALOGUE)) * encoder.dimension * 2
    query = encoder.encode(["gpu bus"])
    assert np.allclose(load_store(half).scores(query), load_store(folder).scores(query), atol=0.01)


def test_another_corpus_is_stale(folder: Path) -> None:
    build_store(folder, CATALOGUE, HashingEncoder())
    with pytest.raises(StaleIndexError, match=r"another corpus.*index build") as error:
        load_store(folder, "other")
    assert error.value.exit_code == 4


@pytest.mark.parametrize("encoder", [HashingEncoder(revision="2"), HashingEncoder(dimension=32)])
def test_another_encoder_is_stale(folder: Path, encoder: HashingEncoder) -> None:
    build_store(folder, CATALOGUE, HashingEncoder())
    with pytest.raises(StaleIndexError, match="--encoder"):
        load_store(folder, CATALOGUE.digest, encoder)


def test_another_form_is_stale(folder: Path) -> None:
    build_store(folder, CATALOGUE, HashingEncoder())
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "form": 99}), encoding="utf-8")
    with pytest.raises(StaleIndexError, match="form 99"):
        load_store(folder)


@pytest.mark.parametrize("name", ["manifest.json", "ids.json", "vectors.faiss", "lexical/lexical.json"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\x00" * 200])
def test_a_damaged_index_says_how_to_mend_it(folder: Path, name: str, content: bytes | None) -> None:
    build_store(folder, CATALOGUE, HashingEncoder())
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(BrokenIndexError, match="firstfault index build") as error:
        load_store(folder, CATALOGUE.digest)
    assert error.value.exit_code == 4
    build_store(folder, CATALOGUE, HashingEncoder())
    load_store(folder, CATALOGUE.digest)


def test_files_of_two_builds_do_not_mix(folder: Path) -> None:
    build_store(folder, CATALOGUE, HashingEncoder())
    other = folder.with_name("other")
    build_store(other, catalogue_of(BUS), HashingEncoder())
    (folder / "ids.json").write_bytes((other / "ids.json").read_bytes())
    with pytest.raises(BrokenIndexError, match="do not belong together"):
        load_store(folder)


def test_no_index_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokenIndexError, match="there is no index"):
        load_store(tmp_path / "nowhere")


def test_a_folder_of_somebody_else_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RetrievalError, match="not an index"):
        build_store(tmp_path, CATALOGUE, HashingEncoder())
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "mine"


def test_a_damaged_vector_cache_is_thrown_away(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "vectors.sqlite3"
    cache.write_bytes(b"no database" * 100)
    build_store(folder, CATALOGUE, HashingEncoder(), cache=cache)
    second = HashingEncoder()
    build_store(folder, CATALOGUE, second, cache=cache)
    assert second.encoded == []


def test_a_cache_that_cannot_be_written_is_done_without(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    build_store(folder, CATALOGUE, HashingEncoder(), cache=tmp_path / "file" / "vectors.sqlite3")
    load_store(folder, CATALOGUE.digest)


def test_the_index_that_ships_serves_until_one_is_built(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "release"
    monkeypatch.setattr("index.store.release_folder", lambda: shipped)
    encoder = HashingEncoder()
    with pytest.raises(BrokenIndexError, match="there is no index"):
        open_store(folder, CATALOGUE.digest, encoder)
    build_store(shipped, CATALOGUE, encoder, half=True)
    assert len(open_store(folder, CATALOGUE.digest, encoder)) > 0
    with pytest.raises(BrokenIndexError, match="there is no index"):
        open_store(folder, "another corpus", encoder)
    build_store(folder, catalogue_of(BUS, digest="another corpus"), encoder)
    assert open_store(folder, "another corpus", encoder).manifest.corpus == "another corpus"
