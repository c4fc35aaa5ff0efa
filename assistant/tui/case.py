"""A verdict with its knowledge, seen from one finding or entry: what every part of the screen shows.

Nothing here draws; nothing here knows of textual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from assistant.reports._words import Clock
from assistant.values import fill, fill_command, values_of
from assistant.verdict import Candidate, Diagnosis, EvidenceLine, Finding, Line

if TYPE_CHECKING:
    from assistant.diagnosis.pipeline import Outcome
    from corpus.catalogue import Catalogue
    from corpus.head import Head

CONTEXT: Final = 200
"""Lines kept around an evidence line for reading."""
ROLES: Final = ("initiating", "downstream", "recovered", "unrelated")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a checklist or of a cure, with the user's values in it."""

    key: str
    """The place it is cited by, `entry#check-2`."""
    number: int
    step: str
    command: str = ""
    expect: str = ""
    why: str = ""
    undo: str = ""
    is_family: bool = False
    """Whether it holds for the whole family and is not judged by the entry."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entry one may walk to."""

    entry: str
    title: str
    note: str = ""
    is_found: bool = False
    """Whether the verdict has it too."""


@dataclass(frozen=True, slots=True)
class Near:
    """An entry that was considered and not verified, with its ticks."""

    entry: str
    title: str
    place: str
    text: str
    matched: tuple[str, ...]
    missing: tuple[str, ...]
    reason: str
    expected: str = ""


