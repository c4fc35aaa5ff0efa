"""The JSON contracts `firstfault.answer/1` and `firstfault.search/1`.

Both are frozen pydantic models; key order is the order of the fields, and the
schemas in `assistant/schema/` are generated from them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from assistant.verdict import EntryRef, Part

ANSWER: Final = "firstfault.answer/1"
SEARCH: Final = "firstfault.search/1"
_FOLDER: Final = Path(__file__).parents[1] / "schema"
SCHEMA_PATHS: Final = {ANSWER: _FOLDER / "answer-1.json", SEARCH: _FOLDER / "search-1.json"}

Confidence = Literal["grounded", "partial", "unknown"]
Says = Literal["confirms", "clears", "nothing"]
Intent = Literal[
    "confirm", "fixed", "fix", "why", "prevent", "collect", "owner", "restart", "resume", "compare", "lines", "rank",
    "when", "story", "what-is", "else", "ignore", "hardware", "escalate", "choose", "paste", "value",
    "blame", "unknown",
]  # fmt: skip


class Citation(Part):
    """A place that a sentence comes from."""

    id: str
    """As it stands in the answer: `xid-79-...#faq-3`, `family:memory#faq-2`, `job.log:812`, `verdict#f1`, `paste:3`."""
    kind: Literal["entry", "family", "log", "verdict", "paste"]
    text: str = ""
    """What stands at that place, cut to a few hundred characters."""
    entry: str | None = None
    section: str | None = None
    source: str | None = None
    line: int | None = None


class AnswerLine(Part):
    """One line of an answer, for faces that draw more than text."""

    text: str
    form: Literal["said", "command", "quote", "note"] = "said"
    """`note` is the program's own connecting word; everything else cites."""
    citations: tuple[str, ...] = ()


class Judgement(Part):
    """What pasted output says about a check of an entry."""

    entry: str
    check: int
    """Number of the check from 1; `check-N` of the entry."""
    says: Says
    condition: str = ""
    line: int = 0
    """1-based line of the paste that decides, 0 where none does."""
    text: str = ""
    """That line."""


class Answer(Part):
    """An answer, where each sentence comes from, and what to ask next."""

    schema_: Annotated[Literal["firstfault.answer/1"], Field(alias="schema")] = "firstfault.answer/1"
    answer: str
    citations: tuple[Citation, ...] = ()
    confidence: Confidence = "grounded"
    follow_ups: tuple[str, ...] = ()
    question: str = ""
    intent: Intent = "unknown"
    entry: str | None = None
    """The entry that the answer is about; follow-ups without a name mean it."""
    judgements: tuple[Judgement, ...] = ()
    lines: tuple[AnswerLine, ...] = ()


class FoundPassage(Part):
    """The passage by which an entry was found."""

    kind: str
    text: str
    id: str = ""


class Found(Part):
    """One entry that a search found."""

    entry: EntryRef
    score: float
    passage: FoundPassage
    channels: dict[str, int] = Field(default_factory=dict)
    """Rank in each channel that found it."""


class SearchResult(Part):
    """The entries that answer a search, best first."""

    schema_: Annotated[Literal["firstfault.search/1"], Field(alias="schema")] = "firstfault.search/1"
    covered: bool
    """False when nothing in the corpus answers; the results are then only the nearest."""
    results: tuple[Found, ...] = ()


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a contract, in the form in which it is written."""
    schema = (Answer if name == ANSWER else SearchResult).model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": name, **schema}


def schema_text(name: str) -> str:
    """The committed form of `json_schema`; `python -m assistant.schema` writes it."""
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n"
