"""Which rank the others wait for: stacks, flight recorders, and the runtimes' own checks."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.assistant.logs.test_flightrecorder import dump
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream"),
    head("mismatch", signature("Detected mismatch between collectives on ranks"), kind="class"),
)
WATCHDOG = "[rank{r}]:[E1130 12:20:0{r}.0 a.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=16, NumelOut=16, Timeout(ms)=600000) ran for 600005 milliseconds before timing out."


def verdict(folder: Path, **files: str | bytes) -> Diagnosis:
    for name, content in files.items():
        path = folder / name.replace("__", ".").replace("DASH", "-")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return diagnose([str(folder)], catalogue=CATALOGUE)


def suspects(result: Diagnosis) -> list[tuple[int | None, str]]:
    return [(suspect.rank, suspect.reason) for suspect in result.suspects]


def spy(pid: int, *frames: str) -> str:
    body = "\n".join(f"    {frame}" for frame in frames)
    return f'Process {pid}: python train.py\nPython v3.12.3 (/usr/bin/python3.12)\n\nThread {pid} (idle): "MainThread"\n{body}\n'


WAIT = ("all_reduce (torch/distributed/distributed_c10d.py:2810)", "clip (optim/clip.py:77)", "train (train.py:231)")
READ = ("read (fsspec/local.py:4)", "_next_data (torch/utils/data/dataloader.py:789)", "train (train.py:201)")


def test_the_rank_that_is_not_in_the_collective_is_the_suspect(tmp_path: Path) -> None:
    result = verdict(
        tmp_path, spy_rank0__txt=spy(11, *WAIT), spy_rank1__txt=spy(12, *READ), spy_rank2__txt=spy(13, *WAIT)
    )
    assert suspects(result) == [(1, "busy")]
    assert result.status == "symptom-only"
    assert "data loader" in result.suspects[0].because and "spy_rank1.txt:4" in result.suspects[0].because


def test_pids_give_the_rank_where_names_do_not(tmp_path: Path) -> None:
    started = "\n".join(f"initialized rank {r} of world size 2 on host node-a (pid {100 + r})" for r in (0, 1))
    result = verdict(tmp_path, job__log=started, a__txt=spy(100, *READ), b__txt=spy(101, *WAIT))
    assert suspects(result) == [(0, "busy")]


def test_a_process_whose_rank_nobody_knows_is_named_by_its_pid(tmp_path: Path) -> None:
    result = verdict(tmp_path, a__txt=spy(100, *READ), b__txt=spy(101, *WAIT))
    assert suspects(result) == [(None, "busy")]
    assert "process 100" in result.suspects[0].because


def test_one_rank_in_another_collective_is_the_suspect(tmp_path: Path) -> None:
    other = ("barrier (torch/distributed/distributed_c10d.py:4635)", "save (ckpt.py:9)", "train (train.py:240)")
    files = {f"spy_rank{r}__txt": spy(10 + r, *(other if r == 2 else WAIT)) for r in range(4)}
    assert suspects(verdict(tmp_path, **files)) == [(2, "other-collective")]


@pytest.mark.parametrize("form", ["pickle", "json"])
@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (dump(8, 8), "never-entered"),
        (dump(9, 8, op="broadcast"), "other-collective"),
        (dump(9, 8, size=7), "size-mismatch"),
        (None, "absent"),
    ],
    ids=["never-entered", "other-collective", "size-mismatch", "absent"],
)
def test_flight_recorders_tell_who_did_not_do_the_same(
    tmp_path: Path, odd: dict[str, Any] | None, reason: str, form: str
) -> None:
    values = {r: (odd if r == 2 else dump(9, 8)) for r in range(4)}
    write = (lambda value: json.dumps(value).encode()) if form == "json" else (lambda value: pickle.dumps(value, 2))
    files = {f"nccl_trace_rank_{r}": write(value) for r, value in values.items() if value is not None}
    result = verdict(tmp_path, job__log="step 1\n", **files)
    assert suspects(result) == [(2, reason)]
    assert result.collectives[0].group == "0"


def test_flight_recorders_of_a_job_that_only_waits_blame_nobody(tmp_path: Path) -> None:
    files = {f"nccl_trace_rank_{r}": pickle.dumps(dump(9, 8), 2) for r in range(4)}
    result = verdict(tmp_path, job__log="step 1\n", **files)
    assert suspects(result) == []
    assert {rank.state for rank in result.collectives[0].ranks} == {"waiting"}


def test_works_that_are_only_counted_as_completed_are_completed(tmp_path: Path) -> None:
    """gloo leaves entries `scheduled`; only the group's counter says that they are done."""
    done = dump(9, 9)
    for entry in done["entries"]:
        entry["state"] = "scheduled"
    files = {f"nccl_trace_rank_{r}": pickle.dumps(done, 2) for r in range(4)}
    result = verdict(tmp_path, job__log="step 1\n", **files)
    assert suspects(result) == [] and result.collectives == ()


