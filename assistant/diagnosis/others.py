"""What a verdict says of other jobs whose logs lie beside those of the one that it is about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assistant.diagnosis.causes import CausalGraph
from assistant.diagnosis.findings import FindingBuilder
from assistant.diagnosis.groups import Group, Ordered
from assistant.diagnosis.jobs import Job
from assistant.diagnosis.reading import Run
from assistant.verdict import Diagnosis, Finding

if TYPE_CHECKING:
    from assistant.diagnosis.pipeline import Facts

MAX_NAMED = 4


def failed_at(ordered: Ordered) -> tuple[bool, float]:
    """Whether a job failed, and the second of the last thing that it said of it."""
    failed = [*([ordered.initiating] if ordered.initiating is not None else []), *ordered.downstream]
    moments = [event.moment for group in failed for event in group.events if event.moment is not None]
    return bool(failed), max((moment.seconds for moment in moments if moment.axis == "wall"), default=-math.inf)


def doubt_shared(job: Job, facts: Facts, others: Sequence[Facts]) -> None:
    """Node events that all jobs' logs lie beside are of none of them, unless rank or host ties them to this one."""
    own = {position for position, index in enumerate(job.sources) if index in job.own}
    mine = _hosts(facts, own)
    theirs = {host for other in others for host in other.places.host_of_rank.values()}
    for event in facts.events:
        is_tied = event.rank is not None or (event.host in mine and event.host not in theirs)
        if event.source not in own and event.kernel and not is_tied:
            event.unplaced = f"the logs are of several jobs or runs, and nothing ties it to {job.name}"


def _hosts(facts: Facts, own: set[int]) -> set[str]:
    """The hosts that the logs of a job name as its own."""
    places = facts.places
    return {*places.host_of_rank.values(), *(host for source, host in places.source_host.items() if source in own)}


def beside(diagnosis: Diagnosis, job: Job, run: Run, ordered: Ordered) -> Diagnosis:
    """The verdict with the faults of another job: where that one began is independent, the rest of it unrelated."""
    first = [ordered.initiating] if ordered.initiating is not None else []
    alone = Ordered(None, [], [*first, *ordered.independent], [], _set_apart(ordered.downstream, job))
    builder = FindingBuilder(run, CausalGraph(run.catalogue.heads), before=len(diagnosis.findings))
    findings, independent = builder.build(alone)
    known = {_place(finding) for finding in diagnosis.findings}
    ids = {finding.id for finding in independent}
    new = [_of(finding, job) if finding.id in ids else finding for finding in findings if _place(finding) not in known]
    return diagnosis.model_copy(
        update={
            "findings": (*diagnosis.findings, *new),
            "independent": (*diagnosis.independent, *(finding for finding in new if finding.id in ids)),
        }
    )


def said_of(jobs: Sequence[Job], chosen: Job, *, failed: bool) -> str:
    """The warning that the logs are of several jobs, and which of them the verdict is about."""
    names = [job.name for job in jobs[:MAX_NAMED]] + (["others"] if len(jobs) > MAX_NAMED else [])
    why = "whose failure is the latest" if failed else "the first of them"
    return (
        f"these are the logs of {len(jobs)} jobs or runs ({', '.join(names)}): the verdict is about {chosen.name}, {why};"
        " name the files of another one alone for its own."
    )


def _set_apart(groups: Sequence[Group], job: Job) -> list[Group]:
    for group in groups:
        for event in group.events:
            event.unrelated = f"it is of {job.name}, another one than the verdict's"
    return list(groups)


def _of(finding: Finding, job: Job) -> Finding:
    because = (
        f"it is of {job.name}, another one than the verdict's, and explains nothing of this one; {finding.because}"
    )
    return finding.model_copy(update={"because": because})


def _place(finding: Finding) -> str:
    return finding.evidence[0].place
