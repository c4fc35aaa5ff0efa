"""The schema of the knowledge: one pydantic model per table of an entry file.

Design section 4 is the source of every field. The models are strict (unknown
keys are refused, types are not coerced), frozen, and describe only shape; the
rules that need other entries or other files are coded lints in `corpus.lint`.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

SCHEMA_VERSION = 1

FAMILIES = (
    "accelerator-hardware",
    "interconnect",
    "collectives",
    "driver-runtime",
    "memory",
    "compiler-kernels",
    "framework-config",
    "launch-rendezvous",
    "scheduler-platform",
    "host-os",
    "data-input",
    "checkpoint-storage",
    "numerics",
    "serving-inference",
    "environment-packaging",
)

Kind = Literal["failure", "class", "wrapper"]
Status = Literal["draft", "verified", "retired"]
Depth = Literal["full", "brief"]
Severity = Literal["low", "medium", "high", "critical"]
Role = Literal["initiating", "downstream", "either"]
Scope = Literal["workload", "node", "platform", "either"]
Restart = Literal["safe", "after-fix", "other-node", "never"]
Says = Literal["confirms", "clears", "nothing"]

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
EntryId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+){0,8}$", max_length=60)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]


class Table(BaseModel):
    """Base of all tables: unknown keys refused, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Table):
    """Where a literal is printed: repository, artifact, two public logs, or a specification."""

    repo: Text | None = None
    path: Text | None = None
    commit: Commit | None = None
    artifact: Text | None = None
    urls: tuple[Text, ...] = ()
    spec: Text | None = None
    note: Text | None = None
    """What the place contributes when a string is assembled at run time."""

    @model_validator(mode="after")
    def _one_form(self) -> Source:
        forms = [self.repo, self.artifact, self.urls or None, self.spec]
        if sum(form is not None for form in forms) != 1:
            raise ValueError("a source is exactly one of repo, artifact, urls, spec")
        if self.repo is not None and self.path is None:
            raise ValueError("a source with repo needs the path of the file that prints the text")
        if self.urls and len(self.urls) < 2:
            raise ValueError("a source with urls needs two independent public logs")
        return self


def _listed_source(data: object) -> object:
    """A single source, which may be written as a table, as a list of one."""
    if isinstance(data, dict) and isinstance(data.get("source"), dict):
        return {**data, "source": (data["source"],)}
    return data


class Context(Table):
    """A literal that must (or must not) stand near a hit."""

    text: Text
    within: Annotated[int, Field(ge=1, le=400)] | Literal["source", "run"] = "source"
    """Distance in lines (both directions), or the whole source, or all sources of the run."""
    same: Literal["rank", "pid", "source"] | None = None


class Signature(Table):
    """Literal text with typed placeholders that a program prints (design section 5)."""

    name: Name
    text: str | None = None
    lines: tuple[str, ...] = ()
    within: Annotated[int, Field(ge=1, le=50)] | None = None
    source: tuple[Source, ...]
    since: Text | None = None
    until: Text | None = None
    requires: tuple[Context, ...] = ()
    excludes: tuple[Context, ...] = ()
    tier: Literal["scan", "candidate"] = "scan"
    min_count: Annotated[int, Field(ge=1)] = 1
    unbroken: bool = False
    cleared_by: str | None = None
    level: tuple[str, ...] = ()
    aligned: bool = False

    @model_validator(mode="before")
    @classmethod
    def _source_list(cls, data: object) -> object:
        return _listed_source(data)

    @model_validator(mode="after")
    def _one_text(self) -> Signature:
        if (self.text is None) == (not self.lines):
            raise ValueError("a signature has either text or lines")
        if self.lines and (len(self.lines) < 2 or self.within is None):
            raise ValueError("lines needs at least two texts and `within`, the distance in lines")
        if not self.source:
            raise ValueError("a signature names at least one source")
        return self


class Verify(Table):
    """Proof that the fix holds: the exit criterion."""

    command: Text | None = None
    expect: Text


class Decision(Table):
    """One known-good control and what its outcomes mean."""

    control: Text
    follows_workload: Text
    follows_node: Text
    gone: Text


class Confusion(Table):
    """A look-alike and what tells the two apart."""

    id: EntryId
    tell: Text


class Symptom(Table):
    """Something seen and what it means for this failure."""

    seen: Text
    means: Text


class Sample(Table):
    """Output of a check's command in its true form, with what the conditions say of it."""

    text: str
    says: Says


class Check(Table):
    """One step of the confirm checklist; the conditions judge pasted output."""

    step: Text
    command: Text | None = None
    expect: Text
    confirms: tuple[Text, ...] = ()
    clears: tuple[Text, ...] = ()
    sample: tuple[Sample, ...] = ()


class Fix(Table):
    """One step of the cure."""

    step: Text
    command: Text | None = None
    why: Text
    undo: Text | None = None


