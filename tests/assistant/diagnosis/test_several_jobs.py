"""Logs of several jobs in one folder: the verdict is about one of them, and no other's fault explains it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from corpus.catalogue import Catalogue
from tests.heads import HANGING_RUN, catalogue_of, head, signature

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
WATCHDOG = (
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=91, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,"
    " Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)


def stamp(seconds: int) -> str:
    return f"2026-11-30 {9 + seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def steps(rank: int, begin: int, count: int, *, every: int = 10, first: int = 0, head: str = "") -> str:
    lines = [f"{stamp(begin)} [rank{rank}] INFO {head}"] if head else []
    lines += [
        f"{stamp(begin + every * n)} [rank{rank}] INFO trainer: step {first + n} loss {3 - n / 1000:.4f}"
        for n in range(count)
    ]
    return "\n".join(lines) + "\n"


def verdict(folder: Path, files: dict[str, str], catalogue: Catalogue = HANGING_RUN) -> Diagnosis:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return diagnose([str(folder)], catalogue=catalogue)


def waits(rank: int, at: int) -> str:
    return f"{stamp(at)} [rank{rank}]: {WATCHDOG}\n"


def breaks(rank: int, at: int) -> str:
    return f"{stamp(at)} [rank{rank}]: {OOM}\n"


def assert_apart(result: Diagnosis) -> None:
    """The watchdog's job is the one asked for, and the memory fault of the other one is said to be that one's."""
    assert result.status == "symptom-only" and result.initiating is None
    (other,) = result.independent
    assert other.entry is not None and other.entry.id == "oom" and "another one than" in other.because
    (waited,) = [finding for finding in result.findings if finding.role == "downstream"]
    assert waited.explained_by == ()
    assert any("2 jobs or runs" in warning for warning in result.warnings)


def test_one_rank_cannot_be_at_two_steps_at_once(tmp_path: Path) -> None:
    files = {
        "jobA/rank0.log": steps(0, 0, 60) + waits(0, 1210),
        "jobA/rank1.log": steps(1, 0, 60),
        "jobB/rank0.log": steps(0, 100, 40) + breaks(0, 590),
    }
    result = verdict(tmp_path, files)
    assert_apart(result)
    assert result.run.last_step == 59 and len(result.sources) == 3


def test_names_of_files_part_them_as_well_as_folders(tmp_path: Path) -> None:
    assert_apart(
        verdict(
            tmp_path,
            {"llama-rank0.log": steps(0, 0, 60) + waits(0, 1210), "qwen-rank0.log": steps(0, 100, 40) + breaks(0, 590)},
        )
    )


@pytest.mark.parametrize("in_lines", [True, False])
def test_ids_of_the_scheduler_part_them(tmp_path: Path, in_lines: bool) -> None:
    first, second = ("a.log", "b.log") if in_lines else ("slurm-4242.out", "slurm-4300.out")
    said = ("SLURM_JOB_ID=4242\n", "SLURM_JOB_ID=4300\n") if in_lines else ("", "")
    files = {
        first: said[0] + steps(0, 100, 40) + breaks(0, 590),
        second: said[1] + steps(0, 0, 60) + waits(0, 1210),
    }
    assert_apart(verdict(tmp_path, files))


def test_two_sizes_of_the_world_part_them(tmp_path: Path) -> None:
    files = {
        "one/rank0.log": f"{stamp(0)} [rank0] INFO world size 8\n" + waits(0, 1210),
        "two/rank0.log": f"{stamp(30)} [rank0] INFO world size 4\n" + breaks(0, 590),
    }
    assert_apart(verdict(tmp_path, files))


def test_a_run_that_began_anew_hours_later_is_another_one(tmp_path: Path) -> None:
    files = {
        "monday/rank0.log": steps(0, 0, 40, head="Starting training of model A") + breaks(0, 590),
        "tuesday/rank0.log": steps(0, 9000, 60, head="Starting training of model B") + waits(0, 10210),
    }
    assert_apart(verdict(tmp_path, files))


@pytest.mark.parametrize("names", [("monday/job.log", "tuesday/job.log"), ("first.log", "second.log")])
def test_so_is_one_whose_logs_name_no_rank(tmp_path: Path, names: tuple[str, str]) -> None:
    files = {names[0]: steps(0, 0, 40) + breaks(0, 590), names[1]: steps(0, 9000, 60) + waits(0, 10210)}
    result = verdict(tmp_path, {name: text.replace("[rank0]", "trainer") for name, text in files.items()})
    assert_apart(result)


def whole(size: int, last: str, *, ranks: int | None = None, every: int = 10) -> str:
    """One log of all ranks of a job."""
    count = ranks if ranks is not None else size
    lines = [f"{stamp(0)} [rank{rank}] INFO rank {rank} of world size {size}\n" for rank in range(count)]
    return "".join(lines) + f"{stamp(every)} INFO trainer: loss is fine\n" + last


def test_folders_that_hold_all_ranks_of_a_job_each_are_two(tmp_path: Path) -> None:
    files = {"llama/job.log": whole(4, waits(0, 1210)), "qwen/job.log": whole(8, breaks(3, 590), every=7)}
    assert_apart(verdict(tmp_path, files))


@pytest.mark.parametrize(
    "files",
    [
        {"node-1/job.log": whole(8, waits(0, 1210), ranks=4), "node-2/job.log": whole(8, breaks(3, 590), ranks=4)},
        {"out/job.log": whole(8, waits(0, 1210), ranks=4), "more/job.log": whole(8, breaks(3, 590), ranks=4)},
        {"raw/job.log": whole(4, waits(0, 1210) + breaks(3, 590)), "sorted/job.log": whole(4, breaks(3, 590) + waits(0, 1210))},
        {"run/out.log": whole(4, waits(0, 1210)), "run/err.log": whole(4, breaks(3, 590), every=7)},
    ],
    ids=["hosts", "local-ranks", "copies", "one-folder"],
)  # fmt: skip
def test_folders_that_may_be_parts_or_copies_of_one_job_are_one(tmp_path: Path, files: dict[str, str]) -> None:
    result = verdict(tmp_path, files)
    assert result.initiating is not None and not any("2 jobs or runs" in warning for warning in result.warnings)


def test_of_two_runs_of_one_job_the_last_one_is_asked_for(tmp_path: Path) -> None:
    files = {
        "job-300.log": steps(0, 0, 30) + waits(0, 910),
        "job-300.restart.log": steps(0, 1500, 30) + breaks(0, 1805),
    }
    result = verdict(tmp_path, files)
    assert result.initiating is not None and result.initiating.evidence[0].source == "job-300.restart.log"


def test_a_node_event_beside_two_jobs_is_of_neither(tmp_path: Path) -> None:
    catalogue = catalogue_of(
        head("bus", signature("NVRM: Xid (PCI:{pci:pci}): 79"), causes=("watchdog",)),
        head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream"),
    )
    files = {
        "jobA/rank0.log": steps(0, 0, 60) + waits(0, 1210),
        "jobB/rank0.log": steps(0, 100, 40) + f"{stamp(590)} [rank0]: RuntimeError: lost it\n",
        "dmesg-n1.log": "[Mon Nov 30 09:09:45 2026] NVRM: Xid (PCI:0000:8a:00): 79, GPU has fallen off the bus.\n",
    }
    result = verdict(tmp_path, files, catalogue)
    assert result.initiating is None
    assert [suspect.reason for suspect in result.suspects if suspect.rank is None] == ["unplaced-event"]


def test_the_job_whose_failure_is_the_latest_is_asked_for(tmp_path: Path) -> None:
    files = {
        "jobA/rank0.log": steps(0, 0, 10) + waits(0, 800),
        "jobB/rank0.log": steps(0, 100, 400) + breaks(0, 4300),
    }
    result = verdict(tmp_path, files)
    assert result.status == "identified" and result.initiating is not None
    assert result.initiating.evidence[0].source == "jobB/rank0.log"
    assert [finding.role for finding in result.findings] == ["initiating", "unrelated"]


ONE_JOB = {
    "standard streams of a rank": {
        "rank0.out.log": steps(0, 0, 60) + waits(0, 1210),
        "rank0.err.log": breaks(0, 590),
        "rank1.out.log": steps(1, 0, 60),
    },
    "the launcher's copy": {
        "rank0.log": steps(0, 0, 60) + waits(0, 1210),
        "launch/rank0.log": steps(0, 0, 60),
        "rank1.log": steps(1, 0, 60) + breaks(1, 600),
    },
    "local ranks of hosts whose clocks differ": {
        "node-1/rank0.log": steps(0, 0, 60) + waits(0, 1210),
        "node-2/rank0.log": steps(0, 100, 60) + breaks(0, 705),
    },
    "a file per attempt that goes on": {
        "first/rank0.log": steps(0, 0, 20),
        "second/rank0.log": steps(0, 400, 20, first=20) + breaks(0, 640),
    },
    "two counters of one rank": {
        "rank0.log": steps(0, 0, 60) + waits(0, 1210),
        "metrics/rank0.log": steps(0, 0, 240, every=2).replace("trainer: step", "micro: iteration"),
        "rank1.log": steps(1, 0, 60) + breaks(1, 600),
    },
    "a trainer and a server that it starts": {
        "trainer/rank0.log": f"{stamp(0)} [rank0] INFO world size 8\n" + steps(0, 0, 60) + waits(0, 1210),
        "server/rank0.log": f"{stamp(0)} [rank0] INFO engine of world_size=2\n" + breaks(0, 590),
    },
    "workers that count what each of them did": {
        "a/worker.log": steps(0, 0, 60).replace("[rank0]", "actor") + waits(0, 1210),
        "b/worker.log": steps(0, 100, 40).replace("[rank0]", "actor") + f"{stamp(590)} {OOM}\n",
    },
    "an actor and the rollout workers ahead of it": {
        "actor/rank0.log": f"{stamp(0)} [rank0] INFO world size 1\n" + steps(0, 60, 60) + waits(0, 1210),
        "rollout/rank0.log": f"{stamp(0)} [rank0] INFO world size 1\n" + steps(0, 0, 59) + breaks(0, 590),
    },
    "a server that prefills and one that decodes": {
        "prefill/server.log": whole(2, breaks(1, 590)),
        "decode/server.log": whole(4, waits(0, 1210), every=7),
    },
    "local ranks of two machines with names of their own": {
        f"{name}/rank_{local}.log": f"{stamp(60 * node)} INFO world_size=4\n"
        + steps(local, 60 * node, 60).replace(f" [rank{local}]", "")
        + (f"{stamp(590)} {OOM}\n" if (node, local) == (1, 1) else f"{stamp(1210)} {WATCHDOG}\n")
        for node, name in enumerate(("alpha", "beta"))
        for local in range(2)
    },
    "components of one heterogeneous job": {
        "slurm-300.out": f"{stamp(0)} INFO SLURM_HET_JOB_ID=300\n{stamp(590)} {OOM}\n",
        "slurm-301.out": f"{stamp(0)} INFO SLURM_HET_JOB_ID=300\n" + waits(0, 1210),
    },
    "ranks that are a step apart": {
        "a/rank0.log": steps(0, 0, 60) + waits(0, 1210),
        "b/rank1.log": steps(1, 3, 40) + breaks(1, 590),
    },
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_JOB, ids=lambda case: case.replace(" ", "-"))
def test_files_of_one_job_stay_together(tmp_path: Path, case: str) -> None:
    result = verdict(tmp_path, ONE_JOB[case])
    assert not any("2 jobs or runs" in warning for warning in result.warnings)
    assert result.initiating is not None and result.initiating.entry is not None
    assert result.initiating.entry.id == "oom"


@pytest.mark.parametrize("names", [("llama_trainer", "qwen_trainer"), ("trainer_1", "trainer_2")])
def test_one_role_in_two_jobs_parts_nothing_less(tmp_path: Path, names: tuple[str, str]) -> None:
    files = {
        f"{names[0]}/rank0.log": steps(0, 0, 60) + waits(0, 1210),
        f"{names[1]}/rank0.log": steps(0, 100, 40) + breaks(0, 590),
    }
    assert_apart(verdict(tmp_path, files))
