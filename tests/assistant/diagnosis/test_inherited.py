"""Lines without a stamp, GPUs of other jobs, runs in files of their own, and what explains an absent pod."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.diagnosis.window import is_sibling
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("crash", signature("Fatal Python error: Segmentation fault"), kind="class", role="either"),
    head("oom", signature("CUDA out of memory.")),
    head("lost", signature("Connection closed by remote peer"), role="downstream"),
    head("xid", signature("Xid (PCI:{pci:pci}): 79")),
    head("gone", signature("No such file or directory"), kind="class", role="either"),
    head("pull", signature("Failed to pull image"), family="scheduler-platform", scope="platform"),
    head("store", signature("seconds waiting for clients."), role="either"),
    head("hung", signature("blocked for more than {secs:int} seconds"), kind="class", role="either", scope="node"),
    head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream"),
)


def verdict(folder: Path, **files: str) -> Diagnosis:
    for name, text in files.items():
        (folder / name.replace("__", ".").replace("_X_", "-")).write_text(text.strip("\n") + "\n")
    return diagnose([str(folder)], catalogue=CATALOGUE)


def entry_of(result: Diagnosis) -> str | None:
    return result.initiating.entry.id if result.initiating and result.initiating.entry else None


def steps(minute: int, count: int = 8) -> str:
    return "\n".join(f"2026-11-30 10:{minute + n:02d}:00,000 INFO t.py:1 step {n} loss 1.0" for n in range(count))


def test_an_unstamped_crash_is_not_survived_by_what_others_printed_meanwhile(tmp_path: Path) -> None:
    crashed = """
2026-11-30 10:00:00,000 INFO t.py:1 initialized rank 1 of world size 2
Fatal Python error: Segmentation fault

Current thread 0x00007f2bb9bc812e (most recent call first):
  File "/w/data.py", line 44 in encode

Extension modules: numpy (total: 44)
"""
    lived = steps(1) + "\n2026-11-30 10:09:00,000 ERROR t.py:1 Connection closed by remote peer"
    result = verdict(tmp_path, rank0__log=lived, rank1__log=crashed)
    assert entry_of(result) == "crash"
    assert result.initiating is not None and result.initiating.ranks == (1,)


def test_an_unstamped_consequence_does_not_come_before_a_stamped_cause(tmp_path: Path) -> None:
    peers = steps(1) + "\n[rank0]: RuntimeError: Connection closed by remote peer b<42>"
    cause = "2026-11-30 10:20:00,000 INFO t.py:1 save\n2026-11-30 10:21:00,000 ERROR t.py:1 No such file or directory"
    assert entry_of(verdict(tmp_path, rank0__log=peers, rank1__log=cause)) == "gone"


NCCL = "node-a:{pid}:9 [{gpu}] NCCL INFO comm 0x1 rank {gpu} nranks 2 cudaDev {gpu} nvmlDev {gpu} busId {bus} commId 0x2 - Init COMPLETE"
XID = "Nov 30 10:03:00 node-a kernel: NVRM: Xid (PCI:0000:{pci}:00): 79, pid=4711, name=python3, GPU has fallen off the bus."


@pytest.mark.parametrize(
    ("mapped", "pci", "expected"),
    [(2, "d1", None), (2, "43", "xid"), (1, "d1", "xid")],
    ids=["another job's GPU", "one of ours", "not all of ours are known"],
)
def test_an_xid_of_a_gpu_that_the_job_does_not_hold(
    tmp_path: Path, mapped: int, pci: str, expected: str | None
) -> None:
    lines = [NCCL.format(pid=10 + gpu, gpu=gpu, bus=bus) for gpu, bus in ((0, "1b000"), (1, "43000"))][:mapped]
    log = "\n".join([steps(1, 3), *lines, "2026-11-30 10:04:00,000 ERROR t.py:1 ValueError: bad batch"])
    result = verdict(tmp_path, train__log=log, dmesg_X_node_X_a__log=XID.format(pci=pci))
    assert entry_of(result) == expected


START = "2026-11-{day} 10:00:00,000 INFO t.py:1 initialized rank 0 of world size 1 on host a (pid {pid})"


@pytest.mark.parametrize(
    ("first", "second"),
    [("run_X_1__log", "run_X_2__log"), ("pod_X_0_X_previous__log", "pod_X_0__log")],
)
def test_runs_in_files_of_their_own_are_attempts(tmp_path: Path, first: str, second: str) -> None:
    old = START.format(day=28, pid=5) + "\ntorch.OutOfMemoryError: CUDA out of memory. Tried"
    new = START.format(day=30, pid=6) + "\nFileNotFoundError: No such file or directory: '/ckpt'"
    result = verdict(tmp_path, **{first: old, second: new})
    assert entry_of(result) == "gone"
    assert [attempt.n for attempt in result.run.attempts] == [1, 2]


def test_ranks_that_start_one_after_another_are_one_attempt(tmp_path: Path) -> None:
    old = START.format(day=28, pid=5) + "\ntorch.OutOfMemoryError: CUDA out of memory. Tried"
    new = START.format(day=30, pid=6).replace("rank 0", "rank 1") + "\nFileNotFoundError: No such file or directory"
    result = verdict(tmp_path, run_X_1__log=old, run_X_2__log=new)
    assert [attempt.n for attempt in result.run.attempts] == [1]


@pytest.mark.parametrize(
    ("pod", "known", "expected"),
    [
        ("llama-264-worker-0", "llama-264-master-0.log", True),
        ("llama-264-worker-0", "logs/llama-264-worker-1.previous.log", True),
        ("llama-265-worker-0", "llama-264-master-0.log", False),
        ("web-7d9f8-abcde", "web-7d9f8-fghij.log", False),
    ],
)
def test_numbered_pods_of_one_job_are_siblings(pod: str, known: str, expected: bool) -> None:
    assert is_sibling(pod, known) is expected


def test_the_event_of_an_absent_pod_explains_the_wait_for_it(tmp_path: Path) -> None:
    events = """
