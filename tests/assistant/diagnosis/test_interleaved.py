"""Lines whose place or time is not what it seems: dumps, rotated parts, zones that only one log names."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("disk-full", signature("No space left on device"), scope="platform", causes=("watchdog",)),
    head("ecc", signature("uncorrectable ECC error encountered"), role="either", causes=("remote-exited",)),
    head("weights-only", signature("Weights only load failed"), scope="workload"),
    head("bus", signature("NVRM: Xid (PCI:{pci:pci}): 79,"), causes=("launch-failure",)),
    head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream"),
    head("remote-exited", signature("remote process exited or there was a network error"), role="downstream"),
    head("launch-failure", signature("unspecified launch failure"), role="downstream"),
)


def read(folder: Path, **logs: str) -> Diagnosis:
    for name, text in logs.items():
        (folder / name.replace("__", ".")).write_text(text.strip("\n") + "\n")
    return diagnose([str(folder)], catalogue=CATALOGUE)


def first(result: Diagnosis) -> tuple[str, str | None]:
    found = result.initiating
    return result.status, found.entry.id if found is not None and found.entry is not None else None


WATCHDOG = "[rank{r}]:[E1130 10:10:05.0 a.cpp:1] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600050 milliseconds"
TIMEOUTS = "\n".join(WATCHDOG.format(r=rank) for rank in range(2))
FULL = "write(): fd 4 failed with No space left on device"


@pytest.mark.parametrize(
    "notice",
    [
        "[rank1]:[E1130 10:10:06.0 a.cpp:1] writing debug info",
        "[rank1]:[E1130 10:10:06.0 a.cpp:1] Observed flight recorder dump signal from another rank via TCPStore.",
    ],
)
def test_a_dump_that_fails_ended_nobody(notice: str, tmp_path: Path) -> None:
    result = read(tmp_path, job__log=f"{TIMEOUTS}\n{notice}\n{FULL}")
    assert first(result) == ("symptom-only", None)
    (full,) = [finding for finding in result.findings if finding.entry and finding.entry.id == "disk-full"]
    assert (full.role, full.ranks) == ("downstream", ())


TRACE = "[rank0]: Writing Flight Recorder debug info to /tmp/nccl_trace_rank_0"


@pytest.mark.parametrize("between", [[], [f"x{line}" for line in range(9)]])
def test_a_dump_is_told_by_its_file(between: list[str], tmp_path: Path) -> None:
    full = "OSError: [Errno 28] No space left on device: '/tmp/nccl_trace_rank_0'"
    log = "\n".join([TIMEOUTS, TRACE, *between, full])
    assert first(read(tmp_path, job__log=log)) == ("symptom-only", None)


@pytest.mark.parametrize(
    "log",
    [
        # The file of the error is a checkpoint.
        f"{TIMEOUTS}\n{TRACE}\nOSError: [Errno 28] No space left on device: '/ckpt/step_120/model.pt'",
        f"{FULL}\n{TIMEOUTS}",  # it came first
        f"writing debug info\n{FULL}\n{TIMEOUTS}",  # nothing had failed when it was written
        f"{TIMEOUTS}\n{FULL}",  # no dump
    ],
)
def test_a_full_disk_without_a_dump_is_the_fault(log: str, tmp_path: Path) -> None:
    assert first(read(tmp_path, job__log=log)) == ("identified", "disk-full")


OLDER = "step 1 loss 2\n[rank1]: RuntimeError: CUDA error: uncorrectable ECC error encountered"
NEWER = "cleanup\n[rank0]: torch.distributed.DistBackendError: NCCL error in: a.cpp:1, remote process exited or there was a network error\nRuntimeError: Weights only load failed."


@pytest.mark.parametrize(
    "logs",
    [
        {"job__log": f"{OLDER}\n{NEWER}"},
        {"job__log__1": OLDER, "job__log": NEWER},
        {"job__log__2": "begin", "job__log__1": OLDER, "job__log": NEWER},
    ],
)
def test_the_fault_whose_known_effect_stands_above_another_fault_is_first(logs: dict[str, str], tmp_path: Path) -> None:
    assert first(read(tmp_path, **logs)) == ("identified", "ecc")


KERNEL = "2026-11-30T10:10:09+00:00 node-a kernel: NVRM: Xid (PCI:0000:8a:00): 79, pid=1, GPU has fallen off the bus."
JOB = "2026-11-30 12:00:00 step 1 loss 2\n2026-11-30 12:10:10 [rank0]: RuntimeError: CUDA error: unspecified launch failure"


def test_a_zone_that_only_one_log_names_leaves_a_suspect(tmp_path: Path) -> None:
    result = read(tmp_path, dmesg__log=KERNEL, job__log=JOB)
    assert first(result) == ("symptom-only", None)
    assert [suspect.reason for suspect in result.suspects] == ["unplaced-event"]
    assert "2 hours later it would be just before" in result.suspects[0].because


@pytest.mark.parametrize(
    "kernel",
    [
        KERNEL.replace("10:10:09", "10:40:09"),  # no zone puts it before the error
        KERNEL.replace("+00:00", "").replace("10:10:09", "09:10:09"),  # neither names one
        KERNEL.replace("2026-11-30", "2026-11-28"),
    ],
)
def test_an_event_of_another_time_stays_unrelated(kernel: str, tmp_path: Path) -> None:
    result = read(tmp_path, dmesg__log=kernel, job__log=JOB.replace("12:10:10", "12:15:10"))
    assert result.suspects == ()
