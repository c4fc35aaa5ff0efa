"""First fault: which finding started it, which followed, and why one may say so.

Order of evidence (design section 7): causal edges between entries; onset where
times can be compared; role; how specific (one rank against all); position in
the file last of all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.diagnosis.causes import CausalGraph
from assistant.diagnosis.chains import was_being_handled
from assistant.diagnosis.events import Tier
from assistant.diagnosis.groups import SKEW_S, TOLERANCE_S, Group, Ordered
from assistant.diagnosis.window import is_sibling
from assistant.logs.clock import Moment

LEAD_DISTANCE = 40
"""Lines between a logged error and the exception or signal that it led to."""
MAX_EVENTS_SHOWN = 6
_LASTING_FAMILIES = frozenset({"accelerator-hardware", "interconnect", "driver-runtime", "checkpoint-storage"})
"""A process that ran out of memory or died of its code is gone with its attempt; a dead card or a torn file stays."""

_PYTHON_WARNS = re.compile(r"^\S{1,400}\.py:\d{1,7}: \w{0,40}Warning: ")
"""How the `warnings` module of Python prints; such a line has no level."""
_LAUNCHER = re.compile(r"\b\w{1,60}_launcher: ")
_OWN_TIMEOUT = re.compile(
    r"Watchdog caught collective operation timeout|operations have failed or timed out|taking the entire process down"
)
"""Said by a rank that waited itself until its watchdog fired, or that goes down because of it."""


def attribute(groups: Sequence[Group], graph: CausalGraph) -> Ordered:
    """Find the initiating group among the open ones and put the rest in its place."""
    unrelated = [group for group in groups if group.key[2] == "unrelated" and not group.is_quiet]
    recovered = [group for group in groups if group.key[2] == "recovered" or group.is_quiet]
    opened = [group for group in groups if group.key[2] == "open" and not group.is_quiet]
    for effect in opened:
        effect.explained_by = [cause for cause in opened if explains(cause, effect, graph)]
        for cause in effect.explained_by:
            cause.effects.append(effect)
    candidates = _candidates(opened, graph)
    initiating = None if _ended_otherwise(candidates, opened) else _first(_in_time(candidates, opened), graph)
    independent, downstream = [], []
    for group in opened:
        if group is initiating:
            continue
        if initiating is None and group in candidates:
            independent.append(group)
            continue
        if initiating is not None and _is_independent(group, initiating, candidates, graph):
            independent.append(group)
            continue
        if initiating is not None and _of_other_pods(initiating, group):
            _set_apart(group)
            unrelated.append(group)
            continue
        if initiating is not None and not group.explained_by:
            group.explained_by, group.assumed = [initiating], True
        downstream.append(group)
    if initiating is not None:
        # Beside a real fault, wrappers printed as warnings are part of its noise.
        noise = [group for group in recovered if group.key[2] == "open" and group.tier >= Tier.CONSEQUENCE]
        recovered = [group for group in recovered if group not in noise]
        for group in noise:
            group.explained_by, group.assumed = [initiating], True
        downstream += noise
        ended = _ends_of_attempts(recovered, initiating)
        independent += ended
        recovered = [group for group in recovered if group not in ended]
    downstream.sort(key=lambda group: _sort_key(group))
    return Ordered(initiating, downstream, independent, recovered, unrelated)


def _ends_of_attempts(recovered: Sequence[Group], initiating: Group) -> list[Group]:
    """What attempts before that of the first fault died of: only the next attempt went on after it."""
    ends: dict[int, Group] = {}
    for group in recovered:
        is_end = group.key[2] == "recovered" and not group.is_quiet and all(event.ended_run for event in group.events)
        if is_end and group.tier <= Tier.EXCEPTION and _attempt(group) < _attempt(initiating):
            known = ends.get(_attempt(group))
            ends[_attempt(group)] = group if known is None or beats(group, known) else known
    return list(ends.values())


def explains(cause: Group, effect: Group, graph: CausalGraph) -> bool:
    """Whether an edge leads from one group to another and the times allow it.

    The others may have waited for a while before the cause broke, so an effect
    counts from when it was printed: a timeout that fired earlier has another cause.
    """
    if cause is effect or cause.head is None or effect.head is None:
        return False
    if not graph.reaches(cause.head.id, effect.head.id):
        return False
    if _of_other_pods(cause, effect):
        return False
    if _attempt(cause) < _attempt(effect) and not _outlives(cause):
        return False
    if cause.tier == Tier.CONSEQUENCE and _same_source(cause, effect) and _place(effect) < _place(cause):
        return False  # what is itself a consequence here brought nothing about that stands above it
    printed = effect.first.moment
    gap = cause.onset.before(printed) if cause.onset is not None and printed is not None else None
    if gap is not None and printed is not None and not _same_source(cause, effect):
        gap += printed.late
    return gap is None or gap >= -max(SKEW_S, _tolerance(cause, effect))


def _outlives(cause: Group) -> bool:
    """Whether a fault is still there when the job is started again: in the hardware, or in what was written."""
    return cause.head is not None and cause.head.family in _LASTING_FAMILIES


def _of_other_pods(cause: Group, effect: Group) -> bool:
    """Whether the platform tells of two groups that they are of pods of different jobs."""
    mine, theirs = ({event.pod for event in group.events} for group in (cause, effect))
    if "" in mine | theirs:
        return False
    return not any(one == other or is_sibling(one, other) for one in mine for other in theirs)


def _set_apart(group: Group) -> None:
    for event in group.events:
        event.unrelated = f"it speaks of pod {event.pod}, another one than that of the first fault"


def _candidates(opened: Sequence[Group], graph: CausalGraph) -> list[Group]:
    """Groups that may be the first fault: the strongest kind of evidence that is there."""
    consequences = [group for group in opened if group.tier == Tier.CONSEQUENCE or _is_interruption(group)]
    endings = [group for group in opened if any(_OWN_TIMEOUT.search(event.record.text) for event in group.events)]
    free = [
        group
        for group in opened
        if group.tier <= Tier.ERROR_LINE
        and not any(_follows(group, consequence) for consequence in consequences)
        and not any(_already_waited(group, ending) for ending in endings)
        and not any(_ends_after(group, wrapper) for wrapper in opened)
    ]
    strong = _louder([group for group in free if group.tier <= Tier.EXCEPTION], graph)
    lines = [group for group in free if group.tier == Tier.ERROR_LINE]
    if not strong:
        return lines
    return strong + [line for line in lines if any(_leads_to(line, group) for group in strong)]


def _ends_after(group: Group, wrapper: Group) -> bool:
    """Whether a process only ended after it had said that something elsewhere made it end."""
    if group.head is None or not group.head.ends or wrapper.tier != Tier.WRAPPER or wrapper.head is None:
        return False
    if _LAUNCHER.search(group.first.record.text) and _LAUNCHER.search(wrapper.first.record.text):
        return False  # one launcher reports how its process ended, and what it had printed
    return group.first.source == wrapper.first.source and 0 < group.first.line - wrapper.first.line <= LEAD_DISTANCE


def _louder(strong: list[Group], graph: CausalGraph) -> list[Group]:
    """Leave out what only slows a run, or was told as a warning, where something that ends runs is there as well.

    An edge from it to what ended the run keeps it: then it is where that began.
    """
    ends = [group for group in strong if not _is_soft(group)]
    return [group for group in strong if group in ends or not ends or any(explains(group, end, graph) for end in ends)]


def _is_soft(group: Group) -> bool:
    head, record = group.head, group.first.record
    if head is None or head.kind != "failure" or group.first.kernel:
        return False
    # NCCL calls all that it prints a warning, and says there first what others only pass on.
    if all(_PYTHON_WARNS.search(event.record.message) for event in group.events):
        return True
    return head.only_slows or (record.level == "WARNING" and "NCCL WARN" not in record.text)


def _is_interruption(group: Group) -> bool:
    """Whether a group is the exception of a process that was told to stop."""
    episode = group.first.episode
    return group.head is None and episode is not None and episode.kind == "teardown"


def _leads_to(line: Group, group: Group) -> bool:
    """Whether a logged error stands shortly above something that explains little by itself.

    Runtimes print what went wrong and raise only a status code; a process
    prints its error and then dies by a signal.
    """
    weak = group.head is None or group.head.ends
    distance = group.first.line - line.first.line
    return weak and line.first.source == group.first.source and 0 < distance <= LEAD_DISTANCE


def _follows(group: Group, consequence: Group) -> bool:
    """Whether a group came after others had already given up waiting or lost a peer, so that it cannot be the start.

    How a process ended (a signal, an exit code) and logged error lines follow by
    their place in the file too; an exception does so only by its time, because
    files are flushed late.
    """
    if _attempt(group) != _attempt(consequence):
        return False
    gap = certain_gap(consequence.first.moment, group.onset, in_file=_same_source(group, consequence))
    if group.head is not None and group.head.kind == "failure":
        # A verified failure is an effect only when its own time says so; one that usually
        # starts things is believed even then, because clocks of hosts differ.
        return gap is not None and gap > max(SKEW_S, _tolerance(group, consequence)) and group.head.role != "initiating"
    weak = group.tier == Tier.ERROR_LINE or (group.head is not None and group.head.ends)
    weak = weak or (_is_interruption(consequence) and group.tier == Tier.EXCEPTION)
    below = weak and _same_source(group, consequence) and _place(consequence) < _place(group)
    if gap is None or abs(gap) <= TOLERANCE_S:
        return below
    return gap > _tolerance(group, consequence)


def _already_waited(group: Group, ending: Group) -> bool:
    """Whether the ranks of a group had themselves reported a timeout, or were going down, above it in their log.

    A rank that stood in a collective until its own watchdog fired was not the one that the others waited for.
    """
    if not group.ranks or any(event.kernel or event.rank is None for event in group.events):
        return False
    if group.tier > Tier.EXCEPTION or group is ending:
        return False
    gap = (
        ending.first.moment.before(group.onset) if ending.first.moment is not None and group.onset is not None else None
    )
    if gap is not None and gap < -TOLERANCE_S:
        return False
    waited: dict[tuple[int, int | None], int] = {}
    for event in ending.events:
        if event.record.rank is None or _OWN_TIMEOUT.search(event.record.text) is None:
            continue  # a launcher may tell of a rank before or after the rank's own lines
        place = (event.source, event.rank)
        waited[place] = min(waited.get(place, event.line), event.line)
    return all(waited.get((event.source, event.rank), event.line) < event.line for event in group.events)


def _in_time(candidates: Sequence[Group], opened: Sequence[Group]) -> Sequence[Group]:
    """Candidates without those that surely began after the ranks had begun to wait, where others may have begun before.

    When a rank's unstamped fault was printed nobody knows; that the others stood still from then on tells it.
    """
    waits = [
        group
        for group in opened
        if group.tier == Tier.CONSEQUENCE and any(event.onset != event.moment for event in group.events)
    ]
    if not waits:
        return candidates
    late = [group for group in candidates if any(_surely_after(group, wait) for wait in waits)]
    open_ones = [group for group in candidates if group not in late and group.onset is not None and group.onset.late]
    if not open_ones:
        return candidates
    for group in late:
        group.after_wait = True
    return [group for group in candidates if group not in late]


def _surely_after(group: Group, wait: Group) -> bool:
    gap = _gap(wait, group)
    return gap is not None and _attempt(group) == _attempt(wait) and gap > max(SKEW_S, _tolerance(group, wait))


def _first(candidates: Sequence[Group], graph: CausalGraph) -> Group | None:
    """The candidate that no other one beats; the last attempt's come before older ones'."""
    if not candidates:
        return None
    last = max(_attempt(group) for group in candidates)
    mine = [group for group in candidates if _attempt(group) == last] or list(candidates)
    # An older attempt's fault that explains this one's is where it started.
    older = [group for group in candidates if _attempt(group) < last and any(explains(group, g, graph) for g in mine)]
    pool = mine + older
    free = [group for group in pool if not any(other in pool for other in group.explained_by)] or pool
    best = free[0]
    for group in free[1:]:
        if beats(group, best):
            best = group
    return best


def _ended_otherwise(candidates: Sequence[Group], opened: Sequence[Group]) -> bool:
    """Whether the last attempt ended in consequences alone, of which no fault of an attempt before is the cause."""
    last = max((_attempt(group) for group in candidates), default=0)
    later = [group for group in opened if group.tier == Tier.CONSEQUENCE and _attempt(group) > last > 0]
    return bool(later) and not any(cause in candidates for group in later for cause in group.explained_by)


def _attempt(group: Group) -> int:
    return group.first.attempt


def beats(first: Group, second: Group) -> bool:
    """Whether one group started before another, edges aside."""
    gap = _gap(first, second)
    if gap is not None and abs(gap) > _tolerance(first, second):
        return gap > 0
    for one, other in ((first, second), (second, first)):
        if _same_source(one, other) and any(_place(one) < _place(effect) < _place(other) for effect in one.effects):
            return one is first  # what it is known to bring about was there before the other one
        if was_being_handled(one.first, other.first):
            return one is first
    if first.role_rank != second.role_rank:
        return first.role_rank < second.role_rank
    if not _same_source(first, second):
        # Across files nothing but the strength of the evidence is left, then how specific it is.
        if first.tier != second.tier:
            return first.tier < second.tier
        narrow, wide = len(first.ranks), len(second.ranks)
        if narrow and wide and (narrow == 1) != (wide == 1):
            return narrow == 1
        earliest = first.onset.before(second.onset) if first.onset is not None and second.onset is not None else None
        if earliest is not None and abs(earliest) > _tolerance(first, second):
            return earliest > 0
    return _place(first) < _place(second)


def order_is_open(first: Group, second: Group) -> bool:
    """Whether neither time nor place in a common source tells which of two faults came first."""
    if first.after_wait or second.after_wait:
        return False
    if _same_source(first, second) or first.first.attempt != second.first.attempt:
        return False
    gap = _gap(first, second)
    return gap is None or abs(gap) <= _tolerance(first, second)


def _tolerance(first: Group, second: Group) -> float:
    """Seconds between two onsets up to which their order is open."""
    if _same_place(first, second):
        return TOLERANCE_S
    errors = [group.onset.error if group.onset is not None else None for group in (first, second)]
    if errors[0] is not None and errors[1] is not None:
        return max(TOLERANCE_S, errors[0] + errors[1])
    return max(SKEW_S, *(error for error in errors if error is not None), 0.0)


def _gap(first: Group, second: Group) -> float | None:
    """Seconds from the onset of one group to that of the other, if both can be compared."""
    return certain_gap(first.onset, second.onset, in_file=_same_source(first, second))


def certain_gap(first: Moment | None, second: Moment | None, *, in_file: bool) -> float | None:
    """Seconds from one moment to another, as far as they are sure; 0 where an unstamped line may lie on either side.

    In one file the place of a line goes with the time that it inherited.
    """
    gap = first.before(second) if first is not None and second is not None else None
    if gap is None or first is None or second is None or in_file:
        return gap
    return max(0.0, gap - first.late) if gap > 0 else min(0.0, gap + second.late)


def _same_source(first: Group, second: Group) -> bool:
    """Whether two stand in one log, of which rotation may have made several sources."""
    return first.first.source == second.first.source or 0 <= first.first.log == second.first.log


def _place(group: Group) -> tuple[int, int]:
    """Where a group stands in its log; parts of a rotated one are in the order in which they were written."""
    return (group.first.source, group.first.line)


def _same_place(first: Group, second: Group) -> bool:
    if first.hosts and second.hosts:
        return first.hosts == second.hosts
    return _same_source(first, second)


def _is_independent(group: Group, initiating: Group, candidates: Sequence[Group], graph: CausalGraph) -> bool:
    """Whether a group is a fault of its own: another attempt's, or one that nothing here explains."""
    if group not in candidates or group.explained_by:
        return False
    if _attempt(group) != _attempt(initiating):
        return not explains(initiating, group, graph)
    if group.head is None or group.head.kind != "failure" or group.head.role == "downstream":
        return False
    if group.head.role == "either" and not (order_is_open(group, initiating) and group.ranks != initiating.ranks):
        return False
    return not (group.ranks and group.ranks == initiating.ranks and _same_source(group, initiating))


def _sort_key(group: Group) -> tuple[int, float, int, int]:
    onset = group.onset
    return (0 if onset else 1, onset.seconds if onset else 0.0, group.first.source, group.first.line)
