"""Several jobs in one folder: which of the logs belong together.

Only what is plain parts logs: two ids of the scheduler, two sizes of the world, or
one rank that is at two steps at once. Names of folders and files then say which
of the others belong to which; what they leave open is shared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import PurePosixPath
from statistics import median

from assistant.diagnosis.attempts import start_of
from assistant.diagnosis.groups import template
from assistant.diagnosis.progress import mark_of
from assistant.diagnosis.reading import Run
from assistant.diagnosis.window import kernel_sources, platform_sources
from assistant.logs.filenames import attempt_from_path, rank_from_path
from assistant.logs.layout import world_sizes
from corpus.late import late
from corpus.record import Record

MAX_PAIRS = 400
"""Pairs of files of one rank that are compared."""
MAX_UNRANKED = 16
"""Logs up to which those that name no rank are compared as well: of them only what came after another is plain."""
AHEAD_S, AHEAD_STEPS = 30.0, 2
"""One rank makes a step at one time: so far apart, the same step was made by two."""
FEWEST_STEPS = 3

_ID_IN_NAME = late(r"(?:^|[/_.\-])(?:slurm|job(?:_?id)?)[_\-.]?(?P<id>\d{3,12}(?:_\d{1,6})?)(?=[_.\-/]|$)", re.I)
_HET_ID = late(r"\bSLURM_HET_JOB_ID[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<id>\d{2,12})\b")
"""What the components of a heterogeneous job share, each of which has an id of its own."""
_ID_SAID = late(r"\bSLURM_JOB_?ID[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<id>\d{2,12})\b")
_DATE = late(r"^(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])")
_RANK_OF = late(r"\brank (\d{1,6}) nranks (\d{1,6})\b")
MAX_FOLDERS, MAX_LINES = 16, 2_000
_MAY_BE_HOST = late(
    r"^(?:\d+|ip-.*|.*\d+-\d+-\d+.*|(?:[a-z\-]*(?:nodes?|hosts?|gpu|worker|compute|server|pod|replica|task|rank|proc|attempt|restart|local|nid|cn|gn|dgx|hgx|h100|a100)[a-z]?)[\-_.]?\d*)$",
    re.I,
)
"""Folders of this kind hold the parts of one job: their clocks may differ, and their ranks may be local ones."""
_ROLE = late(
    r"(?:^|[_\-.])(?P<role>actor|critic|ref(?:erence)?|rollouts?|reward|rm|learner|sampler|generator|policy|trainer|prefill|decode|encode[r]?"
    r"|router|gateway|controller|head|driver|server|client|inference|frontend|backend|proxy|judge)(?:[_\-.]?\d{1,4})?$",
    re.I,
)
"""Folders or files of this kind hold what the programs of one job did, each with ranks, steps and a world of its own."""
_STREAM = late(r"(?:^|[._\-])(?:stdout|stderr|out|err|log|txt|console|prev|previous|gz|bz2|xz|zst|\d{1,3})(?=[._\-]|$)")
_RANK = late(r"(?:global_)?(?:rank|worker|task)[._\-]?\d{1,6}", re.I)
_HEAD = 200


@dataclass(frozen=True)
class Job:
    """One of several jobs: its own logs and those that tell of all, as indices of sources."""

    name: str
    own: tuple[int, ...]
    sources: tuple[int, ...]


@dataclass
class _Log:
    """What one source says of the job it is of."""

    index: int
    path: str
    rank: int | None = None
    ids: set[str] = field(default_factory=set)
    het: set[str] = field(default_factory=set)
    worlds: dict[str, int] = field(default_factory=dict)
    """By wording of the line: the size of the world that it says."""
    start: tuple[object, ...] | None = None
    steps: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    """By wording of the step line: seconds and number of each."""

    @property
    def id(self) -> str | None:
        """The only id that it names."""
        return next(iter(self.ids)) if len(self.ids) == 1 else None


def jobs_of(run: Run) -> list[Job]:
    """The jobs that the logs are plainly of; empty where they may all be of one."""
    if len(run.sources) < 2:
        return []
    shared = kernel_sources(run) | platform_sources(run)
    logs = [_read(run, index) for index in range(len(run.sources)) if index not in shared]
    by_rank: dict[int | None, list[_Log]] = {}
    for log in logs:
        if log.rank is not None or len(logs) <= MAX_UNRANKED:
            by_rank.setdefault(log.rank, []).append(log)
    apart = _parted_by_id(logs) or _parted_by_steps(run, by_rank) or _parted_by_worlds(run, logs)
    return _jobs(run, apart) if len(apart) > 1 else []


def _jobs(run: Run, apart: dict[str, list[int]]) -> list[Job]:
    own = {index for sources in apart.values() for index in sources}
    common = [index for index in range(len(run.sources)) if index not in own]
    return [Job(name, tuple(mine), tuple(sorted([*mine, *common]))) for name, mine in apart.items()]


def part_of(run: Run, sources: Sequence[int]) -> Run:
    """The run of these sources alone, with their indices as positions among them."""
    parts = []
    for position, index in enumerate(sources):
        source = run.sources[index]
        hits = [hit._replace(source=position) for hit in source.scan.hits]
        parts.append(replace(source, scan=replace(source.scan, hits=hits)))
    return Run(parts, run.unread, run.matcher, run.catalogue, run.notes)


def _read(run: Run, index: int) -> _Log:
    source = run.sources[index]
    log = _Log(index, source.path.replace("!", "/"))
    ranks = {record.rank for record in source.records if record.rank is not None}
    log.rank = next(iter(ranks)) if len(ranks) == 1 else None if ranks else rank_from_path(source.path)
    log.ids |= {found["id"] for found in _ID_IN_NAME.finditer(log.path) if not _DATE.match(found["id"])}
    is_named = bool(log.ids)
    for record in source.records[:_HEAD]:
        if "SLURM_JOB" in record.text and not is_named:
            log.ids |= {found["id"] for found in _ID_SAID.finditer(record.text)}
        if "SLURM_HET_JOB_ID" in record.text:
            log.het |= {found["id"] for found in _HET_ID.finditer(record.text)}
    log.ids = log.het or log.ids
    return log


def _parted_by_id(logs: Sequence[_Log]) -> dict[str, list[int]]:
    """The logs by the id of their job; logs without one go with those of their folder."""
    of_id: dict[str, list[_Log]] = {}
    for log in logs:
        if log.id is not None:
            of_id.setdefault(log.id, []).append(log)
    if len(of_id) < 2 or _is_one_step(of_id):
        return {}
    folders: dict[PurePosixPath, set[str]] = {}
    for job, mine in of_id.items():
        for log in mine:
            folders.setdefault(PurePosixPath(log.path).parent, set()).add(job)
    parted: dict[str, list[int]] = {f"job {job}": [log.index for log in mine] for job, mine in of_id.items()}
    for log in logs:
        beside = folders.get(PurePosixPath(log.path).parent, set())
        if log.id is None and len(beside) == 1:
            parted[f"job {next(iter(beside))}"].append(log.index)
    return {name: sorted(mine) for name, mine in parted.items()}


def _is_one_step(of_id: dict[str, list[_Log]]) -> bool:
    """Whether the logs of all ids are of different ranks: components of one heterogeneous job have ids of their own."""
    ranks = [{log.rank for log in mine} for mine in of_id.values()]
    known = all(None not in mine for mine in ranks)
    return known and not any(one & other for one, other in combinations(ranks, 2))


def _parted_by_steps(run: Run, by_rank: dict[int | None, list[_Log]]) -> dict[str, list[int]]:
    """The logs by what their names share, where two of one rank cannot be of one job."""
    crowded = {rank: logs for rank, logs in by_rank.items() if len(logs) > 1}
    for log in (log for logs in crowded.values() for log in logs):
        _follow(run, log)
    pairs = [pair for logs in crowded.values() for pair in combinations(logs, 2)][:MAX_PAIRS]
    clashes = [pair for pair in pairs if attempt_from_path(pair[0].path) is None and _differ(*pair)]
    if not clashes:
        return {}
    everyone = [log for logs in by_rank.values() for log in logs]
    hosts = {record.host for pair in clashes for log in pair for record in run.sources[log.index].records}
    for key in _keys([log.path for log in everyone]):
        involved = {key(log.path) for pair in clashes for log in pair}
        if None in involved or any(key(one.path) == key(other.path) for one, other in clashes):
            continue
        if any(_MAY_BE_HOST.match(str(name)) or name in hosts for name in involved) or _are_roles(involved):
            continue
        if _make_up_a_world([[log for log in everyone if key(log.path) == name] for name in involved]):
            continue
        parted: dict[str, list[int]] = {}
        for index, path in enumerate(run.paths):
            name = key(path.replace("!", "/"))
            if name in involved:
                parted.setdefault(name or "", []).append(index)
        return parted
    return {}


def _are_roles(names: Iterable[str | None]) -> bool:
    """Whether names differ in the part that a program has in one job, and in nothing else."""
    found = [(name, _ROLE.search(name or "")) for name in names]
    others = {(name or "")[: role.start()] if role is not None else None for name, role in found}
    roles = {role["role"].lower() for _, role in found if role is not None}
    return len(others) == 1 and None not in others and len(roles) == len(found)


def _make_up_a_world(parts: Sequence[Sequence[_Log]]) -> bool:
    """Whether all logs say one size of the world that only all parts together have: their ranks are local ones."""
    sizes = {size for logs in parts for log in logs for size in log.worlds.values()}
    ranks = [len({log.rank for log in logs if log.rank is not None}) for logs in parts]
    return len(sizes) == 1 and sum(ranks) == max(sizes) > max(ranks)


@dataclass
class _World:
    """What the logs of one folder say of the ranks of a job."""

    logs: list[_Log] = field(default_factory=list)
    ranks: set[int] = field(default_factory=set)
    size: int = 0
    lines: set[str] = field(default_factory=set)

    @property
    def is_whole(self) -> bool:
        """Whether every rank of the size that is said stands in these logs."""
        return self.size > 1 and self.ranks >= set(range(self.size))


def _parted_by_worlds(run: Run, logs: Sequence[_Log]) -> dict[str, list[int]]:
    """The logs by folders that each hold all ranks of a job: the parts of one job have different ones."""
    depth = max((len(PurePosixPath(log.path).parts) for log in logs), default=1)
    for level in range(depth - 1):
        worlds: dict[str, _World] = {}
        for log in logs:
            name = _folder(log.path, level)
            if name is not None:
                worlds.setdefault(name, _World()).logs.append(log)
        if not 2 <= len(worlds) <= MAX_FOLDERS or any(_MAY_BE_HOST.match(name) for name in worlds):
            continue
        if _are_roles(worlds):
            continue
        for world in worlds.values():
            _fill(run, world)
        whole = {name: world for name, world in worlds.items() if world.is_whole}
        pairs = combinations(whole.values(), 2)
        if len(whole) > 1 and not any(2 * len(a.lines & b.lines) > min(len(a.lines), len(b.lines)) for a, b in pairs):
            return {
                name: [index for index, path in enumerate(run.paths) if _folder(path.replace("!", "/"), level) == name]
                for name in whole
            }
    return {}


def _fill(run: Run, world: _World) -> None:
    for log in world.logs:
        for record in run.sources[log.index].records:
            if record.rank is not None:
                world.ranks.add(record.rank)
            message = record.message
            if "nranks" in message or "orld" in message or "WORLD_SIZE" in message:
                for rank, size in _RANK_OF.findall(message):
                    world.ranks.add(int(rank))
                    world.size = max(world.size, int(size))
                world.size = max([world.size, *world_sizes(message)])
            if record.time is not None and len(world.lines) < MAX_LINES:
                world.lines.add(record.raw)


def _keys(paths: Sequence[str]) -> Iterator[Callable[[str], str | None]]:
    """Ways to tell jobs by names: each folder on the way, then what a file is called beside its rank."""
    depth = max(len(PurePosixPath(path).parts) for path in paths)
    for level in range(depth - 1):
        yield lambda path, level=level: _folder(path, level)  # type: ignore[misc]
    yield _beside_rank


def _folder(path: str, level: int) -> str | None:
    parts = PurePosixPath(path).parts[:-1]
    return parts[level] if level < len(parts) else None


def _beside_rank(path: str) -> str | None:
    name = PurePosixPath(path).name
    return _STREAM.sub("", _STREAM.sub("", _RANK.sub("", name))).strip("._-") or None


def _follow(run: Run, log: _Log) -> None:
    """Read the steps, the size of the world and the start of a log."""
    records = run.sources[log.index].records
    log.start = start_of(records)
    for record in records:
        message = record.message
        if "orld" in message or "WORLD_SIZE" in message:
            for size in world_sizes(message):
                words = _words(message)
                log.worlds[words] = max(log.worlds.get(words, 0), size)
        mark = mark_of(log.index, record) if record.time is not None else None
        if mark is not None and mark.step is not None and record.time is not None:
            log.steps.setdefault(_wording(record), []).append((record.time.seconds, mark.step))


def _wording(record: Record) -> str:
    assert record.time is not None
    return f"{record.time.kind} {_words(record.message)}"


def _words(message: str) -> str:
    """A message without its numbers, by which the same line of two logs is known."""
    return re.sub(r"[\W\d_]+|\b(?:nan|inf)\b", " ", template(message))[:60]


def _differ(one: _Log, other: _Log) -> bool:
    """Whether two logs of one rank are plainly of two jobs."""
    is_same = bool(one.ids & other.ids)  # of one job only runs are told apart, which came after each other
    compares = one.rank is not None and not is_same
    if compares and any(one.worlds[line] != other.worlds[line] for line in one.worlds.keys() & other.worlds.keys()):
        return True
    is_anew = one.start is None or one.start != other.start
    for wording in one.steps.keys() & other.steps.keys():
        if _began_anew(one.steps[wording], other.steps[wording]):
            # That one run came after the other says its start as well, where it is not the same once more.
            return is_anew
        if compares and _steps_differ(one.steps[wording], other.steps[wording]):
            return True
    return False


def _began_anew(one: list[tuple[float, int]], other: list[tuple[float, int]]) -> bool:
    """Whether one of two logs begins with the first step after the other had made its last."""
    early, later = sorted((one, other), key=lambda steps: steps[0][0])
    return early[-1][0] < later[0][0] and later[0][1] <= 1 < early[-1][1]


def _steps_differ(one: list[tuple[float, int]], other: list[tuple[float, int]]) -> bool:
    """Whether two logs tell of one rank that made its steps twice, at other times."""
    if min(len(one), len(other)) < FEWEST_STEPS:
        return False
    early, late_one = sorted((one, other), key=lambda steps: steps[0][0])
    first, last = late_one[0][0], min(early[-1][0], late_one[-1][0])
    theirs = [(seconds, step) for seconds, step in early if first <= seconds <= last]
    mine = [(seconds, step) for seconds, step in late_one if first <= seconds <= last]
    if min(len(theirs), len(mine)) < FEWEST_STEPS:
        return False
    made = dict(reversed([(step, seconds) for seconds, step in early]))
    gaps = [seconds - made[step] for seconds, step in late_one if step in made]
    apart = abs(median(step for _, step in mine) - median(step for _, step in theirs))
    return apart > AHEAD_STEPS and (not gaps or abs(median(gaps)) > AHEAD_S)
