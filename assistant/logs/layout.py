"""Places: which rank and host a source or a record belongs to.

A record's prefix is believed first, then what the logs themselves map (NCCL's
`rank R nranks N cudaDev D busId B`, process ids seen with a rank, launcher
tables), then names of files and folders. Where two say different things the
content wins and the conflict is reported, never guessed away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from assistant.logs.filenames import (
    attempt_from_path,
    doubt_local_names,
    doubt_names,
    hosts_from_names,
    is_kernel_name,
    rank_from_path,
    ranks_from_rows,
    share_over_parts,
)
from assistant.logs.mappings import KILLED_CODES, MAX_RANKS, Placed, read_mapping
from assistant.logs.places import Failure, Places, bus_id
from corpus.record import Record

__all__ = ["Places", "attempt_from_path", "bus_id", "find_places", "is_kernel_name"]

_NCCL_RANK = re.compile(
    r"\brank (\d{1,9}) nranks (\d{1,9}) cudaDev (\d{1,9})(?: nvmlDev \d{1,9})? busId ([0-9a-fA-F]+)"
)
_SIZE = r"['\"]?[ :=]{1,3}(\d{1,6})\b(?!\s{0,2}(?:[!<>*/%]|is not |must |should ))"
"""A number that goes on as a calculation is its result: `... * world_size 256 != 8 * 4 * 4` is of a batch of 256."""
_WORLD_SAID = re.compile(rf"(?<![\w.])(?:world[ _]size|WORLD_SIZE){_SIZE}")
_WORLD = re.compile(
    rf"(?:world[ _]size|WORLD_SIZE|nranks|num_processes){_SIZE}|rank (\d{{1,9}}) in world size (\d{{1,9}})"
)
_RANK_IN_WORLD = re.compile(r"\b(?:global )?rank[ =:]{1,2}(\d{1,6})\b.{0,40}?\b(?:world[ _]size|nranks)")
_TWICE = re.compile(r"\[rank(\d{1,6})\]:\[rank(\d{1,6})\]:")
_LOCAL_RANK = re.compile(r"\blocal_rank[ =:]{1,2}(\d{1,4})\b")
_TABLE_RANK = re.compile(r"^rank\s+: (\d{1,9}) \(local_rank: (\d{1,9})\)")
_TABLE_HOST = re.compile(r"^host\s+: ([\w.\-]+)")
_STARTED = re.compile(r"\brank[ =:]{1,2}(\d{1,6})\b.{0,60}?\bhost[ =:]{1,2}([\w.\-]+)")
_PID_AND_HOST = re.compile(r"\bpid=(\d{1,10}), ip=([\w.\-:]+)")
_KUBE_NODE = re.compile(r"^Node:\s+([\w.\-]+)/")
_OWN_PID = re.compile(r"\bpid[ =:]{1,2}(\d{1,10})\b")
_TABLE_PID = re.compile(r"^exitcode\s+: (-?\d{1,9}) \(pid: (\d{1,9})\)")


def find_places(paths: Sequence[str], sources: Sequence[Iterable[Record]]) -> Places:
    """Read the places of a run from file names and from the records kept."""
    places = Places()
    for index, path in enumerate(paths):
        rank = rank_from_path(path)
        if rank is not None:
            places.source_rank[index] = rank
    said: dict[int, tuple[int, int]] = {}
    spoken: dict[int, int] = {}
    for index, records in enumerate(sources):
        named = places.source_rank.get(index)
        rank = _read_records(places, index, records)
        if rank is not None:
            spoken[index] = rank
        if named is not None and rank is not None:
            said[index] = (named, rank)
    if places.world_size is not None and not places.world_said and places.highest_rank >= places.world_size:
        places.world_size = None  # the only communicator in the logs is a subgroup's
    doubt_names(places, paths)
    ranks_from_rows(places, paths, spoken)
    doubt_local_names(places, paths, {index: ranks for index, ranks in said.items() if index in places.source_rank})
    if places.world_size is not None:
        # A number beyond the world is a pid, a pod or a replica.
        places.source_rank = {index: rank for index, rank in places.source_rank.items() if rank < places.world_size}
    if len(places.hosts) <= 1:
        # On a single node the local rank is the rank.
        for pid, local in places.local_of_pid.items():
            places.rank_of_pid.setdefault(pid, local)
    hosts_from_names(places, paths)
    share_over_parts(places, paths)
    return places


def _read_records(places: Places, source: int, records: Iterable[Record]) -> int | None:
    """Read one source; the rank that all its lines give, if they do."""
    table = _Table(places, source)
    prefix_ranks: set[int] = set()
    own_ranks: set[int] = set()
    for record in records:
        message = record.message
        for placed in read_mapping(record):
            _take(places, placed, own_ranks)
            _read_tee(places, source, record, placed.rank if placed.is_own else None)
        if message is not record.text and (twice := _TWICE.match(record.text)) is not None:
            _keep_tee(places, source, int(twice.group(1)), int(twice.group(2)))
        if record.rank is not None:
            prefix_ranks.add(record.rank)
            if record.local_rank is None and record.rank < MAX_RANKS:
                places.highest_rank = max(places.highest_rank, record.rank)
            _seen_together(places, record)
        if record.host is not None:
            places.hosts.add(record.host)
        if record.pid is not None and record.program != "kernel":
            places.pids.add(record.pid)
        if "nranks" in message or "orld" in message or "WORLD_SIZE" in message:
            _read_world(places, source, record)
        if message.startswith("Node:"):
            node = _KUBE_NODE.match(message)
            if node is not None:
                places.source_host.setdefault(source, node.group(1))
                places.hosts.add(node.group(1))
        if ", ip=" in message:
            for pid, host in _PID_AND_HOST.findall(message):
                places.host_of_pid.setdefault(int(pid), host)
        if "host" in message and "rank" in message:
            _read_started(places, record)
        table.read(record)
    teed = places.teed.get(source, {})
    if all(local == rank for local, rank in teed.items()):
        places.teed.pop(source, None)
    return _compare_with_name(places, source, prefix_ranks, own_ranks)


def _read_tee(places: Places, source: int, record: Record, own: int | None) -> None:
    """A program that says its ranks behind a prefix with the local one was printed through a launcher's tee."""
    if own is None or record.rank is None or own == record.rank:
        return
    local = _LOCAL_RANK.search(record.message)
    if local is not None and int(local.group(1)) == record.rank:
        _keep_tee(places, source, record.rank, own)


