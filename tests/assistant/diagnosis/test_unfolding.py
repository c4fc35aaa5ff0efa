"""Logs that a terminal or a mail program broke at a fixed width."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.logs.folded import foldings, unfold
from corpus.record import Record, read_records
from tests.heads import HANGING_RUN

LOG = [
    "2026-11-30 12:00:01 [rank0]: step 1 loss 3.2",
    "2026-11-30 12:00:02 [rank0]: step 2 loss 3.1",
    "2026-11-30 12:00:09 [rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB",
    "2026-11-30 12:10:09 [rank1]:[E1130 12:10:09.000 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600005 milliseconds before timing out.",
]


def parsed(lines: list[str]) -> dict[int, Record]:
    return {at: next(iter(read_records(line.encode(), at + 1))) for at, line in enumerate(lines) if line}


def hard(width: int) -> list[str]:
    return [line[at : at + width] for line in LOG for at in range(0, len(line), width)]


def soft(width: int) -> list[str]:
    return [
        piece for line in LOG for piece in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    ]


@pytest.mark.parametrize(
    "lines",
    [LOG, hard(60), hard(80), hard(96), soft(64), soft(72), soft(80)],
    ids=lambda lines: str(max(map(len, lines))),
)
def test_the_verdict_does_not_depend_on_where_lines_were_broken(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    found = diagnose([str(tmp_path / "job.log")], catalogue=HANGING_RUN)
    first = found.initiating
    assert first is not None and first.entry is not None
    assert (found.status, first.entry.id, first.ranks, first.evidence[0].line) == ("identified", "oom", (3,), 3)
    assert [finding.entry.id for finding in found.findings if finding.entry] == ["oom", "watchdog"]
    assert all(line.text in lines for finding in found.findings for line in finding.evidence)
    assert any("columns" in text for text in found.warnings) == (lines is not LOG)


def test_without_a_signature_across_a_break_nothing_is_joined(tmp_path: Path) -> None:
    lines = [
        "x" * 80,
        "memory. Tried to allocate nothing",
        "2026-11-30 12:00:09 [rank3]: CUDA out of memory. Tried to allocate 2.00 GiB",
    ]
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    found = diagnose([str(tmp_path / "job.log")], catalogue=HANGING_RUN)
    assert not [text for text in found.warnings if "columns" in text]
    assert found.initiating is not None and found.initiating.evidence[0].line == 3


@pytest.mark.parametrize(
    "below",
    ["2026-11-30 12:00:02 next", "[rank3]: next", "INFO: next", "", "   "],
)
def test_a_line_of_its_own_is_never_the_rest_of_another(below: str) -> None:
    lines = ["a" * 50 + " " + "b" * 29, below, "end"]
    assert all(0 not in folding.continued for folding in foldings(lines, parsed(lines)))


def test_unfold_restores_the_text_and_keeps_the_places() -> None:
    lines = hard(60)
    folding = foldings(lines, parsed(lines))[0]
    assert [text for _, text in unfold(lines, folding)] == LOG
    assert [at for at, _ in unfold(lines, folding)][:3] == [0, 1, 2]
