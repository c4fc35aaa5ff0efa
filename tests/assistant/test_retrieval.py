"""The index of a catalogue: found, built at need, shipped, stale, broken, in memory; and its verb."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assistant.chat.search import WordSearch, open_search
from assistant.retrieval import at_hand, build_index, describe, index_folder, open_retriever, up_to_date, vectors_file
from corpus.catalogue import Catalogue
from index.errors import BrokenIndexError, RetrievalError, StaleIndexError, UnknownEncoderError
from index.retriever import Retriever
from index.store import BATCH, all_passages, build_store, read_manifest
from tests.index.bodies import BUS, DISK, FAMILY, MEMORY, body, catalogue_of
from tests.index.hashing import HashingEncoder

CATALOGUE = catalogue_of(BUS, MEMORY, DISK, families=(FAMILY,))
GROWN = catalogue_of(BUS, MEMORY, DISK, body("more", "More", "one more line"), families=(FAMILY,), digest="grown")
MANY = catalogue_of(*(body(f"entry-{n}", f"Title {n}", f"line number {n}") for n in range(BATCH)), digest="many")


@pytest.fixture(autouse=True)
def encoders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, HashingEncoder]:
    """The encoders that can be opened, by name; nothing is shipped and the cache is empty."""
    known = {"": HashingEncoder("bundled"), "other": HashingEncoder("other", "2", 32)}

    def opened(spec: str | Path | None = None, **_: Any) -> HashingEncoder:
        name = Path(spec or "").name
        if name not in known:
            raise UnknownEncoderError(f"no encoder `{spec}` is known.", "Name another.")
        return known[name]

    monkeypatch.setattr("index.encoder.open_encoder", opened)
    monkeypatch.setattr("index.store.release_folder", lambda: tmp_path / "release")
    monkeypatch.setenv("FIRSTFAULT_CACHE_DIR", str(tmp_path / "cache"))
    return known


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[Catalogue], None]:
    """Lets the verbs work with a catalogue of a few entries."""

    def use(catalogue: Catalogue) -> None:
        for verb in ("index", "search"):
            monkeypatch.setattr(f"assistant.cli.{verb}.load_catalogue", lambda _: catalogue)

    return use


def entries(retriever: Retriever) -> set[str]:
    return {identifier.split("#")[0] for identifier in retriever.store.ids}


# ------------------------------------------------------------------------------- at hand, never built


def test_nothing_is_at_hand_and_nothing_is_made() -> None:
    assert at_hand(CATALOGUE) is None
    assert not index_folder().exists()
    assert isinstance(open_search(CATALOGUE), WordSearch)


def test_what_was_built_is_at_hand() -> None:
    build_index(CATALOGUE)
    found = at_hand(CATALOGUE)
    assert found is not None
    assert isinstance(open_search(CATALOGUE), Retriever)
    assert found.search("seven cards instead of eight", dense="always")[0].entry == "xid-79"


def test_the_index_that_ships_is_at_hand(tmp_path: Path, encoders: dict[str, HashingEncoder]) -> None:
    build_store(tmp_path / "release", CATALOGUE, encoders[""], half=True)
    assert at_hand(CATALOGUE) is not None
    assert at_hand(GROWN) is None
    assert describe(CATALOGUE).is_shipped
    # One of this machine goes before it.
    build_index(CATALOGUE, encoder="other")
    assert describe(CATALOGUE).folder == index_folder()


@pytest.mark.parametrize("damage", ["manifest.json", "ids.json", "vectors.faiss"])
def test_a_broken_index_is_not_at_hand_and_is_built_again(damage: str) -> None:
    build_index(CATALOGUE)
    (index_folder() / damage).write_bytes(b"\x00{")
    assert at_hand(CATALOGUE) is None
    assert describe(CATALOGUE).state == "broken"
    assert open_retriever(CATALOGUE).store.manifest.corpus == CATALOGUE.digest
    assert describe(CATALOGUE).state == "ready"


# ------------------------------------------------------------------------------------ built at need


def test_what_is_missing_is_built_with_progress() -> None:
    seen: list[tuple[int, int]] = []
    retriever = open_retriever(CATALOGUE, progress=lambda done, total: seen.append((done, total)))
    assert entries(retriever) == {"xid-79", "cuda-oom", "disk-full", "family:host-os"}
    assert seen[-1][0] == seen[-1][1] > 0
    assert describe(CATALOGUE).state == "ready"


def test_what_is_stale_is_built_incrementally(encoders: dict[str, HashingEncoder]) -> None:
    build_index(CATALOGUE)
    encoders[""].encoded.clear()
    assert at_hand(GROWN) is None
    assert describe(GROWN).state == "stale"
    assert "more" in entries(open_retriever(GROWN))
    assert all("ore" in text for text in encoders[""].encoded)


def test_a_question_brings_an_index_up_to_date_where_little_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    assert up_to_date(CATALOGUE) is None
    build_index(CATALOGUE)
    monkeypatch.setattr("assistant.retrieval.FEW", 1)
    assert up_to_date(GROWN) is None
    monkeypatch.setattr("assistant.retrieval.FEW", 10)
    assert isinstance(open_search(GROWN), WordSearch)
    found = open_search(GROWN, progress=lambda _done, _total: None)
    assert isinstance(found, Retriever)
    assert "more" in entries(found)
    assert at_hand(GROWN) is not None


def test_without_building_it_says_what_to_type() -> None:
    with pytest.raises(BrokenIndexError, match=r"there is no index.*Type `firstfault index build`"):
        open_retriever(CATALOGUE, no_build=True)
    build_index(CATALOGUE)
    with pytest.raises(StaleIndexError, match=r"another corpus.*Type `firstfault index build`"):
        open_retriever(GROWN, no_build=True)


def test_where_nothing_can_be_written_the_index_lives_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("FIRSTFAULT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    retriever = open_retriever(CATALOGUE)
    assert retriever.search("seven cards instead of eight", dense="always")[0].entry == "xid-79"
    assert retriever.passages("fragmentation knob", entries=["cuda-oom"])[0].entry == "cuda-oom"
    assert at_hand(CATALOGUE) is None
    with pytest.raises(RetrievalError, match="cannot be written"):
        build_index(CATALOGUE)


# ------------------------------------------------------------------------------------ other encoders


def test_an_index_is_asked_with_the_encoder_it_was_built_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoders: dict[str, HashingEncoder]
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    assert build_index(CATALOGUE, encoder="other").spec == str(tmp_path / "other")
    monkeypatch.chdir("/")
    found = at_hand(CATALOGUE)
    assert found is not None
    assert found.encoder is encoders["other"]
    # A new corpus is encoded with it as well, as long as it can be had.
    assert open_retriever(GROWN).encoder is encoders["other"]
    del encoders["other"]
    assert at_hand(GROWN) is None
    assert open_retriever(CATALOGUE).encoder is encoders[""]


def test_the_bundled_encoder_by_its_name() -> None:
    assert build_index(CATALOGUE, encoder="bundled").spec == ""


# ------------------------------------------------------------------------------------------- the verb


def test_build_and_status(firstfault: Callable[..., Any], small: Callable[..., None]) -> None:
    small(CATALOGUE)
    assert "missing: there is no index" in firstfault("index", "status").out
    ended = firstfault("index", "build")
    assert (ended.code, ended.err) == (0, "")
    count = read_manifest(index_folder()).count
    assert ended.out.startswith(f"{count} passages by bundled in ")
    assert ended.out.endswith(f"{index_folder()}\n")
    shown = firstfault("index", "status").out
    assert "state      ready\nbuilt from this corpus\n" in shown
    data = json.loads(firstfault("index", "status", "--format", "json").out)
    assert (data["schema"], data["state"], data["matches"]) == ("firstfault.index/1", "ready", True)
    assert data["index"]["passages"] == count
    small(GROWN)
    data = json.loads(firstfault("index", "status", "--format", "json").out)
    assert (data["state"], data["matches"]) == ("stale", False)
    assert "another corpus" in data["problem"]


def test_ctrl_c_leaves_the_old_index_and_what_was_encoded(
    firstfault: Callable[..., Any], small: Callable[..., None], encoders: dict[str, HashingEncoder]
) -> None:
    build_index(CATALOGUE)
    before = (index_folder() / "manifest.json").read_bytes()
    small(MANY)
    encoders[""] = HashingEncoder("bundled", fails_at=BATCH + 5)
    ended = firstfault("index", "build")
    assert ended.code == 130
    assert f"{BATCH} of " in ended.err
    assert "`firstfault index build` goes on from there" in ended.err
    assert (index_folder() / "manifest.json").read_bytes() == before
    left = {path.name for path in index_folder().parent.iterdir()}
    assert left == {"index", "index.lock", vectors_file(index_folder()).name}
    encoders[""] = HashingEncoder("bundled")
    assert firstfault("index", "build").code == 0
    embedded = {passage.digest for passage in all_passages(MANY) if passage.has_vector}
    assert len(encoders[""].encoded) == len(embedded) - BATCH


def test_the_verb_alone_is_a_usage_error(firstfault: Callable[..., Any]) -> None:
    ended = firstfault("index")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "firstfault: Missing command. `firstfault index -h` shows the usage.\n"
    assert "Commands:\n  build " in firstfault("index", "-h").out


def test_an_unknown_encoder(firstfault: Callable[..., Any], small: Callable[..., None]) -> None:
    small(CATALOGUE)
    ended = firstfault("index", "build", "--encoder", "nobody")
    assert (ended.code, ended.out) == (2, "")
    assert "no encoder `nobody` is known" in ended.err


def test_a_folder_of_somebody_else_is_not_replaced(firstfault: Callable[..., Any], small: Callable[..., None]) -> None:
    small(CATALOGUE)
    index_folder().mkdir(parents=True)
    (index_folder() / "thesis.txt").write_text("mine", encoding="utf-8")
    ended = firstfault("index", "build")
    assert ended.code == 4
    assert "is not an index and is not empty" in ended.err
    assert entries(open_retriever(CATALOGUE)) >= {"xid-79"}
    assert [path.name for path in index_folder().iterdir()] == ["thesis.txt"]


def test_search_by_meaning_builds_or_says_what_to_type(
    firstfault: Callable[..., Any], small: Callable[..., None]
) -> None:
    small(CATALOGUE)
    ended = firstfault("search", "--semantic", "--no-build", "seven cards instead of eight")
    assert (ended.code, ended.out) == (4, "")
    assert "Type `firstfault index build`." in ended.err
    ended = firstfault("search", "--semantic", "seven cards instead of eight on this host")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("xid-79")
    assert "dense 1" in ended.out
    assert firstfault("search", "--semantic", "--no-build", "seven cards").code == 0
