"""The result of comparing two runs: the JSON contract `firstfault.control/1`.

Frozen, like `assistant.verdict`, and generated into `assistant/schema/control-1.json`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from assistant.verdict import EntryRef, EvidenceLine, Part, VerdictStatus, VerifyStep

SCHEMA: Final = "firstfault.control/1"
SCHEMA_PATH: Final = Path(__file__).parent / "schema" / "control-1.json"

Changed = Literal["node", "input", "config", "fix", "nothing", "unknown"]
Outcome = Literal["follows-workload", "follows-node", "gone", "repeats", "other-fault", "undecided"]


class Side(Part):
    """One of the two runs, as far as the comparison rests on it."""

    paths: tuple[str, ...]
    status: VerdictStatus
    entry: EntryRef | None = None
    """Entry of the first fault, where one covers it."""
    fault: EvidenceLine | None = None
    """The line that decides, where there is a first fault."""
    ranks: tuple[int, ...] = ()
    fault_hosts: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """All hosts of the run that its logs name."""
    last_step: int | None = None
    completed: bool = False


class Control(Part):
    """What became of the first fault of one run in another that differs in one thing."""

    schema_: Annotated[Literal["firstfault.control/1"], Field(alias="schema")] = "firstfault.control/1"
    version: str = ""
    outcome: Outcome
    changed: Changed
    because: str
    experiment: str = ""
    """The control that the entry itself proposes; its reading holds for that one."""
    meaning: str = ""
    """What the entry says this outcome means, if the change was its experiment."""
    not_proved: tuple[str, ...] = ()
    criterion: VerifyStep | None = None
    """When the entry calls the fault fixed; it takes more than two logs to tell."""
    before: Side
    after: Side


def schema_text() -> str:
    """The committed JSON Schema; `python -m assistant.schema` writes it."""
    schema: dict[str, Any] = Control.model_json_schema(by_alias=True, mode="serialization")
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, **schema}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
