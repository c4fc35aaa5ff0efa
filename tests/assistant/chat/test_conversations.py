"""Scripted talks: what each turn wants, what it is about, and the places it must cite.

A talk is a TOML file: `case` (of tests/evaluation/open.jsonl), `story` (a verdict of conftest) or `entry`, and turns with `ask` or `paste`.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from assistant.chat.conversation import Conversation
from assistant.chat.session import Session, from_json, start, to_json
from assistant.diagnosis import pipeline
from assistant.verdict import Diagnosis
from corpus.catalogue import Catalogue

SCRIPTS = sorted((Path(__file__).parent / "conversations").glob("*.toml"))
CASES = Path(__file__).parents[2] / "evaluation" / "open.jsonl"
KNOWN = {"ask", "paste", "intent", "entry", "confidence", "cites", "says"}


def begin(script: dict[str, Any], catalogue: Catalogue, stories: dict[str, Diagnosis], folder: Path) -> Session:
    if "story" in script:
        return start(stories[script["story"]])
    if "entry" in script:
        return Session(focus=(script["entry"],))
    cases = {case["id"]: case for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines())}
    log = folder / "job.log"
    log.write_bytes(cases[script["case"]]["log"].encode())
    return start(pipeline.diagnose([str(log)], catalogue=catalogue))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_talk(path: Path, catalogue: Catalogue, stories: dict[str, Diagnosis], tmp_path: Path) -> None:
    script = tomllib.loads(path.read_text(encoding="utf-8"))
    session = begin(script, catalogue, stories, tmp_path)
    for number, turn in enumerate(script["turn"], start=1):
        assert set(turn) <= KNOWN
        talk = Conversation(catalogue, session)
        answer = talk.ask(turn["ask"]) if "ask" in turn else talk.say(turn["paste"])
        where = f"turn {number}, {answer.question!r}: {answer.answer}"
        for key in ("intent", "confidence"):
            assert turn.get(key, getattr(answer, key)) == getattr(answer, key), where
        if "entry" in turn:
            assert answer.entry == catalogue.resolve(turn["entry"]).id, where
        assert set(turn.get("cites", [])) <= {citation.id for citation in answer.citations}, where
        for text in turn.get("says", []):
            assert text in answer.answer, where
        # Each turn is a process of its own, as on the command line: what matters is in the session.
        session = from_json(to_json(talk.session))


def test_there_are_enough_of_them() -> None:
    assert len(SCRIPTS) >= 8
