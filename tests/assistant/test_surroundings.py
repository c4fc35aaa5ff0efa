"""The reader's own line of code in a traceback, and the lines before the first fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.reports import render
from assistant.surroundings import is_own
from assistant.verdict import Diagnosis
from tests.heads import HANGING_RUN

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
OWN = ['  File "/home/me/model/step.py", line 44, in step', "    out = model(batch)"]
MAIN = ['  File "train.py", line 98, in <module>', "    step(batch)"]
TORCH = [
    '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/module.py", line 1511, in call',
    "    return fn(*args)",
    "           ^^^^^^^^^",
]
HEAD = "Traceback (most recent call last):"


def of(tmp_path: Path, *lines: str) -> Diagnosis:
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    return diagnose([str(tmp_path)], catalogue=HANGING_RUN)


def code(diagnosis: Diagnosis) -> tuple[str, str, str, int] | None:
    assert diagnosis.initiating is not None
    found = diagnosis.initiating.code
    return (found.place, found.function, found.code, found.at.line) if found else None


STEP = ("/home/me/model/step.py:44", "step", "out = model(batch)")


@pytest.mark.parametrize("prefix", ["", "[rank1]: ", "2026-11-28 10:00:00 ", "(RayTrainWorker pid=17, ip=10.0.0.1) "])
def test_the_deepest_own_frame_is_found(tmp_path: Path, prefix: str) -> None:
    lines = [prefix + line for line in (HEAD, *MAIN, *OWN, *TORCH, OOM)]
    assert code(of(tmp_path, *lines)) == (*STEP, 4)


def test_other_ranks_tracebacks_are_not_mixed_in(tmp_path: Path) -> None:
    theirs = ['  File "/home/me/other.py", line 7, in load', "    read()"]
    one = [f"[rank1]: {line}" for line in (HEAD, *MAIN, *OWN, *TORCH, OOM)]
    two = [f"[rank0]: {line}" for line in (HEAD, *MAIN, *OWN, *TORCH, *theirs)]
    mixed = [line for pair in zip(one, two, strict=False) for line in pair]
    assert code(of(tmp_path, *mixed)) == (*STEP, 7)


def test_a_chained_traceback_names_it_where_the_first_is_only_a_librarys(tmp_path: Path) -> None:
    chain = ["", "The above exception was the direct cause of the following exception:", ""]
    found = of(tmp_path, HEAD, *TORCH, OOM, *chain, HEAD, *MAIN, *OWN, *TORCH, "RuntimeError: wrapped")
    assert code(found) == (*STEP, 12)


@pytest.mark.parametrize(
    "lines",
    [
        (OOM,),
        (HEAD, *TORCH, OOM),
        (HEAD, *MAIN, *OWN, "ValueError: handled", "2 retries left", OOM),  # another exception's traceback
        (*OWN, "", HEAD, *TORCH, OOM),
    ],
    ids=["no traceback", "only a library's", "of another exception", "above the head"],
)
def test_nothing_is_named_where_no_traceback_names_it(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert code(of(tmp_path, *lines)) is None


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/home/me/train.py", True), ("train.py", True), ("./src/model/step.py", True), ("/app/vllm_client.py", True),
        ("/opt/transformers/examples/pytorch/run_clm.py", True),
        ("/usr/lib/python3.10/multiprocessing/process.py", False), ("/root/miniconda3/lib/python3.8/tarfile.py", False),
        ("/usr/local/lib/python3.10/dist-packages/torch/x.py", False), ("<string>", False), ("<frozen runpy>", False),
        ("/opt/conda/bin/torchrun", False), ("/workspace/vllm/vllm/engine/core.py", False),
        ("/sgl-workspace/sglang/python/sglang/srt/scheduler.py", False),
    ],
)  # fmt: skip
def test_what_is_the_readers_own(file: str, own: bool) -> None:
    assert is_own(file) is own


def test_a_crash_dump_prints_the_deepest_frame_first() -> None:
    from assistant.surroundings import _own_frame
    from tests.heads import records

    dump = records(
        "Fatal Python error: Segmentation fault\n\nThread 0x00007f01 (most recent call first):\n"
        '  File "/home/me/io.py", line 3 in wait\n\nCurrent thread 0x00007f02 (most recent call first):\n'
        '  File "/usr/lib/python3.11/ctypes/util.py", line 9 in call\n  File "/home/me/step.py", line 44 in step\n'
        '  File "train.py", line 98 in <module>\n'
    )
    assert _own_frame(dump, 0) == 7


def test_the_lines_before_the_first_fault_are_kept(tmp_path: Path) -> None:
    steps = [f"[rank1]: step {n} loss 2" for n in range(5)]
    others = [f"[rank0]: step {n} loss 2" for n in range(5)]
    found = of(tmp_path, *steps, *others, *(f"[rank1]: {line}" for line in (HEAD, *MAIN, OOM)))
    assert found.initiating is not None
    assert [(line.line, line.rank) for line in found.initiating.before] == [(3, 1), (4, 1), (5, 1)]


def test_reports_name_the_code(tmp_path: Path) -> None:
    found = of(tmp_path, HEAD, *MAIN, *OWN, *TORCH, OOM)
    assert "your code   /home/me/model/step.py:44 in step (job.log:4)" in render("text", found)
    assert "`/home/me/model/step.py:44` in `step`" in render("markdown", found)


def test_lines_before_a_workers_traceback_stand_above_the_one_that_carries_it(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        "step 7",
        HEAD,
        *MAIN,
        "RuntimeError: Caught it in DataLoader worker process 3.",
        f"Original {HEAD}",
        *OWN,
        OOM,
    )
    assert found.initiating is not None
    assert [line.text for line in found.initiating.before] == ["step 7"]
