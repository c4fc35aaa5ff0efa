"""The result of a diagnosis: the JSON contract `firstfault.diagnosis/1`.

Every report format and every face of the program reads these objects. They are
frozen; key order is the order of the fields. `assistant/schema/diagnosis-1.json`
is generated from them by `schema_text`. A key that is renamed or dropped makes
a new contract number, a key that is added does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA: Final = "firstfault.diagnosis/1"
SCHEMA_PATH: Final = Path(__file__).parent / "schema" / "diagnosis-1.json"

VerdictStatus = Literal[
    "identified", "classified", "unexplained", "symptom-only", "degraded", "inconclusive", "healthy"
]
FindingRole = Literal["initiating", "downstream", "recovered", "unrelated"]
Strength = Literal["verified", "classified", "observed"]
SetAside = Literal["survived", "handled", "only-slows", "earlier-run", "harmless", "quoted"]
Owner = Literal["workload", "node", "platform", "unknown"]
SuspectReason = Literal[
    "absent", "silent", "never-entered", "other-collective", "size-mismatch", "busy", "unplaced-event", "exited-first"
]
Phase = Literal["import", "load", "rendezvous", "compile", "step", "evaluate", "save", "teardown"]

# The same sets as in corpus.model, which is too slow to import on the way to a verdict; a test compares them.
EntryKind = Literal["failure", "class", "wrapper"]
EntryStatus = Literal["draft", "verified", "retired"]
Severity = Literal["low", "medium", "high", "critical"]
Scope = Literal["workload", "node", "platform", "either"]
Restart = Literal["safe", "after-fix", "other-node", "never"]


class Part(BaseModel):
    """Base of all parts of a verdict: immutable, unknown keys refused, keys as in the contract."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,  # a verdict needs some of these classes; building all of them costs 15 ms
        json_schema_serialization_defaults_required=True,
    )


class EntryRef(Part):
    """What a reader needs to know of an entry without opening it."""

    id: str
    title: str
    family: str
    kind: EntryKind = "failure"
    severity: Severity = "high"
    scope: Scope = "either"
    restart: Restart = "after-fix"
    status: EntryStatus = "verified"
    reviewed: str | None = None
    """ISO date of the last review."""
    broad: bool = False
    """True for a class that knows only the shape of a message: two different faults may have it."""


class Line(Part):
    """One line of one source, as it stands there after decoding."""

    source: str
    line: int
    """1-based, in the decompressed source."""
    text: str
    rank: int | None = None
    host: str | None = None
    time: str | None = None
    """ISO 8601."""
    time_inherited: bool = False
    """True where the line gives no time itself; `time` is then that of the last stamped line above it."""

    @property
    def place(self) -> str:
        """The place as `file:line`, which editors and terminals can open."""
        return f"{self.source}:{self.line}"


class EvidenceLine(Line):
    """A line that a signature matched, with the values it bound."""

    signature: str | None = None
    """Name of the signature in its entry; null where no entry covers the line, or where its numbers decide."""
    captures: dict[str, str] = {}


class CodeFrame(Part):
    """A call of the reader's own code that a traceback names: neither a library's nor the interpreter's."""

    file: str
    """As the traceback prints it."""
    line: int
    """1-based, in that file."""
    function: str = ""
    code: str = ""
    """The line of code, where the traceback shows it."""
    at: Line
    """The line of the log that names it."""

    @property
    def place(self) -> str:
        """The place as `file:line`, which editors can open."""
        return f"{self.file}:{self.line}"


class CheckStep(Part):
    """One step that confirms a finding."""

    step: str
    command: str | None = None
    expect: str = ""


class FixStep(Part):
    """One step of the cure."""

    step: str
    command: str | None = None
    why: str = ""


class VerifyStep(Part):
    """Proof that the fix holds."""

    command: str | None = None
    expect: str


class Finding(Part):
    """An entry, or an episode no entry covers, with its evidence and its part in the story."""

    id: str
    role: FindingRole
    strength: Strength
    set_aside: SetAside | None = None
    """Why a finding of the role `recovered` is not blamed: the job went on after it, the program dealt with it, it only
    slows, an earlier run had it, it is known to be harmless, or its text is only quoted. Null for the other roles."""
    entry: EntryRef | None = None
    owner: Owner = "unknown"
    attempt: int = 1
    because: str = ""
    refuted_by: str = ""
    explained_by: tuple[str, ...] = ()
    """Ids of the findings that brought this one about."""
    onset: str | None = None
    """ISO 8601; when it began, which for a timeout is long before it was printed."""
    ranks: tuple[int, ...] = ()
    """Empty means unknown."""
    hosts: tuple[str, ...] = ()
    count: int = 1
    evidence: tuple[EvidenceLine, ...] = ()
    """The first one is the line that decides."""
    code: CodeFrame | None = None
    """The deepest call of the reader's own code in the traceback of the deciding line."""
    before: tuple[Line, ...] = ()
    """Of the first fault: the last lines of the same process before it, in order."""
    checks: tuple[CheckStep, ...] = ()
    fix: tuple[FixStep, ...] = ()
    verify: VerifyStep | None = None


class Candidate(Part):
    """An entry that retrieval proposes for an unexplained excerpt, and why it is not verified."""

    entry: EntryRef
    score: float = 0.0
    channels: dict[str, int] = {}
    """Rank of the entry in each channel that found it."""
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""


