"""The first fault, not the loudest line: who started it, when, where, and how sure one may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.reports.text import render
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("oom", signature("CUDA out of memory. Tried to allocate {size:size}"), scope="workload", causes=("watchdog",)),
    head("bus", signature("NVRM: Xid (PCI:{pci:pci}): 79,"), causes=("watchdog",)),
    head("killer", signature("Out of memory: Killed process {pid:int} ({comm:name})"), causes=("killed",)),
    head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream", causes=("failed",)),
    head("few", signature("fewer GPUs than asked for")),
    head("throttle", signature("clocks reduced by thermal slowdown"), slows=True),
    head("killed", signature("exited with code 137"), kind="class", role="either", ends=True),
    head("failed", signature("ChildFailedError"), kind="wrapper", role="downstream"),
    head("sketch", signature("a thing nobody has proven"), status="draft"),
)


def verdict(tmp_path: Path, **logs: str) -> Diagnosis:
    for name, text in logs.items():
        (tmp_path / f"{name.replace('__', '-')}.log").write_text(text.strip("\n") + "\n")
    return diagnose([str(tmp_path)], catalogue=CATALOGUE)


def first(result: Diagnosis) -> tuple[str, str | None, int | None]:
    """Status, entry and line of the initiating finding."""
    found = result.initiating
    if found is None:
        return result.status, None, None
    return result.status, found.entry.id if found.entry else None, found.evidence[0].line


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
WATCHDOG = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600005 milliseconds before timing out."


def test_earlier_in_time_but_later_in_the_file(tmp_path: Path) -> None:
    result = verdict(
        tmp_path, job=f"[rank0]:[E1130 12:20:00.0 a.cpp:1] {WATCHDOG}\n[rank6]:[E1130 12:09:58.0 a.cpp:1] {OOM}"
    )
    assert first(result) == ("identified", "oom", 2)
    assert result.initiating is not None and result.initiating.ranks == (6,)


def test_a_timeout_began_before_it_was_printed(tmp_path: Path) -> None:
    log = f"[rank6]:[E1130 12:15:00.0 a.cpp:1] ValueError: teardown trouble\n[rank0]:[E1130 12:20:00.0 a.cpp:1] {WATCHDOG}"
    result = verdict(tmp_path, job=log)
    waiting = next(finding for finding in result.findings if finding.entry and finding.entry.id == "watchdog")
    assert waiting.role == "downstream"


KERNEL = "2026-11-30T12:09:30 node-b kernel: NVRM: Xid (PCI:0000:8a:00): 79, pid=1, GPU has fallen off the bus."


def job(host: str = "node-b", minute: str = "20") -> str:
    return f"""
