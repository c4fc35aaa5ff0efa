"""Ranks out of step, as checks of the runtimes name them.

`TORCH_DISTRIBUTED_DEBUG=DETAIL` compares a fingerprint of every collective
before it runs (PyTorch's ProcessGroupWrapper.cpp); DDP compares parameters;
`monitored_barrier` names who did not come; HCCL names the rank whose notify
record is missing; NCCL's RAS reports who launched fewer operations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assistant.logs.layout import Places
from assistant.verdict import Suspect, SuspectReason
from corpus.record import Record

_FINGERPRINT = re.compile(
    r"Rank (\d{1,6}) is running collective: CollectiveFingerPrint\((?:SequenceNumber ?= ?(\d{1,15}), ?)?OpType ?= ?([A-Za-z_]+)(?:, ?TensorShape ?= ?\[([\d, ]{0,200})\])?"
)
_BARRIER = re.compile(r"[Rr]anks? (\d{1,6}(?:, ?\d{1,6}){0,200}) failed to pass monitoredBarrier")
_PARAMETERS = re.compile(
    r"DDP expects same model across all ranks, but Rank (\d{1,6}) has (\d{1,9}) params, while rank (\d{1,6}) has inconsistent (\d{1,9})"
)
_NOTIFY = re.compile(r"has not received the Notify record from remote rank \[(\d{1,6})\]")
_HCCL_RANK = re.compile(r"\brank(?:Id|_id)?:? ?\[(\d{1,6})\]|localRank\[(\d{1,6})\]")
_RAS_COUNT = re.compile(r"(\d{1,7}) ranks? (?:have|has) launched up to operation (\d{1,15})")
_RAS_RANK = re.compile(r"^Rank (\d{1,6})(?: -- GPU \d{1,3}| --)? managed by process (\d{1,10})(?: on node ([\w.\-]+))?")
_TASKS_FOLLOW = re.compile(r"[Ss]ome timed out task names:|[Tt]asks? (?:are|is) unhealthy|timed out tasks?:")
_TASK = re.compile(r"/job:\w{1,40}/replica:\d{1,6}/task:(\d{1,6})")
_TASK_LOST = re.compile(
    r"/task:(\d{1,6}) (?:heartbeat timeout|unexpectedly tried to connect with a different incarnation)"
)
MAX_NAMED = 16


@dataclass
class _Votes:
    """What ranks were seen to run, and how many ranks stand behind each form."""

    ran: dict[int, tuple[str | None, str, str | None]] = field(default_factory=dict)
    place: dict[int, str] = field(default_factory=dict)
    agree: dict[int, set[int]] = field(default_factory=dict)


def out_of_step(sources: Sequence[Iterable[Record]], places: Places, paths: Sequence[str]) -> list[Suspect]:
    """Suspects that the runtimes' own checks give."""
    votes, waits = _Votes(), dict[int, set[int]]()
    found: list[Suspect] = []
    for index, records in enumerate(sources):
        ras, tasks = _Ras(), _Tasks()
        for record in records:
            text = record.text
            place = f"{paths[index]}:{record.number}"
            if "task" in text:
                found += tasks.read(record, place)
            if "/task:" in text:
                found += _named(
                    _TASK_LOST, text, "silent", f"{place} says that the coordination service lost this task"
                )
            if "CollectiveFingerPrint(" in text:
                _vote(votes, text, place)
            elif "monitoredBarrier" in text:
                found += _named(_BARRIER, text, "absent", f"{place} says that it did not come to the barrier")
            elif "DDP expects same model" in text:
                found += _parameters(text, place)
            elif "Notify record from remote rank" in text:
                missing = _NOTIFY.search(text)
                own = places.rank_of(index, record)
                mine = _HCCL_RANK.search(text) if own is None else None
                if missing is not None:
                    key = own if own is not None else int(mine.group(1) or mine.group(2)) if mine else -1
                    waits.setdefault(key, set()).add(int(missing.group(1)))
            elif "launched up to operation" in text or record.message.startswith("Rank "):
                found += ras.read(record, place)
    found += _outvoted(votes)
    found += _never_notified(waits)
    return [
        suspect.model_copy(update={"host": suspect.host or places.host_of_rank.get(suspect.rank or -1)})
        for suspect in found
    ]


def is_comparison(text: str) -> bool:
    """Whether a message compares ranks, so that the rank that printed it is no more guilty than the other."""
    return "CollectiveFingerPrint(" in text or "DDP expects same model" in text


