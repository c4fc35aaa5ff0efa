"""A page of labelled blocks: wrapping by terminal cells, colour, and nothing else."""

from __future__ import annotations

import re
from typing import Final

from assistant.console import escape

LABEL: Final = 13
"""Columns of the labels at the left."""
NARROW: Final = 60
"""Below so many columns labels stand above their text, which then keeps nearly the whole width."""
FEWEST: Final = 20
"""Columns that a text needs beside something else; with less room it stands below."""
_ESCAPES: Final = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36",
}  # fmt: skip


class Page:
    """Rows of text under construction; all text that comes in is escaped here."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self.width = width
        self.colour = colour
        self._left = LABEL if width >= NARROW else 2
        self._rows: list[str] = []

    def __str__(self) -> str:
        self.close_up()
        return "\n".join(self._rows) + "\n"

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def body(self) -> int:
        """Columns right of the labels, or below them."""
        return self.width - self._left

    def paint(self, text: str, style: str) -> str:
        """Text in a style such as `bold red`, where there is colour."""
        if not self.colour or not style or not text:
            return text
        return f"\x1b[{';'.join(_ESCAPES[word] for word in style.split())}m{text}\x1b[0m"

    def gap(self) -> None:
        """One empty row; several in a row become one."""
        if self._rows and self._rows[-1]:
            self._rows.append("")

    def close_up(self) -> None:
        """Take back an empty row at the end."""
        while self._rows and not self._rows[-1]:
            self._rows.pop()

    def head(
        self, label: str, text: str, tag: str = "", *, lead: str = "", style: str = "", label_style: str = "bold"
    ) -> None:
        """A labelled row with a tag at the right edge; text that has no room goes on below, hanging after `lead`."""
        text, tag = escape(text), escape(tag)
        if self._left < LABEL and label:
            self._rows.append(self.paint(label, label_style))
            label = ""
        room = self.body - len(lead) - (cells(tag) + 2 if tag else 0)
        below = tag if room < FEWEST else ""
        if below:
            room, tag = self.body - len(lead), ""
        rows = ([text] if cells(text) <= room else wrap(text, room)) or [""]
        gap = " " * (self.body - len(lead) - cells(rows[0]) - cells(tag)) if tag else ""
        start = self.paint(label, label_style) + " " * (self._left - len(label)) + lead
        if rows != [""] or tag:
            self._rows.append((start + self.paint(rows[0], style) + gap + self.paint(tag, "dim")).rstrip())
        self._rows.extend(" " * (self._left + len(lead)) + self.paint(row, style) for row in rows[1:])
        self._rows.extend(" " * self._left + self.paint(row, "dim") for row in wrap(below, self.body))

    def text(self, text: str, *, lead: str = "", indent: int = 0, style: str = "") -> None:
        """A paragraph of prose; `lead` stands before it and the rest hangs under its text."""
        lead, text = escape(lead), escape(text)
        left = self._left + indent
        if self._left < LABEL and lead:
            self._narrow(lead.rstrip(), text, left, style)
            return
        room = max(FEWEST, self.width - left - cells(lead))
        for number, row in enumerate(wrap(text, room)):
            start = self.paint(lead, "dim") if number == 0 else " " * cells(lead)
            self._rows.append(" " * left + start + self.paint(row, style))

    def _narrow(self, lead: str, text: str, left: int, style: str) -> None:
        """A paragraph that goes on below its lead, not beside it."""
        first, *rest = wrap(f"{lead} {text}", self.width - left - 2) if text else [""]
        if first.startswith(lead):
            first = self.paint(lead, "dim") + self.paint(first[len(lead) :], style)
        self._rows.extend([" " * left + first] if text else [])
        self._rows.extend(" " * (left + 2) + self.paint(row, style) for row in rest)

    def command(self, text: str, *, indent: int = 0) -> None:
        """A command to copy: never wrapped."""
        for number, row in enumerate(text.strip().splitlines()):
            prompt = "$ " if number == 0 else "  "
            self._rows.append(" " * (self._left + indent) + self.paint(prompt, "dim") + self.paint(escape(row), "cyan"))

    def line(
        self, place: str, text: str, *, rows: int, focus: int = 0, style: str = "", indent: int = 0, tail: str = ""
    ) -> None:
        """A log line with its place: beside it where both fit, else below it, at most so many rows."""
        place, text = escape(place), escape(text.rstrip())
        left = " " * (self._left + indent)
        room = self.body - indent
        tail = f"  {tail}" if tail else ""
        if cells(place) + 2 + cells(text) + cells(tail) <= room:
            shown = self.paint(text, style) + self.paint(tail, "dim")
            self._rows.append(f"{left}{self.paint(place, 'cyan')}  {shown}".rstrip())
            return
        self._rows.append(left + self.paint(place, "cyan") + self.paint(tail, "dim"))
        for row in window(text, room - 2, rows, focus):
            self._rows.append(f"{left}  {self.paint(row, style)}")

    def hanging(self, lead: str, text: str, *, rows: int, focus: int, style: str) -> None:
        """A log line after a lead, at most so many rows."""
        shown = window(escape(text.rstrip()), self.body - len(lead), rows, focus) or [""]
        for number, row in enumerate(shown):
            self._rows.append(
                (" " * self._left + (" " * len(lead) if number else lead) + self.paint(row, style)).rstrip()
            )

    def raw(self, text: str, *, indent: int = 0, style: str = "", whole: bool = False) -> None:
        """A row as it is, cut at the edge unless it is wanted whole."""
        row = escape(text) if whole else cut(escape(text), self.body - indent)
        self._rows.append((" " * (self._left + indent) + self.paint(row, style)).rstrip())


def cells(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if ord(char) < 0x300:
        return 1
    import unicodedata

    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _fits(text: str, room: int) -> int:
    """How many characters of the text fit into so many columns; at least one."""
    if text.isascii():
        return min(len(text), room)
    used = 0
    for index, char in enumerate(text):
        used += _cell(char)
        if used > room:
            return max(index, 1)
    return len(text)


def wrap(text: str, room: int) -> list[str]:
    """Prose in rows of at most so many columns; runs of blanks become one."""
    return fold(re.sub(r"\s+", " ", text).strip(), room, whole_words=True)


def fold(text: str, room: int, *, whole_words: bool = False) -> list[str]:
    """A text in rows, broken at blanks where that wastes less than half a row; blanks inside rows are kept.

    With `whole_words` a word that fits into a row of its own is never broken.
    """
    rows = []
    while text:
        end = _fits(text, room)
        if end < len(text) and text[end] != " ":
            blank = text.rfind(" ", 0, end)
            if blank > end // 2 or (whole_words and blank > 0 and _word_fits(text, blank + 1, room)):
                end = blank
        rows.append(text[:end].rstrip(" "))
        text = text[end:].lstrip(" ")
    return rows


def _word_fits(text: str, start: int, room: int) -> bool:
    """Whether the word that begins at a place has room in a row."""
    stop = text.find(" ", start)
    return cells(text[start : stop if stop >= 0 else len(text)]) <= room


def cut(text: str, room: int) -> str:
    """A text that does not fit, ended with an ellipsis."""
    end = _fits(text, room)
    return text if end == len(text) else text[: _fits(text, room - 1)] + "…"


def window(text: str, room: int, rows: int, focus: int) -> list[str]:
    """At most so many rows of a long line, around the character that matters."""
    capacity = room * rows
    if cells(text) <= capacity - room // 4:
        for whole_words in (True, False):
            found = fold(text, room, whole_words=whole_words)
            if len(found) <= rows:
                return found
    start = 0
    if focus > capacity // 2:
        start = min(focus, max(0, len(text) - capacity + room // 4))
        start = text.rfind(" ", 0, start) + 1 or start
    shown = ("… " if start else "") + text[start:]
    found = fold(shown[: capacity + 1], room)
    if len(found) > rows or len(shown) > capacity + 1:
        found = [*found[: rows - 1], _ended(found[rows - 1], room)]
    return found


def _ended(row: str, room: int) -> str:
    """A row that tells that more would follow, cut after a whole word where that is near."""
    end = _fits(row, room - 2)
    if end < len(row) and row.rfind(" ", 0, end) > end * 3 // 4:
        end = row.rfind(" ", 0, end)
    return row[:end] + " …"
