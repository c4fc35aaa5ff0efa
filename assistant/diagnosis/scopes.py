"""Whose event it is: pods and scheduler jobs that a dump tells of beside the job's own.

`kubectl describe pods` and a node's slurmd log speak of everything that ran
there. A pod that the job's logs do not know, while another one in the same dump
is theirs, and a job id that is not the one of these logs are somebody else's.
The last state of a container that runs again belongs to the run before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from assistant.diagnosis.events import Event
from assistant.diagnosis.progress import Progress
from assistant.diagnosis.reading import Run
from assistant.diagnosis.window import is_sibling
from assistant.logs.clock import RunClock
from corpus.late import late
from corpus.record import Record

_NAME = late(r"^Name:\s+([\w.\-]{1,253})$")
_NAMESPACE = late(r"^Namespace:\s+\S")
_OWNER = late(
    r"^Controlled By:\s+(\S+)|\bjob-name[=:]\s*([\w.\-]+)|training\.kubeflow\.org/(?:job-name|replica-name)=([\w.\-]+)"
)
_STATE = late(r"^(State|Last State):\s+(\w+)")
_WHEN = late(r"^(Started|Finished):\s+(.{10,40})$")
_READY = late(r"^Ready:\s+(True|False)$")
_ROW = late(r"^(?:\S+\s+)?\S+\s+(?:Normal|Warning)\s+[A-Z]\w+\s+pods?/([\w.\-]{1,253})\s")
_JOB_IN_NAME = late(r"(?:^|[/_.\-])(?:slurm[_\-.]?|job[_\-.]?|[A-Za-z]\w*[_\-.])(\d{4,12})(?=[_.\-/]|$)")
_OWN_JOB = late(
    r"SLURM_JOB_?ID[=: ]{1,2}(\d{3,12})\b|Submitted batch job (\d{3,12})\b|\b[Jj]ob ?[Ii][Dd][=: ]{1,2}(\d{3,12})\b|srun: job (\d{3,12}) (?:queued|has been allocated)"
)
_JOB_SPOKEN = late(r"\*\*\* (?:JOB|STEP) (\d{3,12})(?:[._]\S+)? ON |\b(?:JobId|StepId|job_id|jobid)=(\d{3,12})|\[(\d{3,12})\.(?:\d{1,5}|batch|extern)\]|\b[Jj]ob (\d{3,12}) (?:was |has )?(?:[Kk]illed|[Cc]ancelled|preempted|exceeded)")  # fmt: skip


@dataclass(slots=True)
class _Pod:
    """One pod of a `kubectl describe` dump."""

    name: str
    first: int
    last: int = 0
    owners: set[str] = field(default_factory=set)
    blocks: list[tuple[int, str, str]] = field(default_factory=list)
    """Line, `State` or `Last State`, and the state."""
    times: dict[tuple[str, str], float] = field(default_factory=dict)
    ready: bool = False

    def block_of(self, line: int) -> tuple[str, str] | None:
        """Under which state a line stands."""
        above = [block for block in self.blocks if block[0] <= line]
        return (above[-1][1], above[-1][2]) if above else None

    @property
    def runs_again(self) -> bool:
        """Whether a container that had ended runs now."""
        return any((which, state) == ("State", "Running") for _, which, state in self.blocks)


def mark_scopes(run: Run, events: Sequence[Event], progress: Progress, clock: RunClock) -> None:
    """Set aside the events of other pods and of other jobs, and those of a container's run before this one."""
    described = [read_pods(source.records) for source in run.sources]
    if any(described):
        _mark_pods(run, events, described, progress, clock)
    _mark_rows(run, events)
    _mark_jobs(run, events)


def read_pods(records: Sequence[Record]) -> list[_Pod]:
    """The pods that a source describes, in order."""
    pods: list[_Pod] = []
    which = ""
    for record, following in pairwise([*records, None]):
        assert record is not None
        named = _NAME.match(record.message)
        if named is not None and following is not None and _NAMESPACE.match(following.message):
            pods.append(_Pod(named.group(1), record.number))
            which = ""
        if not pods:
            continue
        pod = pods[-1]
        pod.last = record.number
        owner = _OWNER.search(record.message)
        if owner is not None:
            pod.owners.add(next(group for group in owner.groups() if group))
        elif (state := _STATE.match(record.message)) is not None:
            which = state.group(1)
            pod.blocks.append((record.number, which, state.group(2)))
        elif which and (when := _WHEN.match(record.message)) is not None:
            seconds = _seconds(when.group(2))
            if seconds is not None:
                pod.times[which, when.group(1)] = seconds
        elif (ready := _READY.match(record.message)) is not None:
            pod.ready = ready.group(1) == "True"
            pod.blocks.append((record.number, "", ""))
    return pods


