"""Ranks that are suspected because of what they did not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import HANGING_RUN

WAIT = (
    "2026-11-30 09:50:00 [rank{rank}]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=91, OpType=ALLREDUCE,"
    " NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)


@pytest.mark.parametrize(
    ("tail", "reason", "said"),
    [
        ("", "silent", "its last line is rank1.log:1"),
        ("2026-11-30 09:45:00 [rank1] DEBUG fetching shard 7\n", "busy", "5 min after the others had begun to wait"),
        ("2026-11-30 09:39:30 [rank1] DEBUG fetching shard 7\n", "silent", "its last line is rank1.log:2"),
    ],
)
def test_a_rank_that_prints_on_is_not_called_silent(tmp_path: Path, tail: str, reason: str, said: str) -> None:
    for rank in range(3):
        step = f"2026-11-30 09:39:00 [rank{rank}] INFO step 1 loss 2\n"
        (tmp_path / f"rank{rank}.log").write_text(step + (tail if rank == 1 else WAIT.format(rank=rank) + "\n"))
    (suspect,) = diagnose([str(tmp_path)], catalogue=HANGING_RUN).suspects
    assert (suspect.rank, suspect.reason) == (1, reason)
    assert said in suspect.because and "reported nothing" not in suspect.because
