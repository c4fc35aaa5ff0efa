"""Single rules of the first fault, each with the smallest log that needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.reports import text
from assistant.verdict import Diagnosis, Finding
from corpus.head import HarmlessHead
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("oom", signature("CUDA out of memory. Tried to allocate {size:size}"), causes=("watchdog",)),
    head("space", signature("No space left on device"), kind="class", role="either"),
    head("notice", signature("instance will be terminated at {when:name}"), announces=True, scope="platform"),
    head("nan", signature("loss {value:name=nan}"), slows=True, family="numerics"),
    head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream"),
    head("abort", signature("terminate called after throwing"), kind="class", role="either", ends=True),
    head("sigill", signature("was signaled to shutdown with signal 4"), kind="class", role="initiating", ends=True),
    head("shard", signature("Shard complete standard error output:"), kind="wrapper", role="downstream"),
    head("load", signature("Nrt::Load failed on {cores:any}: status=")),
    head("dropped", signature("the launcher dropped this step"), role="initiating", scope="platform"),
)


def verdict(tmp_path: Path, text: str, **more: str) -> Diagnosis:
    (tmp_path / "job.log").write_text(text.strip("\n") + "\n")
    for name, content in more.items():
        (tmp_path / f"{name}.log").write_text(content.strip("\n") + "\n")
    return diagnose([str(tmp_path)], catalogue=CATALOGUE)


def initiating(result: Diagnosis) -> Finding:
    assert result.initiating is not None, result.status
    return result.initiating


WATCHDOG = "[rank{r}]:[E1130 12:20:0{r}.0 a.cpp:1] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600005 milliseconds before timing out."


def test_victims_may_have_waited_before_the_cause_broke(tmp_path: Path) -> None:
    log = "[rank1]:[E1130 12:10:20.0 a.cpp:1] ValueError: broke after the others had begun to wait\n" + WATCHDOG.format(
        r=0
    )
    assert initiating(verdict(tmp_path, log)).ranks == (1,)


def test_an_abort_after_the_timeout_is_its_end_not_its_cause(tmp_path: Path) -> None:
    result = verdict(tmp_path, WATCHDOG.format(r=0) + "\nterminate called after throwing an instance of 'c10::Error'")
    assert result.status == "symptom-only"


def test_a_lost_peer_is_a_consequence_even_when_no_entry_covers_it(tmp_path: Path) -> None:
    result = verdict(
        tmp_path, "[rank0]: RuntimeError: Connection closed by peer 10.0.0.7", other="[rank1]: KeyError: 'x'"
    )
    assert initiating(result).ranks == (1,)


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("rt.cc: ERROR: device 4 cannot be acquired\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: status=26", 1),
        ("ERROR unhandled exception\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: status=26", 4),
        ("nvcc fatal   : Unknown option 'x'\nRuntimeError: Error building extension 'fused'", 1),
        ("ERROR x: text_generation_launcher: Shard complete standard error output:\n\nERROR x: text_generation_launcher: Shard process was signaled to shutdown with signal 4 rank=0", 3),
        ("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: INTERNAL: From /job:c/task:0:\n2 root error(s) found.\n  (0) INTERNAL: Nrt::Load failed on 0-0: status=1", 5),
        ("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    assert n <= limit\nAssertionError", 3),
        ("[rank0]: torch.distributed.DistBackendError: NCCL error in: a.cpp:1, unhandled cuda error\n[rank0]: ncclUnhandledCudaError: failed.\n[rank0]: Last error:\n[rank0]: Cuda failure 802 'system not yet initialized'", 4),
    ],
    ids=["runtime-line", "announcement", "build", "launcher-block", "root-errors", "bare-assert", "last-error"],
)  # fmt: skip
def test_the_line_that_says_what_went_wrong_decides(tmp_path: Path, log: str, line: int) -> None:
    assert initiating(verdict(tmp_path, log)).evidence[0].line == line


def test_a_notice_is_not_refuted_by_the_steps_until_the_end(tmp_path: Path) -> None:
    result = verdict(
        tmp_path, "step 1 loss 2\ninstance will be terminated at 12:02\nstep 2 loss 2\nstep 3 loss 2\nstep 4 loss 2"
    )
    assert initiating(result).entry is not None


@pytest.mark.parametrize(
    ("after", "status"),
    [
        ("step 4 loss 1.0\nstep 5 loss 1.0\nstep 6 loss 1.0", "degraded"),
        ("step 4 loss nan\nRuntimeError: loss is not finite", "identified"),
    ],
)
def test_steps_that_are_nan_themselves_are_no_recovery(tmp_path: Path, after: str, status: str) -> None:
    result = verdict(tmp_path, f"step 1 loss 1.0\nstep 2 loss nan\nstep 3 loss nan\n{after}")
    assert (result.status, initiating(result).evidence[0].line) == (status, 2)


def test_a_failed_worker_after_the_last_words_is_no_completion(tmp_path: Path) -> None:
    assert verdict(tmp_path, "ValueError: bad shard\nTraining is done\nValueError: still bad").status == "unexplained"


@pytest.mark.parametrize(
    ("log", "rank", "host"),
    [
        ("ValueError: found it on rank 3", (3,), ()),
        ("slurmstepd: error: the launcher dropped this step\nsrun: error: node-b7: task 5: Exited with exit code 1", (5,), ("node-b7",)),
        ("[cn0060 rank 2] ValueError: x", (2,), ("cn0060",)),
        ("(Worker[rank=4] pid=77, ip=10.0.0.9) ValueError: x", (4,), ("10.0.0.9",)),
        ("[pod/w-1/c] [rank6]: hello\n[pod/w-1/c] ValueError: x", (6,), ()),
        ("[rank1]: ok\nValueError: x\nRoot Cause (first observed failure):\n  host      : gpu-9\n  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 7)", (1,), ("gpu-9",)),
    ],
    ids=["message", "srun", "bracket", "ray", "container", "table"],
)  # fmt: skip
def test_places(tmp_path: Path, log: str, rank: tuple[int, ...], host: tuple[str, ...]) -> None:
    found = initiating(verdict(tmp_path, log))
    assert (found.ranks, found.hosts) == (rank, host)


def test_the_worker_that_ended_first_is_a_suspect_when_only_its_end_is_known(tmp_path: Path) -> None:
    log = "ChildFailedError: \nRoot Cause (first observed failure):\n  host      : gpu-9\n  rank      : 7 (local_rank: 1)\n  exitcode  : -9 (pid: 7)"
    result = verdict(tmp_path, log)
    assert [(s.rank, s.reason) for s in result.suspects] == [(7, "exited-first")]
    assert "SIGKILL" in result.suspects[0].because


def test_harmless_lines_are_told_apart_from_faults(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("ERROR: cannot find the optional plugin\nNo space left on device\n")
    catalogue = catalogue_of(head("space", signature("No space left on device"), kind="class", role="either"))
    catalogue.harmless = (HarmlessHead("cannot find the optional plugin", "The plugin is optional.", None, 0),)
    result = diagnose([str(tmp_path)], catalogue=catalogue)
    assert initiating(result).evidence[0].line == 2
    assert [f.because for f in result.findings if f.role == "recovered"] == [
        "job.log:1 is known to be harmless: The plugin is optional."
    ]


def test_unless_text_makes_a_harmless_line_count(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("ERROR: cannot find the optional plugin\nplugin is required here\n")
    catalogue = catalogue_of(head("space", signature("No space left on device")))
    catalogue.harmless = (HarmlessHead("cannot find the optional plugin", "Optional.", "plugin is required", 3),)
    assert diagnose([str(tmp_path)], catalogue=catalogue).status == "unexplained"


def test_buffered_steps_of_other_ranks_are_no_recovery(tmp_path: Path) -> None:
    steps = "\n".join(f"[rank0]: step {number} loss 2" for number in (3, 4, 5))
    log = (
        f"step 1 loss 2\nstep 2 loss 2\n[rank1]: CUDA out of memory. Tried to allocate 2.00 GiB\n{steps}\n"
        + WATCHDOG.format(r=0)
    )
    assert initiating(verdict(tmp_path, log)).evidence[0].line == 3


@pytest.mark.parametrize(
    "text",
    [
        "# Notes\n\n```\nCUDA out of memory. Tried to allocate 2.00 GiB\n```\nLower the batch size.",
        "> CUDA out of memory. Tried to allocate 2.00 GiB\nlower it",
        "$ grep -rn memory\nold/job.log:12:CUDA out of memory. Tried to allocate 2.00 GiB",
        'changes: Fix "CUDA out of memory. Tried to allocate 2.00 GiB" in the kernel',
    ],
)
def test_quoted_errors_are_no_events(tmp_path: Path, text: str) -> None:
    assert verdict(tmp_path, text).initiating is None


@pytest.mark.parametrize(
    "text",
    [
        "trial 2 failed: CUDA out of memory. Tried to allocate 2.00 GiB\ntrial 3 ok acc 0.8\nbest trial 3",
        "trying batch size 16\nCUDA out of memory. Tried to allocate 2.00 GiB\nBatch size 16 failed, using 8\nbuilding the optimiser\nexported",
        "could not load it: CUDA out of memory. Tried to allocate 2.00 GiB; falling back to cpu\nloaded 291 tensors\nacc 0.91",
    ],
    ids=["sweep", "batch-finder", "fallback"],
)  # fmt: skip
def test_faults_that_the_program_outlived(tmp_path: Path, text: str) -> None:
    assert verdict(tmp_path, text).initiating is None


def test_an_appended_log_of_another_job_decides_for_itself(tmp_path: Path) -> None:
    start = "=== job {n} starts on node-a"
    log = f"{start.format(n=100)}\nCUDA out of memory. Tried to allocate 2.00 GiB\n{start.format(n=101)}\nloading\nValueError: its own"
    assert initiating(verdict(tmp_path, log)).evidence[0].line == 5


def test_the_summary_of_a_logging_service_is_no_completion(tmp_path: Path) -> None:
    log = 'step 1 loss 2\nTraceback (most recent call last):\n  File "a.py", line 1, in f\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\nwandb: Run summary:\nwandb: loss 2.0'
    assert verdict(tmp_path, log).status == "identified"


@pytest.mark.parametrize(
    "text",
    ["```\nstep 1 loss 2\nCUDA out of memory. Tried to allocate 2.00 GiB\n```", "> step 1 loss 2\n> CUDA out of memory. Tried to allocate 2.00 GiB"],
    ids=["fence", "mail"],
)  # fmt: skip
def test_a_whole_log_in_quotation_marks_is_a_log(tmp_path: Path, text: str) -> None:
    assert initiating(verdict(tmp_path, text)).entry is not None


STEPS = "".join(f"[rank0]: step {number} loss 2\n" for number in range(3, 12))


@pytest.mark.parametrize(
    ("log", "why", "label"),
    [
        ("CUDA out of memory. Tried to allocate 2.00 GiB\n" + STEPS, "survived", "RECOVERED"),
        ("[WARNING] No space left on device\n", "handled", "HANDLED"),
        ("# Changelog\n\n* Fix `CUDA out of memory. Tried to allocate 2.00 GiB`\n", "quoted", "NOT A FAULT"),
        ("ERROR: cannot find the optional plugin\n", "harmless", "NOT A FAULT"),
        (
            "Starting job 7 on node a\nValueError: x\nStarting job 8 on node a\n" + STEPS,
            "earlier-run",
            "EARLIER RUN",
        ),
        (STEPS + "step 12 loss nan\nValueError: x\n", None, None),
    ],
    ids=["survived", "handled", "quoted", "harmless", "earlier-run", "blamed"],
)
def test_why_a_finding_is_not_blamed(tmp_path: Path, log: str, why: str | None, label: str | None) -> None:
    catalogue = catalogue_of(*CATALOGUE.heads.values())
    catalogue.harmless = (HarmlessHead("cannot find the optional plugin", "The plugin is optional.", None, 0),)
    (tmp_path / "job.log").write_text(log)
    result = diagnose([str(tmp_path / "job.log")], catalogue=catalogue)
    found = [finding for finding in result.findings if finding.role == "recovered"]
    assert [finding.set_aside for finding in found] == [why] * len(found)
    assert len(found) == (why is not None)
    assert all(finding.set_aside is None for finding in result.findings if finding.role != "recovered")
    shown = text.render(result)
    for heading in ("RECOVERED", "HANDLED", "NOT A FAULT", "EARLIER RUN"):
        assert (heading in shown) is (heading == label)
