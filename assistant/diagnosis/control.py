"""Two runs that differ in one thing: does the first fault follow the workload, the node, or is it gone?

The oldest experiment there is: keep everything but one thing, run again. What
the outcome means depends on what was changed, and two runs prove less than one
would like; both are said.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.comparison import Changed, Control, Outcome, Side
from assistant.diagnosis.templates import template_of
from assistant.values import fill, fill_command, values_of
from assistant.verdict import Diagnosis, Finding, VerifyStep
from corpus.catalogue import Catalogue

_MEANINGS = {"follows-workload": "follows_workload", "follows-node": "follows_node", "gone": "gone"}
_WHAT = {
    "node": "the node was changed",
    "input": "the input was changed",
    "config": "the configuration was changed",
    "fix": "the fix was applied",
    "nothing": "nothing was changed",
    "unknown": "the logs do not tell what was changed",
}


@dataclass(frozen=True)
class _Judged:
    outcome: Outcome
    because: str


def compare_runs(
    before: Diagnosis,
    after: Diagnosis,
    catalogue: Catalogue,
    *,
    before_paths: Sequence[str],
    after_paths: Sequence[str],
    changed: Changed | None = None,
    version: str = "",
) -> Control:
    """What became of the first fault of `before` in `after`; what was changed is read off the hosts when not said."""
    what = changed or _guess(before, after)
    first = before.initiating
    judged = _judge(before, after, what)
    body = catalogue.body(first.entry.id) if first is not None and first.entry is not None else {}
    values = values_of(first, before) if first is not None else {}
    decision = body.get("decision") or {}
    meaning = fill(decision.get(_MEANINGS.get(judged.outcome, ""), ""), values)
    verify = body.get("verify")
    return Control(
        version=version,
        outcome=judged.outcome,
        changed=what,
        because=judged.because,
        experiment=fill(decision.get("control", ""), values) if meaning else "",
        meaning=meaning,
        not_proved=(
            *(_unnamed(before_paths, after_paths) if what == "unknown" and first is not None else ()),
            *_not_proved(before, after, what, judged.outcome, guessed=changed is None),
        ),
        criterion=VerifyStep(
            command=fill_command(verify.get("command") or "", values) or None, expect=fill(verify["expect"], values)
        )
        if verify
        else None,
        before=_side(before, before_paths),
        after=_side(after, after_paths),
    )


def _side(diagnosis: Diagnosis, paths: Sequence[str]) -> Side:
    first = diagnosis.initiating
    return Side(
        paths=tuple(paths),
        status=diagnosis.status,
        entry=first.entry if first else None,
        fault=first.evidence[0] if first and first.evidence else None,
        ranks=first.ranks if first else (),
        fault_hosts=first.hosts if first else (),
        hosts=diagnosis.run.hosts,
        last_step=diagnosis.run.last_step,
        completed=diagnosis.run.completed,
    )


def _guess(before: Diagnosis, after: Diagnosis) -> Changed:
    """Another node where the logs name hosts and share none; else nobody can tell.

    Runs of another size, and a fault that is of the workload by its entry, are no experiment with a node.
    """
    ours, theirs = set(before.run.hosts), set(after.run.hosts)
    sizes = {run.world_size for run in (before.run, after.run) if run.world_size is not None}
    if len(sizes) > 1 or (before.initiating is not None and before.initiating.owner == "workload"):
        return "unknown"
    return "node" if ours and theirs and not ours & theirs else "unknown"


def _judge(before: Diagnosis, after: Diagnosis, what: Changed) -> _Judged:
    first = before.initiating
    if first is None:
        return _Judged(
            "undecided", f"BEFORE is {before.status} and names no first fault, so there is nothing to look for"
        )
    again = next((finding for finding in after.all_findings() if _same(first, finding)), None)
    if again is not None and again.role != "unrelated":
        return _came_back(first, again, after, what)
    if after.initiating is not None:
        return _another(first, before, after)
    if not _went_past(before, after):
        return _Judged("undecided", f"AFTER has no fault of this kind, but {_short_of(before, after)}")
    outcome: Outcome = {"node": "follows-node", "input": "follows-workload", "config": "follows-workload"}.get(  # type: ignore[assignment]
        what, "gone"
    )
    return _Judged(outcome, f"{_name(first)} is not in AFTER, which {_reached(after)}; {_WHAT[what]}")


def _came_back(first: Finding, again: Finding, after: Diagnosis, what: Changed) -> _Judged:
    place = again.evidence[0].place if again.evidence else "AFTER"
    there = f"the same fault stands at {place}"
    if again.role == "recovered":
        there += ", and AFTER outlived it"
    elif after.initiating is not None and again.id != after.initiating.id and again.role == "downstream":
        there += f", there as a consequence of {_name(after.initiating)}"
    shared = set(first.hosts) & set(again.hosts)
    if what == "node":
        if shared:
            return _Judged("repeats", f"{there}, but on {', '.join(sorted(shared))} again: the node was not changed")
        if not first.hosts or not again.hosts:
            return _Judged("follows-workload", f"{there}, although the node was changed; the logs do not name both")
        moved = f"{', '.join(first.hosts)} and then {', '.join(again.hosts)}"
        return _Judged("follows-workload", f"{there}; it was on {moved}")
    if what in {"input", "config"}:
        if first.hosts and again.hosts and not shared:
            return _Judged("undecided", f"{there}, but on another node too: two things were changed")
        return _Judged("follows-node", f"{there}, although {_WHAT[what]}")
    if what == "fix":
        return _Judged("repeats", f"{there}: the fix did not hold, or was not in force")
    return _Judged("repeats", there)


def _another(first: Finding, before: Diagnosis, after: Diagnosis) -> _Judged:
    other = after.initiating
    assert other is not None
    place = other.evidence[0].place if other.evidence else "AFTER"
    if _went_past(before, after):
        return _Judged(
            "other-fault", f"{_name(first)} is not in AFTER, which went past it and ended in {_name(other)} ({place})"
        )
    return _Judged(
        "undecided", f"AFTER ended in another fault, {_name(other)} ({place}), and {_short_of(before, after)}"
    )


def _same(first: Finding, other: Finding) -> bool:
    """The same entry; where none knows the message itself, the same template."""
    ours, theirs = _known(first), _known(other)
    if ours is not None or theirs is not None:
        return ours == theirs
    if not first.evidence or not other.evidence:
        return False
    return template_of(first.evidence[0].text) == template_of(other.evidence[0].text)


def _known(finding: Finding) -> str | None:
    """The entry that knows the message; many faults have one shape, so a broad class tells none from another."""
    return finding.entry.id if finding.entry is not None and not finding.entry.broad else None


def _went_past(before: Diagnosis, after: Diagnosis) -> bool:
    """Whether the second run lived beyond the point at which the first one failed."""
    ours, theirs = before.run.last_step, after.run.last_step
    if ours is None or theirs is None:
        return after.run.completed
    return theirs >= ours if after.run.completed else theirs > ours


def _reached(after: Diagnosis) -> str:
    if after.run.completed:
        return "completed"
    return f"went on to step {after.run.last_step}"


def _short_of(before: Diagnosis, after: Diagnosis) -> str:
    ours, theirs = before.run.last_step, after.run.last_step
    if ours is None or theirs is None:
        return "nothing in it shows that it came as far as BEFORE did"
    return f"it came to step {theirs} only, and BEFORE failed after step {ours}"


def _name(finding: Finding) -> str:
    if finding.entry is not None:
        return finding.entry.id
    return f"`{finding.evidence[0].text.strip()[:80]}`" if finding.evidence else finding.id


def _unnamed(before_paths: Sequence[str], after_paths: Sequence[str]) -> list[str]:
    """What is open as long as nobody says what was changed, and how to say it."""
    paths = " ".join(map(shlex.quote, (*before_paths, *after_paths)))
    return [
        "Whether it follows the workload or stays with the node depends on the one thing that you changed. Name it: "
        f"`firstfault control {paths} --changed node` (or input, config, fix, nothing)."
    ]


def _not_proved(before: Diagnosis, after: Diagnosis, what: Changed, outcome: Outcome, *, guessed: bool) -> list[str]:
    notes: list[str] = []
    first = before.initiating
    if first is None:
        return notes
    if guessed and what == "node":
        moved = f"{', '.join(before.run.hosts[:3])} and {', '.join(after.run.hosts[:3])}"
        notes.append(f"That only the node was changed is read off the host names ({moved}); --changed says otherwise.")
    if what not in {"node", "unknown"} and before.run.hosts and after.run.hosts:
        moved_to = set(after.run.hosts) - set(before.run.hosts)
        if moved_to:
            notes.append(f"The nodes differ as well ({', '.join(sorted(moved_to)[:3])}), so two things were changed.")
    if outcome in {"gone", "follows-node", "follows-workload"} and after.initiating is None:
        notes.append("One clean run does not exclude a fault that comes and goes: repeat BEFORE unchanged once.")
    if outcome == "follows-node" and what == "node" and first.ranks and not first.hosts:
        notes.append("BEFORE does not say on which node the fault was.")
    if after.status == "inconclusive":
        notes.append("AFTER just ends; nothing proves that it finished.")
    if first.strength != "verified":
        notes.append(f"The first fault of BEFORE is {first.strength}, not verified.")
    if before.run.world_size and after.run.world_size and before.run.world_size != after.run.world_size:
        notes.append(f"The world sizes differ ({before.run.world_size} and {after.run.world_size}).")
    for name in sorted(set(before.run.versions) & set(after.run.versions)):
        old, new = before.run.versions[name], after.run.versions[name]
        if old != new and what != "config":
            notes.append(f"The versions of {name} differ ({old} and {new}).")
    return notes