def test_a_dump_that_names_code_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    bad = pickle.dumps({"version": "2.5", "pg_config": {}, "entries": [Path("x")], "collective_seq_id": 1})
    result = verdict(tmp_path, job__log="step 1\n", nccl_trace_rank_0=bad)
    assert any("names code to be run" in warning for warning in result.warnings)


def test_a_rank_held_up_in_another_group_is_a_victim(tmp_path: Path) -> None:
    def two(first: int, second: int | None) -> bytes:
        value = dump(first, 8, ranks="[0, 1, 2]")
        if second is not None:
            entry = {**value["entries"][-1], "pg_id": 1, "process_group": ("1", "tp"), "collective_seq_id": second}
            value["entries"].append({**entry, "state": "scheduled"})
            value["pg_status"]["1"] = {"last_enqueued_collective": second, "last_completed_collective": second - 1}
        value["pg_config"]["1"] = {"name": "1", "desc": "tp", "ranks": "[1, 2]"}
        return pickle.dumps(value, 2)

    # Rank 0 waits for rank 1 in group 0, and rank 1 waits for rank 2 in group 1.
    late = two(8, None)
    result = verdict(
        tmp_path, job__log="x\n", nccl_trace_rank_0=two(9, None), nccl_trace_rank_1=two(8, 5), nccl_trace_rank_2=late
    )
    assert suspects(result) == [(2, "never-entered")]


FORM = "CollectiveFingerPrint(SequenceNumber=93, OpType={}, TensorShape=[{}], TensorDtypes=Float)"


def mismatch(one: int, other: int, odd: int, form: str) -> str:
    usual = FORM.format("ALLREDUCE", "1024")
    said = {rank: form if rank == odd else usual for rank in (one, other)}
    return (
        f"[rank{one}]: RuntimeError: Detected mismatch between collectives on ranks. Rank {one} is running collective: "
        f"{said[one]}, but Rank {other} is running collective: {said[other]}"
    )


@pytest.mark.parametrize(
    ("form", "reason"),
    [(FORM.format("ALLGATHER", "1024"), "other-collective"), (FORM.format("ALLREDUCE", "7"), "size-mismatch")],
)
@pytest.mark.parametrize("lines", [[(0, 6), (1, 6), (6, 0)], [(0, 6)]], ids=["all", "rank 0 only"])
def test_fingerprints_outvote_the_odd_rank(
    tmp_path: Path, form: str, reason: str, lines: list[tuple[int, int]]
) -> None:
    log = "\n".join(mismatch(one, other, 6, form) for one, other in lines)
    assert suspects(verdict(tmp_path, job__log=log)) == [(6, reason)]


def test_two_ranks_that_differ_are_both_named(tmp_path: Path) -> None:
    log = mismatch(0, 1, 1, FORM.format("BARRIER", ""))
    assert [rank for rank, _ in suspects(verdict(tmp_path, job__log=log))] == [0, 1]


@pytest.mark.parametrize(
    ("log", "rank", "reason"),
    [
        ("[rank0]: RuntimeError: Rank 3 failed to pass monitoredBarrier in 30000 ms", 3, "absent"),
        ("[Rank 0]: Ranks 3 failed to pass monitoredBarrier in 30000 ms", 3, "absent"),
        ("RuntimeError: DDP expects same model across all ranks, but Rank 3 has 74 params, while rank 0 has inconsistent 73 params.", 3, "size-mismatch"),
        ("32 ranks have launched up to operation 6650\n1 rank has launched up to operation 6649\nRank 3 -- GPU 3 managed by process 48 on node 10.0.0.9", 3, "never-entered"),
    ],
)  # fmt: skip
def test_checks_of_the_runtimes_name_the_rank(tmp_path: Path, log: str, rank: int, reason: str) -> None:
    assert (rank, reason) in suspects(verdict(tmp_path, job__log=log))


def test_a_ring_of_waiters_points_at_the_rank_that_does_not_wait(tmp_path: Path) -> None:
    text = "[rank{}]: EI0002: the Notify register has not received the Notify record from remote rank [{}]."
    log = "\n".join(text.format(rank, rank + 1) for rank in range(3))
    assert (3, "never-entered") in suspects(verdict(tmp_path, job__log=log))


@pytest.mark.parametrize("work", ["WorkXCCL", "WorkHCCL", "WorkNCCL"])
def test_relatives_of_the_watchdog_are_read(tmp_path: Path, work: str) -> None:
    lines = [WATCHDOG.format(r=rank).replace("WorkNCCL", work) for rank in (0, 1, 3)]
    lines.append("[rank2]: [PG ID 0 PG GUID 0(default_pg) Rank 2] last enqueued work: 8, last completed work: 8")
    assert suspects(verdict(tmp_path, job__log="\n".join(lines))) == [(2, "never-entered")]


