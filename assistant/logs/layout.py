"""Places: which rank and host a source or a record belongs to.

A record's prefix is believed first, then what the logs themselves map (NCCL's
`rank R nranks N cudaDev D busId B`, process ids seen with a rank, launcher
tables), then names of files and folders. Where two say different things the
content wins and the conflict is reported, never guessed away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from assistant.logs.mappings import Placed, read_mapping
from corpus.record import Record

_NCCL_RANK = re.compile(
    r"\brank (\d{1,9}) nranks (\d{1,9}) cudaDev (\d{1,9})(?: nvmlDev \d{1,9})? busId ([0-9a-fA-F]+)"
)
_WORLD = re.compile(
    r"(?:world[ _]size|WORLD_SIZE|nranks|num_processes|world_size)['\"]?[ :=]{1,3}(\d{1,6})\b|rank (\d{1,9}) in world size (\d{1,9})"
)
_RANK_IN_WORLD = re.compile(r"\b(?:global )?rank[ =:]{1,2}(\d{1,6})\b.{0,40}?\b(?:world[ _]size|nranks)")
_TABLE_RANK = re.compile(r"^rank\s+: (\d{1,9}) \(local_rank: (\d{1,9})\)")
_TABLE_HOST = re.compile(r"^host\s+: ([\w.\-]+)")
_STARTED = re.compile(r"\brank[ =:]{1,2}(\d{1,6})\b.{0,60}?\bhost[ =:]{1,2}([\w.\-]+)")
_PID_AND_HOST = re.compile(r"\bpid=(\d{1,10}), ip=([\w.\-:]+)")
_KUBE_NODE = re.compile(r"^Node:\s+([\w.\-]+)/")
_OWN_PID = re.compile(r"\bpid[ =:]{1,2}(\d{1,10})\b")
_TABLE_PID = re.compile(r"^exitcode\s+: (-?\d{1,9}) \(pid: (\d{1,9})\)")
_FILE_RANK = re.compile(r"(?:^|[._\-/])(?:rank|global_rank|worker|task)[._\-]?(\d{1,6})(?=[._\-/]|$)", re.I)
_TORCHRUN_DIR = re.compile(r"attempt_(\d{1,9})/(\d{1,9})/(?:stdout|stderr)\.log$")
_KERNEL_FILE = re.compile(r"dmesg|kern(?:el)?[._\-]|journal|syslog|messages", re.I)


@dataclass(frozen=True, slots=True)
class Failure:
    """One row of torchrun's failure table: which worker ended, where and how."""

    source: int
    line: int
    rank: int
    host: str | None
    code: int
    root: bool
    """True when the table calls it the first observed failure."""


