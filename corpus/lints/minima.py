"""C501 and C502: an entry has the sections that its depth and kind promise."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.lints.base import EntryFile, Finding, Knowledge, at, entry_rule
from corpus.model import Entry

FULL = {
    "asks": 3, "observe": 1, "affects": 1, "related": 1, "prevent": 1, "recovery": 1, "verify": 1, "decision": 1,
    "confused_with": 1, "symptom": 2, "check": 3, "fix": 2, "faq": 5, "reference": 1, "tags": 1,
}  # fmt: skip
"""A full failure: everything but stack, compare and escalate, which stand where something differs."""
BRIEF = {"asks": 2, "check": 2, "fix": 1, "verify": 1, "faq": 2}
CLASS_OR_WRAPPER = {"narrows": 1, "check": 1, "faq": 2}


def minima(entry: Entry) -> dict[str, int]:
    """How many of each section this entry must have (0 or 1 for single ones)."""
    if entry.kind != "failure":
        return CLASS_OR_WRAPPER
    return FULL if entry.depth == "full" else BRIEF


@entry_rule(
    "C501",
    "section missing for the depth and kind",
    why="depth is a promise to the person who opens the entry at 3 am.",
    mend='write it, or set depth = "brief"; never fill it with words.',
)
def sections_are_there(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Each section has as many items as the depth and kind of the entry promise."""
    entry = file.value
    if entry.status == "retired":
        return
    what = f"{entry.depth} {entry.kind}" if entry.kind == "failure" else entry.kind
    for section, least in minima(entry).items():
        value = getattr(entry, section)
        number = len(value) if isinstance(value, tuple) else int(value is not None)
        if number < least:
            have = f"has {number}" if least > 1 else "has none"
            yield at(file, (section,), f"a {what} entry needs `{section}` x {least}; this one {have}.")


@entry_rule(
    "C502",
    "narrows on a failure",
    why="a failure is the cause itself; `narrows` tells how to get from a class or wrapper to one.",
    mend="move the texts to [[check]] or [[symptom]], or correct `kind`.",
)
def narrows_is_for_classes(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Only classes and wrappers narrow."""
    if file.value.kind == "failure" and file.value.narrows:
        yield at(file, ("narrows",), "a failure has no `narrows`.")
