"""Changes to logs that must not change the verdict, each from a folder of files to another.

They keep what a reader would call the same incident: other ranks' lines in
another order, hosts by other names, lines wrapped as container runtimes and log
shippers wrap them, lines that say nothing in between, one host's clock set
differently, a file cut in two by rotation.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from assistant.logs.clock import build_clock
from corpus.record import Record, read_records

Files = dict[str, bytes]
Change = Callable[[Files, Mapping[str, str], random.Random], Files]


def is_text(name: str, data: bytes) -> bool:
    """Whether a file may be changed line by line."""
    return b"\x00" not in data and b"\r" not in data and not name.endswith((".gz", ".zip", ".tgz", ".json", ".jsonl"))


def _by_lines(files: Files, change: Callable[[str, list[str]], list[str]]) -> Files:
    changed = {}
    for name, data in files.items():
        if is_text(name, data):
            lines = data.decode("utf-8", "surrogateescape").split("\n")
            ends = lines[-1] == ""
            lines = change(name, lines[:-1] if ends else lines)
            data = ("\n".join(lines) + ("\n" if ends else "")).encode("utf-8", "surrogateescape")
        changed[name] = data
    return changed


def _record(line: str) -> Record:
    return read_records(line.encode("utf-8", "surrogateescape"), 1)[0]


def _blocks(lines: list[str]) -> list[tuple[int | None, list[str]]]:
    """Lines with those below them that carry no prefix, and the rank of each such block."""
    blocks: list[tuple[int | None, list[str]]] = []
    for line in lines:
        record = _record(line)
        bare = record.time is None and record.rank is None
        if bare and blocks:
            blocks[-1][1].append(line)
        else:
            blocks.append((record.rank, [line]))
    return blocks


def reorder(files: Files, hosts: Mapping[str, str], rng: random.Random) -> Files:
    """Neighbouring blocks of different ranks change places."""

    def change(name: str, lines: list[str]) -> list[str]:
        blocks = _blocks(lines)
        position = 1
        while position < len(blocks):
            (first, above), (second, below) = blocks[position - 1], blocks[position]
            apart = first is not None and second is not None and first != second
            if apart and len(above) == 1 and len(below) == 1 and rng.random() < 0.5:
                blocks[position - 1], blocks[position] = blocks[position], blocks[position - 1]
                position += 1
            position += 1
        return [line for _, block in blocks for line in block]

    return _by_lines(files, change)


def rename_hosts(files: Files, hosts: Mapping[str, str], rng: random.Random) -> Files:
    """Every host gets its other name, in texts and in names of files."""
    if not hosts or not all(is_text(name, data) for name, data in files.items()):
        return files
    pattern = re.compile(
        "|".join(rf"(?<![\w.]){re.escape(host)}(?![\w])" for host in sorted(hosts, key=len, reverse=True))
    )

    def renamed(text: str) -> str:
        return pattern.sub(lambda found: hosts[found.group()], text)

    changed = _by_lines(files, lambda name, lines: [renamed(line) for line in lines])
    return {renamed(name): data for name, data in changed.items()}


def wrap_json(files: Files, hosts: Mapping[str, str], rng: random.Random) -> Files:
    """Each line as a log shipper's JSON object."""
    return _by_lines(
        files, lambda name, lines: [json.dumps({"stream": "stderr", "log": line + "\n"}) for line in lines]
    )


def wrap_cri(files: Files, hosts: Mapping[str, str], rng: random.Random) -> Files:
    """Each line as containerd writes it, where all of a file's times are known."""

    def change(name: str, lines: list[str]) -> list[str]:
        records = [record for number, line in enumerate(lines, 1) for record in read_records(line.encode(), number)]
        clock = build_clock([records]).sources[0]
        stamps = []
        for number in range(1, len(lines) + 1):
            moment = clock.at(number) or (clock.moments[0] if clock.moments else None)
            if moment is None or moment.axis != "wall" or not moment.dated:
                return lines
            stamps.append(datetime.fromtimestamp(moment.seconds, UTC))
        return [f"{stamp:%Y-%m-%dT%H:%M:%S.%f}000Z stderr F {line}" for stamp, line in zip(stamps, lines, strict=True)]

    return _by_lines(files, change)


