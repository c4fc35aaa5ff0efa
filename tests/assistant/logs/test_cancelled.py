"""Slurm's line about a job or step that it ended."""

from __future__ import annotations

import pytest

from assistant.logs.cancelled import read_cancelled


@pytest.mark.parametrize(
    ("text", "is_step", "job", "has_reason"),
    [
        ("slurmstepd: error: *** STEP 88123.0 ON node011 CANCELLED AT 2025-01-10T15:27:25 DUE TO TIME LIMIT ***", True, "88123", True),
        ("slurmstepd: error: *** JOB 88123 ON node011 CANCELLED AT 2025-01-10T15:27:25 DUE to PREEMPTION ***", False, "88123", True),
        ("slurmstepd-gn07: *** STEP 88123.batch ON gn07 CANCELLED AT 2025-01-10T15:27:25 ***", True, "88123", False),
        ("*** JOB xxxxxx ON gn07 CANCELLED AT 2025-01-10T15:27:25 ***", False, "", False),
    ],
)  # fmt: skip
def test_what_the_line_says(text: str, is_step: bool, job: str, has_reason: bool) -> None:
    found = read_cancelled(text)
    assert found is not None and found.at is not None
    assert (found.is_step, found.job, found.has_reason) == (is_step, job, has_reason)
    assert found.at.kind == "absolute" and not found.at.zoned


@pytest.mark.parametrize("text", ["JOB 1 CANCELLED AT 2025-01-10T15:27:25", "the step was CANCELLED AT noon", "step 7"])
def test_other_lines(text: str) -> None:
    assert read_cancelled(text) is None


def test_a_time_that_cannot_be_read() -> None:
    found = read_cancelled("*** STEP 1.0 ON a CANCELLED AT yesterday ***")
    assert found is not None and found.at is None
