"""What a node's agent says while the node only starts.

kubelet tells every few seconds that the network of its node is not ready
(`pkg/kubelet/kubelet.go`, the loop of `syncLoop`), which is so after each start
until the network plugin has written its configuration. It is a fault where it
stays; where the agent writes on without it, or has just been started, it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.diagnosis.events import Event
from assistant.diagnosis.reading import Run
from assistant.logs.clock import RunClock
from corpus.late import late

STARTS_WITHIN_S = 120.0
"""Seconds that a node takes for its network after its agent was started."""
SILENT_S = 60.0
"""kubelet would have said it a dozen times in this while."""

_NOT_READY = late(
    r"[Nn]etwork plugin is not ready|[Rr]untime network not ready|NetworkPluginNotReady|cni plugin not initialized"
)
_STARTED = late(r"Started [Kk]ubelet|\"?Kubelet version\"?|Starting kubelet main sync loop|Starting to sync pod status")


def mark_starting(run: Run, events: Sequence[Event], clock: RunClock) -> None:
    """Take what kubelet says of a network that is not ready yet for no fault, where it passed or the node only starts."""
    told: dict[int, list[Event]] = {}
    for event in events:
        if _NOT_READY.search(event.record.text) is not None and "kubelet" in event.record.text:
            told.setdefault(event.source, []).append(event)
    for source, mine in told.items():
        first, last = min(event.line for event in mine), max(event.line for event in mine)
        why = _passed(run, clock, source, last) or _only_starts(run, clock, source, first, last)
        for event in mine if why else ():
            event.quiet, event.harmless = True, event.harmless or why


def _passed(run: Run, clock: RunClock, source: int, last: int) -> str:
    end = max((record.number for record in run.sources[source].records if "kubelet" in record.text), default=last)
    gap = _seconds(clock, source, last, end)
    return f"kubelet writes on for {gap:.0f} s without it." if gap >= SILENT_S else ""


def _only_starts(run: Run, clock: RunClock, source: int, first: int, last: int) -> str:
    above = (
        record.number
        for record in run.sources[source].records
        if record.number < first and _STARTED.search(record.text)
    )
    start = max(above, default=0)
    if not start or not 0 <= _seconds(clock, source, start, last) < STARTS_WITHIN_S:
        return ""
    return f"line {start} starts the node's agent, and the log ends before its network could be expected."


def _seconds(clock: RunClock, source: int, line: int, other: int) -> float:
    """Seconds between two lines; -1 where they cannot be compared."""
    one, two = clock.at(source, line), clock.at(source, other)
    gap = one.before(two) if one is not None and two is not None else None
    return gap if gap is not None else -1.0
