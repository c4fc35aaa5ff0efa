"""What to fetch next: only what somebody can fetch, with the command that gets it where one is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant.diagnosis.fetch import command_for
from assistant.diagnosis.pipeline import diagnose
from corpus.catalogue import Catalogue, Compiled
from tests.heads import head, signature


def catalogue(*narrows: str) -> Catalogue:
    body = json.dumps({"id": "lost", "narrows": narrows}).encode() + b"\n"
    found = head("lost", signature("it was lost"), kind="class")
    return Catalogue([Compiled("test", [found], {}, body, {"lost": [0, len(body)]})])


def test_hints_on_the_lines_at_hand_are_nothing_to_fetch(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("it was lost\n")
    hints = ("the errno behind the colon", "the kernel log of the same second", "the worker's own log", "101 or 113")
    items = diagnose([str(tmp_path)], catalogue=catalogue(*hints)).fetch_next
    assert [(item.what, item.command) for item in items] == [(hints[1], "dmesg -T | tail -200"), (hints[2], None)]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("the end of it: `sacct -j <jobid> -o State`", "sacct -j 77 -o State"),
        ("Last State: reason and exit code", "kubectl describe pod train-0 -n ml"),
        ("`df -h` full: bytes", "df -h"),
        ("the `Last error` text below", None),
    ],
)
def test_the_command_that_gets_it(text: str, command: str | None) -> None:
    assert command_for(text, {"jobid": "77", "pod": "train-0", "namespace": "ml"}) == command
