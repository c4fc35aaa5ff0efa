"""How far the clocks of hosts differ, estimated from events that several of them saw.

A training step ends on all ranks within moments, ranks enter one collective
together, and a communicator is complete everywhere at once. The median of the
differences of such an event's times is the skew of two clocks, and the spread
of the differences is its error. Where nothing is shared the clocks are taken to
agree within a few seconds, unless their logs do not even overlap.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from assistant.diagnosis.collectives import sequence_of, timeout_seconds
from assistant.diagnosis.progress import Progress
from assistant.logs.clock import RunClock
from assistant.logs.layout import Places
from corpus.record import Record

SMALLEST_ERROR_S = 0.5
"""Prints of one event are apart by buffers and scheduling even where clocks agree."""
FEW, FEW_ERROR_S = 3, 5.0
"""With fewer shared events than this nothing shows how much they scatter."""
SMALLEST_SKEW_S = 2.0
"""A smaller difference may as well be the time between two prints; it widens the error instead."""
APART_S = 60.0
"""Logs that end so long before others begin are from clocks that cannot be trusted against each other."""
MAX_EVENTS = 400
MAX_PAIRED = 24
"""With more clocks than this each is compared with one of them only, the one that saw most."""
_COMPLETE = re.compile(r"commId (0x[0-9a-fA-F]{1,20}).{0,80}Init COMPLETE")


@dataclass(frozen=True, slots=True)
class Skew:
    """The clock of one host against the common one."""

    ahead_s: float
    error_s: float
    events: int


def put_right(
    sources: Sequence[Sequence[Record]], paths: Sequence[str], places: Places, clock: RunClock, progress: Progress
) -> dict[str, Skew]:
    """Move all moments onto one clock; returns the skew of each host, or source whose host nobody knows, against it."""
    names = clock_names(sources, paths, places)
    if len({name for source in names for name in source.values()}) < 2:
        return {}  # there is but one clock
    estimates = _estimates(sources, names, places, clock, progress)
    correct(clock, names, estimates)
    return estimates


def _estimates(
    sources: Sequence[Sequence[Record]],
    names: Sequence[Mapping[int, str]],
    places: Places,
    clock: RunClock,
    progress: Progress,
) -> dict[str, Skew]:
    seen = _shared_events(sources, names, clock, progress)
    pairs = _differences(seen, _ranks_of(sources, names, places))
    hosts = sorted({host for pair in pairs for host in pair})
    estimates = _from_reference(hosts, pairs)
    for host in _apart(names, clock):
        estimates.setdefault(host, Skew(0.0, math.inf, 0))
    return estimates


def clock_names(sources: Sequence[Sequence[Record]], paths: Sequence[str], places: Places) -> list[dict[int, str]]:
    """For each source the clock of each of its stamped lines: its host, or the source where that is unknown."""
    names: list[dict[int, str]] = []
    for index, records in enumerate(sources):
        found = {}
        for record in records:
            if record.time is not None:
                found[record.number] = places.host_of(index, record) or paths[index]
        names.append(found)
    return names


def correct(clock: RunClock, names: Sequence[Mapping[int, str]], estimates: Mapping[str, Skew]) -> None:
    """Move the moments of each clock onto the common one; `Moment.iso` still gives the time as it was printed."""
    for source, moments in zip(clock.sources, names, strict=True):
        for position, line in enumerate(source.lines):
            name = moments.get(line)
            moment = source.moments[position]
            if name is None or moment.axis != "wall":
                continue
            known = estimates.get(name)
            if known is None:
                source.moments[position] = replace(moment, clock=name)
                continue
            shift = known.ahead_s if is_certain(known) else 0.0
            error = known.error_s if shift or not known.ahead_s else known.error_s + abs(known.ahead_s)
            source.moments[position] = replace(
                moment, seconds=moment.seconds - shift, shift=shift, clock=name, error=error
            )


def is_certain(skew: Skew) -> bool:
    """Whether the clocks differ by more than the prints of one event scatter."""
    return abs(skew.ahead_s) > max(SMALLEST_SKEW_S, 2 * skew.error_s)


def _shared_events(
    sources: Sequence[Sequence[Record]], names: Sequence[Mapping[int, str]], clock: RunClock, progress: Progress
) -> dict[tuple[object, ...], dict[str, list[float]]]:
    """Times of each event by clock."""
    steps: list[dict[int, int]] = [{} for _ in sources]
    for mark in progress.marks:
        if mark.step is not None:
            steps[mark.source][mark.line] = mark.step
    seen: dict[tuple[object, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for index, records in enumerate(sources):
        name = ""
        for record in records:
            name = names[index].get(record.number, name)
            event = _event(record, steps[index].get(record.number))
            if event is None or not name:
                continue
            moment = clock.at(index, record.number)
            if moment is not None and moment.axis == "wall":
                seen[event][name].append(moment.seconds - timeout_seconds(record.text))
    return seen


def _ranks_of(
    sources: Sequence[Sequence[Record]], names: Sequence[Mapping[int, str]], places: Places
) -> dict[str, set[int]]:
    """The ranks whose lines each clock stamped, where the lines or the file's name say the rank itself."""
    ranks: dict[str, set[int]] = defaultdict(set)
    for index, records in enumerate(sources):
        for record in records:
            says_it = record.rank is not None or record.task is not None or index in places.source_rank
            name = names[index].get(record.number) if says_it else None
            rank = places.rank_of(index, record) if name is not None else None
            if name is not None and rank is not None:
                ranks[name].add(rank)
    return ranks


