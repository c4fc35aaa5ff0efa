"""The peer that others lost, by the address that they print.

Gloo names the other end of a broken pair by its address only
(`gloo/transport/tcp/pair.cc`: `Connection closed by peer`, `Read error`, `Read
timeout`). Who reports it is a victim; the peer that all name, and that reports
nothing itself, is where to look. Which host or rank has the address is taken
from what the same logs say at start-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assistant.diagnosis.events import Event
from assistant.logs.layout import Places
from assistant.verdict import Suspect
from corpus.late import late
from corpus.record import Record

MAX_PEERS = 4

_IP = r"(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F:]{2,39})"
_PAIR = late(
    rf"gloo/\S*?(?:pair|buffer)\.cc:\d{{1,6}}\] .{{0,80}}?(?:by peer|[Rr]ead error|[Ww]rite error|[Rr]ead timeout|[Ww]rite timeout),? (?:remote=)?\[(?:::ffff:)?({_IP})\]:(\d{{1,5}})"
)
_NCCL_PEER = late(
    r"(?:Got completion from peer|[Cc]onnection closed by (?:remote )?peer|[Rr]ecv from|[Ss]end to) (?:\[?::ffff:)?([\w.\-]{1,128})\]?<\d{1,5}>"
)
"""NCCL names the other end of a socket or queue pair as `address<port>` (`src/misc/socket.cc`, `src/transport/net_ib`)."""
_INTERFACE = late(
    r"(?:Bootstrap ?: Using |NET/\w+ ?: Using |OOB |\[\d+\])\s?[A-Za-z][\w.\-]*:(\d{1,3}(?:\.\d{1,3}){3})<\d+>"
)
_NAMED = late(
    rf"\b(?:host|node|hostname)[ =:]{{1,2}}([A-Za-z][\w.\-]*)\b.{{0,40}}?\b(?:ip|addr|address)[ =:]{{1,2}}\[?(?:::ffff:)?({_IP})\b"
)
_RANK_AT = late(
    rf"\brank[ =:]{{1,2}}(\d{{1,6}})\b.{{0,60}}?\b(?:ip|addr|address|local|listening on|bound to)[ =:]{{1,2}}\[?(?:::ffff:)?({_IP})\b"
)
_POD_ROW = late(
    r"^(?:[\w.\-]+\s+)?([a-z0-9][\w.\-]*)\s+\d+/\d+\s+[A-Z]\w+\s+\d+.{0,40}?\s(\d{1,3}(?:\.\d{1,3}){3})\s+([\w.\-]+)"
)
_HOSTS_ROW = late(r"^(\d{1,3}(?:\.\d{1,3}){3})\s+([A-Za-z][\w.\-]*)(?:\s+[A-Za-z][\w.\-]*)*$")
_HINTS = ("<0>", "ip", "addr", "Using", "listening", "bound", "Running", "Completed", "Error")


@dataclass
class Addresses:
    """Which hosts and ranks the logs put at an address."""

    hosts: dict[str, set[str]] = field(default_factory=dict)
    ranks: dict[str, set[int]] = field(default_factory=dict)

    def host_of(self, address: str) -> str | None:
        """The host, where one alone is known."""
        found = self.hosts.get(address, set())
        return next(iter(found)) if len(found) == 1 else None

    def rank_of(self, address: str, places: Places) -> int | None:
        """The rank, where one alone ran there."""
        found = self.ranks.get(address, set())
        host = self.host_of(address) or _named(address, places)
        if not found and host is not None:
            found = {rank for rank, name in places.host_of_rank.items() if _short(name) == _short(host)}
        return next(iter(found)) if len(found) == 1 else None


def read_addresses(sources: Sequence[Iterable[Record]], places: Places) -> Addresses:
    """Read the addresses of all sources."""
    known = Addresses()
    for index, records in enumerate(sources):
        for record in records:
            message = record.message
            if len(message) > 2_000 or not (any(hint in message for hint in _HINTS) or message[:1].isdigit()):
                continue
            _read(known, index, record, places)
    for host in places.hosts:
        if host.startswith("ip-") and re.fullmatch(r"ip(?:-\d{1,3}){4}", _short(host)):
            known.hosts.setdefault(_short(host)[3:].replace("-", "."), set()).add(host)
    return known


def _read(known: Addresses, index: int, record: Record, places: Places) -> None:
    message = record.message
    own = _INTERFACE.search(message)
    if own is not None:
        host, rank = places.host_of(index, record), places.rank_of(index, record)
        if host is not None:
            known.hosts.setdefault(own.group(1), set()).add(host)
        if rank is not None:
            known.ranks.setdefault(own.group(1), set()).add(rank)
    elif (row := _POD_ROW.search(record.text)) is not None:
        known.hosts.setdefault(row.group(2), set()).add(row.group(1))
    elif (entry := _HOSTS_ROW.match(record.text)) is not None:
        known.hosts.setdefault(entry.group(1), set()).add(entry.group(2))
    else:
        if (named := _NAMED.search(message)) is not None:
            known.hosts.setdefault(named.group(2), set()).add(named.group(1))
        if (at := _RANK_AT.search(message)) is not None:
            known.ranks.setdefault(at.group(2), set()).add(int(at.group(1)))


def lost_peers(
    events: Sequence[Event], sources: Sequence[Iterable[Record]], paths: Sequence[str], places: Places
) -> list[Suspect]:
    """The peers that others lost and that lost nobody themselves, those named most often first."""
    named: dict[str, dict[tuple[object, ...], Event]] = {}
    for event in events:
        found = _PAIR.search(event.record.text) or _NCCL_PEER.search(event.record.text)
        if found is not None and not (event.unrelated or event.recovered):
            named.setdefault(found.group(1), {}).setdefault(_reporter(event), event)
    if not named:
        return []
    for lost in named.values():
        _without_echoes(lost)
    known = read_addresses(sources, places)
    reporters = {who for lost in named.values() for who in lost}
    hosts = {event.host for lost in named.values() for event in lost.values() if event.host is not None}
    suspects = []
    for address, lost in sorted(named.items(), key=lambda item: (-len(item[1]), item[0])):
        rank, host = known.rank_of(address, places), known.host_of(address) or _named(address, places)
        if ("rank", rank) in reporters or (rank is None and host in hosts) or _is_local(address):
            continue  # it lost somebody itself
        first = min(lost.values(), key=lambda event: (event.source, event.line))
        who = f"{len(lost)} ranks report" if len(lost) > 1 else "another rank reports"
        because = (
            f"{who} that peer {address} went away first ({paths[first.source]}:{first.line}), and it reports nothing"
        )
        suspects.append(Suspect(rank=rank, host=host or address, reason="silent", because=because))
    return suspects[:MAX_PEERS]


def named_by_address(missing: Sequence[Suspect], lost: Sequence[Suspect]) -> list[Suspect]:
    """Ranks that are absent with the peers that others lost: where there is one of each, they are the same."""
    strangers = [suspect for suspect in lost if suspect.rank is None]
    if len(missing) == 1 and len(strangers) == 1 and missing[0].rank is not None:
        (absent,), (stranger,) = missing, strangers
        because, host = f"{absent.because}; {stranger.because}", absent.host or stranger.host
        both = absent.model_copy(update={"because": because, "host": host})
        return [both, *(suspect for suspect in lost if suspect.rank is not None)]
    return [*lost, *missing]


def _reporter(event: Event) -> tuple[object, ...]:
    if event.rank is not None:
        return ("rank", event.rank)
    return ("place", event.host, event.record.container, event.source)


def _without_echoes(lost: dict[tuple[object, ...], Event]) -> None:
    """Leave out lines of nobody where a rank of the same source says the same: its exception quotes it."""
    sources = {event.source for event in lost.values() if event.rank is not None}
    for who in [who for who, event in lost.items() if event.rank is None and event.source in sources]:
        del lost[who]


def _named(address: str, places: Places) -> str | None:
    """The host of the run that an address is already the name of."""
    is_name = not address[:1].isdigit() and ":" not in address
    hosts = (host for host in places.hosts if host == address or (is_name and _short(host) == _short(address)))
    return next(hosts, None)


def _is_local(address: str) -> bool:
    return address.startswith("127.") or address in {"::1", "0.0.0.0"}


def _short(host: str) -> str:
    return host.split(".")[0]
