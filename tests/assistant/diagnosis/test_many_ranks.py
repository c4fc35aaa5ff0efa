"""Runs of many ranks: interleaved in one file, written late, or with clocks that differ."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import HANGING_RUN
from tests.scripts import load_script


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    return load_script("make_run_logs")


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("ranks", [32, 200])
@pytest.mark.parametrize("kind", ["ranks", "late", "skew"])
def test_the_rank_that_failed_first_is_named(
    maker: ModuleType, tmp_path: Path, kind: str, ranks: int, seed: int
) -> None:
    truth = maker.make_run(kind, tmp_path, ranks=ranks, steps=12, seed=seed)
    (tmp_path / "truth.json").unlink()
    result = diagnose([str(tmp_path)], catalogue=HANGING_RUN)
    found = result.initiating
    assert found is not None, result.status
    assert (result.status, found.ranks, found.evidence[0].source, found.evidence[0].line) == (
        "identified", (truth.rank,), truth.source, truth.line,
    )  # fmt: skip
    others = [(item.entry.id, item.role, item.count) for item in result.findings[1:] if item.entry]
    assert others == [("watchdog", "downstream", ranks - 1)]
