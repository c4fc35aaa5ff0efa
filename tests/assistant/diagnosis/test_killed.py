"""The kernel's kill and the launcher's exit code are one: their process id ties them where no time can."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("killer", signature("Out of memory: Killed process {pid:int} ({comm:name})"), causes=("killed",)),
    head("killed", signature("exitcode: -9"), signature("exitcode  : -9"), signature("line {n:int}: {p:int} Killed"), kind="class", role="either", ends=True),
    head("failed", signature("Sending process {pid:int} closing signal"), kind="wrapper", role="downstream"),
)  # fmt: skip
STARTED = "[rank0]: step 1 loss 2.0\n[rank3]: step 1 loss 2.0\n"
FAILED = "E1130 12:30:06.1 4100 elastic/api.py:869] failed (exitcode: -9) local_rank: 3 (pid: 4711) of binary: python"
TABLE = "  host      : node-b\n  rank      : 11 (local_rank: 3)\n  exitcode  : -9 (pid: 4711)"
KERNEL = "[482100.840021] Out of memory: Killed process {pid} (python) total-vm:1kB"


def read(folder: Path, job: str, pid: int = 4711, kernel: str = "dmesg.log") -> Diagnosis:
    (folder / "job.log").write_text(f"{STARTED}{job}\n")
    (folder / kernel).write_text(KERNEL.format(pid=pid) + "\n")
    return diagnose([str(folder)], catalogue=CATALOGUE)


@pytest.mark.parametrize(
    ("job", "ranks"),
    [
        (f"W1130 12:30:05.1 4100 elastic/api.py:897] Sending process 4708 closing signal SIGTERM\n{FAILED}", (3,)),
        (f"Root Cause (first observed failure):\n[0]:\n{TABLE}", (11,)),
        (
            "(raylet, ip=10.0.0.6) A worker died. Worker IP address: 10.0.0.6 Worker PID: 4711 Worker exit type: SYSTEM_ERROR Worker exit detail: End of file.\nsrun: error: exitcode: -9",
            (),
        ),
        ("run.sh: line 12:  4711 Killed                  torchrun train.py", ()),
    ],
    ids=["line", "table", "ray", "shell"],
)
def test_a_kill_that_the_launcher_saw_is_the_kernels(tmp_path: Path, job: str, ranks: tuple[int, ...]) -> None:
    result = read(tmp_path, job)
    found = result.initiating
    assert (result.status, found and found.entry and found.entry.id, found and found.ranks) == (
        "identified",
        "killer",
        ranks,
    )
    assert found is not None and "process 4711 was killed" in found.because


@pytest.mark.parametrize(("pid", "kernel"), [(999, "dmesg.log"), (4711, "dmesg-node-c.log")])
def test_another_process_or_host_is_not_tied(tmp_path: Path, pid: int, kernel: str) -> None:
    result = read(tmp_path, f"Root Cause (first observed failure):\n[0]:\n{TABLE}", pid, kernel)
    assert result.status != "identified"


def test_a_process_is_a_strangers_only_where_all_of_the_job_are_named(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(
        f"{STARTED}2026-11-30 12:00:00 I1130 12:00:00.1 4100 elastic/api.py:1] started\nKeyError: 'x'\n"
    )
    (tmp_path / "dmesg.log").write_text(
        "2026-11-30T12:00:01 node-b kernel: Out of memory: Killed process 4711 (python) x\n"
    )
    result = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    assert [suspect.reason for suspect in result.suspects] == ["unplaced-event"]
    named = "".join(f"2026-11-30 12:00:00 started rank {r} on host node-b pid {r + 10}\n" for r in (0, 3))
    (tmp_path / "job.log").write_text(f"{STARTED}{named}KeyError: 'x'\n")
    result = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    assert result.suspects == () and any(finding.role == "unrelated" for finding in result.all_findings())