def add_filler(files: Files, hosts: Mapping[str, str], rng: random.Random) -> Files:
    """Lines that say nothing stand above everything and here and there before stamped lines."""

    def change(name: str, lines: list[str]) -> list[str]:
        if re.search(r"dmesg|kern|describe|events|stack|spy|gdb", name):
            return lines
        changed = [f"DEBUG cache segment {number} warmed" for number in range(20)]
        for block in _blocks(lines):
            if rng.random() < 0.05:
                changed.append("DEBUG prefetch queue depth 4")
            changed += block[1]
        return changed if lines else lines

    return _by_lines(files, change)


_FORMS = (
    (re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d)([ T])(\d\d:\d\d:\d\d)"), "%Y-%m-%d %H:%M:%S"),
    (re.compile(r"(?<=\[[EWIF])(\d{3,4})( )(\d\d:\d\d:\d\d)"), ""),
    (re.compile(r"^((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d)( )(\d\d:\d\d:\d\d)"), "%b %d %H:%M:%S"),
    (re.compile(r"(?<=^\[\w\w\w )(\w\w\w [ \d]\d)( )(\d\d:\d\d:\d\d)(?= \d{4}\])"), "%b %d %H:%M:%S"),
)  # fmt: skip


def shift_line(line: str, seconds: int) -> str:
    """A line with its stamps set forward by less than a day's rest; the date may change."""
    for pattern, form in _FORMS:

        def moved(found: re.Match[str], form: str = form) -> str:
            day, blank, clock = found.groups()
            if not form:
                month, of_month = day[:-2], day[-2:]
                then = datetime(2026, int(month), int(of_month), *map(int, clock.split(":"))) + timedelta(
                    seconds=seconds
                )
                return f"{then.month}{then.day:02d}{blank}{then:%H:%M:%S}"
            text = f"{day} {clock}" if form.startswith("%Y") else f"2026 {day} {clock}"
            then = datetime.strptime(text, form if form.startswith("%Y") else "%Y " + form) + timedelta(seconds=seconds)
            return (
                f"{then:%Y-%m-%d}{blank}{then:%H:%M:%S}"
                if form.startswith("%Y")
                else f"{then:%b} {then.day:2d}{blank}{then:%H:%M:%S}"
            )

        line = pattern.sub(moved, line)
    return line


def shift_clock(files: Files, hosts: Mapping[str, str], rng: random.Random) -> Files:
    """The clock of one host, whose files carry its name, is twenty minutes ahead."""
    owners = {name: [host for host in hosts if host in name] for name in files}
    mine = sorted({found[0] for found in owners.values() if len(found) == 1})
    if len(mine) < 2 or any(len(found) != 1 for found in owners.values()):
        return files
    host = rng.choice(mine)
    moved = {name: data for name, data in files.items() if owners[name] == [host]}
    return files | _by_lines(moved, lambda name, lines: [shift_line(line, 1200) for line in lines])


def rotate(files: Files, hosts: Mapping[str, str], rng: random.Random) -> Files:
    """A lone log is cut in two by rotation, its older part with a number behind its name."""
    if len(files) != 1:
        return files
    ((name, data),) = files.items()
    if not is_text(name, data) or not name.endswith((".log", ".out")):
        return files
    blocks = _blocks(data.decode("utf-8", "surrogateescape").split("\n"))
    half = len(blocks) // 3
    if half < 3:
        return files
    parts = ["\n".join(line for _, block in some for line in block) for some in (blocks[:half], blocks[half:])]
    return {
        f"{name}.1": parts[0].encode("utf-8", "surrogateescape") + b"\n",
        name: parts[1].encode("utf-8", "surrogateescape"),
    }


CHANGES: dict[str, Change] = {
    "reorder": reorder, "rename_hosts": rename_hosts, "wrap_json": wrap_json, "wrap_cri": wrap_cri,
    "add_filler": add_filler, "shift_clock": shift_clock, "rotate": rotate,
}  # fmt: skip
