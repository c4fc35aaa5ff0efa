"""Pasted output is judged by the conditions of a check."""

from __future__ import annotations

import pytest

from corpus.judging import Judgement, compares_nothing, judge
from corpus.model import Check

CHECK = Check(
    step="Read the counters",
    expect="Zero on a sound card.",
    confirms=("SRAM Uncorrectable : {n:int} > 0", "Pending : Yes"),
    clears=("SRAM Uncorrectable : 0",),
)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("SRAM Uncorrectable    : 3", Judgement("confirms", "SRAM Uncorrectable : {n:int} > 0", 1)),
        ("GPU 1\n  SRAM Uncorrectable : 0", Judgement("clears", "SRAM Uncorrectable : 0", 2)),
        # Seven healthy cards beside the broken one do not clear it.
        (
            "SRAM Uncorrectable : 0\n" * 7 + "SRAM Uncorrectable : 1",
            Judgement("confirms", "SRAM Uncorrectable : {n:int} > 0", 8),
        ),
        ("SRAM Uncorrectable : 0\nPending : Yes", Judgement("confirms", "Pending : Yes", 2)),
        ("SRAM Uncorrectable : N/A", Judgement("nothing")),
        ("", Judgement("nothing")),
    ],
)
def test_judge(output: str, expected: Judgement) -> None:
    assert judge(CHECK, output) == expected


@pytest.mark.parametrize(
    ("text", "is_idle"), [("n {int} > 0", True), ("n {n:int} > 0", False), ("n > 0", False), ("plain", False)]
)
def test_a_comparison_needs_a_name(text: str, is_idle: bool) -> None:
    assert compares_nothing(text) is is_idle
