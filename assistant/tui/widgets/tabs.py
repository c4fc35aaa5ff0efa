"""Tabs that may be told which one is active before they are made, or while they are taken down."""

from __future__ import annotations

from textual.widgets import Tabs


class CalmTabs(Tabs):
    """A tab that is not there is not activated; Textual's own tabs end the program over it."""

    def validate_active(self, active: str) -> str:
        """The wish, as far as there is such a tab."""
        return active if not active or self.query(f"#tabs-list > #{active}") else ""
