"""Kept output: everything while it is small, head and tail when it is not, each whole line of them."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.jobs.keeping import KeptOutput


def keep(path: Path, chunks: list[bytes], head: int = 100, tail: int = 100) -> tuple[bytes, int]:
    kept = KeptOutput(path, head, tail)
    for chunk in chunks:
        kept.write(chunk)
    kept.close()
    return path.read_bytes(), kept.left_out


def test_small_output_is_kept_whole(tmp_path: Path) -> None:
    assert keep(tmp_path / "log", [b"one\n", b"two"]) == (b"one\ntwo", 0)


def test_output_of_the_bound_is_kept_whole(tmp_path: Path) -> None:
    text = b"x" * 199 + b"\n"
    assert keep(tmp_path / "log", [text]) == (text, 0)


def test_of_much_output_head_and_tail_are_kept(tmp_path: Path) -> None:
    lines = [f"line {number:04d}\n".encode() for number in range(1000)]
    text, left_out = keep(tmp_path / "log", lines)
    assert text.startswith(b"line 0000\nline 0001\n")
    assert text.endswith(b"line 0998\nline 0999\n")
    assert len(text) < 300
    assert re.search(rb"\n\[\d+ bytes of output were not kept here\]\nline 09\d\d\n", text)
    assert left_out + text.count(b"line 0") * 10 <= 10_000
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    keep(tmp_path / "log", [b"x"])
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


@given(st.lists(st.binary(max_size=90), max_size=12))
def test_nothing_is_lost_or_doubled_below_the_bound(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]
) -> None:
    whole = b"".join(chunks)
    path = tmp_path_factory.mktemp("kept") / "log"
    text, left_out = keep(path, chunks, head=64, tail=4096)
    assert (text, left_out) == (whole, 0)
