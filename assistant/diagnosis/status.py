"""The status of a verdict: one of seven words, none of them stronger than the evidence."""

from __future__ import annotations

from dataclasses import replace

from assistant.diagnosis.findings import strength_of
from assistant.diagnosis.groups import Group, Ordered
from assistant.diagnosis.progress import Progress
from assistant.verdict import VerdictStatus


def decide_status(progress: Progress, ordered: Ordered) -> VerdictStatus:
    """The status that the ordered groups and the progress of the job allow."""
    completed = bool(progress.done) or progress.reached_total
    initiating = ordered.initiating
    if initiating is not None:
        strength = strength_of(initiating)
        if strength == "verified":
            slow_only = _is_slowing(initiating) and not ordered.downstream
            return "degraded" if slow_only else "identified"
        return "classified" if strength == "classified" else "unexplained"
    if ordered.downstream:
        return "symptom-only"
    if any(_is_slowing(group) for group in ordered.recovered):
        return "degraded"
    if completed or any(
        event.recovered and not event.superseded and not event.earlier_run
        for group in ordered.recovered
        for event in group.events
    ):
        return "healthy"
    return "inconclusive"


def _is_slowing(group: Group) -> bool:
    head = group.head
    return head is not None and strength_of(group) == "verified" and head.slows


def without_bystander(ordered: Ordered) -> Ordered:
    """Set aside what only slowed a run that then ended in something no edge leads to: the cause is another."""
    first = ordered.initiating
    if first is None or first.head is None or not _is_slowing(first) or not first.head.only_slows:
        return ordered
    if not ordered.downstream or not all(group.assumed for group in ordered.downstream):
        return ordered
    for group in ordered.downstream:
        group.explained_by = []
    return replace(ordered, initiating=None, recovered=[first, *ordered.recovered])


def slowing(ordered: Ordered) -> Ordered:
    """The same order with the verified fault that slows the living run put first."""
    first = next(group for group in ordered.recovered if _is_slowing(group))
    rest = [group for group in ordered.recovered if group is not first]
    return replace(ordered, initiating=first, recovered=rest)