def _event(record: Record, step: int | None) -> tuple[object, ...] | None:
    if step is not None:
        return ("step", step)
    if "ran for " in record.text and (found := sequence_of(record.text)) is not None:
        return ("collective", *found)
    if "Init COMPLETE" in record.text and (complete := _COMPLETE.search(record.text)) is not None:
        return ("communicator", complete.group(1))
    return None


def _differences(
    seen: Mapping[tuple[object, ...], Mapping[str, Sequence[float]]], ranks: Mapping[str, set[int]]
) -> dict[tuple[str, str], list[float]]:
    """For each pair of clocks how far the second was ahead at each event both saw.

    Two clocks of one rank are two runs that count the same steps, or one run told twice: neither is skew, and what
    lies as far apart as such runs do is of different runs for other ranks as well.
    """
    certain: dict[tuple[str, str], bool] = defaultdict(bool)
    pairs: dict[tuple[str, str], list[float]] = defaultdict(list)
    often = Counter(name for times in seen.values() for name in times)
    hub = min(often, key=lambda name: (-often[name], name), default="")
    # A step that one clock saw twice, after a restart, tells nothing.
    single = {
        event: {name: min(at) for name, at in times.items() if max(at) - min(at) < FEW_ERROR_S}
        for event, times in seen.items()
    }
    widest = _between_runs(single.values(), ranks) / 2
    for event, once in single.items():
        names = sorted(once)
        if len(often) > MAX_PAIRED:
            names = [hub, *(name for name in names if name != hub)] if hub in once else []
        for position, first in enumerate(names[:1] if len(often) > MAX_PAIRED else names):
            for second in names[position + 1 :]:
                is_run = not ranks.get(first, set()).isdisjoint(ranks.get(second, ())) or (
                    abs(once[second] - once[first]) > widest
                )
                if not is_run and len(pairs[first, second]) < MAX_EVENTS:
                    pairs[first, second].append(once[second] - once[first])
                    certain[first, second] |= event[0] != "step"
    # One or two steps may be a rank that stopped and one that went on; only what all did together counts alone.
    return {pair: found for pair, found in pairs.items() if len(found) >= FEW or certain[pair]}


def _between_runs(single: Iterable[Mapping[str, float]], ranks: Mapping[str, set[int]]) -> float:
    """The least time after which two clocks of one rank saw an event again; infinity where none did.

    Only neighbours in time are compared: thousands of logs that all name a rank would be millions of pairs.
    """
    least = math.inf
    for once in single:
        of_rank: dict[int, list[float]] = defaultdict(list)
        for name, seconds in once.items():
            for rank in ranks.get(name, ()):
                of_rank[rank].append(seconds)
        for times in of_rank.values():
            if len(times) < 2:
                continue
            gaps = [later - earlier for earlier, later in pairwise(sorted(times))]
            least = min((gap for gap in gaps if FEW_ERROR_S < gap < least), default=least)
    return least


def _between(differences: Sequence[float]) -> Skew:
    ordered = sorted(differences)
    half = len(ordered) // 2
    middle = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
    if len(differences) < FEW:
        return Skew(middle, FEW_ERROR_S, len(differences))
    spread = sorted(abs(difference - middle) for difference in differences)[int(len(differences) * 0.9)]
    return Skew(middle, max(SMALLEST_ERROR_S, spread), len(differences))


def _from_reference(hosts: Sequence[str], pairs: Mapping[tuple[str, str], Sequence[float]]) -> dict[str, Skew]:
    """Skews against the clock that most agree with, through other clocks where two share nothing."""
    edges: dict[str, dict[str, Skew]] = defaultdict(dict)
    for (first, second), differences in pairs.items():
        skew = _between(differences)
        edges[first][second] = skew
        edges[second][first] = replace(skew, ahead_s=-skew.ahead_s)
    found: dict[str, Skew] = {}
    for start in hosts:
        if start in found:
            continue
        group = {start: Skew(0.0, 0.0, 0)}
        todo = [start]
        while todo:
            at = todo.pop(0)
            for other, skew in sorted(edges[at].items()):
                if other not in group:
                    through = group[at]
                    group[other] = Skew(through.ahead_s + skew.ahead_s, through.error_s + skew.error_s, skew.events)
                    todo.append(other)
        found |= _centred(group)
    return found


def _centred(group: Mapping[str, Skew]) -> dict[str, Skew]:
    """Skews against the clock in the middle: of three hosts, the one that differs from two others is the odd one."""
    ordered = sorted(group.values(), key=lambda skew: skew.ahead_s)
    middle = ordered[(len(ordered) - 1) // 2].ahead_s if len(ordered) > 2 else 0.0
    return {
        name: Skew(skew.ahead_s - middle, max(skew.error_s, SMALLEST_ERROR_S / 2), skew.events)
        for name, skew in group.items()
    }


def _apart(names: Sequence[Mapping[int, str]], clock: RunClock) -> Iterable[str]:
    """Clocks whose logs do not overlap with any other's."""
    spans: dict[str, tuple[float, float]] = {}
    for index, lines in enumerate(names):
        for line, name in lines.items():
            moment = clock.at(index, line)
            if moment is not None and moment.axis == "wall":
                low, high = spans.get(name, (moment.seconds, moment.seconds))
                spans[name] = (min(low, moment.seconds), max(high, moment.seconds))
    in_time = sorted(spans, key=lambda name: spans[name])
    ends = list(accumulate((spans[name][1] for name in in_time), max))
    for position, name in enumerate(in_time):
        low, high = spans[name]
        is_before = position == len(in_time) - 1 or high < spans[in_time[position + 1]][0] - APART_S
        is_after = not position or low > ends[position - 1] + APART_S
        if is_before and is_after and len(in_time) > 1:
            yield name