def _keep_tee(places: Places, source: int, local: int, rank: int) -> None:
    """Keep the rank of a local one; where hosts share a file, a local rank may be several's and is then nobody's."""
    known = places.teed.setdefault(source, {})
    known[local] = rank if known.get(local, rank) == rank else None


def _take(places: Places, placed: Placed, own_ranks: set[int]) -> None:
    """Keep what a line maps; the first line that says something is believed."""
    if placed.is_own and placed.rank is not None:
        own_ranks.add(placed.rank)
    if placed.world is not None and not placed.is_own:
        places.world_size = max(places.world_size or 0, placed.world)
        places.world_said = True
    if placed.rank is not None and placed.pid is not None:
        places.rank_of_pid.setdefault(placed.pid, placed.rank)
    if placed.pid is not None and not placed.is_own:
        places.pids.add(placed.pid)
    if placed.pid is not None and placed.killed:
        places.killed.add(placed.pid)
    if placed.host is not None:
        places.hosts.add(placed.host)
        if placed.rank is not None:
            places.host_of_rank.setdefault(placed.rank, placed.host)
        if placed.pid is not None:
            places.host_of_pid.setdefault(placed.pid, placed.host)
    if placed.local_rank is not None and placed.pid is not None:
        places.local_of_pid.setdefault(placed.pid, placed.local_rank)


