"""Suspects: ranks in which the cause probably lies, because of what they did not do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assistant.console import counted
from assistant.diagnosis.collectives import CollectiveState, RankState, states_of
from assistant.diagnosis.events import Event, Tier
from assistant.diagnosis.exitcodes import signal_of
from assistant.diagnosis.groups import SKEW_S
from assistant.diagnosis.reading import Run
from assistant.logs.clock import RunClock, spoken
from assistant.logs.layout import Places
from assistant.verdict import Finding, Suspect, SuspectReason

MAX_SUSPECTS = 16
_NOTHING, _NO_WAIT = "this one reported nothing", "this one reported no wait"
"""What is said of a rank whose wait nobody saw: before its other lines were looked for, and after some were found."""


def find_suspects(state: CollectiveState, places: Places, seen: set[int]) -> list[Suspect]:
    """Ranks that the state of the collectives points at; victims that wait elsewhere are left out."""
    found: dict[int, Suspect] = {}
    group_of: dict[int, str] = {}
    for group, ranks in sorted(state.groups.items()):
        states = states_of(ranks)
        waiting = sorted(rank for rank, value in states.items() if value == "waiting")
        for rank, value in sorted(states.items()):
            because, reason = _reason(group, ranks[rank], value, len(waiting))
            if reason is not None and rank not in found:
                found[rank] = Suspect(rank=rank, host=places.host_of_rank.get(rank), reason=reason, because=because)
                group_of[rank] = group
        if waiting and not found:
            for rank in _absent(state, group, places, seen):
                who = "1 rank" if len(waiting) == 1 else f"{len(waiting)} ranks"
                because = f"{who} waited in group {group}, {_NOTHING}"
                missing: SuspectReason = "silent" if rank in seen else "absent"
                found[rank] = Suspect(rank=rank, host=places.host_of_rank.get(rank), reason=missing, because=because)
                group_of[rank] = group
    victims = {rank for rank, group in group_of.items() if _waits_elsewhere(state, rank, group)}
    # In a circle everyone waits for another one; then nobody can be left out.
    kept = found if victims >= found.keys() else {rank: found[rank] for rank in found if rank not in victims}
    return list(kept.values())


def _reason(group: str, mine: RankState, value: str, waiting: int) -> tuple[str, SuspectReason | None]:
    if value == "never-entered":
        if mine.enqueued is None:
            return f"the other end of a send or receive in group {group} waited, and it recorded none", "never-entered"
        if mine.verdict is not None:
            last = f"its last enqueued work in group {group} is {mine.enqueued}"
            return (
                f"{last}, and {counted(waiting, 'rank waits', 'ranks wait')} in {mine.seq}: it never entered that one",
                "never-entered",
            )
        same = f"last enqueued work {mine.enqueued} equals last completed work in group {group}"
        return f"{same}: it was not waiting", "never-entered"
    if value in {"other-collective", "size-mismatch"}:
        because = f"ran {mine.op} of {mine.numel} elements where the other ranks of group {group} did not"
        return because, "other-collective" if value == "other-collective" else "size-mismatch"
    return "", None


def _waits_elsewhere(state: CollectiveState, rank: int, group: str) -> bool:
    """Whether a rank is itself held up in another process group."""
    return any(
        states_of(ranks).get(rank) == "waiting"
        for name, ranks in state.groups.items()
        if name != group and rank in ranks
    )


def _absent(state: CollectiveState, group: str, places: Places, seen: set[int]) -> list[int]:
    ranks = state.groups[group]
    world = set(range(places.world_size)) if places.world_size else seen
    expected = set(state.members.get(group, ())) or world
    absent = sorted(expected - set(ranks))
    # When most ranks are missing, the input is incomplete and says nothing about them.
    return absent if absent and len(absent) * 2 <= len(expected) else []


def not_silent(
    suspects: Sequence[Suspect], run: Run, events: Sequence[Event], places: Places, clock: RunClock
) -> list[Suspect]:
    """Suspects that are said to be silent, with what they printed last; one that has an error or went on was busy."""
    wanted = {suspect.rank for suspect in suspects if suspect.reason in {"absent", "silent"}} - {None}
    if not wanted:
        return list(suspects)
    last: dict[int, tuple[float, int, int]] = {}
    for index, records in enumerate(run.records):
        for record in records:
            rank = places.rank_of(index, record) if record.message else None
            if rank in wanted and rank is not None:
                moment = clock.at(index, record.number)
                last[rank] = max(
                    last.get(rank, (-1.0, 0, 0)), (moment.seconds if moment else -1.0, index, record.number)
                )
    waits = [
        event.onset.seconds
        for event in events
        if event.tier == Tier.CONSEQUENCE and event.onset is not None and event.onset != event.moment
    ]
    return [
        _with_last_line(suspect, last[suspect.rank], run, events, min(waits, default=None))
        if suspect.rank in wanted and suspect.rank is not None and suspect.rank in last
        else suspect
        for suspect in suspects
    ]


def _with_last_line(
    suspect: Suspect, last: tuple[float, int, int], run: Run, events: Sequence[Event], waited: float | None
) -> Suspect:
    seconds, source, line = last
    attempt = max((event.attempt for event in events if event.tier == Tier.CONSEQUENCE), default=1)
    own = [
        event
        for event in events
        if event.rank == suspect.rank
        and not event.kernel
        and event.tier < Tier.CONSEQUENCE
        and event.attempt >= attempt
    ]
    error = next((event for event in own if not (event.quiet or event.harmless or event.unrelated)), None)
    because = suspect.because.replace(_NOTHING, _NO_WAIT)
    because += f"; its last line is {run.paths[source]}:{line}"
    reason: SuspectReason = "silent"
    if error is not None:
        reason, because = "busy", because + f", and {run.paths[error.source]}:{error.line} is an error of its own"
    elif waited is not None and seconds > waited + SKEW_S:
        reason, because = "busy", because + f", {spoken(seconds - waited)} after the others had begun to wait"
    return suspect.model_copy(update={"reason": reason, "because": because})


def missing_ranks(places: Places, seen: set[int]) -> list[Suspect]:
    """Ranks of the world that print nothing anywhere, when most others do."""
    if not places.world_size:
        return _in_the_gap(places, seen)
    expected = set(range(places.world_size))
    missing = sorted(expected - seen)
    if not missing or len(missing) * 2 > len(expected):
        return []
    because = f"the world has {places.world_size} ranks and nothing in these logs is from this one"
    return [
        Suspect(rank=rank, host=places.host_of_rank.get(rank), reason="absent", because=because)
        for rank in missing[:MAX_SUSPECTS]
    ]


def _in_the_gap(places: Places, seen: set[int]) -> list[Suspect]:
    """Ranks below the highest that speaks, of which nothing is there; ranks are counted without gaps."""
    missing = sorted(set(range(max(seen, default=0))) - seen)
    # Where several are missing, the logs of some ranks were chosen, as those of the first of each node.
    if not missing or len(missing) * 3 > len(seen):
        return []
    because = f"{len(seen)} ranks up to {max(seen)} speak here and this one does not; how many there are is not said"
    return [
        Suspect(rank=rank, host=places.host_of_rank.get(rank), reason="absent", because=because)
        for rank in missing[:MAX_SUSPECTS]
    ]


def exited_first(places: Places) -> list[Suspect]:
    """The workers that launchers' tables name as the first to end, with what their exit code means."""
    suspects = []
    for failure in places.failures:
        if failure.root:
            meaning = signal_of(failure.code)
            because = f"the launcher saw it end first, with exit code {failure.code}" + (
                f" ({meaning})" if meaning else ""
            )
            suspects.append(Suspect(rank=failure.rank, host=failure.host, reason="exited-first", because=because))
    return suspects[:8]


def linked(suspect: Suspect, findings: Sequence[Finding]) -> Suspect:
    """A suspect with the id of the finding that it is, whose place it holds until the findings are built."""
    if suspect.finding is None:
        return suspect
    ids = (finding.id for finding in findings if any(line.place == suspect.finding for line in finding.evidence))
    return suspect.model_copy(update={"finding": next(ids, None)})


def unique(suspects: Iterable[Suspect]) -> list[Suspect]:
    """Each rank once, with the first reason given; places without a rank by host and reason."""
    kept: dict[tuple[object, ...], Suspect] = {}
    for suspect in suspects:
        key: tuple[object, ...] = (
            ("rank", suspect.rank) if suspect.rank is not None else (suspect.host, suspect.reason, suspect.because)
        )
        kept.setdefault(key, suspect)
    return list(kept.values())
