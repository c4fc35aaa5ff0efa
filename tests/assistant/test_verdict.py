"""The JSON contract: its keys, its value sets, its schema file."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from assistant import verdict
from assistant.verdict import SCHEMA_PATH, Diagnosis, EntryRef, EvidenceLine, Finding, Line, schema_text
from corpus import model

KEYS = {
    "Diagnosis": "schema version corpus status initiating independent findings unexplained near_misses suspects "
    "fetch_next warnings run collectives sources baseline timings_ms",
    "Baseline": "paths lines templates new new_total last_common went_on sampled",
    "CodeFrame": "file line function code at",
    "NewLine": "line count lines",
    "Finding": "id role strength set_aside entry owner attempt because refuted_by explained_by onset ranks hosts count evidence code before "
    "checks fix verify",
    "EntryRef": "id title family kind severity scope restart status reviewed broad",
    "Line": "source line text rank host time time_inherited",
    "EvidenceLine": "source line text rank host time time_inherited signature captures",
    "CorpusInfo": "digest entries overlays",
    "Unexplained": "excerpt candidates",
    "Candidate": "entry score channels matched missing reason",
    "NearMiss": "entry line signature reason",
    "Suspect": "rank host reason because finding",
    "FetchNext": "what command why",
    "RunInfo": "world_size ranks_seen hosts attempts last_step phase completed first_time last_time versions skew_s "
    "skew_error_s "
    "names last_lines sampled",
    "Attempt": "n initiating",
    "CollectiveGroup": "group seq ranks",
    "CollectiveRank": "rank op numel enqueued completed state",
    "SourceInfo": "path bytes lines rank host encoding problems",
    "CheckStep": "step command expect",
    "FixStep": "step command why",
    "VerifyStep": "command expect",
}


@pytest.mark.parametrize("name", sorted(KEYS))
def test_keys_and_their_order_are_those_of_the_contract(name: str) -> None:
    fields = getattr(verdict, name).model_fields.items()
    assert [field.alias or key for key, field in fields] == KEYS[name].split()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (verdict.EntryKind, model.Kind),
        (verdict.EntryStatus, model.Status),
        (verdict.Severity, model.Severity),
        (verdict.Scope, model.Scope),
        (verdict.Restart, model.Restart),
        (verdict.VerdictStatus, model.Incident.model_fields["status"].annotation),
    ],
)
def test_value_sets_agree_with_the_corpus(ours: Any, theirs: Any) -> None:
    assert set(get_args(ours)) == set(get_args(theirs))


def test_schema_file_is_fresh() -> None:
    assert SCHEMA_PATH.read_text(encoding="utf-8") == schema_text(), "run `python -m assistant.schema`"


def test_schema_requires_every_key() -> None:
    schema = json.loads(schema_text())
    assert schema["$id"] == "firstfault.diagnosis/1"
    assert schema["required"] == KEYS["Diagnosis"].split()
    assert set(schema["$defs"]["Finding"]["required"]) == set(KEYS["Finding"].split())


def test_round_trip(story: tuple[str, Diagnosis]) -> None:
    _, diagnosis = story
    text = diagnosis.model_dump_json()
    assert Diagnosis.model_validate_json(text) == diagnosis
    assert json.loads(text)["schema"] == "firstfault.diagnosis/1"


def test_parts_are_frozen_and_strict() -> None:
    line = Line(source="job.log", line=1, text="x")
    with pytest.raises(ValidationError):
        line.line = 2  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        Line.model_validate({"source": "job.log", "line": 1, "text": "x", "colour": "red"})
    with pytest.raises(ValidationError):
        Diagnosis.model_validate({"status": "fine"})


def test_defaults_make_small_findings_short() -> None:
    finding = Finding(id="f1", role="downstream", strength="observed")
    assert finding.entry is None
    assert finding.ranks == ()
    assert EntryRef(id="x", title="X", family="memory").kind == "failure"
    assert EvidenceLine(source="a", line=3, text="t").place == "a:3"


def test_findings_are_told_once(stories: dict[str, Diagnosis]) -> None:
    diagnosis = stories["xid-79"]
    assert [finding.id for finding in diagnosis.all_findings()] == ["f1", "f2", "f3", "f4"]
    found = diagnosis.finding("f2")
    assert found is not None
    assert found.role == "downstream"
    assert diagnosis.finding("f9") is None
