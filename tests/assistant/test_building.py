"""The index built in a process of its own: one at a time, told, killed, failed, not possible."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assistant import building
from assistant.building import Busy, Running, claimed, failure, note_failure, running, start, wait
from assistant.retrieval import build_index, index_folder, open_retriever, vectors_file
from assistant.tui.conversation import ChatConversation
from corpus.catalogue import Catalogue
from index.encoder import bundled_folder
from index.errors import RetrievalError
from tests.index.bodies import BUS, DISK, FAMILY, MEMORY, catalogue_of
from tests.index.hashing import HashingEncoder

CATALOGUE = catalogue_of(BUS, MEMORY, DISK, families=(FAMILY,))
HOLD = """
import sys, time
from pathlib import Path
from assistant.building import claimed
with claimed(Path(sys.argv[1])) as note:
    note(3, 10)
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIRSTFAULT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("FIRSTFAULT_BACKGROUND_BUILD", "yes")
    return index_folder()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, tuple[Path, ...]]]:
    """Builds that would have been started."""
    seen: list[tuple[Path, tuple[Path, ...]]] = []

    def note(folder: Path, overlays: Any = ()) -> bool:
        seen.append((folder, tuple(overlays)))
        return True

    monkeypatch.setattr(building, "start", note)
    return seen


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Catalogue:
    """The verbs work with a catalogue of a few entries, an encoder without a model, and nothing that ships."""
    for verb in ("index", "search", "ask"):
        monkeypatch.setattr(f"assistant.cli.{verb}.load_catalogue", lambda _: CATALOGUE)
    monkeypatch.setattr("index.encoder.open_encoder", lambda *_, **__: HashingEncoder("bundled"))
    monkeypatch.setattr("index.store.release_folder", lambda: tmp_path / "release")
    monkeypatch.setattr("os.nice", lambda _: 19)
    return CATALOGUE


