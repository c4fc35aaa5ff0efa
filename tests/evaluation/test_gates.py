"""Bars that the diagnosis holds on inputs it was not written for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def script(root: Path, name: str) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, root / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_generated_incidents_reach_the_bars(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = script(root, "evaluate_generated").main(["--seeds", "1", "--require"])
    assert status == 0, capsys.readouterr().out[-3000:]


def test_recreated_reports_reach_the_bars(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """70 situations from public reports, written without sight of entries and code; no wrong `identified`."""
    cases = root / "tests" / "evaluation" / "reports.jsonl"
    require = ["line=42", "entry=28", "failure=21", "quotes=70", "elsewhere=4", "negatives=12"]
    status = script(root, "evaluate").main(
        ["cases", str(cases), *[part for bar in require for part in ("--require", bar)]]
    )
    assert status == 0, capsys.readouterr().out[-3000:]
