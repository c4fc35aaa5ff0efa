"""The shape of the project: what lies at the top, how long files and functions may get."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = ("assistant", "corpus", "index")
TOP = {
    *PACKAGES,
    "tests",
    "scripts",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
}
MAX_FILE = 400
MAX_FUNCTION = 60
# Loaded by something else, never started by a person.
NOT_STARTED = {"_bootstrap.sh", "build_hook.py"}


def python_files(root: Path) -> list[Path]:
    return sorted(path for package in PACKAGES for path in (root / package).rglob("*.py"))


def scripts(root: Path) -> Iterator[Path]:
    for path in sorted((root / "scripts").iterdir()):
        if path.is_file() and path.suffix != ".md":
            yield path


def test_top_level_is_exactly_what_it_should_be(root: Path) -> None:
    here = {path.name for path in root.iterdir() if not path.name.startswith(".")}
    assert here - {"dist", "build"} == TOP


def test_no_file_is_longer_than_a_person_reads(root: Path) -> None:
    lengths = {
        str(path.relative_to(root)): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files(root)
    }
    assert {name: n for name, n in lengths.items() if n > MAX_FILE} == {}


def test_no_function_is_longer_than_a_screen(root: Path) -> None:
    too_long = {}
    for path in python_files(root):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MAX_FUNCTION:
                    too_long[f"{path.relative_to(root)}:{node.lineno} {node.name}"] = length
    assert too_long == {}


def test_every_script_can_be_started(root: Path) -> None:
    for path in scripts(root):
        if path.name not in NOT_STARTED:
            assert os.access(path, os.X_OK), f"{path.name} is not executable"
            assert path.read_text(encoding="utf-8").startswith("#!"), f"{path.name} has no #! line"


def test_every_script_says_what_it_does(root: Path) -> None:
    for path in scripts(root):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            assert ast.get_docstring(ast.parse(text)), f"{path.name} has no docstring"
        else:
            head = text.splitlines()[1:4]
            assert any(re.match(r"# (Usage: |\S+: )", line) for line in head), f"{path.name} has no header"


def test_every_dependency_says_why(root: Path) -> None:
    """Each runtime dependency stands under a comment, and has a lower bound."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    for dependency in tomllib.loads(text)["project"]["dependencies"]:
        assert ">=" in dependency, dependency
        assert lines[lines.index(f'"{dependency}",') - 1].startswith("#"), dependency


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_that_the_documents_name_exist(root: Path, name: str) -> None:
    text = (root / name).read_text(encoding="utf-8")
    named = set(re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", text))
    named |= set(re.findall(r'(?:src|srcset)="(?!https?:)([^"]+)"', text))
    named |= set(re.findall(r"`((?:scripts|tests|corpus|index|assistant)/[\w./-]*\w)`", text))
    assert {path for path in named if not (root / path).exists()} == set()


def test_the_readme_is_short(root: Path) -> None:
    assert len((root / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
