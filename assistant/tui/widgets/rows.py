"""Lists of rows with hanging indents: the base of timeline, checklist, candidates and related entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.widgets import OptionList
from textual.widgets.option_list import Option

from assistant.tui.sheet import MUTED, Sheet, plain


class Rows(OptionList):
    """An option list of sheets; its text is never markup."""

    EMPTY = "Nothing here."
    """What to say where there are no rows."""
    SPACED = False
    """Whether an empty row stands between rows."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, **settings)
        self._sheets: dict[str, Sheet] = {}

    def set_rows(self, rows: Iterable[tuple[str | None, Sheet]], *, highlight: str | None = None) -> None:
        """Show these rows; one without an id is a heading and cannot be chosen."""
        self.clear_options()
        self._sheets = {}
        options: list[Option] = []
        for key, sheet in rows:
            if key is not None:
                self._sheets[key] = sheet
            if self.SPACED and options:
                options.append(Option("", disabled=True))
            options.append(Option(sheet, id=key, disabled=key is None))
        if not options:
            options.append(Option(plain(self.EMPTY, MUTED), disabled=True))
        self.add_options(options)
        if self._sheets:
            first = next(number for number, option in enumerate(options) if not option.disabled)
            self.highlighted = first if highlight is None else self.get_option_index(highlight)

    @property
    def chosen(self) -> str | None:
        """The id of the row under the cursor."""
        if self.highlighted is None or not self.option_count:
            return None
        return self.get_option_at_index(self.highlighted).id

    def copy_text(self) -> str:
        """The row under the cursor as plain text."""
        sheet = self._sheets.get(self.chosen or "")
        return sheet.plain if sheet is not None else ""
