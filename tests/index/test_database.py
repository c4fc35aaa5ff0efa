"""Literals compiled once and kept: the same hits, whatever lies in the cache directory."""

from __future__ import annotations

from pathlib import Path

import hyperscan
import pytest

from corpus.cache import KEPT
from index.database import compile_literals

LITERALS = {0: b"Out of memory", 3: b"NCCL WARN", 7: b"\x01\x02\x03"}
TEXT = b"\nx NCCL WARN y\nOut of memory\nOut of memory\n"
HITS = [(3, 12), (0, 28), (0, 42)]


def hits(literals: dict[int, bytes], cache_dir: Path | None) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []

    def on_match(literal: int, _start: int, end: int, _flags: int, _context: object) -> None:
        found.append((literal, end))

    database = compile_literals(literals, cache_dir)
    database.scan(TEXT, on_match, scratch=hyperscan.Scratch(database))
    return found


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("literals-*"))


def test_what_was_kept_finds_the_same(tmp_path: Path) -> None:
    assert hits(LITERALS, None) == HITS
    assert hits(LITERALS, tmp_path / "new") == HITS
    (file,) = kept(tmp_path / "new")
    written = file.stat().st_mtime_ns
    assert hits(LITERALS, tmp_path / "new") == HITS
    assert file.stat().st_mtime_ns == written


@pytest.mark.parametrize("damage", [b"", b"\0" * 4000, b"half"], ids=["empty", "zeros", "cut"])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    assert hits(LITERALS, tmp_path) == HITS
    (file,) = kept(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(damage if damage != b"half" else whole[: len(whole) // 2])
    assert hits(LITERALS, tmp_path) == HITS
    assert len(file.read_bytes()) == len(whole)


def test_other_literals_or_numbers_are_another_file(tmp_path: Path) -> None:
    compile_literals(LITERALS, tmp_path)
    compile_literals({1: LITERALS[0], 3: LITERALS[3], 7: LITERALS[7]}, tmp_path)
    # The same bytes, cut elsewhere.
    compile_literals({0: b"Out of memoryN", 3: b"CCL WARN", 7: LITERALS[7]}, tmp_path)
    assert len(kept(tmp_path)) == 3


def test_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    for number in range(KEPT + 3):
        compile_literals({number: b"Out of memory"}, tmp_path)
    assert len(kept(tmp_path)) == KEPT


def test_a_directory_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert hits(LITERALS, in_the_way) == HITS
