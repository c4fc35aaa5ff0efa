"""Whose event it is: other pods, other jobs, and the run of a container before this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.logs.mappings import read_mapping
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, records, signature

CATALOGUE = catalogue_of(
    head("oomkilled", signature("Reason: OOMKilled"), scope="workload"),
    head("limit", signature("DUE TO TIME LIMIT"), scope="platform"),
    head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream"),
    head("gone", signature("remote process exited"), role="downstream"),
)


def verdict(folder: Path, **files: str) -> Diagnosis:
    for name, text in files.items():
        (folder / name.replace("__", ".").replace("_", "-")).write_text(text.strip("\n") + "\n")
    return diagnose([str(folder)], catalogue=CATALOGUE)


def pod(name: str, owner: str, *, state: str, last: str = "", ready: str = "False") -> str:
    block = f"    Last State:     Terminated\n{last}" if last else ""
    return (
        f"Name:             {name}\nNamespace:        ml\nNode:             node-1/10.0.0.1\nControlled By:  Job/{owner}\n"
        f"Containers:\n  main:\n    State:          {state}\n{block}    Ready:          {ready}\n    Restart Count:  1\n\n"
    )


KILLED = "      Reason: OOMKilled\n      Exit Code:    137\n"
STEPS = "\n".join(f"2026-11-30 10:0{n}:00 INFO step {n} loss 2.0" for n in range(1, 6))


def dead(reason: str = "OOMKilled") -> str:
    return f"Terminated\n      Reason: {reason}\n      Exit Code:    137"


def test_a_killed_container_of_another_pod_is_not_ours(tmp_path: Path) -> None:
    dump = pod("notebook-7", "notebook", state=dead()) + pod("train-0", "train", state=dead("Error"))
    result = verdict(tmp_path, train_0__log=STEPS + "\nKeyError: 'x'", describe__txt=dump)
    assert result.initiating is not None and "KeyError" in result.initiating.evidence[0].text
    (other,) = [finding for finding in result.findings if finding.role == "unrelated"]
    assert "notebook-7" in other.because


def test_a_pod_of_the_same_owner_is_ours_although_its_log_is_missing(tmp_path: Path) -> None:
    dump = pod("train-0", "train", state="Running") + pod("train-1", "train", state=dead())
    result = verdict(tmp_path, train_0__log=STEPS + "\nremote process exited", describe__txt=dump)
    assert result.initiating is not None and result.initiating.entry is not None
    assert result.initiating.entry.id == "oomkilled"


@pytest.mark.parametrize(
    ("last", "state"),
    [
        (KILLED, "Running"),
        (KILLED + "      Finished:     Mon, 30 Nov 2026 09:00:00 +0000\n", "Running"),
        (KILLED, "Running\n      Started:      Mon, 30 Nov 2026 09:30:00 +0000"),
    ],
    ids=["ready", "ended before the log", "started before the log"],
)
def test_the_last_state_of_a_container_that_runs_again_is_over(tmp_path: Path, last: str, state: str) -> None:
    dump = pod("train-0", "train", state=state, last=last, ready="True")
    result = verdict(tmp_path, train_0__log=STEPS, describe__txt=dump)
    assert result.initiating is None
    assert [finding.role for finding in result.findings] == ["recovered"]


def test_a_container_that_ended_within_the_log_is_what_ended_it(tmp_path: Path) -> None:
    last = KILLED + "      Finished:     Mon, 30 Nov 2026 10:05:03 +0000\n"
    dump = pod("train-0", "train", state="Running\n      Started:      Mon, 30 Nov 2026 10:06:00 +0000", last=last)
    result = verdict(tmp_path, train_0__log=STEPS, describe__txt=dump)
    assert result.initiating is not None


def test_a_job_id_that_is_not_ours_is_set_aside(tmp_path: Path) -> None:
    log = "[2026-11-30T10:04:00.000] error: *** STEP {}.0 ON node-1 CANCELLED AT 2026-11-30T10:04:00 DUE TO TIME LIMIT ***"
    other = verdict(tmp_path, slurm_5501__out=STEPS + "\nKeyError: 'x'", slurmd__log=log.format(5502))
    assert other.initiating is not None and "KeyError" in other.initiating.evidence[0].text
    ours = verdict(tmp_path, slurm_5501__out=STEPS + "\nKeyError: 'x'", slurmd__log=log.format(5501))
    assert ours.initiating is not None and ours.initiating.entry is not None
    assert ours.initiating.entry.id == "limit"


@pytest.mark.parametrize(
    ("line", "rank", "pid", "host"),
    [
        ("(T pid=9) - (ip=10.0.0.2, pid=37002) world_rank=2, local_rank=2, node_rank=0", 2, 37002, "10.0.0.2"),
        ("(T pid=9) - (node_id=3fab, ip=10.0.0.2, pid=37002) world_rank=2, local_rank=2, node_rank=0", 2, 37002, "10.0.0.2"),
        ("mpirun noticed that process rank 3 with PID 811 on node cn-7 exited on signal 11 (Segmentation fault).", 3, 811, "cn-7"),
        ("srun: error: cn-7: task 5: Exited with exit code 1", 5, None, "cn-7"),
        ("[1,3]<stderr>:[cn-7:811] Signal: Segmentation fault (11)", 3, 811, "cn-7"),
        ("[launch.py:253:main] process 4711 spawned with command: ['/usr/bin/python', '-u', 'a.py', '--local_rank=4']", None, 4711, None),
        ("initialized rank 4 of world size 8 on host gpu-1 (local_rank 4, pid 37754)", 4, None, None),
        ("Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/16", 3, None, None),
        ("jax process 2 of 4, local devices 4", 2, None, None),
    ],
)  # fmt: skip
def test_lines_that_place_a_rank(line: str, rank: int | None, pid: int | None, host: str | None) -> None:
    (record,) = records(line)
    (placed,) = read_mapping(record)
    assert (placed.rank, placed.pid, placed.host) == (rank, pid, host)


@pytest.mark.parametrize(
    "line", ["step 3 of 100 loss 1.0", "process 5 of 4 things", "processed 3 of 10", "rank 3 waits"]
)
def test_lines_that_only_look_like_it(line: str) -> None:
    (record,) = records(line)
    assert read_mapping(record) == []


def test_what_the_program_says_beats_the_name_of_its_file(tmp_path: Path) -> None:
    result = verdict(tmp_path, rank_3__log="initialized rank 5 of world size 8\nKeyError: 'x'")
    assert result.initiating is not None and result.initiating.ranks == (5,)
    assert any("says rank 3" in warning and "rank 5" in warning for warning in result.warnings)


@pytest.mark.parametrize(("queued", "role"), [("4242", "initiating"), ("777", "unrelated")])
def test_the_job_that_srun_waited_for_is_ours_whatever_it_submits(tmp_path: Path, queued: str, role: str) -> None:
    log = (
        f"srun: job {queued} queued and waiting for resources\nSubmitted batch job 4300\n{STEPS}\n"
        "slurmstepd: error: *** STEP 4242.0 ON n1 CANCELLED AT 2026-11-30T10:06:00 DUE TO TIME LIMIT ***\n"
    )
    (finding,) = verdict(tmp_path, job__log=log).findings
    assert finding.role == role
