"""What names of files say of rank, host, attempt and kind of log.

Names are believed last: content wins, and a name that says something else is
reported. `worker_7` may be a loader or a replica, so such numbers are ranks
only where they form a full row or the world is known to hold them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from assistant.logs.places import Places

_FILE_RANK = re.compile(
    r"(?:^|[._\-/])(?<!local[._\-])(?:rank|global_rank|worker|task)[._\-]?(\d{1,6})(?=[._\-/]|$)", re.I
)
_SURE_NAME = re.compile(r"(?:^|[._\-/])(?<!local[._\-])(?:global_)?rank[._\-]?\d", re.I)
_NODE_GPU = re.compile(r"^(?P<host>[A-Za-z][\w.\-]*?\d)[._\-](?:gpu|local_?rank|lrank|device)[._\-]?\d{1,2}$", re.I)
_TORCHRUN_DIR = re.compile(r"attempt_(\d{1,9})/(\d{1,9})/(?:stdout|stderr)\.log$")
_KERNEL_FILE = re.compile(r"dmesg|kern(?:el)?[._\-]|journal|syslog|messages", re.I)
_ROTATED = re.compile(r"\.\d{1,3}(?:\.(?:gz|bz2|xz|zst))?$")
_NOT_A_HOST = re.compile(
    r"(?:slurm|job|log|train|run|out|err|std|worker|attempt|rank|task|proc|step|local|describe|kubectl|pod|events?|node_?\d+$|\d)"
)
_NUMBER = re.compile(r"(?<!\d)(?:0|[1-9]\d{0,4})(?!\d)")
_BEFORE_HOST = re.compile(r"(?<![A-Za-z0-9])")
_AFTER_HOST = re.compile(r"(?![A-Za-z0-9])")
FEWEST_SHIFTED = 2
"""Files of a node whose lines give ranks as far beyond those of their names: then the others' are known as well."""
SHORTEST_HOST = 2
"""Names of so few characters stand in file names by chance."""
_OF_ONE_NODE = re.compile(
    r"(?:node|host|machine|gpu|dgx|hgx|nid|cn|gn|compute|worker|replica|pod|n)[\-_.]?(?:\d{1,6}|[a-z])|ip-[\d\-]{7,15}",
    re.I,
)
"""Folders with a name of this kind are one node's: the same rank in two of them is the local one of both."""
_SUFFIX = re.compile(r"[._\-](?:previous|prev|log|out|err|stdout|stderr|txt|console)(?=[._\-]|$)")


def is_kernel_name(path: str) -> bool:
    """Whether a file name says that the kernel wrote it."""
    return _KERNEL_FILE.search(PurePosixPath(path.replace("!", "/")).name) is not None


def share_over_parts(places: Places, paths: Sequence[str]) -> None:
    """Parts that rotation made of one log are of the same rank and host; only the oldest holds the start-up lines."""
    for known in (places.source_rank, places.source_host):
        bases: dict[str, set[object]] = {}
        for index, value in known.items():
            bases.setdefault(_ROTATED.sub("", paths[index]), set()).add(value)
        for index, path in enumerate(paths):
            values = bases.get(_ROTATED.sub("", path), set())
            if index not in known and len(values) == 1:
                known[index] = next(iter(values))  # type: ignore[assignment]


def first_parts(paths: Sequence[str]) -> list[int]:
    """For each source the first one of the same rotated log; sources are in the order in which they were written."""
    first: dict[str, int] = {}
    return [first.setdefault(_ROTATED.sub("", path), index) for index, path in enumerate(paths)]


def doubt_names(places: Places, paths: Sequence[str]) -> None:
    """`worker_7` alone may be a loader or a replica; without a world size only a full row of such files is ranks."""
    if places.world_size is not None:
        return
    doubtful = {
        index: rank
        for index, rank in places.source_rank.items()
        if _SURE_NAME.search(paths[index].replace("!", "/")) is None
        and not _TORCHRUN_DIR.search(paths[index].replace("!", "/"))
    }
    numbers = set(doubtful.values())
    if numbers and len(paths) > 1 and numbers != set(range(max(numbers) + 1)):
        for index in doubtful:
            del places.source_rank[index]


def doubt_local_names(places: Places, paths: Sequence[str], said: dict[int, tuple[int, int]]) -> None:
    """Names that count the ranks of each node anew give local ranks, which are no ranks of the job.

    `said` holds, by source, the rank of the name and the only one that its lines give.
    """
    folders = _folders_of_ranks(places, paths)
    local = {name for name in folders if _is_local(places, name, folders)}
    for name, sources in folders.items():
        offsets = [said[index][1] - said[index][0] for index in sources if index in said]
        rest = sources - said.keys()
        if len(set(offsets)) == 1 and offsets[0] > 0 and len(offsets) >= FEWEST_SHIFTED:
            for index in rest:
                places.source_rank[index] += offsets[0]
        elif any(offset > 0 for offset in offsets) or (name in local and 0 not in offsets):
            for index in rest:
                del places.source_rank[index]
    for index, (_, rank) in said.items():
        places.source_rank[index] = rank


