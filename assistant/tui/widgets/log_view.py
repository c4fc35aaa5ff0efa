"""Log lines with their numbers, drawn one by one as they come into view."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from assistant.console import escape
from assistant.reports._page import cells

MAX_LINE: Final = 2_000
"""Characters of a line that are drawn; a line of megabytes must not freeze the view."""
MARK: Final = "> "
NO_MARK: Final = "  "


class LogView(ScrollView, can_focus=True):
    """Numbered lines; marked ones carry a sign in the gutter, not only a colour."""

    HELP = "log"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"log-view--number", "log-view--mark", "log-view--gap"}
    DEFAULT_CSS = """
    LogView { height: 1fr; overflow-x: auto; overflow-y: auto; }
    LogView > .log-view--number { color: $secondary; }
    LogView > .log-view--mark { text-style: bold; color: $text-warning; }
    LogView > .log-view--gap { color: $secondary; }
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._lines: list[tuple[int, str] | None] = []
        self._marks: frozenset[int] = frozenset()
        self._digits = 1
        self._current: int | None = None

    def show_lines(self, lines: Sequence[tuple[int, str]], marks: Collection[int], current: int) -> None:
        """Show these lines, marked ones marked, the current one in the middle; gaps between numbers are shown."""
        self._lines = []
        for number, text in lines:
            if self._lines and self._lines[-1] is not None and self._lines[-1][0] != number - 1:
                self._lines.append(None)
            self._lines.append((number, text))
        self._marks = frozenset(marks)
        self._current = current
        self._digits = len(str(lines[-1][0])) if lines else 1
        widest = max((min(len(text), MAX_LINE) for _, text in lines), default=0)
        self.virtual_size = Size(widest + self._digits + 4, len(self._lines))
        self.refresh()
        self.call_after_refresh(self._centre)

    def _centre(self) -> None:
        numbers = [None if item is None else item[0] for item in self._lines]
        if self._current in numbers:
            middle = numbers.index(self._current) - self.scrollable_content_region.height // 2
            self.scroll_to(x=0, y=max(0, middle), animate=False)

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width = self.scrollable_content_region.width
        row = y + self.scroll_offset.y
        base = self.rich_style
        if row >= len(self._lines):
            return Strip.blank(width, base)
        item = self._lines[row]
        if item is None:
            style = base + self.get_component_rich_style("log-view--gap", partial=True)
            return Strip([Segment("  … lines not kept", style)]).adjust_cell_length(width, base)
        return self._drawn(item, base).crop_extend(self.scroll_offset.x, self.scroll_offset.x + width, base)

    def _drawn(self, item: tuple[int, str], base: Style) -> Strip:
        number, text = item
        is_marked = number in self._marks
        gutter = base + self.get_component_rich_style("log-view--number", partial=True)
        style = base + self.get_component_rich_style("log-view--mark", partial=True) if is_marked else base
        shown = escape(text[:MAX_LINE] + (" … (cut)" if len(text) > MAX_LINE else ""))
        start = f"{MARK if is_marked else NO_MARK}{number:>{self._digits}}  "
        return Strip([Segment(start, style if is_marked else gutter), Segment(shown, style)], cells(start + shown))

    def copy_text(self) -> str:
        """The current line as it stands in the log."""
        return next((item[1] for item in self._lines if item is not None and item[0] == self._current), "")
