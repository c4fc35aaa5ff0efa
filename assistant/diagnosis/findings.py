"""From ordered groups to findings: evidence, places, owner, and the reasons in facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from assistant.diagnosis.attribution import MAX_EVENTS_SHOWN, certain_gap, order_is_open
from assistant.diagnosis.causes import CausalGraph
from assistant.diagnosis.events import Event, Tier
from assistant.diagnosis.exitcodes import decode_exit
from assistant.diagnosis.groups import Group, Ordered
from assistant.diagnosis.reading import Run
from assistant.logs.clock import spoken
from assistant.values import fill, fill_command, values_of
from assistant.verdict import (
    CheckStep,
    EntryRef,
    EvidenceLine,
    Finding,
    FindingRole,
    FixStep,
    Line,
    Owner,
    SetAside,
    Strength,
    VerifyStep,
)
from corpus.head import Head
from corpus.late import late
from corpus.match import Hit
from corpus.record import Record

_WORDS = late(r"(?: [A-Za-z]{1,30}){1,8}")


def entry_ref(head: Head) -> EntryRef:
    """The contract's short form of an entry."""
    return EntryRef(
        id=head.id, title=head.title, family=head.family, kind=head.kind, severity=head.severity,  # type: ignore[arg-type]
        scope=head.scope, restart=head.restart, status=head.status, reviewed=head.reviewed,  # type: ignore[arg-type]
        broad=head.broad,
    )  # fmt: skip


def strength_of(group: Group) -> Strength:
    """What may be said of a group: verified, classified, or only observed."""
    head = group.head
    if head is None:
        return "observed"
    return "verified" if head.kind == "failure" and head.status == "verified" else "classified"


