"""The state of collectives: which rank never entered, which did something else.

Reads PyTorch's watchdog lines (`ProcessGroupNCCL.cpp`): the collective that
timed out with its sequence number, the counters of last enqueued and last
completed work, and the notice of a dump signal from another rank. A rank whose
enqueued work equals its completed work was not waiting: it never entered.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assistant.logs.layout import Places
from assistant.verdict import CollectiveGroup, CollectiveRank
from corpus.late import late
from corpus.record import Record

_RANK = late(r"\bRank (\d{1,15})\]")
_WORK = late(
    r"Work(?:NCCL|RCCL|XCCL|HCCL|UCC|CNCL|MCCL)\((?:SeqNum=(\d{1,15}), )?OpType=([A-Z_a-z]+)(?:, NumelIn=(\d{1,15}))?(?:, NumelOut=(\d{1,15}))?.{0,80}?Timeout\(ms\)=(\d{1,15})\)(?: ran for (\d{1,15}) milliseconds)?"
)
_COUNTERS = late(
    r"[Ll]ast enqueued (?:[A-Z]{3,5} )?work: (-?\d{1,15}), last completed (?:[A-Z]{3,5} )?work: (-?\d{1,15})"
)
_GROUP = late(r"\[PG (?:ID )?(\d{1,15})(?: ?PG GUID ([\w.\-]{1,40}))?")
_SIGNAL = late(
    r"[Oo]bserved flight recorder dump signal from another rank(?: via TCPStore)?|Received a dump signal due to a collective timeout from (?:this|another)? ?.{0,30}rank (\d{1,15})"
)
_RAN_FOR = late(r"ran for (\d{1,15}) milliseconds")


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
    verdict: str | None = None
    """Where it stands as a flight recorder says; decides over what the counters suggest."""
    line: tuple[int, int] = (0, 0)


@dataclass
class CollectiveState:
    """All process groups that reported trouble."""

    groups: dict[str, dict[int, RankState]] = field(default_factory=lambda: defaultdict(dict))
    members: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Global ranks of the groups of which a flight recorder lists them."""

    def table(self) -> tuple[CollectiveGroup, ...]:
        """The state as the report shows it."""
        rows = []
        for group, ranks in sorted(self.groups.items()):
            states = states_of(ranks)
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
            if "OpType=" in message or "ast enqueued" in message or "ump signal" in message:
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
    # The number after PG ID counts the groups of one process; the GUID is the same on all ranks.
    group = found.group(2) or found.group(1)
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
    known.verdict = known.verdict or report.verdict


def sequence_of(text: str) -> tuple[str, int] | None:
    """Process group and sequence number of a collective that timed out, if the line gives the number."""
    work = _WORK.search(text)
    if work is None or not work.group(1):
        return None
    group = _GROUP.search(text)
    return (group.group(2) or group.group(1) if group else "0"), int(work.group(1))


def timeout_seconds(text: str) -> float:
    """Seconds that a collective had already waited when its timeout was printed."""
    found = _RAN_FOR.search(text)
    return int(found.group(1)) / 1000 if found else 0.0


def plain_op(op: str | None) -> str | None:
    """An operation's name in one spelling: `_ALLGATHER_BASE` and `_all_gather_base` are the same."""
    return op.replace("_", "").upper() if op else None


def states_of(ranks: dict[int, RankState]) -> dict[int, str]:
    """Where each rank of a group stands, in a word."""
    ops = Counter((plain_op(state.op), state.numel) for state in ranks.values() if state.timed_out and state.op)
    usual = ops.most_common(1)[0][0] if ops else None
    states = {}
    for rank, state in ranks.items():
        op = plain_op(state.op)
        if state.verdict is not None:
            states[rank] = state.verdict
        elif state.enqueued is not None and state.enqueued == state.completed and not state.timed_out:
            states[rank] = "never-entered"
        elif usual and op and op != usual[0] and len(ops) > 1:
            states[rank] = "other-collective"
        elif usual and state.numel is not None and (op, state.numel) != usual and len(ops) > 1:
            states[rank] = "size-mismatch"
        elif state.timed_out:
            states[rank] = "waiting"
        else:
            states[rank] = "notified" if state.notified else "busy"
    return states
