"""Lines by which launchers and frameworks say where a rank runs.

Ray Train's list of workers, mpirun's and srun's notices, DeepSpeed's and
PyTorch's launchers, Open MPI's own prefix, and what a program says of itself
when it starts. Each gives some of rank, pid and host; what a line does not say
stays open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from corpus.record import Record

MAX_RANKS = 100_000

_RAY_WORKER = re.compile(r"\((?:node_id=\w+, )?ip=([\w.\-:]+), pid=(\d{1,10})\) world_rank=(\d{1,6})")
_MPIRUN = re.compile(r"noticed that process rank (\d{1,6}) with PID (\d{1,10}) on node ([\w.\-]+)")
_SRUN = re.compile(r"srun: error: ([\w.\-]+): task (\d{1,6}): ")
_SPAWNED = re.compile(r"process (\d{1,10}) spawned with command: .{1,2000}--local_rank[=' ,]{1,4}(\d{1,4})\b")
_GLOBAL_MAP = re.compile(r"'([\w.\-]+)': \[(\d{1,6}(?:, \d{1,6}){0,2000})\]")
_OMPI = re.compile(r"^\[([\w.\-]*[A-Za-z][\w.\-]*):(\d{2,10})\] ")
_OWN_RANK = re.compile(
    r"\b(?:initiali[sz]ed |[Ss]tarted |this is |I am )?(?:global[ _])?(?:rank|GLOBAL_RANK|process(?:_index| index| id)?)[ =:]{1,2}(\d{1,6})"
    r"(?: of (?:world size )?|/| / | in world of |, (?:world[_ ]size|MEMBER|nranks|num_processes)[ =:]{1,2}(?:\d{1,6}/)?)(\d{1,6})\b"
    r"(?!\s{0,2}(?:batch|item|sample|file|shard|step|iter|chunk|request|example|token|image|page|record|doc|task|%|loss))"
)
_ENDED = re.compile(r"failed \(exitcode: (-?\d{1,3})\) local_rank: (\d{1,4}) \(pid: (\d{1,10})\)")
_STOPPED = re.compile(r"\bSending process (\d{1,10}) closing signal ")
_SHELL_KILLED = re.compile(r"\bline \d{1,7}:\s{1,9}(\d{1,10}) Killed\b")
_KILLED_BY_PID = re.compile(r"\bSignal 9 \(SIGKILL\) received by PID (\d{1,10})\b")
_RAY_DIED = re.compile(r"\bWorker PID: (\d{1,10}) Worker exit type: SYSTEM_ERROR\b")
KILLED_CODES = frozenset({-9, 137})
_HINTS = (
    "world_rank=", "with PID", "srun: error", "spawned with", "global_rank_mapping", "rank", "RANK", "process",
    " Killed", "SIGKILL", "Worker PID",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Placed:
    """What one line says of one rank."""

    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None
    host: str | None = None
    world: int | None = None
    killed: bool = False
    """True when the line says that SIGKILL ended the process, or that it was gone without a word."""
    is_own: bool = False
    """True when the program that prints the line speaks of itself."""


def read_mapping(record: Record) -> list[Placed]:
    """The places that a line gives; empty for nearly all lines."""
    message = record.message
    found: list[Placed] = []
    if message.startswith("[") and record.rank is not None and (ompi := _OMPI.match(message)) is not None:
        found.append(Placed(rank=record.rank, pid=int(ompi.group(2)), host=ompi.group(1)))
    if len(message) > 20_000 or not any(hint in message for hint in _HINTS):
        return found
    if "world_rank=" in message and (ray := _RAY_WORKER.search(message)) is not None:
        found.append(Placed(rank=int(ray.group(3)), pid=int(ray.group(2)), host=ray.group(1)))
    elif "with PID" in message and (mpi := _MPIRUN.search(message)) is not None:
        found.append(
            Placed(rank=int(mpi.group(1)), pid=int(mpi.group(2)), host=mpi.group(3), killed=" signal 9" in message)
        )
    elif "srun: error" in record.text and (srun := _SRUN.search(record.text)) is not None:
        found.append(Placed(rank=int(srun.group(2)), host=srun.group(1)))
    elif "spawned with" in message and (spawned := _SPAWNED.search(message)) is not None:
        found.append(Placed(local_rank=int(spawned.group(2)), pid=int(spawned.group(1))))
    elif (ended := _ENDED.search(message)) is not None:
        code, local, pid = (int(value) for value in ended.groups())
        found.append(Placed(local_rank=local, pid=pid, killed=code in KILLED_CODES))
    elif (stopped := _STOPPED.search(message)) is not None:
        found.append(Placed(pid=int(stopped.group(1))))
    elif (killed := _killed(message)) is not None:
        found.append(Placed(pid=int(killed.group(1)), killed=True))
    elif "global_rank_mapping" in message:
        for host, ranks in _GLOBAL_MAP.findall(message):
            found += [Placed(rank=int(rank), host=host) for rank in ranks.split(", ") if int(rank) < MAX_RANKS]
    elif (own := _OWN_RANK.search(message)) is not None and int(own.group(1)) < int(own.group(2)) < MAX_RANKS:
        found.append(Placed(rank=int(own.group(1)), world=int(own.group(2)), pid=record.pid, is_own=True))
    return found


def _killed(message: str) -> re.Match[str] | None:
    return _SHELL_KILLED.search(message) or _KILLED_BY_PID.search(message) or _RAY_DIED.search(message)