class FindingBuilder:
    """Builds the findings of one run; ids are f1, f2 ... in the order of building."""

    def __init__(self, run: Run, graph: CausalGraph, names: Mapping[str, str] | None = None, before: int = 0) -> None:
        """Take the run for its lines and its catalogue, what the logs call the job for the commands, and how many findings there are."""
        self._before = before
        self._names = names or {}
        self.run = run
        self.graph = graph
        self.ids: dict[int, str] = {}
        self._exact = run.counts()
        self._kept = Counter(hit.atom for hit in run.atom_hits())

    def build(self, ordered: Ordered) -> tuple[list[Finding], list[Finding]]:
        """All findings in causal order (initiating first), and the independent ones among them."""
        sequence: list[tuple[Group, FindingRole]] = []
        if ordered.initiating is not None:
            sequence.append((ordered.initiating, "initiating"))
        sequence += [(group, "initiating") for group in ordered.independent]
        sequence += [(group, "downstream") for group in ordered.downstream]
        sequence += [(group, "recovered") for group in ordered.recovered]
        sequence += [(group, "unrelated") for group in ordered.unrelated]
        for number, (group, _) in enumerate(sequence, start=1 + self._before):
            self.ids[id(group)] = f"f{number}"
        findings = [self._finding(group, role, ordered) for group, role in sequence]
        independent = {self.ids[id(group)] for group in ordered.independent}
        return findings, [finding for finding in findings if finding.id in independent]

    def _finding(self, group: Group, role: FindingRole, ordered: Ordered) -> Finding:
        head = group.head
        body: dict[str, Any] = self.run.catalogue.body(head.id) if head is not None else {}
        explained = tuple(self.ids[id(cause)] for cause in group.explained_by if id(cause) in self.ids)
        onset = group.onset
        finding = Finding(
            id=self.ids[id(group)],
            role=role,
            strength=strength_of(group),
            set_aside=set_aside(group.first) if role == "recovered" else None,
            entry=entry_ref(head) if head is not None else None,
            owner=_owner(group),
            attempt=group.first.attempt,
            because=self._because(group, role, ordered),
            refuted_by=self._refuted_by(group, role),
            explained_by=explained if role == "downstream" else (),
            onset=onset.iso() if onset is not None else None,
            ranks=group.ranks,
            hosts=group.hosts,
            count=self._count(group),
            evidence=tuple(self.evidence(event) for event in _shown(group)),
        )
        return _with_advice(finding, body, self._names)

    def line(self, source: int, record: Record, event: Event | None = None) -> Line:
        """A record as a line of the report; the text is the whole line of the source."""
        return Line(**self._line_fields(source, record, event))

    def evidence(self, event: Event) -> EvidenceLine:
        """The line of an event with what the signature bound."""
        captures: dict[str, str] = {}
        if event.hit is not None:
            captures = {name: capture.text for name, capture in event.hit.captures.items()}
            if (reason := captures.get("reason")) is not None:
                captures["reason"] = reason + _rest_of_phrase(event.hit, reason)
        fields = self._line_fields(event.source, event.record, event)
        return EvidenceLine(**fields, signature=event.hit.signature if event.hit else None, captures=captures)

    def _line_fields(self, source: int, record: Record, event: Event | None) -> dict[str, Any]:
        moment = event.moment if event is not None else None
        shown = moment.iso() if moment is not None else None
        return {
            "source": self.run.sources[source].path,
            "line": record.number,
            "text": self.run.raw_line(source, record.number) or record.raw,
            "rank": event.rank if event is not None else record.rank,
            "host": event.host if event is not None else record.host,
            "time": shown,
            "time_inherited": shown is not None and event is not None and not event.own_time,
        }

    def _count(self, group: Group) -> int:
        atoms = {event.hit.atom for event in group.events if event.hit is not None}
        if not atoms or group.key[2] != "open":
            return len(group.events)
        kept = sum(self._kept[atom] for atom in atoms)
        exact = sum(self._exact.get(atom, 0) for atom in atoms)
        # Only what the scan did not keep is added: kept hits may belong to other groups.
        return len(group.events) + max(0, exact - kept)

    def _because(self, group: Group, role: FindingRole, ordered: Ordered) -> str:
        facts: list[str] = []
        event = group.first
        place = f"{self.run.sources[event.source].path}:{event.line}"
        if role == "unrelated":
            return (
                f"{place} lies {event.unrelated}."
                if event.unrelated[:1].isdigit()
                else f"{place}: {event.unrelated or event.unplaced}."
            )
        if role == "recovered":
            return _why_set_aside(event, place)
        if group.head is not None and event.hit is not None:
            facts.append(f"signature `{event.hit.signature}` stands at {place}")
            if group.head.broad:
                facts.append("no entry knows the message itself, only its shape")
        elif event.episode is not None and group.head is None:
            facts.append(f"{place} is the first error of its block, and no entry covers it")
        facts += event.notes
        facts += self._order_facts(group, role, ordered)
        decoded = decode_exit(event.record.message)
        if decoded:
            facts.append(decoded)
        return "; ".join(facts) + "."

    def _order_facts(self, group: Group, role: FindingRole, ordered: Ordered) -> list[str]:
        facts = []
        if role == "initiating" and group is ordered.initiating:
            facts += [
                f"nothing here tells whether {self.ids[id(other)]} ({_name(other)}) came before it"
                for other in ordered.independent
                if order_is_open(group, other)
            ]
            facts += [
                f"the other ranks had begun to wait before {self.ids[id(other)]} ({_name(other)}) began"
                for other in ordered.independent
                if other.after_wait
            ]
            effects = [other for other in ordered.downstream if group in other.explained_by]
            for other in effects[:3]:
                facts.append(self._relation(group, other))
            waited = _waited(ordered.downstream)
            if waited:
                facts.append(waited)
            if not effects and not ordered.downstream:
                facts.append("nothing else in these logs is a fault of this job")
        elif role == "initiating" and ordered.initiating is not None:
            facts.append("no edge and no time ties it to the first fault")
        elif role == "initiating" and any(other.first.attempt > group.first.attempt for other in ordered.downstream):
            facts.append(f"attempt {group.first.attempt} ended in it, and nothing ties what ended the last one to it")
        for cause in group.explained_by[:2]:
            if role == "downstream" and id(cause) in self.ids:
                facts.append(self._relation(cause, group, as_effect=True))
        if len(group.ranks) > 1:
            facts.append(f"{len(group.ranks)} ranks printed it")
        return facts

    def _relation(self, cause: Group, effect: Group, *, as_effect: bool = False) -> str:
        other = cause if as_effect else effect
        name = f"{self.ids[id(other)]} ({_name(other)})"
        gap = certain_gap(cause.onset, effect.onset, in_file=cause.first.source == effect.first.source)
        has_edge = (
            cause.head is not None and effect.head is not None and self.graph.reaches(cause.head.id, effect.head.id)
        )
        verb = ("is a known effect of" if as_effect else "is known to bring about") if has_edge else None
        if gap is not None and gap >= 0.0005:
            is_least = cause.first.source != effect.first.source and any(
                group.onset is not None and group.onset.late for group in (cause, effect)
            )
            about = "at least " if is_least else "" if cause.first.own_time and effect.first.own_time else "about "
            order = "after" if as_effect else "before"
            timing = f"began {about}{spoken(gap)} {order} {name}{_corrected(cause, effect)}"
            return f"{timing} and {verb} it" if verb else timing
        if verb:
            return f"{verb} {name}"
        if cause.first.source == effect.first.source and cause.first.line < effect.first.line:
            return f"stands {'below' if as_effect else 'above'} {name} at line {other.first.line}"
        if cause.role_rank < effect.role_rank:
            return f"usually follows a fault like {name}" if as_effect else f"usually starts what {name} only reports"
        return f"is {'weaker' if as_effect else 'stronger'} evidence than {name}"

    def _refuted_by(self, group: Group, role: FindingRole) -> str:
        if role in {"recovered", "unrelated"}:
            return ""
        event = group.first
        parts = []
        when = event.onset.iso() if event.onset is not None else None
        if role == "initiating":
            where = "on another rank or host" if len(self.run.sources) < 2 else "in a log that is not among these"
            parts.append(f"an error {where} that began before {when or f'line {event.line}'}")
            if event.kernel and event.host:
                parts.append(f"a completed step on {event.host} after it")
            elif group.ranks:
                parts.append(f"a later step by rank {group.ranks[0]}")
        else:
            parts.append(
                f"an onset before that of {', '.join(self.ids[id(c)] for c in group.explained_by) or 'any other fault'}"
            )
        return "; ".join(parts)