def _compare_with_name(places: Places, source: int, prefix_ranks: set[int], own_ranks: set[int]) -> int | None:
    """What a file's name says of its rank against what its lines say; a source that speaks of one rank is that rank's."""
    named = places.source_rank.get(source)
    said = prefix_ranks or own_ranks
    if len(said) != 1:
        return None
    (rank,) = said
    if named is not None and named != rank:
        places.conflicts.append(
            f"a file name says rank {named}, all its lines say rank {rank}; the lines are believed"
            if prefix_ranks
            else f"a file name says rank {named}, the program in it says rank {rank}; the program is believed"
        )
    if not prefix_ranks:
        places.source_rank[source] = rank
    return None if source in places.teed else rank


def _seen_together(places: Places, record: Record) -> None:
    """A rank that stands beside a pid, host or container in a prefix belongs to it."""
    assert record.rank is not None
    if record.pid is not None:
        places.rank_of_pid.setdefault(record.pid, record.rank)
    if record.host is not None:
        places.host_of_rank.setdefault(record.rank, record.host)
    if record.container is not None:
        places.of_container.setdefault(record.container, set()).add(record.rank)


def _read_started(places: Places, record: Record) -> None:
    """A start-up line that names rank and host, and often the pid."""
    found = _STARTED.search(record.message)
    if found is None:
        return
    rank, host = int(found.group(1)), found.group(2)
    places.host_of_rank.setdefault(rank, host)
    places.hosts.add(host)
    pid = _OWN_PID.search(record.message)
    if pid is not None:
        places.rank_of_pid.setdefault(int(pid.group(1)), rank)
        places.pids.add(int(pid.group(1)))
    if record.container is not None:
        places.of_container.setdefault(record.container, set()).add(rank)


class _Table:
    """Reads torchrun's failure tables, whose rows spread over several lines."""

    def __init__(self, places: Places, source: int) -> None:
        self.places = places
        self.source = source
        self.host: str | None = None
        self.rank: int | None = None
        self.root = False

    def read(self, record: Record) -> None:
        message = record.message
        if message.startswith("Root Cause (first observed failure)"):
            self.root = True
        elif message.startswith("Failures:"):
            self.root = False
        elif (found := _TABLE_HOST.match(message)) is not None:
            self.host, self.rank = found.group(1), None
            self.places.hosts.add(found.group(1))
        elif (found := _TABLE_RANK.match(message)) is not None:
            self.rank = int(found.group(1))
            if self.host is not None:
                self.places.host_of_rank.setdefault(self.rank, self.host)
        elif (found := _TABLE_PID.match(message)) is not None and self.rank is not None:
            code, pid = int(found.group(1)), int(found.group(2))
            self.places.rank_of_pid.setdefault(pid, self.rank)
            self.places.pids.add(pid)
            if code in KILLED_CODES:
                self.places.killed.add(pid)
            self.places.failures.append(Failure(self.source, record.number, self.rank, self.host, code, self.root))


def world_sizes(message: str) -> list[int]:
    """The sizes of the world that a message says by that name; a communicator may be smaller."""
    return [int(size) for size in _WORLD_SAID.findall(message)]


def _read_world(places: Places, source: int, record: Record) -> None:
    message = record.message
    nccl = _NCCL_RANK.search(message)
    if nccl is not None:
        rank, size, gpu = (int(nccl.group(index)) for index in (1, 2, 3))
        # NCCL makes smaller communicators later; the largest is the world's.
        if places.world_size is None or size >= places.world_size:
            places.world_size = size
            if record.host is not None:
                places.rank_of_gpu.setdefault((record.host, gpu), rank)
                bus = (record.host, nccl.group(4).lower().lstrip("0"))
                places.rank_of_bus.setdefault(bus, rank)
                places.bus_line.setdefault(bus, (source, record.number))
                places.host_of_rank.setdefault(rank, record.host)
            if record.pid is not None:
                places.rank_of_pid.setdefault(record.pid, rank)
        return
    found = _WORLD.search(message)
    if found is not None:
        size = int(found.group(1) or found.group(3))
        if 0 < size < 1_000_000:
            places.world_size = max(places.world_size or 0, size)
            places.world_said = places.world_said or "nranks" not in found.group()
        own = _RANK_IN_WORLD.search(message)
        if own is not None and record.pid is not None:
            places.rank_of_pid.setdefault(record.pid, int(own.group(1)))
