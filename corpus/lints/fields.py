"""The prose and the commands of a file, each with its key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from corpus.lints.base import KeyPath
from corpus.model import Entry, Family, Table

_PLAIN = ("summary", "mechanism", "recovery", "escalate", "introduction")
_LISTS = ("observe", "prevent", "narrows")
_TABLES: dict[str, tuple[str, ...]] = {
    "verify": ("expect",),
    "decision": ("control", "follows_workload", "follows_node", "gone"),
    "compare": ("with_fix", "without_fix"),
}
_ARRAYS: dict[str, tuple[str, ...]] = {
    "confused_with": ("tell",),
    "symptom": ("seen", "means"),
    "check": ("step", "expect"),
    "fix": ("step", "why", "undo"),
    "stack": ("advice",),
    "faq": ("q", "a"),
    "collect": ("what", "why"),
}


def prose(value: Entry | Family) -> Iterator[tuple[KeyPath, str]]:
    """Every prose text of an entry or family that must be its own, with its key."""
    for key in _PLAIN:
        text = getattr(value, key, None)
        if text:
            yield (key,), text
    for key in _LISTS:
        for index, text in enumerate(getattr(value, key, ())):
            yield (key, index), text
    for key, fields in _TABLES.items():
        table = getattr(value, key, None)
        if table is not None:
            yield from _fields(table, fields, (key,))
    for key, fields in _ARRAYS.items():
        for index, table in enumerate(getattr(value, key, ())):
            yield from _fields(table, fields, (key, index))


def free_texts(value: Entry | Family) -> Iterator[tuple[KeyPath, str]]:
    """Prose together with the short texts that two entries may share."""
    yield ("title",), value.title
    for key in ("asks", "affects"):
        for index, text in enumerate(getattr(value, key, ())):
            yield (key, index), text
    yield from prose(value)


def commands(value: Entry | Family) -> Iterator[tuple[KeyPath, str]]:
    """Every command of an entry or family, with its key."""
    verify = getattr(value, "verify", None)
    if verify is not None and verify.command:
        yield ("verify", "command"), verify.command
    for key in ("check", "fix", "collect"):
        for index, table in enumerate(getattr(value, key, ())):
            if table.command:
                yield (key, index, "command"), table.command


def _fields(table: Table, names: Iterable[str], prefix: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    for name in names:
        text = getattr(table, name, None)
        if text:
            yield (*prefix, name), text
