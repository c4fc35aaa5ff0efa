"""Suspects: ranks in which the cause probably lies, because of what they did not do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assistant.diagnosis.collectives import CollectiveState, RankState, states_of
from assistant.diagnosis.exitcodes import signal_of
from assistant.logs.layout import Places
from assistant.verdict import Finding, Suspect, SuspectReason

MAX_SUSPECTS = 16


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
                because = f"{len(waiting)} ranks waited in group {group}, this one reported nothing"
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
            return f"{last}, and {waiting} ranks wait in {mine.seq}: it never entered that one", "never-entered"
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


def missing_ranks(places: Places, seen: set[int]) -> list[Suspect]:
    """Ranks of the world that print nothing anywhere, when most others do."""
    if not places.world_size:
        return []
    expected = set(range(places.world_size))
    missing = sorted(expected - seen)
    if not missing or len(missing) * 2 > len(expected):
        return []
    because = f"the world has {places.world_size} ranks and nothing in these logs is from this one"
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
    """A suspect with the finding that it is, where an event that has no place among the others is suspected."""
    if suspect.reason != "unplaced-event":
        return suspect
    mine = (
        finding.id for finding in findings if any(f"({line.place})" in suspect.because for line in finding.evidence)
    )
    return suspect.model_copy(update={"finding": next(mine, None)})


def unique(suspects: Iterable[Suspect]) -> list[Suspect]:
    """Each rank once, with the first reason given; places without a rank by host and reason."""
    kept: dict[tuple[object, ...], Suspect] = {}
    for suspect in suspects:
        key: tuple[object, ...] = (
            ("rank", suspect.rank) if suspect.rank is not None else (suspect.host, suspect.reason, suspect.because)
        )
        kept.setdefault(key, suspect)
    return list(kept.values())
