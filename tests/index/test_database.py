"""Literals compiled once and kept: the same hits, whatever lies in the cache directory."""

from __future__ import annotations

from pathlib import Path

import hyperscan
import pytest

from corpus.atoms import literals_key
from corpus.cache import KEPT
from index.database import compile_literals
from index.worker import Engine

LITERALS = {0: b"Out of memory", 3: b"NCCL WARN", 7: b"\x01\x02\x03"}
TEXT = b"\nx NCCL WARN y\nOut of memory\nOut of memory\n"
HITS = [(3, 12), (0, 28), (0, 42)]


def hits(literals: dict[int, bytes], cache_dir: Path | None) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []

    def on_match(literal: int, _start: int, end: int, _flags: int, _context: object) -> None:
        found.append((literal, end))

    database = compile_literals(lambda: literals, cache_dir, "key")
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


def test_what_is_kept_is_not_asked_for_its_literals(tmp_path: Path) -> None:
    compile_literals(lambda: LITERALS, tmp_path, "key")
    compile_literals(lambda: pytest.fail("the literals were looked at"), tmp_path, "key")


def test_without_a_key_nothing_is_kept(tmp_path: Path) -> None:
    compile_literals(lambda: LITERALS, tmp_path)
    assert not kept(tmp_path)


@pytest.mark.parametrize(
    ("literals", "extra"),
    [
        ([b"NCCL WARN", b"Out of memory"], [b"\x01"]),
        # The same bytes, cut elsewhere.
        ([b"Out of memoryN", b"CCL WARN"], [b"\x01"]),
        ([b"Out of memory"], [b"NCCL WARN", b"\x01"]),
        ([b"Out of memory", b"NCCL WARN"], [b"\x01", b"\x02"]),
    ],
)
def test_other_literals_or_numbers_are_another_file(tmp_path: Path, literals: list[bytes], extra: list[bytes]) -> None:
    given: tuple[list[bytes], list[bytes]]
    for given in (([b"Out of memory", b"NCCL WARN"], [b"\x01"]), (literals, extra)):
        engine = Engine(given[0], given[1], key=literals_key(given[0]), cache_dir=tmp_path)
        assert engine.literals == [*given[0], *given[1]]
    assert len(kept(tmp_path)) == 2


def test_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    for number in range(KEPT + 3):
        compile_literals(lambda: LITERALS, tmp_path, f"{number}")
    assert len(kept(tmp_path)) == KEPT


def test_a_directory_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert hits(LITERALS, in_the_way) == HITS
