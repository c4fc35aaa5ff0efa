"""What the wheel carries: the three packages, the whole corpus and its compiled form, nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

from corpus.catalogue import COMPILED_NAME, Catalogue, compile_corpus, corpus_digest
from index.encoder import open_encoder
from index.store import build_store
from tests.index.hashing import HashingEncoder

COMPILED = f"corpus/{COMPILED_NAME}"
BUILD = "import sys, hatchling.build as b; print(b.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built by the local backend (no build environment, no network)."""
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=root,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def tree(root: Path, package: str) -> set[str]:
    """The files of a package in the tree, without what Python leaves beside them."""
    return {
        path.relative_to(root).as_posix()
        for path in (root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_top_level_is_the_three_packages_and_the_metadata(names: list[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    metadata = {top for top in tops if fnmatch(top, "firstfault-*.dist-info")}
    assert len(metadata) == 1
    assert tops - metadata == {"corpus", "index", "assistant"}


def test_every_file_of_the_packages_is_in_the_wheel(root: Path, names: list[str]) -> None:
    in_wheel = {name for name in names if ".dist-info/" not in name}
    in_tree = tree(root, "corpus") | tree(root, "index") | tree(root, "assistant")
    assert in_wheel - in_tree == {COMPILED}
    assert in_tree - in_wheel == set()


def test_the_corpus_is_whole(root: Path, names: list[str]) -> None:
    entries = {path.relative_to(root).as_posix() for path in root.glob("corpus/entries/*/*.toml")}
    assert entries, "the corpus has no entries"
    assert entries <= set(names)
    for needed in ("corpus/families/", "corpus/schema/", "corpus/incidents/", "corpus/README.md"):
        assert any(name.startswith(needed) for name in names), needed


def test_the_compiled_corpus_is_that_of_the_tree(root: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = archive.read(COMPILED)
    assert json.loads(shipped.splitlines()[0])["digest"] == corpus_digest(root / "corpus")
    assert shipped == compile_corpus(root / "corpus")


def test_building_leaves_the_tree_alone(root: Path, wheel: Path) -> None:
    assert wheel.is_file()
    assert not (root / COMPILED).exists()


# ------------------------------------------------------------------------------- the index that ships


@pytest.fixture(scope="module")
def released(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with an index of its corpus, made by an encoder without a model that says it is the bundled."""
    folder = tmp_path_factory.mktemp("released")
    for name in ("assistant", "corpus", "index", "scripts"):
        shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "release"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, folder / name)
    bundled = open_encoder()
    encoder = HashingEncoder(bundled.name, bundled.revision, bundled.dimension)
    build_store(folder / "index" / "release", Catalogue.load(folder / "corpus"), encoder, half=True)
    return folder


def built(tree: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BUILD, str(out)], cwd=tree, capture_output=True, text=True, encoding="utf-8"
    )


@pytest.mark.slow
def test_a_wheel_with_an_index_needs_no_build(released: Path, tmp_path: Path) -> None:
    done = built(released, tmp_path)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as archive:
        assert {"index/release/manifest.json", "index/release/vectors.f16"} <= set(archive.namelist())
        archive.extractall(tmp_path / "installed")
    environment = {**os.environ, "FIRSTFAULT_CACHE_DIR": str(tmp_path / "cache"), "FIRSTFAULT_BACKGROUND_BUILD": "yes"}
    asked = subprocess.run(
        [sys.executable, "-m", "assistant", "search", "--semantic", "--no-build", "GPU has fallen off the bus"],
        cwd=tmp_path / "installed", env=environment, capture_output=True, text=True, encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "dense" in asked.stdout
    assert not (tmp_path / "cache" / "index").exists()


@pytest.mark.slow
def test_a_wheel_never_carries_the_index_of_another_corpus(released: Path, tmp_path: Path) -> None:
    manifest = released / "index" / "release" / "manifest.json"
    before = manifest.read_text(encoding="utf-8")
    manifest.write_text(json.dumps({**json.loads(before), "corpus": "0" * 64}), encoding="utf-8")
    done = built(released, tmp_path)
    manifest.write_text(before, encoding="utf-8")
    assert done.returncode != 0
    assert "run scripts/build_release_index.py" in done.stderr


def test_the_command_and_the_licence_are_declared(wheel: Path, names: list[str]) -> None:
    info = next(name.split("/")[0] for name in names if ".dist-info/" in name)
    with zipfile.ZipFile(wheel) as archive:
        commands = archive.read(f"{info}/entry_points.txt").decode()
        metadata = archive.read(f"{info}/METADATA").decode()
    assert "firstfault = assistant.__main__:main" in commands
    assert "Requires-Python: >=3.11" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert f"{info}/licenses/LICENSE" in names
