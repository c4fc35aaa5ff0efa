"""Whose time a finding shows: that of its line or block, else that of the last stamped line, and then it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant import reports
from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("limit", signature("CANCELLED AT {when:name} DUE TO TIME LIMIT")),
    head("oom", signature("Reason:       OOMKilled")),
    head("oom-yaml", signature("reason: OOMKilled")),
    head("killed", signature("exitcode  : -9 (pid: {pid:int})")),
    head("memory", signature("CUDA out of memory")),
)
ABOVE = "2026-11-30 09:00:00 step 1 loss 2.0\n"
DESCRIBED = """
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Mon, 30 Nov 2026 11:00:00 +0000
      Finished:     Mon, 30 Nov 2026 12:00:00 +0000
    Ready:          False
"""
TABLE = "Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-30_12:00:00\n  exitcode  : -9 (pid: 7)\n"


def read(tmp_path: Path, log: str) -> Diagnosis:
    (tmp_path / "job.log").write_text(log)
    return diagnose([str(tmp_path / "job.log")], catalogue=CATALOGUE)


@pytest.mark.parametrize(
    ("log", "onset", "inherited"),
    [
        (ABOVE + "*** JOB 7 ON n1 CANCELLED AT 2026-11-30T12:00:00 DUE TO TIME LIMIT ***\n", "12:00:00", False),
        (DESCRIBED, "12:00:00", False),
        (ABOVE + DESCRIBED, "12:00:00", False),
        ('  terminated:\n    finishedAt: "2026-11-30T12:00:00Z"\n    reason: OOMKilled\n', "12:00:00", False),
        (ABOVE + TABLE, "12:00:00", False),
        ("2026-11-30 12:00:00 CUDA out of memory\n", "12:00:00", False),
        (ABOVE + "CUDA out of memory\n", "09:00:00", True),
        (ABOVE + "    State:  Waiting\n      Reason:       OOMKilled\n    Finished:  never\n", "09:00:00", True),
        ("CUDA out of memory\n", None, False),
    ],
    ids=["slurm", "described", "described-below", "yaml", "table", "own", "above", "no-time-in-block", "none"],
)
def test_time_of_the_first_fault(tmp_path: Path, log: str, onset: str | None, inherited: bool) -> None:
    first = read(tmp_path, log).initiating
    assert first is not None
    assert first.onset == (onset and f"2026-11-30T{onset}.000Z")
    assert first.evidence[0].time_inherited is inherited


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_time_that_is_not_the_lines_own_is_marked(tmp_path: Path, form: str) -> None:
    shown = reports.render(form, read(tmp_path, ABOVE + "CUDA out of memory\n"))
    assert "last stamped line" in shown
    assert "~09:00:00" in shown or "~2026-11-30T09:00:00.000Z" in shown
    assert "~" not in reports.render(form, read(tmp_path, "2026-11-30 12:00:00 CUDA out of memory\n"))


def test_one_jobs_cancellation_began_with_its_first_line(tmp_path: Path) -> None:
    catalogue = catalogue_of(
        head("cancelled", signature("CANCELLED AT {when:name} ***"), kind="class", role="either"),
        head("preempted", signature("DUE TO PREEMPTION"), causes=("cancelled",), scope="platform"),
    )
    lines = [
        "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-30T12:00:00 ***",
        "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T12:10:00 DUE TO PREEMPTION ***",
    ]
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    first = diagnose([str(tmp_path / "job.log")], catalogue=catalogue).initiating
    assert first is not None
    assert (first.entry and first.entry.id, first.onset) == ("preempted", "2026-11-30T12:00:00.000Z")
    assert first.evidence[0].time == "2026-11-30T12:10:00.000Z"