LAST SEEN   TYPE      REASON      OBJECT             MESSAGE
17m         Warning   Failed      pod/j-1-worker-0   Failed to pull image "registry.example/x:1": not found
"""
    log = "2026-11-30 10:00:00,000 ERROR t.py:1 DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined."
    assert entry_of(verdict(tmp_path, events__txt=events, j_X_1_X_master_X_0__log=log)) == "pull"
    own = "2026-11-30 10:00:00,000 ERROR t.py:1 torch.OutOfMemoryError: CUDA out of memory. Tried"
    assert entry_of(verdict(tmp_path, events__txt=events, j_X_1_X_master_X_0__log=own)) == "oom"


def test_a_task_was_blocked_before_the_kernel_said_so(tmp_path: Path) -> None:
    kernel = "\n".join(
        f"Nov 30 10:{at} node-a kernel: INFO: task python3:77 blocked for more than {seconds} seconds."
        for at, seconds in (("02:02", 122), ("04:06", 245), ("06:08", 368))
    )
    waits = "[rank0]:[E1130 10:10:01.0 a.cpp:1] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out."
    log = steps(0, 1).replace("10:00:00", "09:59:00") + "\n" + waits
    result = verdict(tmp_path, job__log=log, dmesg_X_node_X_a__log=kernel)
    assert entry_of(result) == "hung"
    assert result.initiating is not None and "122 seconds" in result.initiating.evidence[0].text
    assert result.initiating.onset == "2026-11-30T10:00:00.000Z"


def test_an_unstamped_fault_that_others_waited_for_comes_before_a_later_one(tmp_path: Path) -> None:
    wait = "[rank0]:[E1130 10:20:01.0 a.cpp:1] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out."
    xid = XID.format(pci="43").replace("10:03:00", "10:15:00")
    silent = steps(1, 2) + "\nFileNotFoundError: No such file or directory: '/data'"
    result = verdict(tmp_path, rank0__log=steps(1) + "\n" + wait, rank1__log=silent, dmesg_X_node_X_a__log=xid)
    assert entry_of(result) == "gone"
    assert result.initiating is not None and "had begun to wait before" in result.initiating.because