def _seconds(text: str) -> float | None:
    """The time in kubectl's form: `Mon, 30 Nov 2026 08:00:00 +0000`."""
    try:
        return datetime.strptime(text.strip(), "%a, %d %b %Y %H:%M:%S %z").timestamp()
    except (ValueError, OverflowError):
        return None


def _mark_pods(
    run: Run, events: Sequence[Event], described: Sequence[list[_Pod]], progress: Progress, clock: RunClock
) -> None:
    own = [index for index, pods in enumerate(described) if not pods]
    known = [run.paths[index] for index in own]
    known += [record.container for index in own for record in run.sources[index].records if record.container]
    known += [record.host for index in own for record in run.sources[index].records if record.host]
    everyone = [pod for pods in described for pod in pods]
    ours = [pod for pod in everyone if any(_names(pod.name, text) for text in set(known))]
    spoken = {event.pod for event in events if event.pod and not described[event.source]}
    span = clock.span(own)
    begins = span[0].seconds if span is not None and span[0].axis == "wall" else None
    for event in events:
        pod = _pod_at(described[event.source], event.line)
        if pod is None or event.unrelated:
            continue
        event.pod = pod.name
        is_other = bool(ours) and pod not in ours and not any(pod.owners & other.owners for other in ours)
        if is_other or (not ours and spoken and not any(is_sibling(pod.name, name) for name in spoken)):
            event.unrelated = f"it tells of pod {pod.name}, another one than the job's"
            continue
        if pod.block_of(event.line) == ("Last State", "Terminated") and pod.runs_again:
            ended = pod.times.get(("Last State", "Finished"))
            started = pod.times.get(("State", "Started"))
            before = [moment for moment in (ended, started) if moment is not None and begins is not None]
            is_older = bool(before) and begins is not None and min(before) <= begins
            is_alive = not before and pod.ready and (bool(progress.marks) or not own)
            if is_older or is_alive:
                event.recovered = True
                event.earlier_run = f"it is the last state of pod {pod.name}, whose container runs again"


def _names(pod: str, text: str) -> bool:
    return re.search(rf"(?<![\w\-]){re.escape(pod)}(?![\w\-])", text) is not None


def _pod_at(pods: Sequence[_Pod], line: int) -> _Pod | None:
    position = bisect_right([pod.first for pod in pods], line)
    return pods[position - 1] if position and line <= pods[position - 1].last else None


def _mark_jobs(run: Run, events: Iterable[Event]) -> None:
    own = _own_jobs(run)
    if not own:
        return
    for event in events:
        if event.unrelated:
            continue
        spoken = _JOB_SPOKEN.search(event.record.text)
        job = next((group for group in spoken.groups() if group), None) if spoken is not None else None
        if job is not None and job not in own:
            event.unrelated = f"it speaks of job {job}, and these are the logs of job {', '.join(sorted(own))}"


def _mark_rows(run: Run, events: Sequence[Event]) -> None:
    """Rows of a cluster's event table that stand in one file with a job's log: whose pod is named elsewhere is the job's."""
    for index, source in enumerate(run.sources):
        rows = {record.number: found.group(1) for record in source.records if (found := _ROW.search(record.text))}
        if len(set(rows.values())) < 2:
            continue  # the events of a single pod were asked for, which is then the job's
        others = [record.text for record in source.records if record.number not in rows and record.message]
        others += [text for at, other in enumerate(run.sources) if at != index for text in (other.path,)]
        faults = [event for event in events if event.source == index and event.line not in rows and not event.quiet]
        if not faults:
            continue
        for event in events:
            pod = rows.get(event.line) if event.source == index else None
            if pod is not None and not any(_names(pod, text) for text in others):
                event.unplaced = event.unplaced or f"it speaks of pod {pod}, which the job's own lines do not name"


def _own_jobs(run: Run) -> set[str]:
    """Ids of the job that names of files and lines of the job itself give; empty where they give several."""
    found: set[str] = set()
    for source in run.sources:
        name = _JOB_IN_NAME.search(source.path)
        if name is not None:
            found.add(name.group(1))
        for record in source.records[:200]:
            if "ob" in record.text or "JOB" in record.text:
                said = _OWN_JOB.search(record.text)
                if said is not None:
                    found.add(next(group for group in said.groups() if group))
    return found if len(found) <= 3 else set()