2026-11-30 12:00:00 {host}:100:200 [5] NCCL INFO comm 0x1 rank 13 nranks 16 cudaDev 5 busId 8a000 - Init COMPLETE
2026-11-30 12:09:00 {host}:100:200 [5] NCCL INFO step 4 loss 1
2026-11-30 12:{minute}:00 [rank0]: {WATCHDOG}
"""


def test_a_kernel_event_in_the_job_window_with_its_rank(tmp_path: Path) -> None:
    result = verdict(tmp_path, train=job(), dmesg__node_b=KERNEL.replace("node-b", "node_b"))
    assert result.status == "identified"
    assert result.initiating is not None and result.initiating.entry is not None
    assert result.initiating.entry.id == "bus"


def test_pci_address_leads_to_the_rank(tmp_path: Path) -> None:
    (tmp_path / "dmesg-node-b.log").write_text(KERNEL + "\n")
    (tmp_path / "train.log").write_text(job())
    result = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    assert result.initiating is not None
    assert (result.initiating.ranks, result.initiating.hosts) == ((13,), ("node-b",))
    assert "train.log:2 maps PCI address 0000:8a:00 to rank 13" in result.initiating.because


@pytest.mark.parametrize("when", ["2026-11-21T09:00:00", "2026-12-03T09:00:00"])
def test_a_kernel_event_outside_the_window_is_unrelated(tmp_path: Path, when: str) -> None:
    kernel = KERNEL.replace("2026-11-30T12:09:30", when)
    result = verdict(
        tmp_path, train=f"2026-11-30 12:00:00 step 1 loss 2\n2026-11-30 12:01:00 [rank3]: {OOM}", dmesg=kernel
    )
    assert first(result) == ("identified", "oom", 2)
    assert [f.entry.id for f in result.findings if f.role == "unrelated" and f.entry] == ["bus"]


@pytest.mark.parametrize(("rank", "expected"), [(1, "unrelated"), (11, "initiating")])
def test_a_subgroup_does_not_make_the_other_ranks_gpus_foreign(tmp_path: Path, rank: int, expected: str) -> None:
    pair = "\n".join(
        f"2026-11-30 12:00:00 node-b:10{n}:200 [{n}] NCCL INFO comm 0x1 rank {n} nranks 2 cudaDev {n} busId {n + 1}000"
        for n in range(2)
    )
    result = verdict(
        tmp_path, train=f"{pair}\n2026-11-30 12:20:00 [rank{rank}]: {WATCHDOG}", dmesg=KERNEL.replace("node-b ", "")
    )
    assert [f.role for f in result.findings if f.entry is not None and f.entry.id == "bus"] == [expected]


@pytest.mark.parametrize(
    ("node_event", "entry"),
    [
        ("2026-11-30T10:05:12 node-b kernel: NVRM: Xid (PCI:0000:8a:00): 79, pid=1, x", "bus"),
        ("2026-11-30T10:05:12 node-b kernel: Out of memory: Killed process 91 (python)", "killer"),
        ("2026-11-30T09:01:12 node-b kernel: NVRM: Xid (PCI:0000:8a:00): 79, pid=1, x", None),
    ],
)
def test_the_window_of_a_tail_begins_where_its_timeouts_began_to_wait(
    tmp_path: Path, node_event: str, entry: str | None
) -> None:
    waits = (
        f"2026-11-30 10:15:14 [rank{n}]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9,"
        " OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out."
        for n in range(3)
    )
    result = verdict(tmp_path, train="\n".join(waits), dmesg=node_event)
    assert (first(result)[1] if result.initiating is not None else None) == entry


def test_a_kernel_event_without_comparable_time_is_a_suspect(tmp_path: Path) -> None:
    result = verdict(
        tmp_path,
        train=f"2026-11-30 12:00:00 [rank0]: {WATCHDOG}",
        dmesg="[482113.640021] NVRM: Xid (PCI:0000:8a:00): 79, pid=1, x",
    )
    assert result.status == "symptom-only"
    assert [suspect.reason for suspect in result.suspects] == ["unplaced-event"]


def test_a_kernel_log_alone_is_taken_at_its_word(tmp_path: Path) -> None:
    assert first(verdict(tmp_path, dmesg="[482113.640021] NVRM: Xid (PCI:0000:8a:00): 79, pid=1, x")) == (
        "identified",
        "bus",
        1,
    )


def test_another_jobs_kill_is_not_ours(tmp_path: Path) -> None:
    train = f"2026-11-30 12:00:00 node-b:100:200 [0] NCCL INFO x\n2026-11-30 12:10:00 node-b:100:201 [0] {WATCHDOG}"
    result = verdict(
        tmp_path, train=train, dmesg="2026-11-30T12:05:00 node-b kernel: Out of memory: Killed process 777 (other)"
    )
    assert result.status == "symptom-only"
    assert [f.role for f in result.findings if f.entry and f.entry.id == "killer"] == ["unrelated"]


def test_our_own_kill_explains_the_exit_code(tmp_path: Path) -> None:
    train = "2026-11-30 12:00:00 node-b:100:200 [0] NCCL INFO x\n2026-11-30 12:05:01 worker exited with code 137"
    result = verdict(
        tmp_path, train=train, dmesg="2026-11-30T12:05:00 node-b kernel: Out of memory: Killed process 100 (python)"
    )
    assert first(result)[:2] == ("identified", "killer")
    assert [f.explained_by for f in result.findings if f.entry and f.entry.id == "killed"] == [("f1",)]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("step 1 loss 2\nstep 2 loss 2", ("inconclusive", None, None)),
        ("step 1 loss 2\nTraining completed", ("healthy", None, None)),
        (f"{OOM}\nstep 1 loss 2\nstep 2 loss 2\nstep 3 loss 2\nTraining completed", ("healthy", None, None)),
        (f"step 1 loss 1\n{WATCHDOG}\nChildFailedError", ("symptom-only", None, None)),
        ("ChildFailedError", ("symptom-only", None, None)),
        ("worker exited with code 137", ("classified", "killed", 1)),
        ("step 1 loss 1\nValueError: nobody wrote an entry for this", ("unexplained", None, 2)),
        ("a thing nobody has proven", ("classified", "sketch", 1)),
        ("step 1 loss 1\nclocks reduced by thermal slowdown\nstep 2 loss 1\nstep 3 loss 1\nTraining completed", ("degraded", "throttle", 2)),
        (f"{OOM}\nChildFailedError", ("identified", "oom", 1)),
    ],
    ids=["stops", "done", "recovered", "watchdog", "wrapper", "class", "observed", "draft", "degraded", "identified"],
)  # fmt: skip
def test_every_status(tmp_path: Path, log: str, expected: tuple[str, str | None, int | None]) -> None:
    assert first(verdict(tmp_path, job=log)) == expected


def test_a_rank_that_never_entered_is_the_suspect(tmp_path: Path) -> None:
    counters = "[PG ID 0 PG GUID 0(default_pg) Rank {r}] failure detected by watchdog at work sequence id: 9 PG status: last enqueued work: {e}, last completed work: {c}"
    lines = [f"[rank{r}]: [Rank {r}] {WATCHDOG}" for r in (0, 1, 2)]
    lines += [f"[rank{r}]: " + counters.format(r=r, e=9, c=8) for r in (0, 1, 2)]
    lines.append("[rank3]: " + counters.format(r=3, e=8, c=8))
    result = verdict(tmp_path, job="\n".join(lines))
    assert result.status == "symptom-only"
    assert [(suspect.rank, suspect.reason) for suspect in result.suspects] == [(3, "never-entered")]


def test_a_rank_that_says_nothing_is_absent(tmp_path: Path) -> None:
    lines = ["init world_size=4"] + [f"[rank{r}]: [Rank {r}] {WATCHDOG}" for r in (0, 1, 3)]
    result = verdict(tmp_path, job="\n".join(lines))
    assert [(suspect.rank, suspect.reason) for suspect in result.suspects] == [(2, "absent")]


def test_the_last_attempt_decides_and_the_earlier_fault_is_kept(tmp_path: Path) -> None:
    log = f"[rank1]: ValueError: first attempt\nworker group failed; 1/3 attempts left; will restart worker group\nx\ny\nz\n[rank2]: {OOM}"
    result = verdict(tmp_path, job=log)
    assert first(result) == ("identified", "oom", 6)
    assert [finding.evidence[0].line for finding in result.independent] == [1]
    assert [(attempt.n, attempt.initiating) for attempt in result.run.attempts] == [(1, "f2"), (2, "f1")]


@pytest.mark.parametrize(
    ("speak", "suspects"),
    [((0, 1, 3), [2]), ((0, 1, 2, 3), []), ((0, 8, 16), []), ((0, 2), []), ((1, 2, 3, 4), [0])],
)
def test_a_gap_in_the_ranks_is_a_suspect_without_a_world_size(
    tmp_path: Path, speak: tuple[int, ...], suspects: list[int]
) -> None:
    lines = [f"[rank{r}]: RuntimeError: Connection closed by peer 10.0.0.7" for r in speak]
    result = verdict(tmp_path, job="\n".join(lines))
    assert result.status == "symptom-only"
    assert [suspect.rank for suspect in result.suspects if suspect.reason == "absent"] == suspects


RESTART = "I1130 12:00:30.000 77 api.py:900] 3/3 attempts left; will restart worker group"


def test_a_fault_of_an_attempt_before_does_not_explain_the_timeout_of_the_last(tmp_path: Path) -> None:
    log = f"[rank1]:[E1130 12:00:00.0 a.cpp:1] {OOM}\n{RESTART}\nx\ny\nz\n[rank0]:[E1130 12:40:00.0 a.cpp:1] {WATCHDOG}"
    result = verdict(tmp_path, job=log)
    assert first(result) == ("symptom-only", None, None)
    assert [(finding.entry and finding.entry.id, finding.attempt) for finding in result.independent] == [("oom", 1)]
    assert [(attempt.n, attempt.initiating) for attempt in result.run.attempts] == [(1, "f1"), (2, None)]
    report = render(result, width=200)
    assert "INDEPENDENT" in report and "attempt 1 ended in it" in report


def test_a_rank_is_not_busy_with_an_error_of_an_attempt_before(tmp_path: Path) -> None:
    for rank in range(4):
        step = f"2026-11-30 12:00:0{rank},000 INFO step 1 loss 2.0\n"
        for attempt in (0, 1):
            folder = tmp_path / "none_a" / f"attempt_{attempt}" / str(rank)
            folder.mkdir(parents=True)
            error = f"[rank{rank}]: {OOM}\n" if (attempt, rank) == (0, 2) else ""
            wait = (
                f"[rank{rank}]:[E1130 12:40:00.0 a.cpp:1] [Rank {rank}] {WATCHDOG}\n" if attempt and rank != 2 else ""
            )
            (folder / "stderr.log").write_text(step + error + wait)
    result = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    assert result.status == "symptom-only"
    assert [(suspect.rank, suspect.reason) for suspect in result.suspects] == [(2, "silent")]
    assert [(attempt.n, attempt.initiating) for attempt in result.run.attempts] == [(1, "f1"), (2, None)]


@pytest.mark.parametrize(("steps", "ends"), [(0, [1]), (12, [])])
def test_what_an_attempt_died_of_is_kept_where_the_next_one_went_on(
    tmp_path: Path, steps: int, ends: list[int]
) -> None:
    """A fault with steps below it in its own attempt was survived; what ended that attempt then is not known."""
    before = "".join(f"step {n} loss 2.0\n" for n in range(100, 100 + steps))
    after = "".join(f"step {n} loss 2.0\n" for n in range(12))
    log = f"{OOM}\n{before}worker group failed; 1/3 attempts left; will restart worker group\n{after}ValueError: x"
    result = verdict(tmp_path, job=log)
    assert (result.status, result.initiating and result.initiating.attempt) == ("unexplained", 2)
    assert [finding.attempt for finding in result.independent] == ends


@pytest.mark.parametrize("printed", ["12:05:00", "12:00:40"])
def test_processes_that_a_restart_ends_speak_of_the_attempt_before(tmp_path: Path, printed: str) -> None:
    log = (
        f"[rank1]:[E1130 11:59:00.0 a.cpp:1] {OOM}\n{RESTART}\nx\ny\nz\n[rank0]:[E1130 {printed}.0 a.cpp:1] {WATCHDOG}"
    )
    assert first(verdict(tmp_path, job=log)) == ("identified", "oom", 1)


def test_a_dead_card_is_still_dead_in_the_next_attempt(tmp_path: Path) -> None:
    catalogue = catalogue_of(
        head("bus", signature("NVRM: Xid (PCI:{pci:pci}): 79,"), family="accelerator-hardware", causes=("watchdog",)),
        head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream"),
    )
    (tmp_path / "job.log").write_text(f"{KERNEL}\n{RESTART}\nx\ny\nz\n[rank0]:[E1130 12:40:00.0 a.cpp:1] {WATCHDOG}\n")
    result = diagnose([str(tmp_path)], catalogue=catalogue)
    assert first(result) == ("identified", "bus", 1)


def test_every_quoted_line_is_in_the_input(tmp_path: Path) -> None:
    result = verdict(tmp_path, job=f"\x1b[31m[rank1]: {OOM}\x1b[0m\nChildFailedError\tx")
    lines = (tmp_path / "job.log").read_text().splitlines()
    for finding in result.findings:
        for line in finding.evidence:
            assert line.text == lines[line.line - 1]


def test_an_altered_word_is_shown_beside_the_expected_one(tmp_path: Path) -> None:
    result = verdict(tmp_path, job="Watchdog caught collective operation deadlock")
    assert result.status == "inconclusive"
    assert result.near_misses[0].entry.id == "watchdog"
    assert result.near_misses[0].reason == "expected `timeout`, found `deadlock`"


def test_a_line_that_is_known_is_not_nearly_something_else(tmp_path: Path) -> None:
    ended = "failed (exitcode: {code}) local_rank: {{local:int}} (pid: {{pid:int}})"
    catalogue = catalogue_of(
        head("any", signature(ended.format(code="{code:int}")), kind="wrapper", role="downstream"),
        head("segfault", signature(ended.format(code="-11"))),
    )
    (tmp_path / "job.log").write_text("failed (exitcode: 1) local_rank: 0 (pid: 48801)\n")
    result = diagnose([str(tmp_path / "job.log")], catalogue=catalogue)
    assert [finding.entry and finding.entry.id for finding in result.all_findings()] == ["any"]
    assert result.near_misses == ()


def test_a_rare_hit_among_thousands_keeps_its_own_time_and_context(tmp_path: Path) -> None:
    before = [f"2026-11-30 12:00:{n % 60:02d} [rank{n % 900}]: step {n} loss 1.5" for n in range(9_000)]
    late = [f"2026-11-30 12:40:00 [rank{n}]:[E1130 12:40:00.0 a.cpp:1] {WATCHDOG}" for n in range(4_000)]
    late[1_500] = f"2026-11-30 12:29:59 [rank1500]: {OOM}"
    result = verdict(tmp_path, job="\n".join([*before, *late]))
    assert first(result) == ("identified", "oom", 10_501)
    assert result.initiating is not None
    assert result.initiating.evidence[0].time == "2026-11-30T12:29:59.000Z"


def test_a_command_typed_after_the_crash_is_not_another_job(tmp_path: Path) -> None:
    prompt = "user@ip-10-0-0-1:~/work/a/long/path/to/the/examples/of/training$ "
    result = verdict(tmp_path, job=f"{prompt}python run.py --start\n{OOM}\n{prompt}nvidia-smi\n0, 0000:10:1d.0")
    assert first(result) == ("identified", "oom", 2)


@pytest.mark.parametrize("words", ["flash_attn not available, using sdpa", "extension not installed; disabling it"])
def test_a_program_that_says_what_it_uses_instead_goes_on(tmp_path: Path, words: str) -> None:
    result = verdict(
        tmp_path,
        job=f"exited with code 137 is what the probe said\n{words}\nmodel ready\nperplexity 6.1\nwrote results",
    )
    assert result.initiating is None


@pytest.mark.parametrize(
    ("soft", "expected"),
    [
        ("clocks reduced by thermal slowdown", ("identified", "oom", 3)),
        ("WARNING: fewer GPUs than asked for", ("identified", "oom", 3)),
        ("fewer GPUs than asked for", ("identified", "few", 1)),
    ],
)
def test_what_was_only_warned_of_gives_way_to_what_ended_the_run(
    tmp_path: Path, soft: str, expected: tuple[str, str, int]
) -> None:
    result = verdict(tmp_path, job=f"{soft}\nloading the model\n[rank3]: {OOM}")
    assert first(result) == expected


def test_a_process_that_said_why_it_ends_did_not_start_it(tmp_path: Path) -> None:
    result = verdict(tmp_path, job="loading\nother task gone: ChildFailedError\nexited with code 137")
    assert (result.status, result.initiating) == ("symptom-only", None)


@pytest.mark.parametrize(
    ("end", "status"),
    [("ChildFailedError", "symptom-only"), ("step 1 loss 1\nstep 2 loss 1\nstep 3 loss 1", "degraded")],
)
def test_what_slowed_a_run_is_not_why_it_ended(tmp_path: Path, end: str, status: str) -> None:
    result = verdict(tmp_path, job=f"clocks reduced by thermal slowdown\nloading\n{end}")
    assert result.status == status


def test_of_one_fault_on_two_hosts_the_earlier_line_decides_whatever_the_hosts_are_called(tmp_path: Path) -> None:
    for number, names in enumerate((("node_a", "node_b"), ("node_z", "node_b"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        early, late = (f"2026-11-30 12:00:{second} [rank{rank}]: {OOM}" for second, rank in (("01", 1), ("03", 5)))
        result = verdict(folder, **dict(zip(names, (early, late), strict=True)))
        assert result.initiating is not None
        assert [line.rank for line in result.initiating.evidence] == [1, 5]


def test_at_the_same_time_the_lowest_rank_decides(tmp_path: Path) -> None:
    lines = [f"2026-11-30 12:00:01 [rank{rank}]: {OOM}" for rank in (1, 5)]
    result = verdict(tmp_path, zz=lines[0], aa=lines[1])
    assert result.initiating is not None
    assert [line.rank for line in result.initiating.evidence] == [1, 5]


def test_a_line_without_a_time_was_there_no_later_than_the_stamped_one_below_it(tmp_path: Path) -> None:
    result = verdict(tmp_path, job=f"[rank3]: {OOM}\n2026-11-30 12:00:01 [rank1]: {OOM}")
    assert result.initiating is not None
    assert result.initiating.evidence[0].rank == 3


def test_a_launchers_field_names_the_rank(tmp_path: Path) -> None:
    line = f"2024-03-04T16:13:31.052444Z ERROR shard-manager: text_generation_launcher: {OOM} rank=3"
    result = verdict(tmp_path, job=line)
    assert result.initiating is not None
    assert result.initiating.ranks == (3,)


NCCL = "\n".join(
    f"2026-11-30 12:00:00 node-a:1{n}:1{n} [{n}] NCCL INFO comm 0x55d0 rank {n} nranks 2 cudaDev {n} nvmlDev {n} busId {n + 1}000 commId 0x1 - Init COMPLETE"
    for n in range(2)
)
XID = "2026-11-30T12:00:50 node-a kernel: NVRM: Xid (PCI:0000:8a:00): 79, GPU has fallen off the bus."


def _beside_xid(folder: Path, world: str) -> Diagnosis:
    steps = "\n".join(f"2026-11-30 12:00:{n}0 step {n} loss 2" for n in range(6))
    return verdict(folder, job=f"{NCCL}\n{world}{steps}\n2026-11-30 12:01:00 RuntimeError: lost it", dmesg=XID)


def test_a_gpu_that_a_communicator_does_not_name_is_a_suspect_just_before_an_error(tmp_path: Path) -> None:
    """The only communicator in a log may be a subgroup's, whose ranks are counted from 0 as well."""
    result = _beside_xid(tmp_path, "")
    assert result.initiating is not None and result.initiating.entry is None
    (suspect,) = result.suspects
    assert suspect.reason == "unplaced-event" and "10 s later" in suspect.because
    assert next(f.role for f in result.findings if f.id == suspect.finding) == "unrelated"


