"""Small heads built by hand, so that a test says all it depends on."""

from __future__ import annotations

import json
from typing import Any

from corpus.catalogue import Catalogue, Compiled
from corpus.head import ContextHead, Head, SignatureHead
from corpus.record import Record, read_records


def signature(*texts: str, name: str = "line", **changes: Any) -> SignatureHead:
    """A signature with defaults for everything but its texts."""
    values: dict[str, Any] = {
        "within": 0, "requires": (), "excludes": (), "tier": "scan", "min_count": 1, "unbroken": False,
        "cleared_by": None, "level": (), "aligned": False, "spec_only": False,
    }  # fmt: skip
    return SignatureHead(name=name, texts=texts, **{**values, **changes})


def context(text: str, within: int | str = "source", same: str | None = None) -> ContextHead:
    """A required or excluding literal."""
    return ContextHead(text, within, same)


def head(entry: str, *signatures: SignatureHead, **changes: Any) -> Head:
    """A verified failure with these signatures."""
    values: dict[str, Any] = {
        "title": entry.replace("-", " "), "family": "host-os", "component": "test", "kind": "failure",
        "status": "verified", "severity": "high", "role": "initiating", "scope": "node", "restart": "after-fix",
        "reviewed": "2026-11-30", "aliases": (), "causes": (), "related": (), "confused_with": (),
        "replaced_by": None, "slows": False,
        "ends": False,
        "announces": False,
        "broad": False,
    }  # fmt: skip
    return Head(id=entry, signatures=signatures, **{**values, **changes})


def records(text: str) -> list[Record]:
    """The records of a text, numbered from 1."""
    lines = text.strip("\n").split("\n")
    return [record for number, line in enumerate(lines, start=1) for record in read_records(line.encode(), number)]


def catalogue_of(*heads: Head) -> Catalogue:
    """A catalogue of these heads, with bodies that hold nothing but the id."""
    lines = [json.dumps({"id": item.id}).encode() + b"\n" for item in heads]
    offsets, position = {}, 0
    for item, line in zip(heads, lines, strict=True):
        offsets[item.id] = [position, len(line)]
        position += len(line)
    return Catalogue([Compiled("test", list(heads), {}, b"".join(lines), offsets)])


HANGING_RUN = catalogue_of(
    head("oom", signature("CUDA out of memory. Tried to allocate {size:size}"), scope="workload", causes=("watchdog",)),
    head(
        "watchdog",
        signature("Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq:int}"),
        role="downstream",
    ),
)
"""One rank runs out of memory, the others wait for it until their watchdogs fire."""
