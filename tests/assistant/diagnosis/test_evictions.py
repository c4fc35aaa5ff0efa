"""A node short of memory and a node short of disk are told apart: other steps, other cures."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from corpus.catalogue import Catalogue


@pytest.mark.parametrize(
    ("resource", "entry", "has", "lacks"),
    [
        ("memory", "k8s-evicted-memory", "memory", "ephemeral-storage"),
        ("ephemeral-storage", "k8s-evicted", "ephemeral-storage", "memory"),
        ("inodes", "k8s-evicted", "inodes", "memory"),
    ],
)
def test_steps_are_those_of_the_resource(tmp_path: Path, resource: str, entry: str, has: str, lacks: str) -> None:
    (tmp_path / "events.txt").write_text(
        f"4m    Warning   Evicted   pod/w-1   The node was low on resource: {resource}.\n"
    )
    first = diagnose([str(tmp_path / "events.txt")], catalogue=Catalogue.load()).initiating
    assert first is not None
    assert first.entry is not None
    assert first.entry.id == entry
    steps = " ".join([*(f"{c.step} {c.command}" for c in first.checks), *(f"{f.step} {f.command}" for f in first.fix)])
    assert has in steps
    assert lacks not in steps