class Stack(Table):
    """What differs under one framework, launcher or platform."""

    stack: Text
    advice: Text


class Compare(Table):
    """What happens with the fix, and when one only retries."""

    with_fix: Text
    without_fix: Text


class Faq(Table):
    """A question that on-call engineers ask, and its answer for this failure."""

    q: Text
    a: Text


class Reference(Table):
    """A page worth reading."""

    title: Text
    url: Annotated[str, StringConstraints(pattern=r"^https?://\S+$")]


class LogCase(Table):
    """A log excerpt and the signatures that fire on it (none, with the reason why)."""

    name: Text
    fires: tuple[Name, ...]
    why: Text | None = None
    also_fires: tuple[EntryId, ...] = ()
    text: str

    @model_validator(mode="after")
    def _quiet_has_reason(self) -> LogCase:
        if not self.fires and self.why is None:
            raise ValueError("a quiet log (fires = []) says why it must stay quiet")
        return self


class Entry(Table):
    """One failure of the taxonomy."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    id: EntryId
    title: Text
    aliases: tuple[EntryId, ...] = ()
    family: Text
    component: Text
    kind: Kind
    broad: bool = False
    """Class entries: it names the shape of a message, and gives way to every other entry on the line."""
    status: Status
    replaced_by: EntryId | None = None
    depth: Depth
    reviewed: datetime.date
    severity: Severity
    role: Role
    scope: Scope
    restart: Restart
    tags: tuple[Text, ...] = ()
    asks: tuple[Text, ...] = ()
    summary: Text
    mechanism: Text
    observe: tuple[Text, ...] = ()
    affects: tuple[Text, ...] = ()
    causes: tuple[EntryId, ...] = ()
    related: tuple[EntryId, ...] = ()
    prevent: tuple[Text, ...] = ()
    recovery: Text | None = None
    escalate: Text | None = None
    narrows: tuple[Text, ...] = ()
    """Kinds class and wrapper: what narrows it, or where the real cause was written."""
    signature: tuple[Signature, ...] = ()
    verify: Verify | None = None
    decision: Decision | None = None
    confused_with: tuple[Confusion, ...] = ()
    symptom: tuple[Symptom, ...] = ()
    check: tuple[Check, ...] = ()
    fix: tuple[Fix, ...] = ()
    stack: tuple[Stack, ...] = ()
    compare: Compare | None = None
    faq: tuple[Faq, ...] = ()
    reference: tuple[Reference, ...] = ()
    log: tuple[LogCase, ...] = ()

    @model_validator(mode="after")
    def _broad_is_a_class(self) -> Entry:
        if self.broad and self.kind != "class":
            raise ValueError("only an entry of kind class is broad")
        return self


class Collect(Table):
    """Something to save before a restart destroys it."""

    what: Text
    command: Text | None = None
    why: Text


class Family(Table):
    """What holds for every entry of a family, so that no entry repeats it."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    id: Text
    title: Text
    introduction: Text
    collect: tuple[Collect, ...] = ()
    check: tuple[Check, ...] = ()
    faq: tuple[Faq, ...] = ()


class HarmlessLine(Table):
    """A line that looks like an error and is known to be none."""

    text: str
    """In the signature language, as the text of a signature."""
    why: Text
    """One sentence: what it means, and when it would matter."""
    source: tuple[Source, ...]
    unless: str | None = None
    """A text that makes the line count after all, if it stands within `within` lines."""
    within: Annotated[int, Field(ge=1, le=400)] = 20
    """Distance of `unless`, in lines, in both directions."""
    allows: tuple[EntryId, ...] = ()
    """Entries of kind class or wrapper whose hits on this line may be quieted."""
    sample: str | None = None
    """The line as the software really printed it."""

    @model_validator(mode="before")
    @classmethod
    def _source_list(cls, data: object) -> object:
        return _listed_source(data)

    @model_validator(mode="after")
    def _complete(self) -> HarmlessLine:
        if not self.source:
            raise ValueError("a harmless line names at least one source")
        if self.unless is None and "within" in self.model_fields_set:
            raise ValueError("`within` is the distance of `unless`, which is missing")
        return self


class HarmlessFile(Table):
    """harmless.toml: what looks like an error in healthy logs."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    line: tuple[HarmlessLine, ...]


class Incident(Table):
    """A whole crashed-job log and the verdict expected of it."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    title: Text
    sources: tuple[Text, ...]
    status: Literal["identified", "classified", "unexplained", "symptom-only", "degraded", "inconclusive", "healthy"]
    initiating: EntryId | None = None
    line: Text | None = None
    rank: int | None = None
    host: Text | None = None
    downstream: tuple[EntryId, ...] = ()
    unrelated: tuple[EntryId, ...] = ()
    suspects: tuple[int, ...] = ()
    why: Text
