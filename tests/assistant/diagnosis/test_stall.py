"""A time limit that ended a run which stood still is not why it died."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("limit", signature("DUE TO TIME LIMIT"), family="scheduler-platform", scope="platform"),
    head("deadline", signature("longer than the specified deadline"), family="scheduler-platform", scope="platform"),
    head("bus", signature("NVRM: Xid (PCI:{pci:pci}): 79,")),
)
START = datetime(2026, 11, 30, 8)


def at(minutes: float) -> str:
    return f"{START + timedelta(minutes=minutes):%Y-%m-%d %H:%M:%S}"


def slurm(minutes: float) -> str:
    return f"slurmstepd: error: *** JOB 1 ON node-a CANCELLED AT {at(minutes).replace(' ', 'T')} DUE TO TIME LIMIT ***"


def steps(first: int, last: int, who: str = "") -> list[str]:
    """A step every minute."""
    return [f"{who}{at(minute)} INFO step {minute} loss 2.0" for minute in range(first, last)]


def read(folder: Path, *lines: str, name: str = "job.log") -> Diagnosis:
    (folder / name).write_text("\n".join(lines) + "\n")
    return diagnose([str(folder)], catalogue=CATALOGUE)


HEARTBEATS = [f"{at(minute)} INFO gpu memory {70 + minute % 7} GB" for minute in range(0, 480, 2)]


@pytest.mark.parametrize(
    "lines",
    [
        [*steps(0, 30), slurm(480)],
        # The end of the job by its own clock.
        [*steps(0, 30), slurm(480), f"{at(481)} INFO received SIGTERM"],
        # A heartbeat is no progress.
        [*sorted([*steps(0, 60), *HEARTBEATS], key=lambda line: line[:19]), slurm(510)],
        # What a launcher prints of the end has no time, and is no progress.
        [*steps(0, 30), "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", slurm(480)],
        [*steps(0, 30), f"{at(480)} Warning DeadlineExceeded Pod was active on the node longer than the specified deadline"],
    ],
)  # fmt: skip
def test_a_limit_long_after_the_last_step_is_a_consequence(lines: list[str], tmp_path: Path) -> None:
    result = read(tmp_path, *lines)
    assert (result.status, result.initiating) == ("symptom-only", None)
    (limit,) = result.findings
    assert limit.role == "downstream"
    assert "and steps had come every 60 s" in limit.because
    assert any("stacks of all ranks" in item.what for item in result.fetch_next)


@pytest.mark.parametrize(
    "lines",
    [
        [*steps(0, 480), slurm(480)],
        # The last steps were not long ago, by the run's own measure.
        [*steps(0, 30), slurm(45)],
        [*(f"{at(hour * 60)} INFO step {hour} loss 2.0" for hour in range(8)), slurm(600)],
        # An evaluation that prints while it goes on, and a save.
        [*steps(0, 30), *(f"{at(minute)} INFO evaluated {minute} of 900 documents" for minute in range(31, 478)), slurm(480)],
        [*steps(0, 30), f"{at(475)} INFO saved the checkpoint", slurm(480)],
        # Nobody knows how often steps come.
        [f"{at(0)} INFO step 1 loss 2.0", slurm(480)],
        # The scheduler's clock is of another zone than the job's, and nothing of the job follows.
        [*(line.replace(" INFO", "Z INFO") for line in steps(0, 30)), slurm(480)],
        # Steps, an evaluation and an upload may go on without times until the end.
        [*steps(0, 30), *(f" 1%|# | {step}/5000 [00:20<10:00, 3.0s/it]" for step in range(30, 300)), slurm(480)],
        [*steps(0, 30), *(f"Evaluating: 1%|# | {step}/500 [00:20<10:00, 3.0it/s]" for step in range(20)), slurm(480)],
        [*steps(0, 30), *(f"upload part {part} of 900" for part in range(300)), slurm(480)],
        # The time between may be that of the zones of Slurm's host and of the container.
        [*steps(0, 30), slurm(29 + 8 * 60)],
        [*steps(0, 30), slurm(31 + 5.5 * 60)],
        # By the job's own clock the end came at once.
        [*steps(0, 30), slurm(480), f"{at(30)} INFO received SIGTERM"],
    ],
)  # fmt: skip
def test_a_limit_that_is_reached_at_work_is_the_cause(lines: list[str], tmp_path: Path) -> None:
    result = read(tmp_path, *lines)
    assert (result.status, result.initiating and result.initiating.entry and result.initiating.entry.id) == (
        "identified",
        "limit",
    )


def test_what_stopped_the_run_is_the_cause_where_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "dmesg.log").write_text(
        f"{at(30).replace(' ', 'T')} node-a kernel: NVRM: Xid (PCI:0000:8a:00): 79, pid=1, x\n"
    )
    result = read(tmp_path, *steps(0, 30), slurm(480))
    assert result.status == "identified"
    assert result.initiating is not None and result.initiating.entry is not None
    assert result.initiating.entry.id == "bus"


def test_a_rank_that_stopped_a_step_before_the_others_is_a_suspect(tmp_path: Path) -> None:
    lines = [line for rank in range(4) for line in steps(0, 29 if rank == 2 else 30, f"[rank{rank}]: ")]
    result = read(tmp_path, *lines, slurm(480))
    assert result.status == "symptom-only"
    assert [(suspect.rank, suspect.reason) for suspect in result.suspects] == [(2, "silent")]
