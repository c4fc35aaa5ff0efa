"""Rows of text with hanging indents that wrap to any width: what Static and OptionList cannot do by themselves.

All text that may stem from a log comes in as plain text and is escaped here; it is never read as markup.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from textual.content import Content
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from assistant.console import escape

MAX_TEXT: Final = 4_000
"""Characters of one row that are drawn; a hostile line must not freeze the screen."""
_LEAST: Final = 12
"""Columns that text keeps however deep it is indented."""
_HANG: Final = 6
_NARROW: Final = 64
"""Columns below which text does not hang under a lead longer than `_HANG`."""

MUTED: Final = "$secondary"
BOLD: Final = "bold"
CODE: Final = "$accent"
PLACE: Final = "$primary"


def plain(text: str, style: str | Style = "") -> Content:
    """Text as text: control bytes shown, nothing read as markup, over-long text cut."""
    shown = escape(text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + " … (cut)")
    return Content.styled(shown, style) if style else Content(shown)


def link(text: str, action: str, style: str = "underline") -> Content:
    """Text that does something when it is clicked; `action` is an action string of ours, never log text."""
    return plain(text, Style.from_meta({"@click": action})).stylize(style)


@dataclass(frozen=True, slots=True)
class Row:
    """A paragraph; what does not fit hangs under the text, not under the lead."""

    text: Content
    lead: Content
    indent: int


class Sheet(Visual):
    """Rows, laid out for the width they are drawn in."""

    def __init__(self) -> None:
        self._rows: list[Row | None] = []
        self._laid: tuple[int, Content] | None = None

    def add(self, text: Content | str, *, lead: Content | str = "", indent: int = 0, style: str = "") -> Sheet:
        """Add a paragraph, if there is anything to say."""
        content = plain(text, style) if isinstance(text, str) else text
        if content:
            start = plain(lead, MUTED) if isinstance(lead, str) else lead
            self._rows.append(Row(content, start, indent))
        return self

    def head(self, text: str) -> Sheet:
        """Add a heading with room above it."""
        return self.gap().add(text, style="bold $secondary")

    def command(self, text: str | None, *, indent: int = 0) -> Sheet:
        """Add a command to copy, line by line."""
        for number, line in enumerate((text or "").strip().splitlines()):
            self.add(plain(line, CODE), lead="$ " if number == 0 else "  ", indent=indent)
        return self

    def log(self, place: str, text: str, *, indent: int = 0, style: str = "") -> Sheet:
        """Add a log line below its place."""
        return self.add(plain(place, PLACE), indent=indent).add(plain(text.rstrip(), style), indent=indent + 2)

    def gap(self) -> Sheet:
        """Add one empty row; several in a row become one."""
        if self._rows and self._rows[-1] is not None:
            self._rows.append(None)
        return self

    def extend(self, other: Sheet) -> Sheet:
        """Add all rows of another sheet."""
        self._rows.extend(other._rows)
        return self

    def __bool__(self) -> bool:
        return bool(self._rows)

    @property
    def plain(self) -> str:
        """The text without layout, for copying and for tests."""
        return "\n".join("" if row is None else f"{row.lead.plain}{row.text.plain}" for row in self._rows)

    def laid_out(self, width: int) -> Content:
        """The rows wrapped to a width."""
        if self._laid is None or self._laid[0] != width:
            lines: list[Content] = []
            for row in self._rows:
                lines.extend([Content("")] if row is None else _wrapped(row, width))
            self._laid = (width, Content("\n").join(lines))
        return self._laid[1]

    # ---- the protocol of a visual

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        """Draw the rows."""
        return self.laid_out(width).render_strips(width, height, style, options)

    def get_optimal_width(self, rules: Any, container_width: int) -> int:
        """As wide as there is room."""
        return container_width

    def get_height(self, rules: Any, width: int) -> int:
        """Rows on the screen at this width."""
        return self.laid_out(width).plain.count("\n") + 1 if self._rows and width > 0 else 0


def _wrapped(row: Row, width: int) -> list[Content]:
    indent = min(row.indent, max(0, width - _LEAST - row.lead.cell_length))
    if row.lead.cell_length > _HANG and width < _NARROW:
        # Hanging under the text after a long lead would leave a column of single words.
        lines = Content.assemble(row.lead.rstrip(), " ", row.text).wrap(max(_LEAST, width - indent - 2))
        return [Content.assemble(" " * indent, lines[0]), *(Content.assemble(" " * (indent + 2), x) for x in lines[1:])]
    left = " " * (indent + row.lead.cell_length)
    lines = row.text.wrap(max(_LEAST, width - len(left)))
    first = Content.assemble(" " * indent, row.lead, lines[0])
    return [first, *(Content.assemble(left, line) for line in lines[1:])]
