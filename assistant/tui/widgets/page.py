"""A page of prose that scrolls."""

from __future__ import annotations

from typing import Any, Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from assistant.tui.sheet import MUTED, Sheet

NOTHING: Final = "The entry does not say."


class Page(VerticalScroll):
    """Shows one sheet."""

    can_focus = True

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.sheet = Sheet()

    def compose(self) -> ComposeResult:
        """One widget, however long the text."""
        yield Static(self.sheet, markup=False)

    def show_sheet(self, sheet: Sheet) -> None:
        """Show this text from its top; an empty one says so."""
        self.sheet = sheet if sheet else Sheet().add(NOTHING, style=MUTED)
        self.query_one(Static).update(self.sheet)
        self.scroll_home(animate=False)

    def copy_text(self) -> str:
        """The whole page."""
        return self.sheet.plain
