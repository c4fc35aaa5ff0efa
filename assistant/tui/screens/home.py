"""The first screen: paste a log, open a path, try a demo, or go to the library."""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Footer, Input, OptionList, Static

from assistant.tui.messages import JobReady, Matches, OpenPaths, Pasted
from assistant.tui.reading import matching_paths
from assistant.tui.screens.base import BaseScreen
from assistant.tui.services import Demo
from assistant.tui.sheet import BOLD, MUTED, Sheet, plain
from assistant.tui.widgets.progress_line import ProgressLine
from assistant.tui.widgets.prompt import PasteInput
from assistant.tui.widgets.rows import Rows

INTRO: Final = "Paste a log, type its path or try an incident; nothing leaves this machine."


class PathInput(PasteInput):
    """Where a path is typed; Tab completes it, Down goes to the list."""

    HELP = "home"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "Complete", tooltip="Complete the path as far as it is clear", id="complete"),
        Binding("down", "list", "List", show=False, tooltip="Go to the list below", id="to-list"),
    ]

    def action_complete(self) -> None:
        """As far as all matches agree; without any, Tab moves on as usual."""
        matches = matching_paths(self.value) if self.value else ()
        # Letter by letter, not folder by folder: that is what completing means.
        common = os.path.commonprefix(matches)  # noqa: RUF071
        if len(common) > len(self.value):
            self.value = common
            self.cursor_position = len(common)
        elif len(matches) < 2:
            self.screen.focus_next()
        else:
            self.action_list()

    def action_list(self) -> None:
        """Go to the list."""
        self.screen.set_focus(self.screen.query_one(Choices))


class Choices(Rows):
    """The bundled incidents, or the paths that begin like what was typed."""

    HELP = "home"
    EMPTY = "No path begins like that."


class HomeScreen(BaseScreen):
    """Asks which log."""

    AUTO_FOCUS = "#path"

    HELP = "home"

    def __init__(self) -> None:
        super().__init__()
        self._demos: tuple[Demo, ...] = ()
        self._matches: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        """Title, input, list."""
        yield Static(Sheet().add(plain("firstfault", BOLD)).add(INTRO, style=MUTED), id="intro", markup=False)
        with Vertical(id="home"):
            yield PathInput(
                select_on_focus=False,
                placeholder="path of a log, a directory or an archive; or paste the log here",
                id="path",
            )
            yield Choices(id="choices")
        yield ProgressLine()
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """The list has a title from the start."""
        self.query_one(PathInput).border_title = "Log"
        self.show_demos(self._demos)

    def begin(self) -> None:
        """Ask anew: an empty line, with the focus."""
        line = self.query_one(PathInput)
        line.value = ""
        line.focus()

    def show_demos(self, demos: Sequence[Demo]) -> None:
        """List the incidents to try."""
        self._demos = tuple(demos)
        if not self.query_one(PathInput).value:
            choices = self.query_one(Choices)
            choices.border_title = "Incidents to try"
            choices.EMPTY = "Getting the knowledge ready …"
            choices.set_rows([(f"demo:{number}", _demo_row(demo)) for number, demo in enumerate(self._demos)])

    def on_input_changed(self, event: Input.Changed) -> None:
        """List what begins like this; the disk is read in a thread."""
        event.stop()
        typed = event.value
        if not typed:
            self.desk.cancel_job("paths")
            self.show_demos(self._demos)
            return
        self.desk.start_job("paths", "listing files", lambda _: Matches(typed, matching_paths(typed)))

    async def take(self, ready: JobReady) -> None:
        """Show the matches, unless something else was typed since."""
        result = ready.result
        if isinstance(result, Matches) and result.typed == self.query_one(PathInput).value:
            self._matches = result.paths
            choices = self.query_one(Choices)
            choices.border_title = "Files"
            choices.EMPTY = "No path begins like that."
            choices.set_rows([(f"path:{number}", Sheet().add(path)) for number, path in enumerate(self._matches)])

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """Open what was typed; with nothing typed, what the cursor of the list stands on."""
        event.stop()
        text = event.value.strip()
        if is_question(text):
            await self.desk.answer_at_home(text)
        elif text:
            self.desk.post_message(OpenPaths((text,)))
        else:
            self.query_one(Choices).action_select()

    def on_pasted(self, event: Pasted) -> None:
        """A log was pasted."""
        event.stop()
        self.desk.read_pasted(event.text)

    def on_paste(self, event: events.Paste) -> None:
        """A paste that no input took: the focus was on the list."""
        event.stop()
        if event.text.strip():
            self.desk.read_pasted(event.text)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open an incident or a file; a directory is entered by completing it, opened by Enter above."""
        event.stop()
        kind, _, number = (event.option_id or "").partition(":")
        if kind == "demo":
            self.desk.read_demo(self._demos[int(number)])
        elif kind == "path":
            path = self._matches[int(number)]
            line = self.query_one(PathInput)
            line.value = path
            line.cursor_position = len(path)
            line.focus()
            if not path.endswith("/"):
                self.desk.post_message(OpenPaths((path,)))

    def failed(self, group: str, sentence: str) -> None:
        """Say it, and let the person try another path."""
        super().failed(group, sentence)
        self.query_one(PathInput).focus()

    async def back(self) -> None:
        """Empty the input; with nothing typed, go back to the verdict that is open."""
        line = self.query_one(PathInput)
        if line.value:
            line.value = ""
            line.focus()
        elif self.desk.case is not None:
            await self.desk.show_screen("diagnosis")


def is_question(text: str) -> bool:
    """Whether a line is no path but a question: several words, none with a slash, no name of a file at the end."""
    words = text.split()
    return "/" not in text and (len(words) > 2 or text.endswith("?")) and not re.search(r"\.\w{1,5}$", text)


def _demo_row(demo: Demo) -> Sheet:
    return Sheet().add(plain(demo.title)).add(demo.name, indent=2, style=MUTED)