def _rest_of_phrase(hit: Hit, reason: str) -> str:
    """The other words of a reason that a signature ends with: of `Connection refused` it binds the first one."""
    text = hit.record.text
    rest = _WORDS.match(text, hit.end) if text[: hit.end].endswith(reason) else None
    return rest.group() if rest is not None else ""


def set_aside(event: Event) -> SetAside:
    """Why an event that is this job's, or stands in its logs, is not blamed."""
    if event.quoted:
        return "quoted"
    if event.harmless:
        return "harmless"
    if event.earlier_run or event.superseded:
        return "earlier-run"
    if event.recovered:
        return "survived"
    return "handled" if event.quiet else "only-slows"


def _why_set_aside(event: Event, place: str) -> str:
    superseded = f"Another job's log starts below {place}, and nothing in it is a fault."
    return {
        "quoted": f"{place}: {event.quoted}.",
        "harmless": f"{place} is known to be harmless: {event.harmless}",
        "earlier-run": f"{place}: {event.earlier_run}." if event.earlier_run else superseded,
        "survived": f"The job went on after {place}.",
        "handled": f"{place} was printed as a warning or handled.",
        "only-slows": f"{place} only slows a run; this one ended in something that no known edge leads to from there.",
    }[set_aside(event)]


def _with_advice(finding: Finding, body: dict[str, Any], names: Mapping[str, str]) -> Finding:
    """Add the entry's checks, fixes and exit criterion, with the values of this log in them."""
    values = values_of(finding, names=names)

    def filled(item: dict[str, Any], *keys: str) -> dict[str, Any]:
        return {
            key: fill_command(item[key], values) if key == "command" else fill(item[key], values)
            for key in keys
            if key in item
        }

    advice = {
        "checks": tuple(CheckStep(**filled(item, "step", "command", "expect")) for item in body.get("check", [])),
        "fix": tuple(FixStep(**filled(item, "step", "command", "why")) for item in body.get("fix", [])),
        "verify": VerifyStep(**filled(body["verify"], "command", "expect")) if "verify" in body else None,
    }
    return finding.model_copy(update=advice)


def _corrected(first: Group, second: Group) -> str:
    """What was done to the clocks before two onsets of different hosts were compared."""
    shifted = {group.onset.clock: group.onset.shift for group in (first, second) if group.onset and group.onset.shift}
    if not shifted or (first.onset and second.onset and first.onset.clock == second.onset.clock):
        return ""
    return ", the clock of " + " and of ".join(f"{host} put right by {-by:+.1f} s" for host, by in shifted.items())


def _shown(group: Group) -> list[Event]:
    """The deciding event, then one a rank, then repeats."""
    shown, seen = [group.first], {group.first.rank}
    for event in group.events[1:]:
        if event.rank not in seen:
            shown.append(event)
            seen.add(event.rank)
    return shown[:MAX_EVENTS_SHOWN]


def _name(group: Group) -> str:
    if group.head is not None:
        return group.head.id
    return (
        group.first.episode.error_type
        if group.first.episode and group.first.episode.error_type
        else "an uncovered error"
    )


def _waited(downstream: list[Group]) -> str:
    """How long the victims had waited, when a timeout says it."""
    for group in downstream:
        if (
            group.tier == Tier.CONSEQUENCE
            and group.first.onset != group.first.moment
            and group.first.moment is not None
        ):
            waited = group.first.moment.seconds - (group.first.onset or group.first.moment).seconds
            return f"the waiting ranks had stood still for {spoken(waited)} when they reported"
    return ""


def _owner(group: Group) -> Owner:
    head = group.head
    if head is not None and head.scope != "either":
        return head.scope  # type: ignore[return-value]
    if group.tier == Tier.EXCEPTION and group.first.episode is not None and _own_code(group.first):
        return "workload"
    return "unknown"


def _own_code(event: Event) -> bool:
    """Whether the innermost frame of a traceback is the user's own file, not an installed package."""
    episode = event.episode
    if episode is None:
        return False
    frames = [record.message for record in episode.lines if record.message.startswith('File "')]
    return (
        bool(frames)
        and "site-packages" not in frames[-1]
        and "dist-packages" not in frames[-1]
        and "/lib/python" not in frames[-1]
    )