class Unexplained(Part):
    """An excerpt that no entry explains, with the nearest entries."""

    excerpt: tuple[Line, ...]
    candidates: tuple[Candidate, ...] = ()


class NearMiss(Part):
    """A line that almost carries a signature."""

    entry: EntryRef
    line: Line
    signature: str
    reason: str


class Suspect(Part):
    """A rank or host where the cause probably lies although nothing proves it."""

    rank: int | None = None
    host: str | None = None
    reason: SuspectReason
    because: str = ""
    finding: str | None = None
    """Id of the finding that an event without a comparable time is; reports show it here and not as unrelated."""


class FetchNext(Part):
    """A log that would decide, and how to get it."""

    what: str
    command: str | None = None
    why: str = ""


class Attempt(Part):
    """One start of the job, and the id of the finding that ended it."""

    n: int
    initiating: str | None = None


class RunInfo(Part):
    """Facts about the run that the logs give away."""

    world_size: int | None = None
    ranks_seen: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    last_step: int | None = None
    phase: Phase | None = None
    completed: bool = False
    first_time: str | None = None
    last_time: str | None = None
    versions: dict[str, str] = {}
    skew_s: dict[str, float] = {}
    """Seconds by which the clock of a host is ahead of the others."""
    skew_error_s: dict[str, float] = {}
    """How far each of these may be wrong: the spread of the events that both hosts saw."""
    names: dict[str, str] = {}
    """What the logs call the job and its place (`jobid`, `pod`, `namespace`, `container`, `node`, `host`); only what is
    named and is the only one of its kind. Commands are filled with these."""
    last_lines: tuple[Line, ...] = ()
    """Where nothing tells why the run ended: its last step and the last lines of its logs."""
    sampled: tuple[str, ...] = ()
    """Names of the fields here that rest on a sample of the lines."""


class CollectiveRank(Part):
    """Where one rank stands in a collective."""

    rank: int
    op: str | None = None
    numel: int | None = None
    enqueued: int | None = None
    completed: int | None = None
    state: str = ""


class CollectiveGroup(Part):
    """A collective that did not complete, rank by rank."""

    group: str
    seq: int | None = None
    ranks: tuple[CollectiveRank, ...] = ()


class SourceInfo(Part):
    """One input, and what was wrong with it."""

    path: str
    bytes: int = 0
    lines: int = 0
    rank: int | None = None
    host: str | None = None
    encoding: str = "utf-8"
    problems: tuple[str, ...] = ()


class NewLine(Part):
    """A line of the failed run whose like the good run never printed; the first of a block of such lines."""

    line: Line
    count: int = 1
    """How often its like stands in the failed run."""
    lines: int = 1
    """New lines in a row that begin here."""


class Baseline(Part):
    """The failed run beside one that went well."""

    paths: tuple[str, ...]
    lines: int = 0
    """Lines of the good run."""
    templates: int = 0
    """Different ones among them, numbers and names aside."""
    new: tuple[NewLine, ...] = ()
    """In order of source and line; the first few hundred."""
    new_total: int = 0
    last_common: Line | None = None
    """The step of the failed run that the good one has as well and that it reached last."""
    went_on: tuple[Line, ...] = ()
    """How the good run went on from there; the failed one has none of it."""
    sampled: bool = False
    """True when there were more different lines than are compared."""


class CorpusInfo(Part):
    """Which knowledge the verdict rests on."""

    digest: str = ""
    entries: int = 0
    overlays: tuple[str, ...] = ()
    """Directories layered over the bundled corpus."""


class Diagnosis(Part):
    """The verdict on a run: what came first, what followed, and what stays open."""

    schema_: Annotated[Literal["firstfault.diagnosis/1"], Field(alias="schema")] = SCHEMA
    version: str = ""
    corpus: CorpusInfo = CorpusInfo()
    status: VerdictStatus
    initiating: Finding | None = None
    independent: tuple[Finding, ...] = ()
    findings: tuple[Finding, ...] = ()
    """All of them in causal order, the initiating one first."""
    unexplained: tuple[Unexplained, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    fetch_next: tuple[FetchNext, ...] = ()
    warnings: tuple[str, ...] = ()
    run: RunInfo = RunInfo()
    collectives: tuple[CollectiveGroup, ...] = ()
    sources: tuple[SourceInfo, ...] = ()
    baseline: Baseline | None = None
    """Present when a run that went well was named."""
    timings_ms: dict[str, float] = {}

    def finding(self, finding_id: str) -> Finding | None:
        """The finding with this id, wherever it stands."""
        return next((finding for finding in self.all_findings() if finding.id == finding_id), None)

    def all_findings(self) -> Iterator[Finding]:
        """Every finding once: the ordered ones, then those listed only elsewhere."""
        seen: set[str] = set()
        first = (self.initiating,) if self.initiating else ()
        for finding in (*self.findings, *first, *self.independent):
            if finding.id not in seen:
                seen.add(finding.id)
                yield finding


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the contract, in the form in which a diagnosis is written."""
    schema = Diagnosis.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA, **schema}


def schema_text() -> str:
    """The committed form of `json_schema`; `python -m assistant.schema` writes it."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
