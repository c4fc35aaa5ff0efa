"""A small corpus that is clean in every respect, and copies of it that a test may damage."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CORPUS = HERE.parent.parent / "corpus"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A copy of tests/corpus/good."""
    return shutil.copytree(HERE / "good", tmp_path / "corpus")


@pytest.fixture
def edit() -> Callable[[Path, str, str], None]:
    """Replace a text that must stand exactly once in a file."""

    def replace(path: Path, find: str, write: str) -> None:
        text = path.read_text(encoding="utf-8")
        assert text.count(find) == 1, f"{find!r} stands {text.count(find)} times in {path.name}"
        path.write_text(text.replace(find, write), encoding="utf-8")

    return replace


@pytest.fixture(scope="session")
def corpus_dir() -> Path:
    """The corpus that comes with the program."""
    return CORPUS
