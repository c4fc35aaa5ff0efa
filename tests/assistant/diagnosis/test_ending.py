"""What a verdict without a fault shows: the lines that were looked at last."""

from __future__ import annotations

from pathlib import Path

from assistant.diagnosis.pipeline import diagnose
from assistant.reports.markdown import render as markdown
from assistant.reports.text import render
from tests.heads import HANGING_RUN


def steps(count: int, rank: int = 0) -> str:
    return "".join(f"2026-11-30 09:{n:02d}:00 [rank{rank}] INFO step {n} loss 2\n" for n in range(count))


def test_the_last_step_and_the_last_lines_are_shown(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(steps(9) + "".join(f"saving shard {n}\n" for n in range(7)))
    result = diagnose([str(tmp_path)], catalogue=HANGING_RUN)
    assert result.status == "inconclusive"
    assert [line.line for line in result.run.last_lines] == [9, 12, 13, 14, 15, 16]
    shown = render(result)
    assert "LOG ENDS     job.log" in shown and "16  saving shard 6" in shown and "the last step is 8" in shown
    assert "saving shard 6" in markdown(result)


def test_of_many_logs_the_first_and_the_last_to_end_are_shown(tmp_path: Path) -> None:
    for rank, count in enumerate((20, 12, 21, 20)):
        (tmp_path / f"rank{rank}.log").write_text(steps(count, rank))
    ends = diagnose([str(tmp_path)], catalogue=HANGING_RUN).run.last_lines
    assert [(line.source, line.line, line.rank) for line in ends] == [
        ("rank1.log", 10, 1), ("rank1.log", 11, 1), ("rank1.log", 12, 1),
        ("rank2.log", 19, 2), ("rank2.log", 20, 2), ("rank2.log", 21, 2),
    ]  # fmt: skip


def test_a_verdict_that_has_a_fault_needs_no_such_lines(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(steps(3) + "CUDA out of memory. Tried to allocate 2.00 GiB\n")
    result = diagnose([str(tmp_path)], catalogue=HANGING_RUN)
    assert result.status == "identified" and result.run.last_lines == ()
