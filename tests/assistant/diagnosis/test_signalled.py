"""A program that dies while it handles the signal to stop did not stop the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("preempted", signature("DUE TO PREEMPTION"), family="scheduler-platform", scope="platform"),
    head("cancelled", signature("CANCELLED AT {when:name} ***"), family="scheduler-platform", kind="class", role="either"),
    head("key-error", signature("KeyError: "), kind="class", scope="workload"),
    head("broken-pipe", signature("BrokenPipeError"), kind="class"),
)  # fmt: skip
STEPS = "\n".join(f"2026-11-30 10:0{minute}:00 INFO step {100 + minute} loss 2.0" for minute in range(5))
MORE = "\n".join(f"2026-11-30 10:0{minute}:40 INFO step {100 + minute} loss 2.0" for minute in range(5, 9))
NOTICE = "slurmstepd: error: *** JOB 1 ON node-a CANCELLED AT 2026-11-30T10:04:30 DUE TO PREEMPTION ***"
WARNED = "slurmstepd: error: *** STEP 1.0 ON node-a CANCELLED AT 2026-11-30T10:04:30 ***"
TOLD = "2026-11-30 10:04:31 INFO caught SIGTERM, saving"

USR1 = "2026-11-30 09:59:00 INFO received SIGUSR1, writing periodic checkpoint"


def traceback(function: str, error: str = "KeyError: 15") -> str:
    return f'Traceback (most recent call last):\n  File "/workspace/train.py", line 88, in {function}\n    key = self.state[signum]\n{error}'


@pytest.mark.parametrize(
    "log",
    [
        f"{STEPS}\n{NOTICE}\n{TOLD}\n{traceback('save')}",
        f"{STEPS}\n{NOTICE}\n{traceback('on_sigterm')}",
        f"{STEPS}\n{NOTICE}\n{traceback('preempt')}",
        f"{STEPS}\n{TOLD}\n{traceback('process_signal')}\n{NOTICE}",
        # The notice comes last: the signal came with the time of grace.
        f"{STEPS}\n{traceback('handle_signal')}\n{NOTICE}",
        f"{STEPS}\n{TOLD}\n{traceback('save', 'BrokenPipeError: [Errno 32] Broken pipe')}\n{NOTICE}",
        # Steps in the time of grace are no other run, and no proof that the job lived on.
        f"{STEPS}\n{NOTICE}\n{MORE}\n{traceback('_sigterm_handler')}",
        # The step was told to stop without a reason, which came later.
        f"{STEPS}\n{WARNED}\n{TOLD}\n{traceback('save')}\n{NOTICE}",
    ],
)
def test_a_preempted_program_may_die_by_its_own_handler(log: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(log + "\n")
    result = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    assert result.initiating is not None and result.initiating.entry is not None, result.status
    assert (result.status, result.initiating.entry.id) == ("identified", "preempted")
    assert all(finding.role == "downstream" for finding in result.findings[1:])


RESTARTED = "2026-11-30 10:20:00 INFO starting again from checkpoint 100\n2026-11-30 10:20:00 INFO building dataset"


@pytest.mark.parametrize(
    "log",
    [
        # Nothing says that it was handling a signal, and it came first.
        f"{STEPS}\n{traceback('collate')}\n{NOTICE}",
        # Names that are of audio, of requests or of a whole step as well.
        *(f"{STEPS}\n{traceback(name)}\n{NOTICE}" for name in ("process_signal", "preempt", "preemption_aware_step")),
        # The signal asked for a checkpoint, and training went on.
        f"{USR1}\n2026-11-30 09:59:05 INFO checkpoint written\n{traceback('collate')}\n{NOTICE}",
        f"{USR1}\n{STEPS}\n{traceback('collate')}\n{NOTICE}",
        # The next run of the requeued job has a fault of its own.
        f"{NOTICE}\n{RESTARTED}\n{traceback('collate')}",
        f"{STEPS}\n{NOTICE}\n{RESTARTED}\n2026-11-30 10:21:00 INFO step 105 loss 2.0\n{traceback('collate')}",
    ],
)
def test_an_error_before_the_notice_or_in_the_next_run_is_a_fault_of_its_own(log: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(log + "\n")
    result = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    assert result.initiating is not None and result.initiating.entry is not None
    assert result.initiating.entry.id == "key-error"


def test_a_requeued_job_that_makes_steps_again_survived_its_preemption(tmp_path: Path) -> None:
    again = "\n".join(f"2026-11-30 11:0{minute}:00 INFO step {90 + minute} loss 2.0" for minute in range(5))
    (tmp_path / "job.log").write_text(f"{STEPS}\n{NOTICE}\n{again}\n2026-11-30 11:09:00 INFO training finished\n")
    assert diagnose([str(tmp_path)], catalogue=CATALOGUE).status == "healthy"


SLURM = catalogue_of(
    head("limit", signature("CANCELLED AT {when:name} DUE TO TIME LIMIT ***"), family="scheduler-platform"),
    head("cancelled", signature("CANCELLED AT {when:name} ***"), family="scheduler-platform", kind="class", role="either"),
    head("terminated", signature("srun: error: {host:host}: task {rank:int}: Terminated"), kind="class", role="downstream", ends=True),
    head("exited", signature("srun: error: {hosts:any}: task {tasks:any}: Exited with exit code {code:int}"), kind="wrapper", role="downstream"),
    head("space", signature("No space left on device"), kind="class"),
)  # fmt: skip
CANCELLED = "srun: Terminating StepId=4.0\nslurmstepd: error: *** STEP 4.0 ON n1 CANCELLED AT 2026-11-30T10:00:00 ***"
LIMIT = "slurmstepd: error: *** STEP 4.0 ON n1 CANCELLED AT 2026-11-30T10:00:00 DUE TO TIME LIMIT ***"
EXITED = "srun: error: n4: task 3: Exited with exit code 1"
ENDED = "srun: error: n2: task 1: Terminated\nsrun: error: n1: task 0: Terminated"


@pytest.mark.parametrize(
    ("log", "entry", "ranks", "hosts"),
    [
        (f"{LIMIT}\n{ENDED}", "limit", (), None),
        (f"{CANCELLED}\n{ENDED}", "cancelled", (), None),
        (f"{CANCELLED}\n{EXITED}", "cancelled", (), None),
        (f"{EXITED}\n{CANCELLED}\n{ENDED}", "exited", (3,), ("n4",)),
        (f"{EXITED.replace('code 1', 'code 143')}\n{CANCELLED}\n{ENDED}", "cancelled", (), None),
        (f"{EXITED}\n{LIMIT}\n{ENDED}", "limit", (), None),
        (f"OSError: No space left on device\n{EXITED}\n{CANCELLED}\n{ENDED}", "space", (), None),
    ],
    ids=["limit", "cancelled", "exit-below", "exit-above", "stopped-task", "limit-with-exit", "known-fault"],
)
def test_a_cancelled_step_has_no_rank_and_the_task_that_failed_before_it_has(
    log: str, entry: str, ranks: tuple[int, ...], hosts: tuple[str, ...] | None, tmp_path: Path
) -> None:
    (tmp_path / "job.log").write_text(log + "\n")
    first = diagnose([str(tmp_path)], catalogue=SLURM).initiating
    assert first is not None and first.entry is not None
    assert (first.entry.id, first.ranks) == (entry, ranks)
    assert hosts is None or first.hosts == hosts
