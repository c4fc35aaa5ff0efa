"""The state of collectives: which rank never entered, which did something else.

Reads PyTorch's watchdog lines (`ProcessGroupNCCL.cpp`): the collective that
timed out with its sequence number, the counters of last enqueued and last
completed work, and the notice of a dump signal from another rank. A rank whose
enqueued work equals its completed work was not waiting: it never entered.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assistant.diagnosis.exitcodes import signal_of
from assistant.logs.layout import Places
from assistant.verdict import CollectiveGroup, CollectiveRank, Suspect, SuspectReason
from corpus.record import Record

_RANK = re.compile(r"\bRank (\d{1,15})\]")
_WORK = re.compile(
    r"WorkNCCL\((?:SeqNum=(\d{1,15}), )?OpType=([A-Z_a-z]+)(?:, NumelIn=(\d{1,15}))?(?:, NumelOut=(\d{1,15}))?.{0,80}?Timeout\(ms\)=(\d{1,15})\)(?: ran for (\d{1,15}) milliseconds)?"
)
_COUNTERS = re.compile(r"[Ll]ast enqueued (?:NCCL )?work: (-?\d{1,15}), last completed (?:NCCL )?work: (-?\d{1,15})")
_GROUP = re.compile(r"\[PG (?:ID )?(\d{1,15})")
_SIGNAL = re.compile(
    r"[Oo]bserved flight recorder dump signal from another rank(?: via TCPStore)?|Received a dump signal due to a collective timeout from (?:this|another)? ?.{0,30}rank (\d{1,15})"
)
_RAN_FOR = re.compile(r"ran for (\d{1,15}) milliseconds")


@dataclass
class RankState:
    """What one rank said about one process group."""

    rank: int
    seq: int | None = None
    op: str | None = None
    numel: int | None = None
    enqueued: int | None = None
    completed: int | None = None
    notified: bool = False
    timed_out: bool = False
    line: tuple[int, int] = (0, 0)


@dataclass
class CollectiveState:
    """All process groups that reported trouble."""

    groups: dict[str, dict[int, RankState]] = field(default_factory=lambda: defaultdict(dict))

    def table(self) -> tuple[CollectiveGroup, ...]:
        """The state as the report shows it."""
        rows = []
        for group, ranks in sorted(self.groups.items()):
            states = _states(ranks)
            seqs = Counter(state.seq for state in ranks.values() if state.seq is not None)
            rows.append(
                CollectiveGroup(
                    group=group,
                    seq=min(seqs) if seqs else None,
                    ranks=tuple(
                        CollectiveRank(
                            rank=rank, op=state.op, numel=state.numel, enqueued=state.enqueued,
                            completed=state.completed, state=states[rank],
                        )
                        for rank, state in sorted(ranks.items())
                    ),
                )
            )  # fmt: skip
        return tuple(rows)


def read_collectives(sources: Sequence[Iterable[Record]], places: Places) -> CollectiveState:
    """Read the watchdog lines of all sources."""
    state = CollectiveState()
    for index, records in enumerate(sources):
        group_of: dict[int, str] = {}
        pending: dict[int, list[RankState]] = {}
        for record in records:
            message = record.text
            if "WorkNCCL(" in message or "ast enqueued" in message or "ump signal" in message:
                _read_line(state, (index, record), places, group_of, pending)
        for rank, reports in pending.items():
            for report in reports:
                _merge(state.groups[group_of.get(rank, "0")].setdefault(rank, RankState(rank)), report)
    return state


def _read_line(
    state: CollectiveState,
    place: tuple[int, Record],
    places: Places,
    group_of: dict[int, str],
    pending: dict[int, list[RankState]],
) -> None:
    """Read one line; the first watchdog line names no group, the lines after it do."""
    source, record = place
    named = _RANK.search(record.text)
    rank = int(named.group(1)) if named else places.rank_of(source, record)
    if rank is None:
        return
    report = RankState(rank, line=(source, record.number), notified=_SIGNAL.search(record.text) is not None)
    work = _WORK.search(record.text)
    if work is not None:
        report.seq = int(work.group(1)) if work.group(1) else None
        report.op = work.group(2)
        report.numel = int(work.group(3)) if work.group(3) else None
        report.timed_out = "caught collective operation timeout" in record.text
    counters = _COUNTERS.search(record.text)
    if counters is not None:
        report.enqueued, report.completed = int(counters.group(1)), int(counters.group(2))
    found = _GROUP.search(record.text)
    if found is None:
        pending.setdefault(rank, []).append(report)
        return
    group = found.group(1)
    # The group of a rank's own timeout; the default group is also named by lines that only pass on a signal.
    if rank not in group_of or report.timed_out:
        group_of[rank] = group
    _merge(state.groups[group].setdefault(rank, RankState(rank, line=report.line)), report)


def _merge(known: RankState, report: RankState) -> None:
    for name in ("seq", "op", "numel", "enqueued", "completed"):
        value = getattr(report, name)
        if value is not None:
            setattr(known, name, value)
    known.timed_out = known.timed_out or report.timed_out
    known.notified = known.notified or report.notified


def timeout_seconds(text: str) -> float:
    """Seconds that a collective had already waited when its timeout was printed."""
    found = _RAN_FOR.search(text)
    return int(found.group(1)) / 1000 if found else 0.0


def _states(ranks: dict[int, RankState]) -> dict[int, str]:
    ops = Counter((state.op, state.numel) for state in ranks.values() if state.timed_out and state.op)
    usual = ops.most_common(1)[0][0] if ops else None
    states = {}
    for rank, state in ranks.items():
        if state.enqueued is not None and state.enqueued == state.completed and not state.timed_out:
            states[rank] = "never-entered"
        elif usual and state.op and state.op != usual[0] and len(ops) > 1:
            states[rank] = "other-collective"
        elif usual and state.numel is not None and (state.op, state.numel) != usual and len(ops) > 1:
            states[rank] = "size-mismatch"
        elif state.timed_out:
            states[rank] = "waiting"
        else:
            states[rank] = "notified" if state.notified else "busy"
    return states


def find_suspects(state: CollectiveState, places: Places, seen: set[int]) -> list[Suspect]:
    """Ranks in which the cause probably lies, because of what they did not do."""
    suspects: dict[int, Suspect] = {}
    for group, ranks in sorted(state.groups.items()):
        states = _states(ranks)
        waiting = sorted(rank for rank, value in states.items() if value == "waiting")
        for rank, value in sorted(states.items()):
            mine = ranks[rank]
            if value == "never-entered":
                because = f"last enqueued work {mine.enqueued} equals last completed work in group {group}: it was not waiting"
                suspects.setdefault(
                    rank,
                    Suspect(rank=rank, host=places.host_of_rank.get(rank), reason="never-entered", because=because),
                )
            elif value in {"other-collective", "size-mismatch"}:
                because = f"ran {mine.op} of {mine.numel} elements where the other ranks of group {group} did not"
                reason: SuspectReason = "other-collective" if value == "other-collective" else "size-mismatch"
                suspects.setdefault(
                    rank, Suspect(rank=rank, host=places.host_of_rank.get(rank), reason=reason, because=because)
                )
        if waiting and not suspects:
            for rank in _absent(ranks, places, seen):
                because = f"{len(waiting)} ranks waited in group {group}, this one reported nothing"
                missing: SuspectReason = "silent" if rank in seen else "absent"
                suspects[rank] = Suspect(rank=rank, host=places.host_of_rank.get(rank), reason=missing, because=because)
    return list(suspects.values())


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
        for rank in missing[:16]
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


def _absent(ranks: dict[int, RankState], places: Places, seen: set[int]) -> list[int]:
    expected = set(range(places.world_size)) if places.world_size else seen
    absent = sorted(expected - set(ranks))
    # When most ranks are missing, the input is incomplete and says nothing about them.
    return absent if absent and len(absent) * 2 <= len(expected) else []
