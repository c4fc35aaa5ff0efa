"""Broad classes: asked last, about the deciding line of a block that no entry covers, and without a say in the order."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.control import compare_runs
from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, context, head, signature

HEADER = "Traceback (most recent call last)"
BROAD = head(
    "value-rule",
    signature("{exc:name}: {what:any} must be {rule:name}", requires=(context(HEADER, 400),)),
    kind="class",
    broad=True,
    role="either",
    scope="either",
)
LONGER = head(
    "not-divisible",
    signature("{exc:name}: {what:any} must be divisible by", requires=(context(HEADER, 400),)),
    kind="class",
    broad=True,
)
OOM = head("oom", signature("CUDA out of memory"), scope="workload")
FEW = head("divisor", signature("must be divisible by the number of shards"), kind="class")
LOST = head("lost", signature("connection to peer was lost"), kind="wrapper", role="downstream")
PLAIN = (OOM, FEW, LOST)

BLOCK = f'{HEADER}:\n  File "/opt/venv/lib/python3.12/site-packages/lib/a.py", line 3, in f\n    check(x)\n'
STEPS = "".join(f"2026-11-30 10:00:{n:02} INFO step {n} loss 2.0\n" for n in range(9))
MORE = "".join(f"2026-11-30 10:01:{n:02} INFO step {n + 9} loss 2.0\n" for n in range(20))
RULE = "ValueError: `top_k` must be positive\n"


def read(tmp_path: Path, log: str, *heads: object) -> Diagnosis:
    (tmp_path / "job.log").write_text(log)
    return diagnose([str(tmp_path / "job.log")], catalogue=catalogue_of(*(heads or (*PLAIN, BROAD, LONGER))))  # type: ignore[arg-type]


def entry_of(found: Diagnosis) -> str | None:
    return found.initiating.entry.id if found.initiating is not None and found.initiating.entry is not None else None


def test_the_shape_of_an_uncovered_exception_classifies_it(tmp_path: Path) -> None:
    found = read(tmp_path, STEPS + BLOCK + RULE)
    assert (found.status, entry_of(found)) == ("classified", "value-rule")
    assert found.initiating is not None and found.initiating.strength == "classified"
    assert found.initiating.entry is not None and found.initiating.entry.broad
    evidence = found.initiating.evidence[0]
    assert (evidence.line, evidence.captures["rule"], evidence.captures["exc"]) == (13, "positive", "ValueError")
    assert "only its shape" in found.initiating.because
    assert found.unexplained, "what no entry knows is still looked for by meaning"


def test_the_more_telling_shape_is_taken(tmp_path: Path) -> None:
    assert entry_of(read(tmp_path, STEPS + BLOCK + "ValueError: 36 must be divisible by 8\n")) == "not-divisible"


def test_every_other_entry_beats_it_on_the_line(tmp_path: Path) -> None:
    log = STEPS + BLOCK + "ValueError: rows must be divisible by the number of shards\n"
    assert entry_of(read(tmp_path, log)) == "divisor"


@pytest.mark.parametrize(
    "log",
    [
        STEPS + RULE,
        STEPS + "INFO `top_k` must be positive\n",
        STEPS + f"Exception ignored in: <function f>\n{BLOCK}{RULE}",
        STEPS + BLOCK + RULE + MORE,
        STEPS + BLOCK + "RuntimeError: connection to peer was lost\n",
        STEPS + BLOCK + "SystemExit: it must be now\n",
        "".join(f"> {line}\n" for line in (STEPS + BLOCK + RULE).splitlines()[:4]) + STEPS,
    ],
    ids=["no traceback", "info", "finalizer", "outlived", "wrapper", "teardown", "quoted"],
)
def test_where_it_is_silent(tmp_path: Path, log: str) -> None:
    found = read(tmp_path, log)
    assert entry_of(found) not in {"value-rule", "not-divisible"}
    assert all(one.entry is None or one.entry.id not in {"value-rule", "not-divisible"} for one in found.findings)


@pytest.mark.parametrize(
    "log",
    [
        STEPS + BLOCK + RULE,
        STEPS + BLOCK + RULE + "RuntimeError: CUDA out of memory\n",
        STEPS + "RuntimeError: CUDA out of memory\n" + BLOCK + RULE,
        STEPS + BLOCK + RULE + "\nDuring handling of the above exception, another exception occurred:\n\n" + BLOCK + "KeyError: 'x'\n",
        STEPS + BLOCK + RULE + MORE,
        "[rank1]: connection to peer was lost\n" + STEPS + BLOCK + RULE,
        STEPS + BLOCK + "TypeError: odd\n" + BLOCK + RULE,
        STEPS + BLOCK + RULE + BLOCK + "TypeError: odd\n",
        BLOCK + RULE + STEPS,
    ],
)  # fmt: skip
def test_the_order_of_faults_is_what_it_is_without_it(tmp_path: Path, log: str) -> None:
    """The same line leads, the same ones follow, whether the shape of a message is known or not."""
    with_it, without = read(tmp_path, log), read(tmp_path, log, *PLAIN)

    def parts(found: Diagnosis) -> list[tuple[str, int, tuple[str, ...]]]:
        return [(one.role, one.evidence[0].line, one.explained_by) for one in found.findings]

    assert parts(with_it) == parts(without)
    assert with_it.suspects == without.suspects
    assert with_it.status in {without.status, "classified" if without.status == "unexplained" else without.status}
    if with_it.initiating is not None and without.initiating is not None:
        assert with_it.initiating.owner == without.initiating.owner or with_it.status == "classified"


def test_a_draft_names_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, STEPS + BLOCK + RULE, BROAD._replace(status="draft")).status == "unexplained"


def test_it_is_no_near_miss(tmp_path: Path) -> None:
    found = read(tmp_path, STEPS + BLOCK + "ValueError: `top_k` mutt be positive\n")
    named = {miss.entry.id for miss in found.near_misses}
    named |= {candidate.entry.id for item in found.unexplained for candidate in item.candidates}
    assert not named & {"value-rule", "not-divisible"}


NATIVE = (
    head(
        "go", signature("panic: {what:name}", requires=(context("goroutine {n:int} [", 40),)), kind="class", broad=True
    ),
    head("rust", signature("thread '{thread:any}' panicked at {place:path}"), kind="class", broad=True),
    head("java", signature('Exception in thread "{thread:any}" {exc:name}'), kind="class", broad=True),
    head("cmake", signature("CMake Error at {file:path}:{line:int} ({command:name})"), kind="class", broad=True),
    head("docker", signature("Error response from daemon: {what:name}"), kind="class", broad=True),
)


@pytest.mark.parametrize(
    ("entry", "lines"),
    [
        ("go", "panic: assignment to entry in nil map\n\ngoroutine 22 [running]:\nmain.serve(0xc0)\n"),
        ("rust", "thread 'main' panicked at src/server.rs:418:60:\ncalled `Option::unwrap()` on a `None` value\n"),
        ("java", 'Exception in thread "main" java.lang.IllegalStateException: no context\n\tat a.B.c(B.java:3)\n'),
        ("cmake", "CMake Error at cmake/gpu.cmake:41 (message):\n  the toolkit is too old\n"),
        ("docker", "docker: Error response from daemon: invalid mount.\n"),
    ],
)
def test_programs_of_other_languages(tmp_path: Path, entry: str, lines: str) -> None:
    found = read(tmp_path, STEPS + lines, *NATIVE)
    assert (found.status, entry_of(found)) == ("classified", entry)
    bare = read(tmp_path, STEPS + lines, *PLAIN)
    assert (bare.status, bare.initiating and bare.initiating.evidence[0].line) == ("unexplained", 10)


def test_a_panic_without_its_stack_keeps_its_place_and_no_name(tmp_path: Path) -> None:
    assert read(tmp_path, STEPS + "panic: odd\n", *NATIVE).status == "unexplained"


def test_a_thread_that_panicked_in_a_server_that_lives_on_is_no_first_fault(tmp_path: Path) -> None:
    lines = "thread 'worker-3' panicked at src/server.rs:418:60:\nvalue is none\n"
    assert read(tmp_path, STEPS + lines + MORE, *NATIVE).status == "healthy"


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        (STEPS + BLOCK + RULE, "repeats"),
        (STEPS + BLOCK + "ValueError: `num_beams` must be positive\n", "undecided"),
        (STEPS + BLOCK + RULE + MORE, "repeats"),
    ],
    ids=["same message", "another message of this shape", "the same message, outlived"],
)
def test_two_faults_of_one_shape_are_two_faults(tmp_path: Path, after: str, outcome: str) -> None:
    first, second = read(tmp_path, STEPS + BLOCK + RULE), read(tmp_path, after)
    catalogue = catalogue_of(*PLAIN, BROAD, LONGER)
    found = compare_runs(first, second, catalogue, before_paths=["a"], after_paths=["b"], changed="fix")
    assert found.outcome == outcome, found.because


KILL = head("process-sigkill", signature("exitcode  : -9 (pid: {pid:int})"), kind="class", ends=True)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("Killed", "classified"),
        ("./run.sh: line 12:  4711 Killed                  ./pack_shards --all", "classified"),
        ("[1]+  Killed                  python train.py", "classified"),
        ("ERROR: Killed 3 idle workers", "unexplained"),
        ("ERROR: job 7 Killed by its owner", "unexplained"),
    ],
)
def test_a_shell_says_of_its_process_that_it_was_killed(tmp_path: Path, line: str, status: str) -> None:
    result = read(tmp_path, f"{STEPS}{line}\n", *PLAIN, KILL)
    assert result.status == status and result.initiating is not None
    assert (result.initiating.entry is not None) == (status == "classified")
