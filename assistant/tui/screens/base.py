"""What all screens have in common: keys by name, a progress line, help."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from assistant.tui.keys import told
from assistant.tui.widgets.progress_line import ProgressLine

if TYPE_CHECKING:
    from assistant.tui.app import FirstfaultApp
    from assistant.tui.messages import JobReady

NARROW = 100
"""Columns below which panes become tabs."""
TINY = 60


class BaseScreen(Screen[None]):
    """A screen that shows the progress of jobs and takes their results."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (TINY, "-narrow"), (NARROW, "-wide")]  # noqa: RUF012

    @property
    def desk(self) -> FirstfaultApp:
        """The app, by its own type."""
        return cast("FirstfaultApp", self.app)

    def told(self, text: str) -> str:
        """Prose with the keys in it that are in force."""
        return told(text, self.desk.keys)

    def show_progress(self, text: str) -> None:
        """Show how far the work is that a person waits for."""
        for line in self.query(ProgressLine):  # none yet while the screen is being made
            line.show_progress(self.told("{key:back} cancels   ") + text)

    def clear_progress(self) -> None:
        """Nothing is going on any more."""
        for line in self.query(ProgressLine):
            line.clear_progress()

    def show_index(self, news: str) -> None:
        """Show how far the index is, by which questions find their answers; nothing for an empty text."""

    async def take(self, ready: JobReady) -> None:
        """Take the result of a job."""

    def failed(self, group: str, sentence: str) -> None:
        """A job of this screen came to nothing."""
        self.app.clear_notifications()  # the last reason is the one that counts
        self.notify(sentence, title="That did not work", severity="error", timeout=12, markup=False)

    async def back(self) -> None:
        """Go one step back, if there is one."""