@dataclass
class Places:
    """What the logs say about where ranks ran."""

    world_size: int | None = None
    rank_of_gpu: dict[tuple[str, int], int] = field(default_factory=dict)
    """(host, CUDA device) to rank."""
    rank_of_bus: dict[tuple[str, str], int] = field(default_factory=dict)
    """(host, NCCL bus id) to rank."""
    bus_line: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """Source and line that map a bus id."""
    rank_of_pid: dict[int, int] = field(default_factory=dict)
    host_of_rank: dict[int, str] = field(default_factory=dict)
    host_of_pid: dict[int, str] = field(default_factory=dict)
    local_of_pid: dict[int, int] = field(default_factory=dict)
    """Local ranks of processes that a launcher of one node started."""
    of_container: dict[str, set[int]] = field(default_factory=dict)
    """Ranks seen in the lines of a container or pod."""
    failures: list[Failure] = field(default_factory=list)
    """Rows of torchrun's failure tables."""
    hosts: set[str] = field(default_factory=set)
    pids: set[int] = field(default_factory=set)
    source_rank: dict[int, int] = field(default_factory=dict)
    source_host: dict[int, str] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)

    def rank_of(self, source: int, record: Record) -> int | None:
        """The rank that printed a record, as far as anything says."""
        if record.rank is not None:
            return record.rank
        if record.task is not None:
            return record.task
        host = record.host or self.source_host.get(source)
        if record.gpu is not None and host is not None and (host, record.gpu) in self.rank_of_gpu:
            return self.rank_of_gpu[(host, record.gpu)]
        if record.pid is not None and record.pid in self.rank_of_pid:
            return self.rank_of_pid[record.pid]
        if record.container is not None and len(self.of_container.get(record.container, ())) == 1:
            return min(self.of_container[record.container])
        if source in self.source_rank:
            return self.source_rank[source]
        single_host = len(self.hosts) <= 1
        if record.local_rank is not None and single_host:
            return record.local_rank
        if record.gpu is not None and single_host and not self.rank_of_gpu:
            return record.gpu
        return None

    def host_of(self, source: int, record: Record) -> str | None:
        """The host that a record speaks of."""
        if record.host is not None:
            return record.host
        if source in self.source_host:
            return self.source_host[source]
        if record.pid is not None and record.pid in self.host_of_pid:
            return self.host_of_pid[record.pid]
        rank = self.rank_of(source, record)
        if rank is not None and rank in self.host_of_rank:
            return self.host_of_rank[rank]
        # Logs in which only one host ever prints are that host's.
        return next(iter(self.hosts)) if len(self.hosts) == 1 else None

    def host_of_failure(self, source: int, line: int, rank: int) -> str | None:
        """The host that the next failure table below a line gives for a rank."""
        for failure in self.failures:
            if failure.source == source and failure.line > line and failure.rank == rank:
                return failure.host
        return None

    def root_failure(self, source: int, line: int) -> Failure | None:
        """The first observed failure of the next table below a line, when it was an exit and not an abort."""
        for failure in self.failures:
            if failure.source == source and failure.line > line and failure.root:
                return failure if failure.code > 0 else None
        return None

    def rank_of_pci(self, host: str | None, address: str) -> int | None:
        """The rank whose GPU has this PCI address, when one mapping fits."""
        bus = bus_id(address)
        found = {rank for (name, known), rank in self.rank_of_bus.items() if known == bus and host in (None, name)}
        return found.pop() if len(found) == 1 else None

    def bus_line_of(self, rank: int, address: str) -> tuple[int, int]:
        """Source and line that map a PCI address to this rank; raises KeyError where nothing does."""
        bus = bus_id(address)
        host = next(host for (host, known), owner in self.rank_of_bus.items() if known == bus and owner == rank)
        return self.bus_line[(host, bus)]


def bus_id(address: str) -> str:
    """NCCL's spelling of a PCI address: `0000:8a:00.0` is `8a000`."""
    digits = address.lower().replace(".", "").replace(":", "")
    if address.count(":") == 2 and "." not in address:
        digits += "0"
    return digits.lstrip("0") or "0"


def is_kernel_name(path: str) -> bool:
    """Whether a file name says that the kernel wrote it."""
    return _KERNEL_FILE.search(PurePosixPath(path.replace("!", "/")).name) is not None


def find_places(paths: Sequence[str], sources: Sequence[Iterable[Record]]) -> Places:
    """Read the places of a run from file names and from the records kept."""
    places = Places()
    for index, path in enumerate(paths):
        rank = _rank_from_path(path)
        if rank is not None:
            places.source_rank[index] = rank
    for index, records in enumerate(sources):
        _read_records(places, index, records)
    if places.world_size is not None:
        # A number beyond the world is a pid, a pod or a replica.
        places.source_rank = {index: rank for index, rank in places.source_rank.items() if rank < places.world_size}
    if len(places.hosts) <= 1:
        # On a single node the local rank is the rank.
        for pid, local in places.local_of_pid.items():
            places.rank_of_pid.setdefault(pid, local)
    _hosts_from_names(places, paths)
    _share_over_parts(places, paths)
    return places


_ROTATED = re.compile(r"\.\d{1,3}(?:\.(?:gz|bz2|xz|zst))?$")


def _share_over_parts(places: Places, paths: Sequence[str]) -> None:
    """Parts that rotation made of one log are of the same rank and host; only the oldest holds the start-up lines."""
    for known in (places.source_rank, places.source_host):
        bases: dict[str, set[object]] = {}
        for index, value in known.items():
            bases.setdefault(_ROTATED.sub("", paths[index]), set()).add(value)
        for index, path in enumerate(paths):
            values = bases.get(_ROTATED.sub("", path), set())
            if index not in known and len(values) == 1:
                known[index] = next(iter(values))  # type: ignore[assignment]


def _rank_from_path(path: str) -> int | None:
    name = path.replace("!", "/")
    torchrun = _TORCHRUN_DIR.search(name)
    if torchrun is not None:
        return int(torchrun.group(2))
    found = _FILE_RANK.findall(name)
    return int(found[-1]) if found else None


