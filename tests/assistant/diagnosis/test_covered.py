"""Lines that the corpus knows although their hit was only counted, or was cleared by a later line."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("oom", signature("CUDA out of memory")),
    head("wrapper", signature("unhandled system error"), kind="wrapper", role="downstream"),
    head("request", signature("fs: error: request {n:int} failed", cleared_by="Connection restored"), kind="class"),
)
STEPS = "".join(f"2026-11-30 10:00:{n:02} INFO step {n} loss 2.0\n" for n in range(9))


def read(tmp_path: Path, log: str) -> Diagnosis:
    (tmp_path / "job.log").write_text(log)
    return diagnose([str(tmp_path / "job.log")], catalogue=CATALOGUE)


def storm(text: str, count: int = 300) -> str:
    return "".join(f"[rank{n % 8}]: RuntimeError: {text} {n}\n" for n in range(count))


@pytest.mark.parametrize("count", [30, 300])
def test_a_storm_of_one_wrapper_is_no_uncovered_error(tmp_path: Path, count: int) -> None:
    found = read(tmp_path, STEPS + storm("unhandled system error", count))
    assert (found.status, found.unexplained) == ("symptom-only", ())
    assert [(one.entry and one.entry.id, one.count) for one in found.findings] == [("wrapper", count)]


def test_a_storm_of_one_failure_is_that_failure(tmp_path: Path) -> None:
    found = read(tmp_path, STEPS + storm("CUDA out of memory"))
    assert [(one.entry and one.entry.id, one.count) for one in found.findings] == [("oom", 300)]


def test_another_error_in_a_storm_still_leads(tmp_path: Path) -> None:
    wrapped = storm("unhandled system error").splitlines(keepends=True)
    found = read(tmp_path, STEPS + "".join([*wrapped[:150], "[rank3]: ValueError: bad shard\n", *wrapped[150:]]))
    assert found.initiating is not None
    assert (found.status, found.initiating.evidence[0].line) == ("unexplained", 160)


@pytest.mark.parametrize("count", [1, 300])
def test_what_a_later_line_clears_is_not_blamed(tmp_path: Path, count: int) -> None:
    failed = "".join(f"fs: error: request {n} failed\n" for n in range(count))
    cleared = read(tmp_path, STEPS + failed + "fs: Connection restored\n")
    assert (cleared.status, cleared.findings, cleared.unexplained) == ("inconclusive", (), ())
    again = read(tmp_path, STEPS + failed + "fs: Connection restored\n" + "fs: error: request 7 failed\n")
    assert again.initiating is not None and again.initiating.entry is not None
    assert (again.initiating.entry.id, again.initiating.evidence[0].line) == ("request", 11 + count)
