"""The verdict for programs: `firstfault.diagnosis/1` as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic_core import PydanticSerializationError

from assistant.verdict import Diagnosis

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue


def render(diagnosis: Diagnosis, catalogue: Catalogue | None = None) -> str:
    """The diagnosis as JSON, keys in the order of the contract."""
    try:
        return diagnosis.model_dump_json(indent=2) + "\n"
    except PydanticSerializationError:  # a file name, or a value in a log, that is no Unicode text
        return json.dumps(diagnosis.model_dump(), indent=2) + "\n"
