"""Lines that say themselves that the program goes on are no fault where nothing else is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("chdir", signature("couldn't chdir to `{dir:path}'"), causes=("no-file",)),
    head("oom-step", signature("Detected {events:int} oom_kill event in StepId={step:name}")),
    head("broken-stream", signature("ResponseStreamingError")),
    head("no-file", signature("can't open file"), role="downstream"),
    head("killed", signature("exited with code 137"), kind="class", role="either", ends=True),
)
STEP = "2026-11-30 09:0{n}:00 INFO step {n} loss 2.0"
CHDIR = "slurmstepd: error: couldn't chdir to `/home/u/run': No such file or directory: going to /tmp instead"
EXTERN = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=4242.extern. Some of the step tasks have been OOM Killed."
)
BROKEN = "botocore.exceptions.ResponseStreamingError: An error occurred while reading from response stream"


def first(folder: Path, *lines: str) -> str | None:
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    found = diagnose([str(folder)], catalogue=CATALOGUE).initiating
    return found.entry.id if found is not None and found.entry is not None else found and found.evidence[0].text


@pytest.mark.parametrize(
    "lines",
    [
        (CHDIR,),
        (CHDIR, STEP.format(n=1)),
        (STEP.format(n=1), EXTERN),
        (STEP.format(n=1), f"WARNING {BROKEN}; retrying (1/5)"),
        (STEP.format(n=1), BROKEN, "Retrying in 2 seconds (attempt 1 of 5)"),
        (
            "slurmstepd: error: Unable to create TMPDIR [/x]: Permission denied",
            "slurmstepd: error: Setting TMPDIR to /tmp",
        ),
        ("slurmd: error: Node configuration differs from hardware: CPUs=64:64(hw) Boards=1:1(hw)",),
        ("Segmentation fault handler enabled", "loading data"),
    ],
)
def test_it_ended_nobody(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert first(tmp_path, *lines) is None


@pytest.mark.parametrize(
    ("lines", "entry"),
    [
        ((CHDIR, "python: can't open file 'train.py'"), "chdir"),
        ((EXTERN, "worker exited with code 137"), "oom-step"),
        ((EXTERN.replace("extern", "0"),), "oom-step"),
        ((f"WARNING {BROKEN}; retrying (5/5)",), "broken-stream"),
        ((BROKEN,), "broken-stream"),
        ((BROKEN, "data: Connection error, retrying (1/9)"), "broken-stream"),
        ((EXTERN.replace("extern", "0"), EXTERN), "oom-step"),
        (("Segmentation fault (core dumped)",), "Segmentation fault (core dumped)"),
    ],
)
def test_it_counts_beside_what_it_brought_about(tmp_path: Path, lines: tuple[str, ...], entry: str) -> None:
    assert first(tmp_path, *lines) == entry
