"""What is decoded of each source when there are too many to decode them whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis import reading
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
