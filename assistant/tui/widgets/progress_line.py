"""What is going on, in one row that is there only while something is."""

from __future__ import annotations

from textual.widgets import Static

from assistant.tui.sheet import plain


class ProgressLine(Static):
    """Amount, rate, time left, and how to stop it."""

    DEFAULT_CSS = """
    ProgressLine { height: 1; dock: bottom; display: none; }
    ProgressLine.-busy { display: block; }
    """

    def show_progress(self, text: str) -> None:
        """Show how far the work is; how to stop it comes first, for a narrow screen cuts at the right."""
        self.update(plain(text))
        self.add_class("-busy")

    def clear_progress(self) -> None:
        """Nothing is going on any more."""
        self.remove_class("-busy")
