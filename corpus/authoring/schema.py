"""The JSON Schema of entry files, for completion and checking in editors."""

from __future__ import annotations

import json
from typing import Any

from corpus.model import SCHEMA_VERSION, Entry

SCHEMA_FILE = f"schema/entry-{SCHEMA_VERSION}.json"


def entry_schema() -> str:
    """The schema as the committed file holds it."""
    schema: dict[str, Any] = Entry.model_json_schema(by_alias=True)
    source = schema["$defs"]["Signature"]["properties"]["source"]
    # One source may be written as a table instead of an array of one.
    schema["$defs"]["Signature"]["properties"]["source"] = {"anyOf": [source["items"], source], "title": "Source"}
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"firstfault entry, schema {SCHEMA_VERSION}"
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
