"""What a finding shows of the values that its signature bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(head("refused", signature("connect to {peer:host} failed : {reason:name}")))


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("Connection refused", "Connection refused"),
        ("No route to host (113)", "No route to host"),
        ("ECONNREFUSED", "ECONNREFUSED"),
    ],
)
def test_a_reason_at_the_end_is_the_whole_phrase(tmp_path: Path, end: str, reason: str) -> None:
    (tmp_path / "job.log").write_text(f"connect to node-7 failed : {end}\n")
    found = diagnose([str(tmp_path)], catalogue=CATALOGUE).initiating
    assert found is not None and found.evidence[0].captures["reason"] == reason