def _vote(votes: _Votes, text: str, place: str) -> None:
    said = list(_FINGERPRINT.finditer(text))
    for one in said:
        rank = int(one.group(1))
        shape = one.group(4).replace(" ", "") if one.group(4) is not None else None
        votes.ran[rank] = (one.group(2), one.group(3).upper(), shape)
        votes.place.setdefault(rank, place)
    if len(said) == 2:
        first, other = int(said[0].group(1)), int(said[1].group(1))
        # Ranks are compared in order and the first that differs is named: those before it agree.
        votes.agree.setdefault(first, set()).update(set(range(min(other, 100_000))) - {first})


def _outvoted(votes: _Votes) -> list[Suspect]:
    if len(votes.ran) < 2:
        return []
    behind: dict[tuple[str | None, str, str | None], set[int]] = {}
    for rank, form in votes.ran.items():
        behind.setdefault(form, set()).update(
            {rank} | {other for other in votes.agree.get(rank, ()) if other not in votes.ran}
        )
    counts = Counter({form: len(ranks) for form, ranks in behind.items()})
    usual, most = counts.most_common(1)[0]
    odd = [rank for rank, form in sorted(votes.ran.items()) if form != usual]
    if list(counts.values()).count(most) > 1:
        odd = sorted(votes.ran) if len(votes.ran) <= 4 else []
    suspects = []
    for rank in odd[:MAX_NAMED]:
        form = votes.ran[rank]
        other = usual if form != usual else next(f for f in counts if f != form)
        reason: SuspectReason = "size-mismatch" if form[:2] == other[:2] else "other-collective"
        because = f"{votes.place[rank]}: it runs {_words(form)}, the others {_words(other)}"
        suspects.append(Suspect(rank=rank, reason=reason, because=because))
    return suspects


def _words(form: tuple[str | None, str, str | None]) -> str:
    number, op, shape = form
    return op + (f" of shape [{shape}]" if shape is not None else "") + (f" as number {number}" if number else "")


def _named(pattern: re.Pattern[str], text: str, reason: SuspectReason, because: str) -> list[Suspect]:
    found = pattern.search(text)
    ranks = [int(rank) for rank in found.group(1).split(",")] if found is not None else []
    return [Suspect(rank=rank, reason=reason, because=because) for rank in ranks[:MAX_NAMED]]


def _parameters(text: str, place: str) -> list[Suspect]:
    found = _PARAMETERS.search(text)
    if found is None:
        return []
    rank, mine, other, theirs = found.groups()
    # Rank 0's model is the one that is sent to the others.
    odd = rank if other == "0" else other
    because = f"{place}: rank {rank} has {mine} parameters, rank {other} has {theirs}"
    return [Suspect(rank=int(odd), reason="size-mismatch", because=because)]


def _never_notified(waits: dict[int, set[int]]) -> list[Suspect]:
    """In a ring every rank waits for its neighbour; the one that does not wait itself is where it stops."""
    named = {rank for ranks in waits.values() for rank in ranks}
    ends = sorted(named - waits.keys())
    because = f"{len(waits)} ranks waited for its notify record or for one another's, it waited for none"
    return [Suspect(rank=rank, reason="never-entered", because=because) for rank in ends[:MAX_NAMED]]


class _Ras:
    """Reads a report of NCCL's RAS: groups of ranks by the number of operations they launched."""

    def __init__(self) -> None:
        self.counts: list[tuple[int, int]] = []

    def read(self, record: Record, place: str) -> list[Suspect]:
        count = _RAS_COUNT.search(record.message)
        if count is not None:
            self.counts.append((int(count.group(1)), int(count.group(2))))
            return []
        rank = _RAS_RANK.match(record.message)
        if rank is None or len(self.counts) < 2:
            return []
        highest = max(operation for _, operation in self.counts)
        because = f"{place}: RAS lists it among the ranks that launched fewer than {highest} operations"
        return [Suspect(rank=int(rank.group(1)), host=rank.group(3), reason="never-entered", because=because)]


class _Tasks:
    """Reads which tasks JAX's coordination service waited for (tsl/distributed_runtime/coordination)."""

    def __init__(self) -> None:
        self.lines = 0
        self.reason: SuspectReason = "absent"

    def read(self, record: Record, place: str) -> list[Suspect]:
        text = record.text
        announced = _TASKS_FOLLOW.search(text)
        if announced is not None:
            self.lines = MAX_NAMED
            self.reason = "silent" if "unhealthy" in announced.group() else "absent"
            text = text[announced.end() :]
        elif self.lines <= 0 or not record.message.startswith("/job:"):
            self.lines = 0
            return []
        self.lines -= 1
        because = f"{place}: the coordination service lists its task as one that " + (
            "stopped sending heartbeats" if self.reason == "silent" else "did not come to the barrier"
        )
        return [
            Suspect(rank=int(task), reason=self.reason, because=because) for task in _TASK.findall(text)[:MAX_NAMED]
        ]
