"""Candidates by meaning: proposed only where literals did not decide, and never called verified."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assistant.candidates import SHOWN, propose, with_candidates
from assistant.diagnosis.pipeline import Outcome, diagnose_run
from assistant.retrieval import open_retriever
from corpus.casebook import records_of
from corpus.catalogue import Catalogue
from index.errors import ModelFileError
from index.retriever import Retriever
from tests.index.bodies import BUS, DISK, FAMILY, MEMORY, body, catalogue_of
from tests.index.hashing import HashingEncoder

SLOW = body(
    "dram-slow", "GPU memory is slow", "GPU {gpu:int} only achieved a memory bandwidth of {gbs:float} GB/s",
    asks=["the memory clock of a card was lowered and its bandwidth is below the floor"],
)  # fmt: skip
SHORT = body("short", "Short", "ECONNWEIRD {peer:int}", signature=[
    {"name": "line-0", "text": "odd peer {peer:int}", "tier": "candidate", "source": [{"spec": "test"}]},
])  # fmt: skip
CLASS = body("python-error", "A RuntimeError", "RuntimeError: stop here now", kind="class")
BROAD = body(
    "rule", "A value breaks a rule", "{exc:name}: {what:any} must be {rule:name}", kind="class", broad=True,
    asks=["a value of a sampler must be positive and was not"],
)  # fmt: skip
CATALOGUE = catalogue_of(BUS, MEMORY, DISK, SLOW, SHORT, CLASS, BROAD, families=(FAMILY,))

UNKNOWN = """\
2026-05-11 02:14:51 INFO step 120 loss 2.1
Traceback (most recent call last):
  File "train.py", line 12, in <module>
    main()
RuntimeError: the memory clock of GPU 3 was lowered, bandwidth is below the floor
"""
DECIDED = "2026-05-11 02:14:52 NVRM: Xid (PCI:0000:8a:00): 79, pid=1, GPU has fallen off the bus\n"
CLASSIFIED = """\
2026-05-11 02:14:51 INFO step 120 loss 2.1
Traceback (most recent call last):
  File "train.py", line 12, in <module>
    main()