def attempt_from_path(path: str) -> int | None:
    """The attempt number (from 0) that torchrun's log folder names."""
    found = _TORCHRUN_DIR.search(path.replace("!", "/"))
    return int(found.group(1)) if found else None


def _read_records(places: Places, source: int, records: Iterable[Record]) -> None:
    table = _Table(places, source)
    prefix_ranks: set[int] = set()
    own_ranks: set[int] = set()
    for record in records:
        message = record.message
        for placed in read_mapping(record):
            _take(places, placed, own_ranks)
        if record.rank is not None:
            prefix_ranks.add(record.rank)
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
    _compare_with_name(places, source, prefix_ranks, own_ranks)


def _take(places: Places, placed: Placed, own_ranks: set[int]) -> None:
    """Keep what a line maps; the first line that says something is believed."""
    if placed.is_own and placed.rank is not None:
        own_ranks.add(placed.rank)
    if placed.world is not None and not placed.is_own:
        places.world_size = max(places.world_size or 0, placed.world)
    if placed.rank is not None and placed.pid is not None:
        places.rank_of_pid.setdefault(placed.pid, placed.rank)
    if placed.pid is not None and not placed.is_own:
        places.pids.add(placed.pid)
    if placed.host is not None:
        places.hosts.add(placed.host)
        if placed.rank is not None:
            places.host_of_rank.setdefault(placed.rank, placed.host)
        if placed.pid is not None:
            places.host_of_pid.setdefault(placed.pid, placed.host)
    if placed.local_rank is not None and placed.pid is not None:
        places.local_of_pid.setdefault(placed.pid, placed.local_rank)


def _compare_with_name(places: Places, source: int, prefix_ranks: set[int], own_ranks: set[int]) -> None:
    """What a file's name says of its rank against what its lines say; a source that speaks of one rank is that rank's."""
    named = places.source_rank.get(source)
    said = prefix_ranks or own_ranks
    if len(said) != 1:
        return
    (rank,) = said
    if named is not None and named != rank:
        places.conflicts.append(
            f"a file name says rank {named}, all its lines say rank {rank}; the lines are believed"
            if prefix_ranks
            else f"a file name says rank {named}, the program in it says rank {rank}; the program is believed"
        )
    if not prefix_ranks:
        places.source_rank[source] = rank


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
            self.places.failures.append(Failure(self.source, record.number, self.rank, self.host, code, self.root))


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
        own = _RANK_IN_WORLD.search(message)
        if own is not None and record.pid is not None:
            places.rank_of_pid.setdefault(record.pid, int(own.group(1)))


_NOT_A_HOST = re.compile(
    r"(?:slurm|job|log|train|run|out|err|std|worker|attempt|rank|task|proc|step|local|describe|kubectl|pod|events?|node_?\d+$|\d)"
)


_SUFFIX = re.compile(r"[._\-](?:previous|prev|log|out|err|stdout|stderr|txt|console)(?=[._\-]|$)")


def _host_in_name(stem: str) -> str | None:
    """The host that a file name like `ip-10-4-17-87-rank1.log` names beside its rank."""
    rest = _SUFFIX.sub("", _FILE_RANK.sub("", stem)).strip("._-")
    looks_like_host = re.fullmatch(r"[a-z][a-z0-9\-]*\d[a-z0-9\-.]*", rest) is not None
    return rest if looks_like_host and _NOT_A_HOST.match(rest) is None else None


def _hosts_from_names(places: Places, paths: Sequence[str]) -> None:
    """A source whose name holds a known host's name belongs to that host."""
    known = sorted(places.hosts, key=len, reverse=True)
    for index, path in enumerate(paths):
        if index in places.source_host:
            continue
        name = path.replace("!", "/")
        match = next((host for host in known if _holds(name, host)), None)
        if match is None and is_kernel_name(name):
            stem = PurePosixPath(name).stem
            found = re.search(r"(?:dmesg|kern(?:el)?|journal|syslog|messages)[._\-]([A-Za-z][\w\-]*\w)", stem)
            match = found.group(1) if found else None
        if match is None and index in places.source_rank and places.source_rank[index] not in places.host_of_rank:
            match = _host_in_name(PurePosixPath(name).stem)
        if match is not None:
            places.source_host[index] = match


def _holds(name: str, host: str) -> bool:
    short = host.split(".")[0]
    return len(short) > 2 and re.search(rf"(?<![A-Za-z0-9]){re.escape(short)}(?![A-Za-z0-9])", name) is not None
