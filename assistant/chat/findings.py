"""Which findings of a verdict a conversation is about, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.verdict import Diagnosis, Finding

_ROLES = ("initiating", "downstream", "recovered", "unrelated")
_KINDS = ("failure", "class", "wrapper")
_ID = re.compile(r"\bf(\d{1,3})\b")


def in_order(diagnosis: Diagnosis) -> list[Finding]:
    """All findings: by role, then failures before classes and wrappers, then as the verdict has them."""

    def key(numbered: tuple[int, Finding]) -> tuple[int, int, int]:
        number, finding = numbered
        kind = _KINDS.index(finding.entry.kind) if finding.entry else len(_KINDS)
        # What was seen first stays first, whether an entry covers it or not.
        return (_ROLES.index(finding.role), 0 if finding.role == "initiating" else kind, number)

    return [finding for _, finding in sorted(enumerate(diagnosis.all_findings()), key=key)]


def in_focus(diagnosis: Diagnosis) -> tuple[str, ...]:
    """The entries under discussion, the first fault's (or the strongest consequence's) first."""
    return tuple(dict.fromkeys(f.entry.id for f in in_order(diagnosis) if f.entry is not None))


def finding_of(diagnosis: Diagnosis | None, entry: str | None) -> Finding | None:
    """The finding that shows this entry; the first fault where the entry is None."""
    if diagnosis is None:
        return None
    ordered = in_order(diagnosis)
    if entry is None:
        return ordered[0] if ordered else None
    return next((finding for finding in ordered if finding.entry is not None and finding.entry.id == entry), None)


def named_findings(question: str, diagnosis: Diagnosis | None) -> list[Finding]:
    """Findings that a question calls by their id: `f2`."""
    if diagnosis is None:
        return []
    wanted = [f"f{number}" for number in _ID.findall(question.lower())]
    return [finding for name in wanted if (finding := diagnosis.finding(name)) is not None]


def choices(diagnosis: Diagnosis | None) -> list[Finding]:
    """Findings of which none is the first: where there is no first fault, `it` may mean any of them."""
    if diagnosis is None or diagnosis.initiating is not None:
        return []
    covered = [finding for finding in in_order(diagnosis) if finding.entry is not None and finding.role == "downstream"]
    failures = [finding for finding in covered if finding.entry is not None and finding.entry.kind == "failure"]
    return _distinct(failures or covered)


def _distinct(findings: Iterable[Finding]) -> list[Finding]:
    seen: dict[str, Finding] = {}
    for finding in findings:
        if finding.entry is not None:
            seen.setdefault(finding.entry.id, finding)
    return list(seen.values())
