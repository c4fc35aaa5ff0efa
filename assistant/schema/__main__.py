"""`python -m assistant.schema` writes the JSON Schemas anew."""

from __future__ import annotations

from assistant import comparison
from assistant.chat import contract
from assistant.verdict import SCHEMA_PATH, schema_text

if __name__ == "__main__":
    SCHEMA_PATH.write_text(schema_text(), encoding="utf-8", newline="\n")
    comparison.SCHEMA_PATH.write_text(comparison.schema_text(), encoding="utf-8", newline="\n")
    for name, path in contract.SCHEMA_PATHS.items():
        path.write_text(contract.schema_text(name), encoding="utf-8", newline="\n")
