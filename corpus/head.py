"""Heads: what a diagnosis needs of every entry, without its prose.

A head is loaded for each of a thousand entries in milliseconds, so it is a
named tuple, which costs a fifth of a frozen dataclass; the rest of an entry
(its body) is read per id when somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

SLOWING_TAGS = frozenset({"slowdown", "degrades"})
"""Tags of entries that spoil a run (its speed or its numbers) without ending it."""
ENDING_TAGS = frozenset({"signal", "exit-code"})
"""Tags of class entries that only say how a process ended."""
HARMLESS_NAME = "harmless.toml"
"""The file of a corpus directory that lists what looks like an error and is none."""
NOTICE_TAGS = frozenset({"notice"})
"""Tags of entries that announce an end to come: steps that go on until then prove nothing."""
SCAN_MIN_LITERAL = 4
"""Shortest literal that is given to the scanner, in characters."""


class ContextHead(NamedTuple):
    """A literal that must, or must not, stand near a hit."""

    text: str
    within: int | str
    same: str | None


class SignatureHead(NamedTuple):
    """One signature of an entry, ready for matching; `texts` has several for `lines`."""

    name: str
    texts: tuple[str, ...]
    within: int
    requires: tuple[ContextHead, ...]
    excludes: tuple[ContextHead, ...]
    tier: str
    min_count: int
    unbroken: bool
    cleared_by: str | None
    level: tuple[str, ...]
    aligned: bool
    spec_only: bool
    """True when the only source is a specification: nobody saw software print it."""

    def all_texts(self) -> list[str]:
        """Its own texts, those of its contexts, and its all-clear line."""
        contexts = [context.text for context in (*self.requires, *self.excludes)]
        return [*self.texts, *contexts, *([self.cleared_by] if self.cleared_by is not None else [])]


class HarmlessHead(NamedTuple):
    """A line that looks like an error and is none, unless another text stands near it."""

    text: str
    why: str
    unless: str | None
    within: int
    literal: str = ""
    """A fixed part without which no line is this one; empty tells nothing."""


class Head(NamedTuple):
    """One entry without its prose."""

    id: str
    title: str
    family: str
    component: str
    kind: str
    status: str
    severity: str
    role: str
    scope: str
    restart: str
    reviewed: str
    aliases: tuple[str, ...]
    causes: tuple[str, ...]
    related: tuple[str, ...]
    confused_with: tuple[str, ...]
    replaced_by: str | None
    signatures: tuple[SignatureHead, ...]
    slows: bool
    """True for failures that spoil a run, its speed or its numbers, without ending it."""
    ends: bool
    """True for class entries that only say how a process ended (a signal, an exit code)."""
    announces: bool
    """True for notices of an end to come, which further steps do not refute."""
    broad: bool = False
    """True for classes that only know the shape of a message: no scan looks for them, and every other entry beats them."""

    @property
    def only_slows(self) -> bool:
        """Whether it costs a run speed and nothing else; numbers that went wrong end a run later, edge or not."""
        return self.slows and self.family != "numerics"

    @property
    def rank(self) -> int:
        """0 for a failure, 1 for a class, 2 for a wrapper, 3 for a broad class: who explains more."""
        return 3 if self.broad else ("failure", "class", "wrapper").index(self.kind)


def head_data(body: dict[str, Any]) -> dict[str, Any]:
    """The JSON form of a head, from the JSON form of a whole entry."""
    keep = (
        "id", "title", "family", "component", "kind", "status", "severity",
        "role", "scope", "restart", "reviewed", "replaced_by",
    )  # fmt: skip
    data: dict[str, Any] = {key: body.get(key) for key in keep}
    for key in ("aliases", "causes", "related"):
        data[key] = body.get(key, [])
    data["confused_with"] = [item["id"] for item in body.get("confused_with", [])]
    data["slows"] = bool(SLOWING_TAGS.intersection(body.get("tags", [])))
    data["ends"] = body["kind"] == "class" and bool(ENDING_TAGS.intersection(body.get("tags", [])))
    data["announces"] = bool(NOTICE_TAGS.intersection(body.get("tags", [])))
    data["broad"] = bool(body.get("broad", False))
    data["signatures"] = [_signature_data(signature) for signature in body.get("signature", [])]
    return data


def _signature_data(signature: dict[str, Any]) -> list[Any]:
    contexts = [
        [[item["text"], item.get("within", "source"), item.get("same")] for item in signature.get(key, [])]
        for key in ("requires", "excludes")
    ]
    return [
        signature["name"],
        signature.get("lines") or [signature["text"]],
        signature.get("within") or 0,
        contexts[0],
        contexts[1],
        signature.get("tier", "scan"),
        signature.get("min_count", 1),
        signature.get("unbroken", False),
        signature.get("cleared_by"),
        signature.get("level", []),
        signature.get("aligned", False),
        all("spec" in source for source in signature["source"]),
    ]


def head_from(data: dict[str, Any]) -> Head:
    """Rebuild a head from its JSON form."""
    values = dict(data)
    for key in ("aliases", "causes", "related", "confused_with"):
        values[key] = tuple(values[key])
    values["signatures"] = tuple([signature_from(item) for item in values["signatures"]])
    return Head(**values)


def signature_from(item: list[Any]) -> SignatureHead:
    """Rebuild a signature from its JSON form."""
    name, texts, within, requires, excludes, tier, count, unbroken, cleared, level, aligned, spec = item
    return SignatureHead(
        name, tuple(texts), within,
        tuple([ContextHead(*context) for context in requires]) if requires else (),
        tuple([ContextHead(*context) for context in excludes]) if excludes else (),
        tier, count, unbroken, cleared, tuple(level), aligned, spec,
    )  # fmt: skip


def aliases_of(heads: Iterable[Head]) -> dict[str, str]:
    """Ids by alias; of two entries with the same alias the first has it."""
    aliases: dict[str, str] = {}
    for head in heads:
        for alias in head.aliases:
            aliases.setdefault(alias, head.id)
    return aliases
