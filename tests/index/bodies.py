"""Whole entries built by hand, for whatever needs their text."""

from __future__ import annotations

import json
from typing import Any

from corpus.catalogue import Catalogue, Compiled
from corpus.head import Head, head_data, head_from


def body(entry: str, title: str, *texts: str, **changes: Any) -> dict[str, Any]:
    """The JSON form of an entry with signatures of these texts."""
    signatures = [{"name": f"line-{n}", "text": text, "source": [{"spec": "test"}]} for n, text in enumerate(texts)]
    values = {
        "id": entry, "title": title, "family": "host-os", "component": "test", "kind": "failure", "status": "verified",
        "severity": "high", "role": "initiating", "scope": "node", "restart": "after-fix", "reviewed": "2026-11-30",
        "asks": [], "summary": f"{title}.", "signature": signatures,
        "log": [{"name": "fires", "fires": ["line-0"], "text": texts[0]}] if texts else [],
    }  # fmt: skip
    return {**values, **changes}


def catalogue_of(*bodies: dict[str, Any], families: tuple[dict[str, Any], ...] = (), digest: str = "test") -> Catalogue:
    """A catalogue of these entries and families."""
    keyed = {item["id"]: item for item in bodies} | {f"family:{item['id']}": item for item in families}
    data, offsets = b"", {}
    for key, item in keyed.items():
        line = json.dumps(item).encode() + b"\n"
        offsets[key] = [len(data), len(line)]
        data += line
    heads: list[Head] = [head_from(head_data(item)) for item in bodies]
    return Catalogue([Compiled(digest, heads, {}, data, offsets)])


BUS = body(
    "xid-79", "GPU fell off the bus", "NVRM: Xid (PCI:{pci}): 79, {any}GPU has fallen off the bus",
    asks=["seven cards instead of eight on this host"],
    faq=[{"q": "May I restart on the same node?", "a": "No, drain it and reseat the card."}],
    check=[{"step": "List the cards", "command": "lspci -d 10de:", "expect": "rev ff"}],
)  # fmt: skip
MEMORY = body(
    "cuda-oom", "CUDA ran out of memory", "CUDA out of memory. Tried to allocate {size}",
    asks=["which knob helps against fragmentation"],
)  # fmt: skip
DISK = body(
    "disk-full", "Disk is full", "No space left on device", kind="class", asks=["I cannot write any more files"]
)  # fmt: skip
FAMILY = {
    "id": "host-os", "title": "Host", "introduction": "What the operating system does to a job.",
    "faq": [{"q": "Where do I look first?", "a": "In dmesg of the node."}],
}  # fmt: skip