@dataclass
class Case:
    """One diagnosis, its sources' lines and the catalogue it rests on."""

    diagnosis: Diagnosis
    catalogue: Catalogue
    outcome: Outcome | None = None
    name: str = ""
    """What was read, in a word or two."""
    clock: Clock = field(init=False)
    done: set[str] = field(default_factory=set)
    """Checks that were ticked by hand."""
    judged: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Checks that output has decided: by key, what it says and the deciding line."""

    def __post_init__(self) -> None:
        self.clock = Clock(self.diagnosis)

    def findings(self) -> list[Finding]:
        """All findings, the first fault on top, what is no part of the chain last."""
        return sorted(self.diagnosis.all_findings(), key=lambda finding: ROLES.index(finding.role))

    def lead(self) -> Finding | None:
        """The finding to open with: the first fault, else the most telling consequence."""
        first = self.diagnosis.initiating
        covered = [finding for finding in self.findings() if finding.entry is not None and finding.checks]
        return first or next(iter(covered), None) or next(iter(self.findings()), None)

    def lines_around(self, line: Line, count: int = CONTEXT) -> list[tuple[int, str]]:
        """The kept lines around a line, the line itself at least."""
        found: list[tuple[int, str]] = []
        if self.outcome is not None and line.source in self.outcome.run.paths:
            found = self.outcome.lines_around(line.source, line.line, count)
        return found if any(number == line.line for number, _ in found) else [(line.line, line.text)]

    def near(self) -> Iterator[Near]:
        """Everything that was considered and not verified: near misses, then candidates of what is unexplained."""
        for miss in self.diagnosis.near_misses:
            yield Near(
                miss.entry.id, miss.entry.title, miss.line.place, miss.line.text, (), (), miss.reason,
                self.expected(miss.entry.id, miss.signature),
            )  # fmt: skip
        for item in self.diagnosis.unexplained:
            for candidate in item.candidates:
                yield self._near(item.excerpt, candidate)

    def _near(self, excerpt: Sequence[Line], candidate: Candidate) -> Near:
        first = excerpt[0] if excerpt else None
        return Near(
            candidate.entry.id,
            candidate.entry.title,
            first.place if first else "",
            first.text if first else "",
            candidate.matched,
            candidate.missing,
            candidate.reason,
        )

    def expected(self, entry: str, signature: str | None) -> str:
        """The text that an entry expects, as it writes it."""
        head = self.catalogue.heads.get(entry)
        signatures = head.signatures if head is not None else ()
        return "\n".join(next((item.texts for item in signatures if item.name == signature), ()))

    def dossier(self, *, finding: str | None = None, entry: str | None = None) -> Dossier:
        """The view from a finding, or from an entry alone."""
        found = self.diagnosis.finding(finding) if finding else None
        if found is None and entry is not None:
            found = self.finding_of(entry)
        key = entry or (found.entry.id if found is not None and found.entry is not None else None)
        return Dossier(self, found, key if key in self.catalogue.heads else None)

    def finding_of(self, entry: str) -> Finding | None:
        """The finding that shows an entry, the first one where several do."""
        return next((item for item in self.findings() if item.entry is not None and item.entry.id == entry), None)


class Dossier:
    """All that is known from the point of view of one finding or entry; bodies are read at first need."""

    def __init__(self, case: Case, finding: Finding | None, entry: str | None) -> None:
        self.case = case
        self.finding = finding
        self.entry = entry
        self.values = values_of(finding, case.diagnosis) if finding is not None else {}
        self._body: dict[str, Any] | None = None
        self._family: dict[str, Any] | None = None

    @property
    def head(self) -> Head | None:
        """The entry without its prose."""
        return self.case.catalogue.heads.get(self.entry) if self.entry else None

    @property
    def body(self) -> dict[str, Any]:
        """The whole entry, empty where no entry covers the finding."""
        if self._body is None:
            self._body = self.case.catalogue.body(self.entry) if self.entry else {}
        return self._body

    @property
    def family(self) -> dict[str, Any]:
        """What holds for the whole family."""
        if self._family is None:
            self._family = self.case.catalogue.family(self.body["family"]) if self.body else {}
        return self._family

    def filled(self, text: str | None) -> str:
        """Prose with the user's values in it."""
        return fill(text or "", self.values)

    def checks(self) -> list[Step]:
        """The confirm checklist, then the checks that hold for the whole family."""
        own = [self._step("check", number, item) for number, item in enumerate(self.body.get("check", ()), 1)]
        if not self.body and self.finding is not None:
            own = [self._step("check", number, item.model_dump()) for number, item in enumerate(self.finding.checks, 1)]
        shared = [
            self._step("check", number, item, is_family=True)
            for number, item in enumerate(self.family.get("check", ()), 1)
        ]
        return own + shared

    def fixes(self) -> list[Step]:
        """The steps of the cure."""
        return [self._step("fix", number, item) for number, item in enumerate(self.body.get("fix", ()), 1)]

    def _step(self, section: str, number: int, item: dict[str, Any], *, is_family: bool = False) -> Step:
        owner = f"family:{self.body['family']}" if is_family else self.entry or "finding"
        return Step(
            f"{owner}#{section}-{number}",
            number,
            self.filled(item["step"]),
            fill_command(item.get("command") or "", self.values),
            self.filled(item.get("expect")),
            self.filled(item.get("why")),
            self.filled(item.get("undo")),
            is_family,
        )

    def faq(self) -> list[tuple[str, str]]:
        """Questions and answers of the entry, then of its family."""
        items = [*self.body.get("faq", ()), *self.family.get("faq", ())]
        return [(self.filled(item["q"]), self.filled(item["a"])) for item in items]

    def evidence(self) -> tuple[EvidenceLine, ...]:
        """The lines that prove it."""
        return self.finding.evidence if self.finding is not None else ()

    def expected(self, line: EvidenceLine) -> str:
        """The text of the signature that a line carries."""
        return self.case.expected(self.entry, line.signature) if self.entry else ""

    def near(self) -> list[Near]:
        """What was considered and not verified."""
        return list(self.case.near())

    def neighbours(self) -> list[tuple[str, list[Neighbour]]]:
        """The graph around the entry: effects, causes, further reading, look-alikes with what tells them apart."""
        head = self.head
        if head is None:
            return []
        heads = self.case.catalogue.heads
        above = sorted(other.id for other in heads.values() if head.id in other.causes)
        alike = {item["id"]: item["tell"] for item in self.body.get("confused_with", ())}
        for other in heads.values():
            if head.id in other.confused_with:
                alike.setdefault(other.id, "")
        groups = [
            ("brought about by", [(key, "") for key in above]),
            ("brings about", [(key, "") for key in head.causes]),
            ("looks like", list(alike.items())),
            ("related", [(key, "") for key in head.related]),
        ]
        return [
            (label, found)
            for label, pairs in groups
            if (found := [self._neighbour(*pair) for pair in pairs if pair[0] in heads])
        ]

    def _neighbour(self, key: str, note: str) -> Neighbour:
        head = self.case.catalogue.heads[key]
        return Neighbour(key, head.title, self.filled(note), self.case.finding_of(key) is not None)
