"""Attempts: where in a log another run of the job starts.

A launcher says that it restarts its workers, a scheduler that it takes the job
back into its queue, and a job that is started by hand writes on below the last.
A run may also have a file of its own beside those of the runs before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from assistant.diagnosis.progress import mark_of
from assistant.diagnosis.reading import Run
from assistant.logs.cancelled import read_cancelled
from assistant.logs.clock import Moment, RunClock
from assistant.logs.episodes import read_exception
from assistant.logs.layout import Places, attempt_from_path
from corpus.record import Record

_DIGITS = re.compile(r"\d+")
_START = re.compile(r"\b(?:start|begin|launch|submit|run(?:ning)?|job|host|boot|prolog)", re.I)
_STEPS = re.compile(r"\b(?:steps?|iter(?:ation)?s?|epochs?|loss)\b", re.I)
_RANK_NUMBER = re.compile(r"\b(?:local_|global_)?(?:rank|process|worker|task)(?:_index| index)?[ =:]{1,2}\d{1,6}", re.I)
_AS_LETTERS = str.maketrans("0123456789", "abcdefghij")
NEXT_RUN_S = 60.0
"""A job that prints so long after it was cancelled was started again."""
_PROMPT = re.compile(r"^(?:\([\w.\-]+\) )?\[?[\w.\-]+@[\w.\-]+[: ]\S{0,200}?\]?[$#%] ")
LAST_WORDS_S = 30.0
"""Seconds that torchrun gives the processes of a worker group to end before it kills them."""
MIN_START, MAX_STARTS = 12, 12
"""Length of a first line that can be recognised, and how often it may stand in a source."""
MOST_STEPS = 50
"""Steps between two lines of a counter, up to which the later line goes on with the earlier one."""
_RESTART = (
    "will restart worker group",
    "Restarting worker group",
    "attempts left; will restart",
    "Requeued job",
    "requeueing",
)


def restarts_of(run: Run, starts: Sequence[list[int]]) -> dict[int, list[int]]:
    """Lines per source after which another attempt starts; `starts` are those of logs appended to others."""
    found: dict[int, list[int]] = {}
    for index, records in enumerate(run.records):
        lines = [record.number for record in records if any(text in record.message for text in _RESTART)]
        lines += starts[index]
        lines += _cancelled_before(records)
        # Every agent announces the same restart; lines close together are one.
        lines.sort()
        merged = [line for position, line in enumerate(lines) if position == 0 or line - lines[position - 1] > 3]
        if merged:
            found[index] = merged
    return found


def second_starts(records: Sequence[Record]) -> list[int]:
    """Where the first line of a source stands again: another job's log was appended to it.

    Ranks that all print the same first line are no restart: the line must come
    again from the same process, rank and pod, as far as it says, and be no error.
    """
    first = _first_line(records)
    if first is None:
        return []
    wanted = _start_of(first)
    places = [
        record.number for record in records if record.message[:4] == first.message[:4] and _start_of(record) == wanted
    ]
    if len(places) > MAX_STARTS:
        return []
    return [line - 1 for before, line in pairwise(places) if line - before > 1]


def _cancelled_before(records: Sequence[Record]) -> list[int]:
    """Lines by which Slurm ended a job whose next run wrote on into the same file."""
    found = []
    for position, record in enumerate(records):
        cancelled = read_cancelled(record.text)
        if cancelled is None:
            continue
        stamp = cancelled.at or record.time
        ended = stamp.seconds if stamp is not None else None
        later = [
            other
            for other in records[position + 1 :]
            if other.time is not None and other.level not in {"ERROR", "FATAL"} and other.time.kind == "absolute"
        ]
        if (
            ended is not None
            and len(later) >= 2
            and later[0].time is not None
            and later[0].time.seconds > ended + NEXT_RUN_S
            and not _steps_go_on(records[:position], later[0])
        ):
            found.append(record.number)
    return found


def _steps_go_on(above: Sequence[Record], following: Record) -> bool:
    """Whether the first record after a notice is the step that comes after the last one above it.

    Then the run lived on for its time of grace: another run would say first that it starts.
    """
    before = next((mark.step for record in reversed(above) if (mark := mark_of(0, record))), None)
    mark = mark_of(0, following)
    if before is None or mark is None or mark.step is None:
        return False
    return before < mark.step <= before + max(MOST_STEPS, before // 10)


def start_of(records: Sequence[Record]) -> tuple[object, ...] | None:
    """By what the first line of a source is known again, where it is one by which a program says that it starts."""
    first = _first_line(records)
    return _start_of(first) if first is not None else None


def _start_of(record: Record) -> tuple[object, ...]:
    """By what a first line is known again: who prints it, and its text without the numbers that change."""
    typed = _PROMPT.sub("", record.message[:400])  # of a command typed at a prompt, the command
    kept = _RANK_NUMBER.sub(lambda found: found.group().translate(_AS_LETTERS), typed)
    return (record.rank, record.task, record.container, record.host, _DIGITS.sub("#", kept)[:60])


class Attempts:
    """Which attempt a line belongs to: of a file that writes on, and of files that hold one run each."""

    def __init__(self, run: Run, places: Places, clock: RunClock, restarts: dict[int, list[int]]) -> None:
        self._run = run
        self._clock = clock
        self._restarts = restarts
        self._before = _runs_before(run, places, clock, restarts)
        self._later = {
            count: frozenset(source for source, other in self._before.items() if other > count)
            for count in set(self._before.values())
        }
        self._starts: dict[int, float] = {}
        for source, count in self._before.items():
            moments = clock.sources[source].moments
            if count and moments and moments[0].axis == "wall":
                self._starts[count] = min(self._starts.get(count, moments[0].seconds), moments[0].seconds)

    def of(self, source: int, line: int, moment: Moment | None, since: Moment | None = None) -> int:
        """The number, from 1, of the attempt that a line belongs to; `since` is when a rank began to wait that says so."""
        from_path = attempt_from_path(self._run.sources[source].path)
        if from_path is not None:
            return from_path + 1
        starts = [start for start in self._restarts.get(source, ()) if start < line]
        if starts and since is not None and self._is_last_word(source, starts[-1], moment, since):
            starts.pop()
        within = 1 + len(starts)
        if source in self._before or not self._before:
            return within + self._before.get(source, 0)
        if moment is None or moment.axis != "wall":
            return within + max(self._before.values())
        moments = self._clock.sources[source].moments
        if since is not None and moments and moments[0].axis == "wall":
            moment = moments[0]  # a process that waits is still of the attempt in which its log began
        begun = [count for count, start in self._starts.items() if start <= moment.seconds]
        return within + max(begun, default=0)

    def _is_last_word(self, source: int, start: int, moment: Moment | None, since: Moment) -> bool:
        """Whether processes that a restart ended say below its line what they had waited for."""
        begun = self._clock.at(source, start)
        gap = begun.before(since) if begun is not None else None
        printed = begun.before(moment) if begun is not None and moment is not None else None
        return (gap is not None and gap < 0) or (printed is not None and 0 < printed <= LAST_WORDS_S)

    def after(self, source: int) -> frozenset[int]:
        """Sources that each hold a run after that of a source; none where its run is not one of several."""
        own = self._before.get(source)
        return frozenset() if own is None else self._later[own]


def _runs_before(run: Run, places: Places, clock: RunClock, restarts: dict[int, list[int]]) -> dict[int, int]:
    """How many attempts came before each source that is one of several runs of the same ranks."""
    found: dict[int, int] = {}
    for chain in (*_by_name(run.paths), *_by_start(run, places, clock)):
        if any(source in found or attempt_from_path(run.paths[source]) is not None for source in chain):
            continue
        before = 0
        for source in chain:
            found[source] = before
            before += 1 + len(restarts.get(source, ()))
    return found


_PREVIOUS = re.compile(r"[._\-](?:previous|prev)(?=[._\-]|$)")
"""What `kubectl logs --previous` is usually saved as, beside the log of the container that runs now."""


def _by_name(paths: Sequence[str]) -> list[list[int]]:
    places = {path: index for index, path in enumerate(paths)}
    pairs = ((index, places.get(_PREVIOUS.sub("", path))) for index, path in enumerate(paths))
    return [[index, now] for index, now in pairs if now is not None and now != index]


def _by_start(run: Run, places: Places, clock: RunClock) -> list[list[int]]:
    """Sources that start with the same line of the same rank, each after the last one had ended."""
    alike: dict[tuple[object, ...], list[tuple[float, float, int]]] = {}
    for index, records in enumerate(run.records):
        first = _first_line(records)
        span = clock.sources[index].span
        ranks = {record.rank for record in records if record.rank is not None}
        rank = places.source_rank.get(index)
        if rank is not None:
            ranks.add(rank)
        if first is None or span is None or span[0].axis != "wall" or not ranks:
            continue
        key = (*_start_of(first), min(ranks))
        alike.setdefault(key, []).append((span[0].seconds, span[1].seconds, index))
    chains = []
    for runs in alike.values():
        runs.sort()
        if len(runs) > 1 and all(earlier[1] < later[0] for earlier, later in pairwise(runs)):
            chains.append([index for _, _, index in runs])
    return chains


def _first_line(records: Sequence[Record]) -> Record | None:
    """The first line of a source where it is one by which a program says that it starts."""
    first = next((record for record in records if len(record.message) >= MIN_START), None)
    if first is None or first.number > 5 or not _START.search(first.message):
        return None
    if first.level in {"ERROR", "FATAL"} or _STEPS.search(first.message) or read_exception(first) is not None:
        return None
    return first
