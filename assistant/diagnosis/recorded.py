"""What flight-recorder dumps say about collectives, put into the same table as the watchdogs' lines.

For each process group the collective in which most ranks hang is found; a rank
whose last enqueued number is lower never entered it, one that recorded another
operation or size at that number is out of step, and a member that left no dump
while the others did is absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assistant.diagnosis.collectives import CollectiveState, RankState, plain_op
from assistant.logs.flightrecorder import Dump, Work

_EVEN = frozenset(
    "ALLREDUCE BROADCAST REDUCE BARRIER ALLGATHERBASE REDUCESCATTERBASE ALLGATHERINTOTENSOR REDUCESCATTERTENSOR".split()
)
"""Operations in which every rank gives the same number of elements."""


def add_dumps(state: CollectiveState, dumps: Sequence[tuple[int, Dump]]) -> None:
    """Add the dumps (with the index of their source) to the table; of two dumps of a rank the fuller one counts."""
    by_rank: dict[int, tuple[int, Dump]] = {}
    for source, dump in dumps:
        if dump.rank is None:
            continue
        known = by_rank.get(dump.rank)
        if known is None or _latest(dump) >= _latest(known[1]):
            by_rank[dump.rank] = (source, dump)
    for _, dump in by_rank.values():
        for group, members in dump.members.items():
            if group and len(members) > len(state.members.get(group, ())):
                state.members[group] = members
    groups = sorted({group for _, dump in by_rank.values() for group in (*dump.status, *(w.group for w in dump.work))})
    for group in groups:
        _add_group(state, group, by_rank)


def _latest(dump: Dump) -> int:
    return max((work.created_ns or 0 for work in dump.work), default=0)


def _add_group(state: CollectiveState, group: str, by_rank: dict[int, tuple[int, Dump]]) -> None:
    members = state.members.get(group, ())
    ranks = {rank: _Part(dump, group) for rank, (_, dump) in by_rank.items()}
    ranks = {rank: part for rank, part in ranks.items() if part.is_used or rank in members}
    hanging = Counter(part.first_pending.seq for part in ranks.values() if part.first_pending is not None)
    if not hanging:
        _add_peers(state, group, ranks, members)
        return
    seq = max(hanging, key=lambda number: (hanging[number], number))
    at = {rank: part.at(seq) for rank, part in ranks.items()}
    usual = Counter(_fingerprint(work) for work in at.values() if work is not None).most_common(1)[0]
    for rank, part in ranks.items():
        work = at[rank]
        report = state.groups[group].setdefault(rank, RankState(rank, line=(by_rank[rank][0], 0)))
        report.seq, report.enqueued, report.completed = seq, part.enqueued, part.completed
        if work is not None:
            report.op, report.numel = work.op, work.numel
        report.timed_out = work is not None and not part.is_done(work)
        report.verdict = _verdict(part, work, seq, usual)


def _verdict(part: _Part, work: Work | None, seq: int, usual: tuple[tuple[str | None, int | None], int]) -> str:
    if part.enqueued < seq:
        return "never-entered"
    if work is None or part.is_done(work):
        return "completed"
    (op, numel), count = usual
    if count > 1:
        mine = _fingerprint(work)
        if mine[0] != op:
            return "other-collective"
        if mine[1] != numel:
            return "size-mismatch"
    return "waiting"


def _fingerprint(work: Work) -> tuple[str | None, int | None]:
    op = plain_op(work.op)
    return op, work.numel if op in _EVEN else None


class _Part:
    """One rank's part in one group."""

    def __init__(self, dump: Dump, group: str) -> None:
        self.work = [work for work in dump.work if work.group == group and not work.is_p2p]
        self.peers = [work for work in dump.work if work.group == group and work.is_p2p]
        enqueued, completed = dump.status.get(group, (-1, -1))
        self.is_used = bool(self.work or self.peers) or group in dump.status
        self.enqueued = max([enqueued, *(work.seq for work in self.work)])
        self.completed = max([completed, *(work.seq for work in self.work if work.is_done)])
        pending = [work for work in self.work if not self.is_done(work)]
        self.first_pending = min(pending, key=lambda work: work.seq, default=None)

    def is_done(self, work: Work) -> bool:
        """Whether a collective completed; backends without events leave it `scheduled` and only count."""
        return work.is_done or work.seq <= self.completed

    def at(self, seq: int) -> Work | None:
        """The operation that it recorded at a number, the last one where several share it."""
        return next((work for work in reversed(self.work) if work.seq == seq), None)


def _add_peers(state: CollectiveState, group: str, ranks: dict[int, _Part], members: Sequence[int]) -> None:
    """Sends and receives that did not complete: a peer that has none of its own for them never came."""
    waiting: dict[int, set[int]] = {}
    for rank, part in ranks.items():
        for work in part.peers:
            if work.is_done or work.peer is None:
                continue
            ends = [members[end] if end < len(members) else end for end in work.peer]
            other = next((end for end in ends if end != rank), None)
            if other is not None:
                waiting.setdefault(rank, set()).add(other)
    for rank, others in waiting.items():
        report = state.groups[group].setdefault(rank, RankState(rank))
        report.op, report.timed_out, report.verdict = "send/recv", True, "waiting"
        for other in others - waiting.keys():
            peer = state.groups[group].setdefault(other, RankState(other))
            if other in ranks:
                peer.verdict = "never-entered"