def test_stacks_of_a_job_that_finished_make_no_suspect(tmp_path: Path) -> None:
    log = "\n".join(f"2026-11-30 10:0{n}:00 INFO step {n} loss 2.0" for n in range(1, 6)) + "\nTraining finished"
    result = verdict(
        tmp_path,
        job__log=log,
        spy_rank0__txt=spy(11, *WAIT),
        spy_rank1__txt=spy(12, *READ),
        spy_rank2__txt=spy(13, *WAIT),
    )
    assert (result.status, suspects(result)) == ("healthy", [])


@pytest.mark.parametrize(
    "notice",
    [
        "[PG ID 0 PG GUID 0(default_pg) Rank 0] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1",
        "[PG ID 0 PG GUID 0(default_pg) Rank 0] Observed flight recorder dump signal from another rank via TCPStore.",
    ],
)
def test_a_notice_of_a_dump_is_never_the_first_fault(tmp_path: Path, notice: str) -> None:
    result = verdict(tmp_path, job__log=f"[rank0]:[E1130 12:10:00.0 a.cpp:1] {notice}\n" + WATCHDOG.format(r=1))
    assert result.initiating is None


def test_jax_names_the_task_that_did_not_come(tmp_path: Path) -> None:
    log = (
        "XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: x. # of tasks that reached the barrier: 3/4.\n"
        "The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n/job:jax_worker/replica:0/task:2\n\nbye"
    )
    assert (2, "absent") in suspects(verdict(tmp_path, job__log=log))


def fatal(pid: int, call: str, library: str) -> str:
    return f"SIGABRT(6), PID: {pid}, Thread {pid}:\nframe #0: {call} + 0x12 (0x7f02 in {library})\n"


def glog(pid: int, call: str) -> str:
    return f"*** SIGABRT (@0x8) received by PID {pid} (TID 0x7f00) from PID 8; stack trace: ***\n    @     0x7f2d1b1bb731 {call}\n"


@pytest.mark.parametrize(
    "stacks",
    [
        [fatal(11, "ncclGroupEnd", "/l/libnccl.so.2"), fatal(12, "pread64", "/l/libc.so.6"), fatal(13, "ncclGroupEnd", "/l/libnccl.so.2")],
        [glog(11, "ncclGroupEnd()"), glog(12, "__libc_read"), glog(13, "ncclGroupEnd()")],
    ],
    ids=["torch", "glog"],
)  # fmt: skip
def test_stacks_of_signal_handlers_tell_who_is_elsewhere(stacks: list[str], tmp_path: Path) -> None:
    result = verdict(tmp_path, rank0__err=stacks[0], rank1__err=stacks[1], rank2__err=stacks[2])
    assert suspects(result) == [(1, "busy")]


def called(rank: int, call: str, line: int, group: str = "[PG ID 0 PG GUID 0(default_pg) Rank 0]") -> str:
    return (
        f"[rank{rank}]:[E1130 12:20:00.0 a.cpp:1] {group} Stack trace of the failed collective:\n"
        f"#0 {call} from /usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py:28\n#1 step from /workspace/train.py:{line}"
    )


def test_the_rank_whose_watchdog_shows_another_call_is_the_suspect(tmp_path: Path) -> None:
    lines = [called(rank, "broadcast" if rank == 2 else "all_reduce", 90 if rank == 2 else 44) for rank in range(4)]
    assert suspects(verdict(tmp_path, job__log="\n".join(lines))) == [(2, "other-collective")]


def test_calls_of_other_process_groups_are_not_compared(tmp_path: Path) -> None:
    lines = [called(rank, "all_reduce", 44) for rank in range(3)]
    lines.append(called(3, "recv", 90, "[PG ID 3 PG GUID 5(pp) Rank 1]"))
    assert suspects(verdict(tmp_path, job__log="\n".join(lines))) == []


@pytest.mark.parametrize(
    "line",
    [
        "E coordination_service.cc:954] /job:jax_worker/replica:0/task:37 has been set to ERROR in coordination service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:37 heartbeat timeout. This indicates that the remote task has failed",
        "E coordination_service.cc:962] /job:jax_worker/replica:0/task:37 unexpectedly tried to connect with a different incarnation. It has likely restarted.",
    ],
)
def test_the_task_that_the_coordination_service_lost_is_a_suspect(line: str, tmp_path: Path) -> None:
    fatal = "F client.h:75] Terminating process because the coordinator detected missing heartbeats."
    assert suspects(verdict(tmp_path, job__log=f"step 1 loss 2\n{line}\n{fatal}")) == [(37, "silent")]
