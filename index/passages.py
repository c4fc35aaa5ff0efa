"""Passages: an entry cut into the short texts that are indexed, each with a kind.

A passage is what retrieval finds and what an answer cites: `xid-79-...#faq-3`.
Families are cut the same way under the id `family:<id>`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

KINDS = (
    "title", "ask", "summary", "mechanism", "observe", "symptom", "check",
    "fix", "stack", "faq", "signature", "example", "prevent", "recovery", "escalate", "narrows",
)  # fmt: skip
IN_WORDS_ONLY = frozenset({"check", "fix", "signature", "example"})
"""Kinds without a vector: commands and printed lines, nearly half of all text. A question in plain words finds an entry
by its prose as well without them, and a log finds them by their words."""
MAX_CHARS = 1_200
"""Longer texts are cut: the encoder reads 256 tokens."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One text of one entry."""

    entry: str
    kind: str
    number: int
    text: str
    title: str = ""
    """The entry's title, which the encoder reads before the text."""

    @property
    def id(self) -> str:
        """The citation: entry, kind, and number from 1."""
        return f"{self.entry}#{self.kind}-{self.number}"

    @property
    def encoded_text(self) -> str:
        """What the encoder and the lexical index read."""
        return (
            self.text
            if self.kind in {"title", "ask", "signature", "example"} or not self.title
            else f"{self.title}. {self.text}"
        )

    @property
    def has_vector(self) -> bool:
        """Whether it is found by its meaning, not by its words alone."""
        return self.kind not in IN_WORDS_ONLY

    @property
    def digest(self) -> str:
        """SHA-256 of what is encoded; a vector is reused as long as it stays the same."""
        return hashlib.sha256(self.encoded_text.encode()).hexdigest()


def entry_passages(body: dict[str, Any]) -> list[Passage]:
    """All passages of an entry, from its whole JSON form."""
    entry, title = body["id"], body["title"]
    passages = []
    for kind, texts in _texts(body):
        for number, text in enumerate(texts, start=1):
            passages.append(Passage(entry, kind, number, " ".join(text.split())[:MAX_CHARS], title))
    return passages


def _texts(body: dict[str, Any]) -> Iterator[tuple[str, Iterable[str]]]:
    yield "title", [f"{body['title']} ({body['component']})"]
    yield "ask", body.get("asks", [])
    for key in ("summary", "mechanism", "recovery", "escalate"):
        yield key, [body[key]] if body.get(key) else []
    for key in ("observe", "prevent", "narrows"):
        yield key, body.get(key, [])
    yield "symptom", [f"{item['seen']}: {item['means']}" for item in body.get("symptom", [])]
    yield "check", [_joined(item, "step", "command", "expect") for item in body.get("check", [])]
    yield "fix", [_joined(item, "step", "command", "why") for item in body.get("fix", [])]
    yield "stack", [f"{item['stack']}: {item['advice']}" for item in body.get("stack", [])]
    yield "faq", [f"{item['q']} {item['a']}" for item in body.get("faq", [])]
    yield "signature", [text for item in body.get("signature", []) for text in item.get("lines") or [item["text"]]]
    yield "example", [item["text"] for item in body.get("log", []) if item["fires"]]


def _joined(item: dict[str, Any], *keys: str) -> str:
    return " ".join(item[key].rstrip(".") + "." for key in keys if item.get(key))


def family_passages(family: dict[str, Any]) -> list[Passage]:
    """Passages of what holds for a whole family."""
    entry, title = f"family:{family['id']}", family["title"]
    texts: list[tuple[str, list[str]]] = [
        ("summary", [family["introduction"]]),
        ("check", [_joined(item, "step", "command", "expect") for item in family.get("check", [])]),
        ("faq", [f"{item['q']} {item['a']}" for item in family.get("faq", [])]),
        ("observe", [_joined(item, "what", "command", "why") for item in family.get("collect", [])]),
    ]
    return [
        Passage(entry, kind, number, " ".join(text.split())[:MAX_CHARS], title)
        for kind, items in texts
        for number, text in enumerate(items, start=1)
    ]
