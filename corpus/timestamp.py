"""Timestamps as training and serving software prints them at the start of a record.

`read_stamp` recognises a stamp at a position and says how much it knows: a full
date, a date without year (glog, syslog, vLLM), seconds since boot (kernel ring),
or a time of day. Placing those on one clock is the work of `assistant.logs.clock`.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

StampKind = Literal["absolute", "yearless", "monotonic", "clock"]

BASE_YEAR = 2000
"""Year assumed for stamps without one; a leap year, so that 29 February exists."""


class Stamp(NamedTuple):
    """A time read from a record.

    `seconds` is UTC epoch seconds (absolute; a stamp without zone is taken as
    UTC and `zoned` is False), epoch seconds in BASE_YEAR (yearless), seconds
    since boot (monotonic), or seconds since midnight (clock).
    """

    seconds: float
    kind: StampKind
    zoned: bool = False


_MONTHS = {name: index for index, name in enumerate(calendar.month_abbr) if name}
_MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DAY = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"
_CLOCK = r"(?P<{p}h>\d{{2}}):(?P<{p}mi>\d{{2}}):(?P<{p}s>\d{{2}})(?P<{p}f>[.,]\d{{1,9}})?"
_ZONE = r"(?P<{p}z>Z|[ ]?[+-]\d{{2}}:?\d{{2}}(?!\d)|[ ]UTC\b)?"


def _form(template: str, prefix: str) -> str:
    clock = _CLOCK.format(p=prefix)
    zone = _ZONE.format(p=prefix)
    return template.replace("CLOCK", clock).replace("ZONE", zone).replace("P_", prefix)


_FORMS = {
    "a": r"\[?(?P<P_y>(?:19|20)\d{2})[-/](?P<P_mo>\d{2})[-/](?P<P_d>\d{2})[T _-]CLOCKZONE\]?",
    "b": rf"\[(?:{_DAY}) (?P<P_mn>{_MONTH}) +(?P<P_d>\d{{1,2}}) CLOCK (?P<P_y>\d{{4}})\]",
    "c": rf"(?:{_DAY},? )?(?P<P_mn>{_MONTH}) +(?P<P_d>\d{{1,2}}) CLOCK(?: (?P<P_y>(?:19|20)\d{{2}}))?(?=[ :])",
    "d": r"\[?(?P<P_lv>[IWEF])(?P<P_y>(?:19|20)\d{2})(?P<P_mo>\d{2})(?P<P_d>\d{2}) CLOCK",
    "e": r"\[?(?P<P_lv>[IWEFV])(?P<P_mo>0?[1-9]|1[0-2])(?P<P_d>\d{2}) CLOCK",
    "f": r"(?P<P_mo>\d{2})-(?P<P_d>\d{2}) CLOCK",
    "g": r"\[?(?P<P_mo>\d{2})/(?P<P_d>\d{2})/(?P<P_y>(?:20)?\d{2}) CLOCK\]?",
    "h": r"\[ {0,8}(?P<P_mono>\d{1,9}\.\d{6})\]",
    "i": r"\[?(?P<P_epoch>1[4-9]\d{8}\.\d{1,9})\]?(?=[\s:])",
    "j": rf"(?P<P_y>(?:19|20)\d{{2}})-(?P<P_mn>{_MONTH})-(?P<P_d>\d{{2}})[ T]CLOCK",
    "k": r"\[?CLOCK\]?(?=[\s:|\]-])",
    "l": rf"(?:{_DAY}), (?P<P_d>\d{{1,2}}) (?P<P_mn>{_MONTH}) (?P<P_y>(?:19|20)\d{{2}}) CLOCKZONE",
}


def groups_beside(alternatives: Sequence[str]) -> list[list[tuple[int, str]]]:
    """Number and name of the groups that belong to the same alternative, by the number of any of them.

    `lastindex` of a match of `a|b|...` thus tells which groups are worth a look;
    to ask for all of them costs more than the match. Entry 0 stands for an
    alternative without groups. Every group has to have a name.
    """
    table: list[list[tuple[int, str]]] = [[]]
    for alternative in alternatives:
        groups = list(enumerate(_GROUP.findall(alternative), len(table)))
        table += [groups] * len(groups)
    return table


_GROUP = re.compile(r"\(\?P<(\w+)>")
_ALTERNATIVES = [_form(template, prefix) for prefix, template in _FORMS.items()]
_ANY = re.compile("|".join(_ALTERNATIVES))
_VALUES = [[(number, name[1:]) for number, name in groups] for groups in groups_beside(_ALTERNATIVES)]


class StampMatch(NamedTuple):
    """A stamp, the position after it, and the glog level letter when there is one."""

    stamp: Stamp
    end: int
    level: str = ""


def read_stamp(text: str, position: int = 0) -> StampMatch | None:
    """Read the timestamp that starts exactly at a position, or return None."""
    found = _ANY.match(text, position)
    if found is None:
        return None
    values = {name: value for group, name in _VALUES[found.lastindex or 0] if (value := found[group]) is not None}
    stamp = _stamp_of(values)
    return None if stamp is None else StampMatch(stamp, found.end(), values.get("lv", ""))


_INSIDE = re.compile(
    r"\bAT (?=(?:19|20)\d\d-)|\b(?:Finished|finishedAt\"?): {1,20}\"?|\b(?:time|ts)=\"?(?=(?:19|20)\d\d-)"
    r"|^\s{0,8}time {1,12}: (?=(?:19|20)\d\d-)"
)
"""What stands before the time of the event itself: Slurm's cancellation, the end of a container, logfmt, torchrun's table."""
_INSIDE_PIECES = ("AT 2", "AT 1", "inished", "time=", "ts=", "  time ", "*** ")
"""Most lines hold none of these; looking for them first is a hundred times cheaper."""
_EPOCH_INSIDE = re.compile(r"\*\*\* (?:Aborted at|SIG[A-Z]{2,6} received at time=) ?(1[0-9]{9})\b")
"""The same in whole seconds since 1970, as glog's and abseil's signal handlers print it."""


def read_inside(text: str) -> Stamp | None:
    """The time that a line gives inside for what it tells; only full dates, and only if there is one of them."""
    if not any(map(text.__contains__, _INSIDE_PIECES)):
        return None
    found = [stamp for place in _INSIDE.finditer(text) if (stamp := read_stamp(text, place.end())) is not None]
    if len(found) == 1 and found[0].stamp.kind == "absolute":
        return found[0].stamp
    epoch = _EPOCH_INSIDE.search(text) if "*** " in text else None
    return Stamp(float(epoch[1]), "absolute", zoned=True) if epoch is not None else None


def _stamp_of(values: dict[str, str]) -> Stamp | None:
    if "mono" in values:
        return Stamp(float(values["mono"]), "monotonic")
    if "epoch" in values:
        return Stamp(float(values["epoch"]), "absolute", zoned=True)
    hour, minute, second = int(values["h"]), int(values["mi"]), int(values["s"])
    if hour > 23 or minute > 59 or second > 60:
        return None
    fraction = float("0." + values["f"][1:]) if "f" in values else 0.0
    of_day = hour * 3600 + minute * 60 + second + fraction
    if "d" not in values:
        return Stamp(of_day, "clock")
    year_text = values.get("y")
    year = BASE_YEAR if year_text is None else int(year_text) + (2000 if len(year_text) == 2 else 0)
    month = _MONTHS[values["mn"]] if "mn" in values else int(values["mo"])
    day = _day_seconds(year, month, int(values["d"]))
    if day is None:
        return None
    offset, zoned = _zone(values.get("z", ""))
    return Stamp(day + of_day - offset, "yearless" if year_text is None else "absolute", zoned)


@lru_cache(maxsize=512)
def _day_seconds(year: int, month: int, day: int) -> int | None:
    if not (1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
        return None
    return calendar.timegm((year, month, day, 0, 0, 0, 0, 0, 0))


def _zone(text: str) -> tuple[int, bool]:
    text = text.strip()
    if not text:
        return 0, False
    if text in {"Z", "UTC"}:
        return 0, True
    digits = text[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:4]) * 60
    return (-seconds if text[0] == "-" else seconds), True
