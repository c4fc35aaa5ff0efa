"""Which rank and host a source or a record belongs to, as far as the logs say."""

from __future__ import annotations

from dataclasses import dataclass, field

from corpus.record import Record


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
    world_said: bool = False
    """True when more than the size of a communicator gives it: that may be a subgroup's."""
    highest_rank: int = -1
    """The highest rank that a prefix gives."""
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
    killed: set[int] = field(default_factory=set)
    """Processes of which a launcher or shell says that SIGKILL ended them, or that they were gone without a word."""
    source_rank: dict[int, int] = field(default_factory=dict)
    source_host: dict[int, str] = field(default_factory=dict)
    teed: dict[int, dict[int, int | None]] = field(default_factory=dict)
    """Sources whose `[rankN]:` is a launcher's and gives the local rank, with the ranks of those."""
    conflicts: list[str] = field(default_factory=list)

    def rank_of(self, source: int, record: Record) -> int | None:
        """The rank that printed a record, as far as anything says."""
        if record.rank is not None:
            is_local = source in self.teed and record.local_rank is None
            return self.teed[source].get(record.rank) if is_local else record.rank
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
