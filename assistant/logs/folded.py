"""Lines that a terminal, a mail program or a web page broke at a fixed width.

A break in the middle of a message hides it from every signature, and gives the
rest of the line to nobody's rank. Which lines go on in the next one is only
guessed here; whether the guess holds is for the caller to prove.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corpus.record import Record

NARROWEST: Final = 40
WIDEST: Final = 400
WIDEST_PROSE: Final = 200
"""Widths, in characters, at which programs break lines between words."""
_PREFIX: Final = re.compile(r"\W{0,3}(?:rank|worker|task|debug|info|warn|error|critical|fatal|\d)", re.I)
LONGEST_RECORD: Final = 40
"""Broken lines that make one at most."""


@dataclass(frozen=True, slots=True)
class Folding:
    """How a text may have been broken."""

    width: int
    glue: str
    """What stood where the break is: nothing at a hard edge, a blank between words."""
    continued: frozenset[int]
    """Positions of the lines that go on in the next one."""


def foldings(lines: Sequence[str], records: Mapping[int, Record]) -> list[Folding]:
    """The ways in which these lines may have been broken, the plainer one first; records by position of line."""
    width = max(map(len, lines), default=0)
    found = []
    last = len(lines) - 1
    if NARROWEST <= width <= WIDEST:
        edge = [at for at in range(last) if len(lines[at]) == width]
        found.append(Folding(width, "", frozenset(at for at in edge if _goes_on(records.get(at + 1)))))
    if NARROWEST <= width <= WIDEST_PROSE:
        full = [at for at in range(last) if lines[at].strip() and _is_full(lines[at], lines[at + 1], width)]
        found.append(Folding(width, " ", frozenset(at for at in full if _goes_on(records.get(at + 1)))))
    return [folding for folding in found if folding.continued]


def _is_full(line: str, below: str, width: int) -> bool:
    """Whether the first word of the next line would not have fitted."""
    words = below.split(None, 1)
    return bool(words) and len(line.rstrip()) + 1 + len(words[0]) > width


def _goes_on(below: Record | None) -> bool:
    """Whether a line may be the rest of the one above: it has no time, rank or level of its own."""
    if below is None or not below.text.strip() or below.time is not None:
        return False
    # A rank or a level may also stand in the middle of what is the rest of a line.
    return (below.rank is None and below.level is None) or _PREFIX.match(below.text) is None


def unfold(lines: Sequence[str], folding: Folding) -> list[tuple[int, str]]:
    """The whole lines, each with the position of its first piece."""
    whole: list[tuple[int, str]] = []
    pieces = 0
    for at, line in enumerate(lines):
        if at and at - 1 in folding.continued and pieces < LONGEST_RECORD:
            first, text = whole[-1]
            rest = line.lstrip() if folding.glue else line
            whole[-1] = (first, (text.rstrip() if folding.glue else text) + folding.glue + rest)
            pieces += 1
        else:
            whole.append((at, line))
            pieces = 1
    return whole