def test_it_is_another_jobs_where_the_size_of_the_world_is_said(tmp_path: Path) -> None:
    result = _beside_xid(tmp_path, "2026-11-30 12:00:00 world size 2\n")
    assert not result.suspects and [f.role for f in result.findings] == ["initiating", "unrelated"]


def test_a_communicator_smaller_than_the_ranks_is_not_the_world(tmp_path: Path) -> None:
    result = verdict(tmp_path, job=f"{NCCL}\n2026-11-30 12:00:10 [rank11]: {WATCHDOG}")
    assert result.run.world_size is None


def test_what_has_no_comparable_time_is_told_in_one_place(tmp_path: Path) -> None:
    result = verdict(
        tmp_path,
        train=f"2026-11-30 12:00:00 [rank0]: {WATCHDOG}",
        dmesg="[482113.640021] NVRM: Xid (PCI:0000:8a:00): 79, pid=1, x",
    )
    shown = render(result)
    assert "dmesg.log:1" in shown and "UNRELATED" not in shown


WARNS = "/opt/lib/python3.11/site-packages/x.py:184: UserWarning: fewer GPUs than asked for"


@pytest.mark.parametrize(
    ("end", "entry"), [("worker exited with code 137", "killed"), ("fewer GPUs than asked for", "few"), ("", "few")]
)
def test_a_warning_of_python_gives_way_to_what_ended_the_run(tmp_path: Path, end: str, entry: str) -> None:
    assert first(verdict(tmp_path, job=f"{WARNS}\n{end}"))[1] == entry