RuntimeError: stop here now
"""
ENDS = """\
2026-05-11 02:14:51 INFO step 120 loss 2.1
2026-05-11 02:14:52 INFO the memory clock of a card was lowered and its bandwidth is below the floor: missing
"""


@pytest.fixture
def retriever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Retriever:
    monkeypatch.setattr("index.encoder.open_encoder", lambda *_, **__: HashingEncoder())
    monkeypatch.setenv("FIRSTFAULT_CACHE_DIR", str(tmp_path / "cache"))
    return open_retriever(CATALOGUE)


@pytest.fixture
def outcome(tmp_path: Path) -> Callable[[str], Outcome]:
    def read(text: str) -> Outcome:
        (tmp_path / "job.log").write_text(text, encoding="utf-8")
        return diagnose_run([str(tmp_path / "job.log")], catalogue=CATALOGUE)

    return read


def never(_: Catalogue) -> Retriever | None:
    raise AssertionError("no index was to be opened")


def test_what_only_a_broad_class_knows_is_asked_for_as_well(
    outcome: Callable[[str], Outcome], retriever: Retriever
) -> None:
    before = outcome(
        UNKNOWN.replace("the memory clock of GPU 3 was lowered", "the memory clock of GPU 3 must be higher")
    )
    assert before.diagnosis.status == "classified"
    diagnosis = with_candidates(before, "auto", lambda _: retriever)
    named = [candidate.entry.id for item in diagnosis.unexplained for candidate in item.candidates]
    assert named[0] == "dram-slow"
    assert "rule" not in named
    # A question about the rule is answered by it all the same.
    assert retriever.search("a value of a sampler must be positive and was not", dense="always")[0].entry == "rule"


def test_an_unexplained_excerpt_gets_candidates(outcome: Callable[[str], Outcome], retriever: Retriever) -> None:
    before = outcome(UNKNOWN)
    diagnosis = with_candidates(before, "auto", lambda _: retriever)
    assert diagnosis.status == before.diagnosis.status == "unexplained"
    (item,) = diagnosis.unexplained
    assert item.excerpt == before.diagnosis.unexplained[0].excerpt
    first = item.candidates[0]
    assert first.entry.id == "dram-slow"
    assert first.channels["dense"] == 1
    assert first.score > 0
    assert "bandwidth" in first.matched
    assert first.missing == ("GPU ... only achieved a memory bandwidth of ... GB/s",)
    assert first.reason.startswith("near in meaning only (ask: ")
    assert len(item.candidates) <= SHOWN
    assert diagnosis.findings == before.diagnosis.findings
    assert "retrieve" in diagnosis.timings_ms


@pytest.mark.parametrize("semantic", ["auto", "always"])
def test_what_literals_decide_opens_no_index(outcome: Callable[[str], Outcome], semantic: Any) -> None:
    found = outcome(DECIDED)
    assert found.diagnosis.status == "identified"
    assert with_candidates(found, semantic, never) is found.diagnosis


def test_never_means_never(outcome: Callable[[str], Outcome]) -> None:
    found = outcome(UNKNOWN)
    assert with_candidates(found, "never", never) is found.diagnosis


def test_without_an_index_the_diagnosis_stands(outcome: Callable[[str], Outcome]) -> None:
    found = outcome(UNKNOWN)
    assert with_candidates(found, "auto", lambda _: None) is found.diagnosis


@pytest.mark.parametrize(("text", "status"), [(CLASSIFIED, "classified"), (ENDS, "inconclusive")])
def test_always_looks_where_no_cause_is_named(
    outcome: Callable[[str], Outcome], retriever: Retriever, text: str, status: str
) -> None:
    found = outcome(text)
    assert (found.diagnosis.status, found.diagnosis.unexplained) == (status, ())
    assert with_candidates(found, "auto", never) is found.diagnosis
    diagnosis = with_candidates(found, "always", lambda _: retriever)
    assert diagnosis.status == status
    (item,) = diagnosis.unexplained
    assert item.candidates
    assert all(line.text in text for line in item.excerpt)


def test_a_calm_end_is_near_to_nothing(outcome: Callable[[str], Outcome]) -> None:
    found = outcome("2026-05-11 02:14:51 INFO step 120 loss 2.1\n")
    assert with_candidates(found, "always", never) is found.diagnosis


def test_an_altered_word_is_named(retriever: Retriever) -> None:
    text = "NVRM: Xid (PCI:0000:8a:00): 79, pid=1, GPU has dropped off the bus"
    candidate = propose(text, {0: records_of(text)}, retriever)[0]
    assert candidate.entry.id == "xid-79"
    assert candidate.reason == "expected `fallen`, found `dropped`"
    assert candidate.missing == ("fallen",)
    assert {"GPU", "bus"} <= set(candidate.matched)


def test_a_wording_that_stands_there_is_still_a_candidate(retriever: Retriever) -> None:
    text = "worker 3: odd peer 7"
    candidate = propose(text, {0: records_of(text)}, retriever)[0]
    assert candidate.entry.id == "short"
    assert candidate.matched == ("odd peer {peer:int}",)
    assert candidate.missing == ()
    assert candidate.reason == "its wording stands in line 1, but is too short or general to prove it"


# ------------------------------------------------------------------------------------------- the verb


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("assistant.cli.diagnose.load_catalogue", lambda _: CATALOGUE)
    (tmp_path / "job.log").write_text(UNKNOWN, encoding="utf-8")
    return str(tmp_path / "job.log")


def candidates(firstfault: Callable[..., Any], *words: str) -> list[str]:
    ended = firstfault(*words, "--format", "json")
    assert ended.code == 0
    return [found["entry"]["id"] for item in json.loads(ended.out)["unexplained"] for found in item["candidates"]]


def test_auto_never_builds_and_always_does(
    firstfault: Callable[..., Any], job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("index.encoder.open_encoder", lambda *_, **__: HashingEncoder())
    monkeypatch.setattr("index.store.release_folder", lambda: tmp_path / "release")
    monkeypatch.setenv("FIRSTFAULT_CACHE_DIR", str(tmp_path / "cache"))
    assert candidates(firstfault, job) == []
    assert not (tmp_path / "cache" / "index").exists()
    assert candidates(firstfault, job, "--semantic", "always")[0] == "dram-slow"
    assert candidates(firstfault, job)[0] == "dram-slow"
    assert candidates(firstfault, job, "--semantic", "never") == []
    monkeypatch.setenv("FIRSTFAULT_SEMANTIC", "never")
    assert candidates(firstfault, job) == []


def test_a_missing_model_costs_the_candidates_not_the_verdict(
    firstfault: Callable[..., Any], job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any, **__: Any) -> None:
        raise ModelFileError("the encoder's file `model_int8.onnx` is missing.", "Reinstall firstfault.")

    monkeypatch.setenv("FIRSTFAULT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("index.encoder.open_encoder", gone)
    ended = firstfault(job, "--semantic", "always")
    assert ended.code == 0
    assert ended.out.startswith("UNEXPLAINED")
    assert "nothing was looked for by meaning: the encoder's file `model_int8.onnx` is missing" in ended.err
