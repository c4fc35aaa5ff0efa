"""PyTorch's flight-recorder dumps: what each rank had enqueued, started and completed.

The file of one rank is a pickled dict (or the same as JSON) with `version`,
`pg_config`, `pg_status` and `entries`; fields as in PyTorch's
torch/csrc/distributed/c10d/FlightRecorder.hpp, versions 2.0 to 2.10. NCCL, XCCL
and HCCL backends write the same form. Nothing of a dump is run or imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from assistant.logs.dataonly import NotPlainData, load_plain

MAX_BYTES = 64 * 1024 * 1024
"""Bytes of one dump; 2,000 entries with Python stacks are about 1 MB."""
MAX_ENTRIES = 200_000
MAX_RANKS = 100_000
_RANK = re.compile(r"(?:^|[^0-9])(\d{1,6})(?:\.(?:json|pkl|pickle|pt|bin|dump|trace))?$")
_WORDS = (b"collective_seq_id", b"pg_config", b"pg_status", b"profiling_name")
_PEER = re.compile(r"(send|recv) (\d{1,6})(->|<-)(\d{1,6})")


@dataclass(frozen=True, slots=True)
class Work:
    """One collective or point-to-point operation as a rank recorded it."""

    group: str
    seq: int
    op: str
    numel: int | None
    state: str
    is_p2p: bool = False
    created_ns: int | None = None

    @property
    def is_done(self) -> bool:
        """Whether it completed."""
        return self.state == "completed"

    @property
    def peer(self) -> tuple[int, int] | None:
        """Sender and receiver of a point-to-point operation, numbered within the group."""
        found = _PEER.search(self.op)
        if found is None:
            return None
        first, second = int(found.group(2)), int(found.group(4))
        return (first, second) if found.group(3) == "->" else (second, first)


@dataclass(slots=True)
class Dump:
    """The dump of one rank."""

    rank: int | None
    version: str
    work: list[Work] = field(default_factory=list)
    members: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Global ranks of each process group."""
    status: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Last enqueued and last completed number of each process group."""


def looks_like_dump(start: bytes) -> bool:
    """Whether a file that starts like this is a flight-recorder dump."""
    if start[:1] == b"\x80":
        return start[1:2] <= b"\x05" and any(word in start for word in _WORDS)
    head = start.lstrip()[:1]
    return (head == b"{" and b'"entries"' in start[:65536] and any(b'"%s"' % word in start for word in _WORDS)) or (
        head == b"{" and b'"pg_config"' in start[:4096] and b'"version"' in start[:4096]
    )


def rank_of_name(path: str) -> int | None:
    """The rank that the name of a dump ends with (`nccl_trace_rank_12`, `_dump_3.json`)."""
    found = _RANK.search(PurePosixPath(path.replace("!", "/")).name)
    return int(found.group(1)) if found else None


def read_dump(data: bytes, path: str) -> Dump:
    """Read one dump. Raises ValueError with the reason as its text."""
    if len(data) > MAX_BYTES:
        raise NotPlainData(f"is larger than {MAX_BYTES // 1024 // 1024} MB")
    if data[:1] == b"\x80":
        value = load_plain(data)
    else:
        try:
            value = json.loads(data)
        except RecursionError:
            raise NotPlainData("is nested too deeply") from None
    if not isinstance(value, Mapping):
        raise NotPlainData("is no flight-recorder dump")
    dump = Dump(rank_of_name(path), str(value.get("version", ""))[:20])
    names = _read_groups(dump, value)
    _read_entries(dump, value, names)
    _read_status(dump, value, names)
    return dump


def _read_groups(dump: Dump, value: Mapping[str, Any]) -> dict[str, str]:
    config = value.get("pg_config")
    for key, group in list(config.items())[:10_000] if isinstance(config, Mapping) else ():
        if not isinstance(group, Mapping):
            continue
        ranks = group.get("ranks")
        if isinstance(ranks, str):
            ranks = re.findall(r"\d{1,7}", ranks[: MAX_RANKS * 8])
        if isinstance(ranks, (list, tuple)):
            members = tuple(int(rank) for rank in ranks[:MAX_RANKS] if _is_number(rank))
            dump.members[str(group.get("name", key))[:80]] = members
    return {}


def _read_entries(dump: Dump, value: Mapping[str, Any], names: dict[str, str]) -> None:
    entries = value.get("entries")
    for entry in entries[-MAX_ENTRIES:] if isinstance(entries, list) else ():
        if not isinstance(entry, Mapping):
            continue
        group = entry.get("process_group")
        name = str(group[0])[:80] if isinstance(group, (list, tuple)) and group else str(entry.get("pg_id", "0"))[:80]
        if _is_number(entry.get("pg_id")):
            names[str(entry["pg_id"])] = name
        is_p2p = entry.get("is_p2p") is True
        seq = entry.get("p2p_seq_id" if is_p2p else "collective_seq_id", entry.get("seq_id"))
        if not _is_number(seq):
            continue
        created = entry.get("time_created_ns")
        dump.work.append(
            Work(
                group=name, seq=int(str(seq)), op=str(entry.get("profiling_name", ""))[:120].rpartition(":")[2].strip(),
                numel=_numel(entry.get("input_sizes")), state=str(entry.get("state", ""))[:20], is_p2p=is_p2p,
                created_ns=created if isinstance(created, int) else None,
            )
        )  # fmt: skip


def _read_status(dump: Dump, value: Mapping[str, Any], names: Mapping[str, str]) -> None:
    status = value.get("pg_status")
    for key, group in list(status.items())[:10_000] if isinstance(status, Mapping) else ():
        if not isinstance(group, Mapping):
            continue
        numbers = [group.get("last_enqueued_collective"), group.get("last_completed_collective")]
        if all(_is_number(number) for number in numbers):
            name = names.get(str(key), str(key)[:80] if str(key) in dump.members or not dump.members else "")
            if name:
                dump.status[name] = (int(str(numbers[0])), int(str(numbers[1])))


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, str) and len(value) < 16 and value.lstrip("-").isdigit())


def _numel(sizes: object) -> int | None:
    """Elements of all inputs: the product of each shape, summed."""
    if not isinstance(sizes, (list, tuple)):
        return None
    total = 0
    for shape in sizes[:10_000]:
        if not isinstance(shape, (list, tuple)):
            return None
        product = 1
        for size in shape[:32]:
            if not isinstance(size, int) or size < 0:
                return None
            product = min(product * size, 2**62)
        total += product
    return total
