"""What a change of entries asks of the version."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpus.authoring.changes import compare, example_lines, report
from corpus.casebook import head_of
from corpus.match import Matcher
from corpus.reader import read_corpus
from corpus.signature import Pattern

Data = dict[str, Any]


@pytest.fixture
def valve(good: Path) -> Data:
    return tomllib.loads((good / "entries/accelerator-hardware/valve-closed.toml").read_text(encoding="utf-8"))


def signature(entry: Data, **changes: Any) -> None:
    entry["signature"][0].update(changes)


CASES: list[tuple[str, str, Callable[[Data], Any]]] = [
    ("patch", "text: summary", lambda e: e.update(summary="Shut.")),
    ("patch", "depth full -> brief", lambda e: e.update(depth="brief")),
    ("minor", "severity high -> low", lambda e: e.update(severity="low")),
    ("minor", "scope node -> platform", lambda e: e.update(scope="platform")),
    ("major", "retired", lambda e: e.update(status="retired")),
    ("minor", "retired, replaced by pump-stalled", lambda e: e.update(status="retired", replaced_by="pump-stalled")),
    ("major", "`relief` removed", lambda e: e.update(signature=[])),
    ("minor", "`more` added", lambda e: e["signature"].append({"name": "more", "text": "more"})),
    ("minor", "`relief` widened", lambda e: signature(e, text="relief valve opened at {pressure:float} bar")),
    ("major", "`relief` narrowed", lambda e: signature(e, text="acmed: relief valve opened at {p:float} bar at noon")),
    ("minor", "`relief` widened", lambda e: signature(e, text="acmed: relief valve {? was ?}opened at {p:float} bar")),
    ("major", "`relief` changed", lambda e: signature(e, text="acmed: relief flap opened at {pressure:float} bar")),
    ("patch", "same lines match", lambda e: signature(e, text="acmed: relief  valve opened at {p:float} bar")),
    ("major", "`relief` narrowed", lambda e: signature(e, requires=[{"text": "pump", "within": 3}])),
    ("major", "`relief` narrowed", lambda e: signature(e, excludes=[{"text": "test"}])),
    ("major", "`relief` narrowed", lambda e: signature(e, tier="candidate")),
    ("major", "`relief` narrowed", lambda e: signature(e, min_count=3)),
    ("patch", "same lines match", lambda e: signature(e, since="2.0")),
]


@pytest.mark.parametrize(("level", "what", "change"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_a_change_has_its_level(level: str, what: str, change: Callable[[Data], Any], valve: Data) -> None:
    new = copy.deepcopy(valve)
    change(new)
    changes = compare({"valve-closed": valve}, {"valve-closed": new})
    assert changes[0].level == level and what in changes[0].what, report(changes)


def test_the_reverse_of_a_narrowing_is_a_widening(valve: Data) -> None:
    new = copy.deepcopy(valve)
    signature(new, requires=[{"text": "pump", "within": 3}], min_count=2)
    (change,) = compare({"v": new}, {"v": valve})
    assert (change.level, change.what) == ("minor", "signature `relief` widened")


def test_entries_come_go_and_merge(valve: Data) -> None:
    pump = {**valve, "id": "pump"}
    assert report(compare({}, {"v": valve})) == "minor  v: added\nversion: minor"
    assert report(compare({"v": valve}, {})).startswith("major  v: removed")
    merged = {**pump, "aliases": ["v"]}
    assert report(compare({"v": valve, "pump": pump}, {"pump": merged})).splitlines() == [
        "minor  v: merged into pump",
        "patch  pump: text: aliases",
        "version: minor",
    ]
    assert report([]) == "no change"


def test_example_lines_match_their_own_signature(corpus_dir: Path) -> None:
    """`diff` compares signatures by such lines, so every one of the corpus must match its own."""
    matcher = Matcher(map(head_of, read_corpus(corpus_dir).entries))
    for text in matcher.texts:
        pattern = Pattern(text)
        for line in example_lines(text):
            assert pattern.search(line) is not None, (text, line)