@pytest.fixture
def holder(folder: Path, root: Path) -> Any:
    """Another process that builds the index."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


# ------------------------------------------------------------------------------------------- the lock


def test_a_build_is_seen_with_how_far_it_is(folder: Path, holder: Any) -> None:
    assert running(folder) == Running(holder.pid, 3, 10)
    with pytest.raises(Busy), claimed(folder):
        pass


def test_a_killed_build_holds_nothing_up(folder: Path, holder: Any) -> None:
    holder.kill()
    holder.wait()
    assert running(folder) is None
    with claimed(folder) as note:
        note(1, 3)
        note(2, 3)
        assert running(folder) == Running(os.getpid(), 1, 3)  # notes are at least half a second apart,
        note(3, 3)
        assert running(folder) == Running(os.getpid(), 3, 3)  # but the last one
    assert running(folder) is None


def test_waiting_tells_how_far_it_is_and_can_be_left(folder: Path, holder: Any) -> None:
    class Left(Exception):
        pass

    def progress(done: int, total: int) -> None:
        assert (done, total) == (3, 10)
        raise Left

    with pytest.raises(Left):
        wait(folder, progress)


def test_waiting_ends_where_no_build_begins(folder: Path) -> None:
    wait(folder, lambda _done, _total: None, seconds=0)


def test_a_builder_of_ones_own_is_waited_for_until_it_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.6)"])
    monkeypatch.setattr(building, "_started", [slow])
    wait(folder, lambda _done, _total: None, seconds=0)
    assert slow.poll() == 0


# ------------------------------------------------------------------------------------------- questions


@pytest.mark.parametrize("verb", ["ask", "search"])
@pytest.mark.usefixtures("small")
def test_a_question_is_answered_by_words_and_starts_a_build(
    verb: str, folder: Path, started: list[Any], firstfault: Callable[..., Any]
) -> None:
    ended = firstfault(verb, "GPU has fallen off the bus")
    assert ended.code == 0
    assert ended.out
    assert "is now being built in the background" in ended.err
    assert started == [(folder, ())]
    assert not folder.exists()


@pytest.mark.usefixtures("small", "holder")
def test_a_question_while_it_is_built_says_how_far_it_is(started: list[Any], firstfault: Callable[..., Any]) -> None:
    assert "is being built (3 of 10 passages)" in firstfault("search", "GPU has fallen off the bus").err
    assert started == []


@pytest.mark.usefixtures("small", "folder")
def test_the_next_question_goes_by_meaning(started: list[Any], firstfault: Callable[..., Any]) -> None:
    firstfault("search", "seven cards instead of eight on this host")
    assert firstfault("index", "build", "--low-priority").code == 0
    ended = firstfault("search", "seven cards instead of eight on this host")
    assert ended.err == ""
    assert "dense 1" in ended.out
    assert len(started) == 1


@pytest.mark.usefixtures("small", "folder")
@pytest.mark.parametrize(
    ("variable", "value"), [("BACKGROUND_BUILD", "no"), ("SEMANTIC", "never"), ("QUIET", "yes")]
)  # fmt: skip
def test_it_can_be_forbidden_or_kept_quiet(
    variable: str, value: str, started: list[Any], firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"FIRSTFAULT_{variable}", value)
    assert firstfault("ask", "GPU has fallen off the bus").err == ""
    assert len(started) == (variable == "QUIET")


@pytest.mark.usefixtures("small", "folder", "started")
@pytest.mark.parametrize("words", [("ask", "--no-build", "why?"), ("search", "--no-build", "why")])
def test_without_building_a_missing_index_is_an_error(words: tuple[str, ...], firstfault: Callable[..., Any]) -> None:
    ended = firstfault(*words)
    assert (ended.code, ended.out) == (4, "")
    assert "Type `firstfault index build`." in ended.err


# ------------------------------------------------------------------------------------------- failures


@pytest.mark.usefixtures("small")
def test_a_failure_is_told_once_asked_and_not_tried_again(
    folder: Path, started: list[Any], firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RetrievalError("`model.onnx` is missing.", "Reinstall firstfault.")

    monkeypatch.setattr("assistant.retrieval.rebuild_index", broken)
    assert firstfault("index", "build", "--low-priority").code == 4
    ended = firstfault("search", "GPU has fallen off the bus")
    assert "could not be built: `model.onnx` is missing. Reinstall firstfault." in ended.err
    assert ended.out
    assert started == []
    assert "failed     `model.onnx` is missing" in firstfault("index", "status").out
    # Of another corpus it says nothing, and whoever types `index build` means it.
    assert failure(folder, "another") == ""
    assert firstfault("index", "build").code == 0
    assert failure(folder, CATALOGUE.digest) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", '{"corpus": 1}'])
def test_a_damaged_failure_file_is_none(text: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    building.failure_file(folder).write_text(text, encoding="utf-8")
    assert failure(folder, "any") == ""


def test_where_nothing_can_be_written_no_build_is_started(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert not start(tmp_path / "file" / "cache" / "index")
    note_failure(tmp_path / "file" / "index", "digest", "why")


@pytest.mark.usefixtures("small", "folder", "holder")
def test_a_second_build_in_the_background_leaves_it_to_the_first(firstfault: Callable[..., Any]) -> None:
    assert firstfault("index", "build", "--low-priority").code == 0
    assert firstfault("index", "build", "--background").out == "The index is being built already.\n"
    assert "building   3 of 10 passages" in firstfault("index", "status").out


@pytest.mark.usefixtures("small")
def test_a_build_that_a_person_waits_for_waits_for_the_first(
    holder: Any, firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        holder.kill()
        holder.wait()

    monkeypatch.setattr(building, "wait", killed)
    ended = firstfault("index", "build")
    assert ended.code == 0
    assert ended.err == f"firstfault: process {holder.pid} is building the index; waiting for it.\n"


@pytest.mark.usefixtures("small")
def test_whoever_needs_an_index_at_once_waits_for_a_build_that_goes_on(
    holder: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finished(*_: Any, **__: Any) -> None:
        holder.kill()
        holder.wait()
        build_index(CATALOGUE, folder=folder)

    monkeypatch.setattr(building, "wait", finished)
    monkeypatch.setattr("assistant.retrieval._built", lambda *_: pytest.fail("it was built twice"))
    assert open_retriever(CATALOGUE, folder=folder).store.manifest.corpus == CATALOGUE.digest


# ------------------------------------------------------------------------------------------- the screens


@pytest.mark.usefixtures("small")
def test_the_screens_have_it_built_and_then_search_with_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(place: Path, _overlays: Any) -> bool:
        build_index(CATALOGUE, folder=place)
        return True

    monkeypatch.setattr(building, "start", build)
    monkeypatch.setattr(building, "STARTING", 0)
    monkeypatch.setattr(building, "wait", lambda *_: None)
    talk = ChatConversation(CATALOGUE, folder, keeps=False, overlays=())
    talk.prepare(lambda _done, _total: None)
    assert talk.search("seven cards instead of eight on this host", 1) == ("xid-79",)
    assert open_retriever(CATALOGUE, no_build=True)


@pytest.mark.usefixtures("small", "started")
def test_the_screens_say_why_there_is_none(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    note_failure(folder, CATALOGUE.digest, "the disk is full.")
    talk = ChatConversation(CATALOGUE, folder, keeps=False, overlays=())
    with pytest.raises(RetrievalError, match="the disk is full"):
        talk.prepare(lambda _done, _total: None)


@pytest.mark.usefixtures("small")
def test_where_no_process_can_be_started_a_thread_builds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "start", lambda *_: False)
    ChatConversation(CATALOGUE, folder, keeps=False, overlays=()).prepare(lambda _done, _total: None)
    assert open_retriever(CATALOGUE, no_build=True)


# ------------------------------------------------------------------------------------------- for real


@pytest.mark.slow
def test_a_real_build_in_the_background_can_be_killed_and_goes_on(folder: Path) -> None:
    assert start(folder)
    deadline = time.monotonic() + 120
    while (found := running(folder)) is None or not found.done:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert os.getpriority(os.PRIO_PROCESS, found.pid) == 19
    assert os.getsid(found.pid) != os.getsid(0)
    with suppress(ProcessLookupError):
        os.kill(found.pid, signal.SIGKILL)
    while running(folder) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not folder.exists()
    assert vectors_file(folder).stat().st_size > 0


# ------------------------------------------------------------------------------------------- what is broken


@pytest.mark.usefixtures("small", "folder")
@pytest.mark.parametrize("damage", ["manifest.json", "ids.json", "vectors.faiss", "lexical"])
def test_a_question_mends_a_damaged_index(damage: str, started: list[Any], firstfault: Callable[..., Any]) -> None:
    build_index(CATALOGUE)
    path = index_folder() / damage
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.write_bytes(b"\x00{")
    ended = firstfault("search", "GPU has fallen off the bus")
    assert ended.code == 0
    assert "is now being built in the background" in ended.err
    assert firstfault("index", "build", "--low-priority").code == 0
    assert firstfault("index", "status").out.count("ready") == 1
    assert firstfault("search", "GPU has fallen off the bus").err == ""
    assert len(started) == 1


@pytest.mark.usefixtures("folder", "started")
@pytest.mark.parametrize("gone", ["card.json", "model_int8.onnx", "tokenizer.json"])
def test_without_a_file_of_the_encoder_words_must_do(
    gone: str, firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    shutil.copytree(bundled_folder(), model)
    (model / gone).unlink()
    monkeypatch.setattr("index.encoder.bundled_folder", lambda: model)
    monkeypatch.setattr("os.nice", lambda _: 19)
    for verb in ("index", "search", "ask"):
        monkeypatch.setattr(f"assistant.cli.{verb}.load_catalogue", lambda _: CATALOGUE)
    for words in (("search", "--semantic", "GPU"), ("index", "build"), ("index", "build", "--low-priority")):
        ended = firstfault(*words)
        assert (ended.code, ended.out) == (4, "")
        assert gone in ended.err
        assert "Reinstall firstfault" in ended.err
    ended = firstfault("ask", "GPU has fallen off the bus")
    assert ended.code == 0
    assert "found by words; the index that finds by meaning could not be built" in ended.err
    assert gone in ended.err
