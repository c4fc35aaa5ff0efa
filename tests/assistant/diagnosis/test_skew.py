"""Clocks of hosts: estimated from what several of them saw, and used in the order."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("ecc", signature("uncorrectable ECC error encountered"), scope="node"),
    head("oom", signature("CUDA out of memory."), scope="workload"),
    head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream"),
)
START = datetime(2026, 11, 30, 10, 10)


def log(
    host: str, rank: int, *, ahead: float, steps: int = 8, fault: str = "", after: float = 0.0, jitter: float = 0.0
) -> str:
    """Steps a minute apart by a clock that is ahead, then a fault so long after the last one."""

    def at(seconds: float) -> str:
        return f"{START + timedelta(seconds=seconds + ahead):%Y-%m-%d %H:%M:%S}"

    lines = [f"{at(0)} INFO rank {rank} starts on host={host}"]
    lines += [f"{at(60 * n + (jitter if n % 2 else 0))} INFO step {n} loss 2.0" for n in range(1, steps + 1)]
    if fault:
        lines.append(f"{at(60 * steps + after)} ERROR RuntimeError: {fault}")
    return "\n".join(lines) + "\n"


def verdict(folder: Path, **logs: str) -> Diagnosis:
    for name, text in logs.items():
        (folder / f"{name.replace('_', '-')}.log").write_text(text)
    return diagnose([str(folder)], catalogue=CATALOGUE)


@pytest.mark.parametrize("ahead", [-7200.0, -180.0, 0.0, 45.0, 3600.0])
@pytest.mark.parametrize("ecc_first", [True, False])
def test_two_verified_faults_come_in_the_order_of_the_corrected_clocks(
    tmp_path: Path, ahead: float, ecc_first: bool
) -> None:
    result = verdict(
        tmp_path,
        node_a_rank0=log(
            "node-a", 0, ahead=0, fault="CUDA error: uncorrectable ECC error encountered", after=10 if ecc_first else 30
        ),
        node_b_rank1=log("node-b", 1, ahead=ahead, fault="CUDA out of memory.", after=20),
    )
    assert result.initiating is not None and result.initiating.entry is not None
    assert result.initiating.entry.id == ("ecc" if ecc_first else "oom")
    if ahead:
        assert result.run.skew_s == {"node-b": ahead}
        assert 0 < result.run.skew_error_s["node-b"] <= 1.0
    else:
        assert result.run.skew_s == {}


def test_onsets_closer_than_the_error_are_no_order(tmp_path: Path) -> None:
    result = verdict(
        tmp_path,
        node_a_rank0=log("node-a", 0, ahead=0, fault="uncorrectable ECC error encountered", after=10),
        node_b_rank1=log("node-b", 1, ahead=180, jitter=30, fault="CUDA out of memory.", after=20),
    )
    assert any("nothing here tells which came first" in warning for warning in result.warnings)


def test_logs_that_do_not_overlap_and_share_nothing_leave_the_order_open(tmp_path: Path) -> None:
    result = verdict(
        tmp_path,
        node_a_rank0=log("node-a", 0, ahead=0, steps=1, fault="uncorrectable ECC error encountered", after=10).replace(
            "step", "part"
        ),
        node_b_rank1=log("node-b", 1, ahead=9000, steps=1, fault="CUDA out of memory.", after=20).replace(
            "step", "part"
        ),
    )
    assert any("nothing here tells which came first" in warning for warning in result.warnings)


def test_the_odd_clock_of_three_is_the_one_that_is_named(tmp_path: Path) -> None:
    result = verdict(
        tmp_path,
        node_a_rank0=log("node-a", 0, ahead=100),
        node_b_rank1=log("node-b", 1, ahead=0),
        node_c_rank2=log("node-c", 2, ahead=0, fault="CUDA out of memory.", after=20),
    )
    assert result.run.skew_s == {"node-a": 100.0}


def test_times_are_shown_as_they_were_printed(tmp_path: Path) -> None:
    result = verdict(
        tmp_path,
        node_a_rank0=log("node-a", 0, ahead=0, fault="CUDA out of memory.", after=30),
        node_b_rank1=log("node-b", 1, ahead=180, fault="uncorrectable ECC error encountered", after=10),
    )
    assert result.initiating is not None
    assert result.initiating.evidence[0].time == "2026-11-30T10:21:10.000Z"
    assert "put right by -180.0 s" in result.initiating.because or result.independent


def test_one_collective_that_timed_out_on_both_hosts_is_a_shared_event(tmp_path: Path) -> None:
    text = (
        "{stamp} INFO rank {r} of world size 2 runs on host={host}\n{stamp} ERROR [PG ID 0 PG GUID 0(default_pg) Rank {r}]"
        " Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
        " Timeout(ms)=600000) ran for 600000 milliseconds before timing out.\n"
    )
    result = verdict(
        tmp_path,
        node_a_rank0=text.format(stamp="2026-11-30 10:00:00", r=0, host="node-a"),
        node_b_rank1=text.format(stamp="2026-11-30 11:00:00", r=1, host="node-b"),
    )
    assert result.run.skew_s == {"node-b": 3600.0}


def run_of(rank: int, start: datetime, end: str, *, steps: int = 8) -> str:
    """One run of a rank whose lines name no host: its start, steps ten seconds apart, and its last line."""
    stamps = [f"{start + timedelta(seconds=10 * n):%Y-%m-%d %H:%M:%S}" for n in range(steps + 2)]
    lines = [f"{stamps[0]} [rank{rank}] INFO Starting training job run"]
    lines += [f"{stamps[n]} [rank{rank}] INFO step {n} loss 2.0" for n in range(1, steps + 1)]
    return "\n".join([*lines, f"{stamps[-1]} [rank{rank}]{end}"]) + "\n"


@pytest.mark.parametrize("ranks", [1, 2])
def test_runs_that_count_the_same_steps_are_attempts_and_no_skew(tmp_path: Path, ranks: int) -> None:
    faults = {1: ": RuntimeError: CUDA out of memory.", 2: ": RuntimeError: uncorrectable ECC error encountered"}
    logs = {
        f"run{run}_{rank}": run_of(rank, START + timedelta(hours=2 * run), fault if rank == 0 else " INFO waits")
        for run, fault in faults.items()
        for rank in range(ranks)
    }
    result = verdict(tmp_path, **logs)
    assert result.run.skew_s == {}
    assert result.initiating is not None and result.initiating.entry is not None
    assert (result.initiating.entry.id, result.initiating.attempt) == ("ecc", 2)


@pytest.mark.parametrize(
    ("end", "expected"), [(" INFO Training completed successfully.", "healthy"), (" INFO goes on", "identified")]
)
def test_a_fault_is_history_once_a_later_run_in_its_own_file_completed(tmp_path: Path, end: str, expected: str) -> None:
    first = run_of(0, START, ": RuntimeError: CUDA out of memory.")
    result = verdict(tmp_path, run1=first, run2=run_of(0, START + timedelta(hours=2), end))
    assert result.status == expected
    if expected == "healthy":
        assert result.findings[0].set_aside == "earlier-run"
