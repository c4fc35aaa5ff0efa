"""What is decoded of each source when there are too many to decode them whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis import reading
from assistant.diagnosis.pipeline import diagnose
from assistant.diagnosis.reading import read_run
from tests.heads import HANGING_RUN


@pytest.mark.parametrize(("many", "least"), [(512, 40), (50, reading.FEWEST_RECORDS)])
def test_both_ends_of_each_of_many_sources_are_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int, least: int
) -> None:
    monkeypatch.setattr(reading, "MANY", many)
    for rank in range(80):
        lines = [f"[rank{rank}]: step {step} loss 0.5" for step in range(1, 201)]
        (tmp_path / f"rank-{rank}.log").write_text("\n".join([*lines, ""]), "utf-8")
    run = read_run([str(tmp_path)], HANGING_RUN)
    for source in run.sources:
        numbers = [record.number for record in source.records]
        assert (numbers[0], numbers[-1]) == (1, 200)
        assert len(numbers) <= least


def _odd_one(folder: Path, ranks: int) -> None:
    """Every rank repeats a harmless complaint and then waits; one has an error that no entry covers, and goes on."""
    for rank in range(ranks):
        lines = []
        for step in range(40):
            lines += [
                f"2026-11-30 09:{step:02d}:00 [rank{rank}] INFO step {step} loss 2",
                f"[rank{rank}] retrying ({step}/9)",
            ]
            if rank == 33 and step == 38:
                lines += ["ValueError: bad shard 17 of bucket"]
                lines += [f"2026-11-30 09:39:{n:02d} [rank33] INFO drain {n}" for n in range(1, 60)]
                break
        else:
            lines.append(
                f"2026-11-30 09:50:00 [rank{rank}]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=91, OpType=ALLREDUCE,"
                " NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
            )
        (folder / f"rank-{rank}.log").write_text("\n".join([*lines, ""]), "utf-8")


@pytest.mark.parametrize("many", [512, 50])
def test_an_uncovered_error_in_the_middle_of_one_of_many_files_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(reading, "MANY", many)
    _odd_one(tmp_path, 80)
    result = diagnose([str(tmp_path)], catalogue=HANGING_RUN)
    assert result.initiating is not None and result.initiating.evidence[0].source == "rank-33.log"
    assert "bad shard 17" in result.initiating.evidence[0].text
    assert not any(suspect.reason == "silent" for suspect in result.suspects)
