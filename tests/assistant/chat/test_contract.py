"""The JSON contracts of answers and searches: keys, schema files."""

from __future__ import annotations

import json

import pytest

from assistant.chat.contract import ANSWER, SCHEMA_PATHS, SEARCH, Answer, Found, SearchResult, schema_text

KEYS = {
    Answer: "schema answer citations confidence follow_ups question intent entry judgements lines",
    SearchResult: "schema covered results",
    Found: "entry score passage channels",
}


@pytest.mark.parametrize("model", KEYS, ids=lambda model: model.__name__)
def test_keys_and_their_order_are_those_of_the_contract(model: type[Answer]) -> None:
    assert [field.alias or key for key, field in model.model_fields.items()] == KEYS[model].split()


@pytest.mark.parametrize("name", [ANSWER, SEARCH])
def test_schema_file_is_fresh(name: str) -> None:
    assert SCHEMA_PATHS[name].read_text(encoding="utf-8") == schema_text(name), "run `python -m assistant.schema`"


@pytest.mark.parametrize("name", [ANSWER, SEARCH])
def test_schema_names_itself(name: str) -> None:
    schema = json.loads(schema_text(name))
    assert schema["$id"] == name
    assert schema["properties"]["schema"]["const"] == name


def test_round_trip() -> None:
    answer = Answer(answer="No.", confidence="unknown")
    assert Answer.model_validate_json(answer.model_dump_json()) == answer
    assert json.loads(answer.model_dump_json())["schema"] == ANSWER
