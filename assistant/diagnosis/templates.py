"""Templates of log lines: what is left of a line when numbers, paths and identifiers are masked.

Two lines with the same template say the same thing at another time, step or
rank. Masking goes in two passes, because most lines of a log repeat: digits are
levelled for a whole block at once, and the expressions run on the distinct
lines that remain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from assistant.logs.sources import Source
from index.blocks import as_utf8

BLOCK: Final = 1 << 20
"""Bytes read at once."""
MOST_DISTINCT: Final = 200_000
"""Distinct lines kept of all sources together; what comes later is counted and said."""
LONGEST: Final = 2_000
"""Bytes of a line that are compared."""
_LEVEL: Final = bytes.maketrans(b"123456789", b"000000000")
_MASKS: Final = (
    (re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])"), ""),
    (re.compile(r"[\u2580-\u259f]+[\s\u2580-\u259f]*"), "#"),  # the bars of progress displays
    (re.compile(r"\b0x[0a-fA-F]+\b|\b(?=[a-fA-F]*0)[0a-fA-F]{6,}(?:-[0a-fA-F]{4,}){0,4}\b"), "#"),
    (re.compile(r"(?:/[\w.+@=\-]+){2,}/?"), "/…"),
    (re.compile(r"0+(?:[.:,T/\-]0+)*"), "#"),
    (re.compile(r"\s+"), " "),
)


@dataclass(slots=True)
class Seen:
    """A template: where it stands first, and how often."""

    source: int
    line: int
    """1-based."""
    text: str
    count: int


@dataclass
class Templates:
    """The templates of one run, in order of first appearance."""

    seen: dict[str, Seen] = field(default_factory=dict)
    lines: int = 0
    left_out: int = 0
    """Lines that were not compared, because there were too many different ones."""


def template_of(text: str) -> str:
    """The template of a line whose digits are levelled already, or not."""
    levelled = text.encode("utf-8", "replace").translate(_LEVEL).decode("utf-8", "replace")
    return _mask(levelled)


def read_templates(sources: Sequence[Source]) -> Templates:
    """Read all sources once. Raises OSError when one vanished."""
    found = Templates()
    coarse: dict[bytes, Seen] = {}
    for index, source in enumerate(sources):
        for number, line in enumerate(_lines(source), start=1):
            found.lines += 1
            key = line.translate(_LEVEL)
            known = coarse.get(key)
            if known is not None:
                known.count += 1
            elif len(coarse) < MOST_DISTINCT:
                coarse[key] = Seen(index, number, line.decode("utf-8", "replace"), 1)
            else:
                found.left_out += 1
    for key, seen in coarse.items():
        template = _mask(key.decode("utf-8", "replace"))
        if not template:
            continue
        known = found.seen.get(template)
        if known is None:
            found.seen[template] = seen
        else:
            known.count += seen.count
    return found


def _mask(levelled: str) -> str:
    for pattern, instead in _MASKS:
        levelled = pattern.sub(instead, levelled)
    return levelled.strip()


def _lines(source: Source) -> Iterator[bytes]:
    """The lines of a source, cut to what is compared; of a line drawn over, the last state."""
    with source.open() as opened:
        stream = as_utf8(opened)
        buffer = bytearray(BLOCK)
        rest = b""
        while done := stream.readinto(memoryview(buffer)):
            lines = (rest + buffer[:done]).split(b"\n")
            rest = lines.pop()[-BLOCK:]
            yield from map(_shown, lines)
        if rest:
            yield _shown(rest)


def _shown(line: bytes) -> bytes:
    line = line.rstrip(b"\r")
    if b"\r" in line:
        line = line.rsplit(b"\r", 1)[1]
    return line[:LONGEST]


class Familiar:
    """What a good run printed; knows lines that differ only in names with numbers in them."""

    def __init__(self, good: Templates) -> None:
        self._exact = good.seen
        self._shapes = {_shape(template) for template in good.seen}

    def __contains__(self, template: str) -> bool:
        return template in self._exact or _shape(template) in self._shapes


def _shape(template: str) -> str:
    """A template without the words that hold a number: `pod train-#-x` and `pod eval-#-y` are the same."""
    return " ".join("#" if "#" in word or "/…" in word else word for word in template.split(" "))