def ranks_from_rows(places: Places, paths: Sequence[str], said: dict[int, int]) -> None:
    """Files that differ in one number from 0 on, which is the rank that the lines of some of them give, are the ranks'.

    So are `slurm-%j.%t.out` and the like, whose numbers have no name; `said` holds the only rank of a source's lines.
    """
    if len(said) < FEWEST_SHIFTED:
        return
    rows: dict[tuple[str, str], dict[int, int]] = {}
    for index, path in enumerate(paths):
        for found in _NUMBER.finditer(path):
            rows.setdefault((path[: found.start()], path[found.end() :]), {})[int(found.group())] = index
    for row in rows.values():
        known = [number for number, index in row.items() if index in said]
        if len(known) < FEWEST_SHIFTED or row.keys() != set(range(len(row))):
            continue
        if all(said[row[number]] == number for number in known):
            for number, index in row.items():
                places.source_rank.setdefault(index, number)


def _folders_of_ranks(places: Places, paths: Sequence[str]) -> dict[str, set[int]]:
    """Sources with a rank in their names, by the folder below the one that holds them all."""
    named = {index: PurePosixPath(paths[index].replace("!", "/")).parts for index in places.source_rank}
    if not named:
        return {}
    depth = next((level for level, names in enumerate(zip(*named.values(), strict=False)) if len(set(names)) > 1), None)
    folders: dict[str, set[int]] = {}
    for index, parts in named.items():
        folder = parts[depth] if depth is not None and depth < len(parts) - 1 else ""
        folders.setdefault(folder, set()).add(index)
    return folders


def _is_local(places: Places, folder: str, folders: dict[str, set[int]]) -> bool:
    """Whether a folder is one node's of several, whose ranks are counted anew in each."""
    ranks = {name: {places.source_rank[index] for index in sources} for name, sources in folders.items()}
    if not any(ranks[folder] & theirs for name, theirs in ranks.items() if name != folder):
        return False
    if all(name in places.hosts or _OF_ONE_NODE.fullmatch(name) for name in folders):
        return True
    world, full = places.world_size, sum(map(len, ranks.values()))
    return world is not None and full == world and len(ranks[folder]) < world


def rank_from_path(path: str) -> int | None:
    """The rank that a name gives."""
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


def _host_in_name(stem: str) -> str | None:
    """The host that a file name like `ip-10-4-17-87-rank1.log` names beside its rank."""
    rest = _SUFFIX.sub("", _FILE_RANK.sub("", stem)).strip("._-")
    looks_like_host = re.fullmatch(r"[a-z][a-z0-9\-]*\d[a-z0-9\-.]*", rest) is not None
    return rest if looks_like_host and _NOT_A_HOST.match(rest) is None else None


def hosts_from_names(places: Places, paths: Sequence[str]) -> None:
    """A source whose name holds a known host's name belongs to that host."""
    hosts = _HostNames(places.hosts)
    for index, path in enumerate(paths):
        if index in places.source_host:
            continue
        name = path.replace("!", "/")
        match = hosts.in_name(name)
        if match is None and is_kernel_name(name):
            stem = PurePosixPath(name).stem
            found = re.search(r"(?:dmesg|kern(?:el)?|journal|syslog|messages)[._\-]([A-Za-z][\w\-]*\w)", stem)
            match = found.group(1) if found else None
        is_rank = index in places.source_rank and _SURE_NAME.search(name) is not None
        # What stands before `worker-1` is the job's name as often as a host's.
        if match is None and is_rank and places.source_rank[index] not in places.host_of_rank:
            match = _host_in_name(PurePosixPath(name).stem)
        if match is None and (node := _NODE_GPU.match(PurePosixPath(name).stem)) is not None:
            match = node.group("host")
        if match is not None:
            places.source_host[index] = match


class _HostNames:
    """Finds hosts in names of files; thousands of either are told apart by look-ups, not pair by pair."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._known: dict[str, tuple[int, str]] = {}
        """By what stands before the first dot: the place among all hosts, longer ones first, and the whole name."""
        for place, host in enumerate(sorted(hosts, key=lambda host: (-len(host), host))):
            short = host.split(".")[0]
            if len(short) > SHORTEST_HOST:
                self._known.setdefault(short, (place, host))
        self._longest = max(map(len, self._known), default=0)

    def in_name(self, name: str) -> str | None:
        """The first of the hosts that stands in a name, with neither letter nor digit beside it."""
        starts = [found.end() for found in _BEFORE_HOST.finditer(name)]
        ends = [found.start() for found in _AFTER_HOST.finditer(name)]
        found = [
            known
            for start in starts
            for end in ends
            if SHORTEST_HOST < end - start <= self._longest and (known := self._known.get(name[start:end])) is not None
        ]
        return min(found)[1] if found else None
