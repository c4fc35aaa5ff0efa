"""What may be quoted, and the places it is quoted from.

A citation is `entry#section-n`, `family:id#section-n`, `verdict#part`, `file:line`
or `paste:n`. Every one that is given out can be resolved to the text at its
place, which is what the tests do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from assistant.chat.contract import Citation
from index.passages import Passage, entry_passages, family_passages

if TYPE_CHECKING:
    from assistant.verdict import Diagnosis, Line
    from corpus.catalogue import Catalogue

MAX_QUOTED: Final = 400
_PLACE: Final = re.compile(r"(?P<owner>[^#\s]+)#(?P<section>[a-z_]+?)(?:-(?P<number>\d+))?$")
_LINE: Final = re.compile(r"(?P<source>.+):(?P<line>\d+)$")
_OUTCOMES: Final = ("control", "follows_workload", "follows_node", "gone")
_WORDS: Final = ("restart", "scope", "severity", "kind", "status", "role", "family")


@dataclass
class Material:
    """Entries and families of a catalogue, cut into passages once."""

    catalogue: Catalogue
    _passages: dict[str, tuple[Passage, ...]] = field(default_factory=dict)
    _bodies: dict[str, dict[str, Any]] = field(default_factory=dict)

    def knows(self, entry: str | None) -> bool:
        """Whether the catalogue has this entry; a kept session may name one that is gone."""
        return entry is not None and entry in self.catalogue.heads

    def body(self, owner: str) -> dict[str, Any]:
        """The whole entry, or the whole family for `family:id`."""
        if owner not in self._bodies:
            if owner.startswith("family:"):
                self._bodies[owner] = self.catalogue.family(owner.removeprefix("family:"))
            else:
                self._bodies[owner] = self.catalogue.body(owner)
        return self._bodies[owner]

    def family_of(self, entry: str) -> str:
        """`family:id` of an entry."""
        return f"family:{self.catalogue.heads[entry].family}"

    def passages(self, owner: str) -> tuple[Passage, ...]:
        """The passages of an entry or family."""
        if owner not in self._passages:
            body = self.body(owner)
            cut = family_passages(body) if owner.startswith("family:") and body else []
            self._passages[owner] = tuple(cut if owner.startswith("family:") else entry_passages(body))
        return self._passages[owner]

    def resolve(self, citation: str, diagnosis: Diagnosis | None = None, paste: str = "") -> str | None:
        """The text at a place, None when there is no such place."""
        if citation.startswith("paste:"):
            lines = paste.splitlines()
            number = int(citation.removeprefix("paste:"))
            return lines[number - 1] if 0 < number <= len(lines) else None
        if citation.startswith("verdict#"):
            return _of_verdict(citation.removeprefix("verdict#"), diagnosis)
        found = _PLACE.fullmatch(citation)
        if found is not None and self._owned(found["owner"]):
            return section_text(self.body(found["owner"]), found["section"], int(found["number"] or 1))
        return _of_log(citation, diagnosis)

    def cite(self, citation: str, diagnosis: Diagnosis | None = None, paste: str = "") -> Citation:
        """A citation with its parts; KeyError for a place that is not there."""
        text = self.resolve(citation, diagnosis, paste)
        if text is None:
            raise KeyError(citation)
        cut = text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 3] + "..."
        if citation.startswith("paste:"):
            return Citation(id=citation, kind="paste", text=cut, line=int(citation.removeprefix("paste:")))
        if citation.startswith("verdict#"):
            return Citation(id=citation, kind="verdict", text=cut, section=citation.removeprefix("verdict#"))
        owner, mark, section = citation.rpartition("#")
        if mark and self._owned(owner):
            is_family = owner.startswith("family:")
            return Citation(
                id=citation, kind="family" if is_family else "entry", text=cut,
                entry=None if is_family else owner, section=section,
            )  # fmt: skip
        source, _, line = citation.rpartition(":")
        return Citation(id=citation, kind="log", text=cut, source=source, line=int(line))

    def _owned(self, owner: str) -> bool:
        if owner.startswith("family:"):
            return bool(self.catalogue.family(owner.removeprefix("family:")))
        return owner in self.catalogue.heads


def section_text(body: dict[str, Any], section: str, number: int) -> str | None:
    """The text of a section of an entry or family, by its number from 1."""
    if section == "decision":
        found = body.get("decision")
        return "; ".join(f"{key}: {found[key]}" for key in _OUTCOMES) if found else None
    if section in {"compare", "verify"}:
        found = body.get(section)
        return " ".join(f"{value}" for value in found.values() if value) if found else None
    if section in {"causes", "related"}:
        return ", ".join(body.get(section, [])) or None
    if section in _WORDS:
        return body.get(section)
    if section in {"confused_with", "affects", "collect"}:
        items = body.get(section, [])
        if not 0 < number <= len(items):
            return None
        item = items[number - 1]
        return item if isinstance(item, str) else " ".join(str(value) for value in item.values() if value)
    cut = family_passages(body) if "introduction" in body else entry_passages(body)
    return next((item.text for item in cut if item.kind == section and item.number == number), None)


def _of_verdict(part: str, diagnosis: Diagnosis | None) -> str | None:
    """A part of the verdict: `status`, `run`, `f1`, `suspects-1`, `fetch_next-2`, `candidates-1`."""
    if diagnosis is None:
        return None
    if part == "status":
        return diagnosis.status
    if part == "collectives":
        return ", ".join(f"group {item.group}" for item in diagnosis.collectives) or None
    if part == "run":
        return diagnosis.run.model_dump_json(exclude_defaults=True)
    finding = diagnosis.finding(part)
    if finding is not None:
        return finding.because or (finding.entry.title if finding.entry else "a fault that no entry covers")
    key, _, number = part.rpartition("-")
    candidates = [item for excerpt in diagnosis.unexplained for item in excerpt.candidates]
    lists = {"suspects": diagnosis.suspects, "fetch_next": diagnosis.fetch_next, "candidates": candidates}
    if key not in lists or not number.isdigit() or not 0 < int(number) <= len(lists[key]):
        return None
    item = lists[key][int(number) - 1]
    return item.model_dump_json(exclude_defaults=True)


def quoted_lines(diagnosis: Diagnosis) -> list[Line]:
    """Every line of the logs that the verdict quotes."""
    lines: list[Line] = [line for finding in diagnosis.all_findings() for line in finding.evidence]
    lines += [line for item in diagnosis.unexplained for line in item.excerpt]
    lines += [miss.line for miss in diagnosis.near_misses]
    for finding in diagnosis.all_findings():
        lines += [*finding.before, *([finding.code.at] if finding.code is not None else [])]
    lines += diagnosis.run.last_lines
    return lines


def _of_log(citation: str, diagnosis: Diagnosis | None) -> str | None:
    if diagnosis is None or _LINE.fullmatch(citation) is None:
        return None
    return next((line.text for line in quoted_lines(diagnosis) if line.place == citation), None)
