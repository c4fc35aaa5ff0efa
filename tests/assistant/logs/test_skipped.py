"""What is passed over in a directory or an archive is named once, with the reason."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from assistant.cli.main import main
from assistant.logs.skipped import Skipped
from assistant.logs.sources import NothingReadable, expand_noting

BINARY = bytes(range(256)) * 20


def filled(folder: Path) -> Path:
    folder.mkdir()
    (folder / "rank0.log").write_text("ValueError: x\n")
    (folder / "rank1.log").touch()
    (folder / "dump").write_bytes(BINARY)
    (folder / "a.pt").write_bytes(BINARY)
    (folder / "train.py").write_text("x = 1\n")
    return folder


def test_a_directory(tmp_path: Path) -> None:
    folder = filled(tmp_path / "logs")
    sources, unread, notes = expand_noting([str(folder)])
    assert [source.path for source in sources] == ["rank0.log", "rank1.log"]
    assert unread == []
    assert notes == [
        f"{folder}: 4 files were passed over: 2 by their names are no logs (a.pt, train.py), 1 is not text (dump), "
        "1 is empty (rank1.log)"
    ]


def test_an_archive(tmp_path: Path) -> None:
    folder = filled(tmp_path / "logs")
    with tarfile.open(tmp_path / "logs.tar", "w") as archive:
        archive.add(folder, "logs")
    _, _, notes = expand_noting([str(tmp_path / "logs.tar")])
    assert len(notes) == 1
    assert notes[0].startswith(f"{tmp_path}/logs.tar: 4 files were passed over: ")
    assert "(logs/dump)" in notes[0]


def test_files_that_are_named(tmp_path: Path) -> None:
    folder = filled(tmp_path / "logs")
    _, unread, notes = expand_noting([str(folder / "rank0.log"), str(folder / "rank1.log"), str(folder / "dump")])
    assert notes == [f"{folder}/rank1.log is empty"]
    assert [item.path for item in unread] == [str(folder / "dump")]


def test_nothing_passed_over_says_nothing() -> None:
    assert Skipped().notes() == []


def test_many_are_counted_and_two_are_named() -> None:
    skipped = Skipped()
    for number in range(1200):
        skipped.add("logs", "binary", f"{number}.x")
    assert skipped.notes() == ["logs: 1,200 files were passed over: 1,200 are not text (0.x, 1.x and 1,198 more)"]


def test_the_report_counts_logs_and_ends_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = filled(tmp_path / "logs")
    assert main([str(folder), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "rank0.log: 1 line" in shown
    assert shown.count("passed over") == 1


def test_a_directory_without_logs_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(BINARY)
    (tmp_path / "dump").write_bytes(BINARY)
    with pytest.raises(NothingReadable) as refused:
        expand_noting([str(tmp_path)])
    assert "there are no logs in this directory, 2 files were passed over: 1 by its name is no log (a.pt)" in str(
        refused.value
    )
