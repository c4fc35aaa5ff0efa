"""Runs of many ranks: interleaved in one file, written late, or with clocks that differ."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from assistant.diagnosis import progress
from assistant.diagnosis.pipeline import diagnose
from corpus.catalogue import Catalogue
from tests.heads import HANGING_RUN
from tests.scripts import load_script


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    return load_script("make_run_logs")


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return Catalogue.load(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("ranks", [32, 200])
@pytest.mark.parametrize("kind", ["interleaved", "late", "skewed"])
def test_the_rank_that_failed_first_is_named(
    maker: ModuleType, tmp_path: Path, kind: str, ranks: int, seed: int
) -> None:
    truth = maker.make_run(kind, tmp_path, ranks=ranks, steps=12, seed=seed)
    (tmp_path / "truth.json").unlink()
    result = diagnose([str(tmp_path)], catalogue=HANGING_RUN)
    found = result.initiating
    assert found is not None, result.status
    assert (result.status, found.evidence[0].source, found.evidence[0].line) == ("identified", truth.source, truth.line)
    # Where clocks differ a second rank fails in the same way, by its own clock before the first.
    failed = 2 if kind == "skewed" else 1
    assert truth.rank in found.ranks and len(found.ranks) == failed
    others = [(item.entry.id, item.role, item.count) for item in result.findings[1:] if item.entry]
    assert others == [("watchdog", "downstream", ranks - failed)]


@pytest.mark.parametrize("kind", ["interleaved", "late", "skewed"])
def test_the_bundled_corpus_names_it_too(maker: ModuleType, bundled: Catalogue, tmp_path: Path, kind: str) -> None:
    truth = maker.make_run(kind, tmp_path, ranks=64, steps=12)
    (tmp_path / "truth.json").unlink()
    result = diagnose([str(tmp_path)], catalogue=bundled)
    found = result.initiating
    assert found is not None and found.entry is not None, result.status
    assert result.status == "identified" and "memory" in found.entry.title.lower()
    assert (found.evidence[0].source, found.evidence[0].line) == (truth.source, truth.line)
    assert truth.host in found.hosts and len(found.hosts) == (2 if kind == "skewed" else 1)


def test_without_what_all_hosts_print_the_clocks_would_mislead(maker: ModuleType, tmp_path: Path) -> None:
    truth = maker.make_run("skewed", tmp_path, ranks=32, steps=12, seed=1)
    (tmp_path / "truth.json").unlink()
    for path in tmp_path.iterdir():
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if " step " not in line and "Watchdog" not in line), "utf-8")
    found = diagnose([str(tmp_path)], catalogue=HANGING_RUN).initiating
    assert found is not None
    assert found.evidence[0].source != truth.source


def test_the_same_seed_writes_the_same_bytes(maker: ModuleType, tmp_path: Path) -> None:
    for kind in maker.KINDS:
        for name in ("one", "two"):
            maker.make_run(kind, tmp_path / kind / name, ranks=24, steps=3, seed=5)
        one, two = ({p.name: p.read_bytes() for p in (tmp_path / kind / name).iterdir()} for name in ("one", "two"))
        assert one == two


def test_steps_make_up_a_size(maker: ModuleType, tmp_path: Path) -> None:
    maker.make_run("interleaved", tmp_path, ranks=64, steps=maker.steps_for(1_000_000, 64))
    assert 0.9e6 < (tmp_path / "job.log").stat().st_size < 1.1e6


def test_what_lies_around_marks_is_found_out_once_a_source(
    maker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Lines of eight ranks a host stand out of order, so that each fault asks which steps were made before it.
    maker.make_run("skewed", tmp_path, ranks=48, steps=6)
    (tmp_path / "truth.json").unlink()
    calls = []
    original = progress._track
    monkeypatch.setattr(progress, "_track", lambda marks: (calls.append(1), original(marks))[1])
    diagnose([str(tmp_path)], catalogue=HANGING_RUN)
    assert len(calls) == len(list(tmp_path.iterdir()))
