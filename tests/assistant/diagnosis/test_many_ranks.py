"""Runs of many ranks: interleaved in one file, written late, or with clocks that differ."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("oom", signature("CUDA out of memory. Tried to allocate {size:size}"), scope="workload", causes=("watchdog",)),
    head(
        "watchdog",
        signature("Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq:int}"),
        role="downstream",
    ),
)


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "scripts" / "make_run_logs.py"
    spec = importlib.util.spec_from_file_location("make_run_logs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("ranks", [32, 200])
@pytest.mark.parametrize("kind", ["ranks", "late", "skew"])
def test_the_rank_that_failed_first_is_named(
    maker: ModuleType, tmp_path: Path, kind: str, ranks: int, seed: int
) -> None:
    truth = maker.make_run(kind, tmp_path, ranks=ranks, steps=12, seed=seed)
    (tmp_path / "truth.json").unlink()
    result = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    found = result.initiating
    assert found is not None, result.status
    assert (result.status, found.ranks, found.evidence[0].source, found.evidence[0].line) == (
        "identified", (truth.rank,), truth.source, truth.line,
    )  # fmt: skip
    others = [(item.entry.id, item.role, item.count) for item in result.findings[1:] if item.entry]
    assert others == [("watchdog", "downstream", ranks - 1)]
