"""Bars that the diagnosis holds on inputs it was not written for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts import load_script


def test_generated_incidents_reach_the_bars(capsys: pytest.CaptureFixture[str]) -> None:
    status = load_script("evaluate_generated").main(["--seeds", "1", "--require"])
    assert status == 0, capsys.readouterr().out[-3000:]


REPORTS = {
    # 70 situations, first run on its first 38 positives: 24 lines right.
    "reports.jsonl": ["line=49", "entry=48", "failure=38", "quotes=70", "elsewhere=4", "negatives=12", "host=12"],
    # 72 situations, at first sight: 26 lines right, 16 with an entry, 11 of a failure.
    "reports-2.jsonl": ["line=39", "entry=38", "failure=27", "quotes=72", "elsewhere=11", "negatives=12", "host=11"],
}


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_recreated_reports_reach_the_bars(root: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Situations from public reports, re-created without sight of entries and code; no wrong `identified`."""
    cases = root / "tests" / "evaluation" / name
    bars = [part for bar in REPORTS[name] for part in ("--require", bar)]
    status = load_script("evaluate").main(["cases", str(cases), *bars])
    assert status == 0, capsys.readouterr().out[-3000:]
