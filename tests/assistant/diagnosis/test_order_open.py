"""Faults whose order nothing tells, faults of ranks that were only going down, and runs that write on into one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.logs.layout import find_places
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("ecc", signature("uncorrectable ECC error"), role="either"),
    head("access", signature("illegal memory access")),
    head("disk", signature("No space left on device")),
    head("preempted", signature("DUE TO PREEMPTION"), scope="platform"),
    head("evicted", signature("The node was low on resource"), family="scheduler-platform", scope="platform"),
    head(
        "watchdog", signature("Watchdog caught collective operation timeout"), role="downstream", family="collectives"
    ),
)
WATCHDOG = "[rank{r}]:[E1130 10:20:0{r}.0 a.cpp:1] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out."


def verdict(folder: Path, **files: str) -> Diagnosis:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text.strip("\n") + "\n")
    return diagnose([str(folder)], catalogue=CATALOGUE)


@pytest.mark.parametrize("names", [("a__log", "b__log"), ("b__log", "a__log")])
def test_two_ranks_faults_without_times_stay_two_and_the_order_is_said_to_be_open(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    result = verdict(
        tmp_path,
        **dict(zip(names, ("[rank0]: an illegal memory access", "[rank1]: uncorrectable ECC error"), strict=True)),
    )
    found = {finding.entry.id for finding in (result.initiating, *result.independent) if finding and finding.entry}
    assert found == {"access", "ecc"}
    assert any("nothing here tells which came first" in warning for warning in result.warnings)


def test_a_rank_whose_own_watchdog_fired_has_no_first_fault_below_it(tmp_path: Path) -> None:
    log = "\n".join(
        [WATCHDOG.format(r=0), WATCHDOG.format(r=1), "[rank1]: OSError: No space left on device: '/tmp/dump'"]
    )
    assert verdict(tmp_path, job__log=log).status == "symptom-only"


def test_a_rank_that_did_not_wait_may_have_it(tmp_path: Path) -> None:
    log = "\n".join([WATCHDOG.format(r=0), WATCHDOG.format(r=1), "[rank2]: OSError: No space left on device: '/ckpt'"])
    result = verdict(tmp_path, job__log=log)
    assert result.initiating is not None and result.initiating.ranks == (2,)


def test_a_run_that_writes_on_after_a_preemption_is_an_attempt_of_its_own(tmp_path: Path) -> None:
    log = (
        "slurmstepd: error: *** JOB 1 ON node-a CANCELLED AT 2026-11-30T09:00:00 DUE TO PREEMPTION ***\n"
        "2026-11-30 10:00:00 INFO continuing from checkpoint 100\n2026-11-30 10:00:01 INFO building model\n"
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'labels'"
    )
    result = verdict(tmp_path, job__log=log)
    assert result.initiating is not None and "KeyError" in result.initiating.evidence[0].text
    assert [finding.entry.id for finding in result.independent if finding.entry] == ["preempted"]
    assert [attempt.n for attempt in result.run.attempts] == [1, 2]


def test_a_preemption_that_ends_the_log_is_the_first_fault(tmp_path: Path) -> None:
    log = "2026-11-30 08:59:00 INFO step 1 loss 1.0\nslurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026-11-30T09:00:00 DUE TO PREEMPTION ***"
    result = verdict(tmp_path, job__log=log)
    assert result.initiating is not None and result.initiating.entry is not None
    assert result.initiating.entry.id == "preempted"


ROW = "5m   Warning   Evicted   pod/{}   The node was low on resource: memory."


@pytest.mark.parametrize(("pod", "first"), [("other-7", "KeyError"), ("train-0", "low on resource")])
def test_rows_of_other_pods_beside_a_log_in_one_file(tmp_path: Path, pod: str, first: str) -> None:
    rows = [
        ROW.format(pod),
        "5m   Normal   Started   pod/train-0   Started container",
        "5m   Normal   Started   pod/web-1   Started",
    ]
    log = "\n".join(
        [
            *rows,
            "hello from train-0",
            "Traceback (most recent call last):",
            '  File "a.py", line 1, in f',
            "KeyError: 1",
        ]
    )
    result = verdict(tmp_path, job__log=log)
    assert result.initiating is not None and first in result.initiating.evidence[0].text


@pytest.mark.parametrize(
    ("paths", "ranks"),
    [
        (["worker_7.out", "loader-worker-3.log"], {}),
        ([f"worker_{n}.out" for n in range(4)], {0: 0, 1: 1, 2: 2, 3: 3}),
        (["rank_7.log", "rank_9.log"], {0: 7, 1: 9}),
        (["run/attempt_0/3/stderr.log", "x.log"], {0: 3}),
    ],
)
def test_numbers_in_names_are_ranks_only_where_they_must_be(paths: list[str], ranks: dict[int, int]) -> None:
    assert find_places(paths, [[] for _ in paths]).source_rank == ranks


def test_a_name_of_node_and_gpu_gives_the_host_and_no_rank() -> None:
    places = find_places(["node3-gpu2.log", "logs/dgx-07_local_rank1.out"], [[], []])
    assert (places.source_host, places.source_rank) == ({0: "node3", 1: "dgx-07"}, {})
