"""The app: which screen is shown, which jobs run, where their results go. It decides nothing about failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.command import Provider
from textual.dom import DOMNode
from textual.screen import ModalScreen

from assistant.tui import reading
from assistant.tui.actions import bindings_of
from assistant.tui.commands import ActionCommands, EntryCommands
from assistant.tui.desk import Desk
from assistant.tui.keys import clashes
from assistant.tui.messages import Diagnosed, JobCancelled, JobFailed, JobProgress, JobReady, Loaded, OpenPaths
from assistant.tui.screens.base import BaseScreen
from assistant.tui.screens.home import HomeScreen
from assistant.tui.services import Services, Start
from assistant.tui.theme import DARK, LIGHT

if TYPE_CHECKING:
    from assistant.tui.case import Case


class FirstfaultApp(Desk):
    """Home, diagnosis, library."""

    TITLE = "firstfault"
    OWNER = "app"
    CSS_PATH = "app.tcss"
    COMMAND_PALETTE_BINDING = "ctrl+p"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {ActionCommands, EntryCommands}
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of("app")]

    def __init__(self, services: Services, start: Start | None = None) -> None:
        super().__init__(services)
        self.fatal: Exception | None = None
        """Why the app could not go on."""
        self.keys = dict(services.keys)
        """Keys that are not those of the list."""
        self._start = start or Start()

    def on_mount(self) -> None:
        """Paint first; knowledge is loaded in a thread."""
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name
        self.set_keymap(self.keys)
        for sentence in clashes(self.keys):
            self.notify(sentence, title="Keys clash", severity="warning", timeout=12, markup=False)
        self.install_screen(HomeScreen(), "home")
        self.push_screen("home")
        self.set_interval(0.1, self._show_running)
        self.load()
        if self._start.pipe is not None:
            pipe = self._start.pipe
            self.read(lambda *given: reading.read_pipe(pipe, *given))
        elif self._start.paths:
            self.read_paths(self._start.paths)

    # ---- news of jobs

    @property
    def base(self) -> BaseScreen | None:
        """The screen below help and palette."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, BaseScreen)), None)

    def _show_running(self) -> None:
        """Say what is going on once it has taken a moment; a job that tells its progress says it better."""
        if self.base is None:
            return
        job = self.shown_job()
        if job is None:
            self.base.clear_progress()
        else:
            self.base.show_progress(job.news or f"{job.what} …")

    def on_job_progress(self, event: JobProgress) -> None:
        """A job tells how far it is."""
        if self.is_current(event.group, event.number):
            self.jobs[event.group].news = event.text
            if event.group == "index":
                self.tell_index(event.text)

    async def on_job_ready(self, event: JobReady) -> None:
        """A job is done."""
        if not self.finish_job(event.group, event.number):
            return
        if event.group == "index":
            self.tell_index("")
        elif isinstance(event.result, Loaded):
            self._take_knowledge(event.result)
        elif isinstance(event.result, Diagnosed):
            await self.show_case(event.result.case)
        elif self.base is not None:
            await self.base.take(event)

    def on_job_failed(self, event: JobFailed) -> None:
        """A job came to nothing; without knowledge nothing can be done, without an index words must do."""
        if not self.finish_job(event.group, event.number):
            return
        if event.group == "load":
            self.fatal = event.error
            self.exit()
        elif event.group == "index":
            self.tell_index("")
            self.notify(f"{event.sentence} Answers are found by words alone.", severity="warning", markup=False)
        elif self.base is not None:
            self.base.failed(event.group, event.sentence)

    def on_job_cancelled(self, event: JobCancelled) -> None:
        """A job looked up and stopped; the screen was free before."""
        self.finish_job(event.group, event.number)

    def _take_knowledge(self, loaded: Loaded) -> None:
        home = self.get_screen("home")
        assert isinstance(home, HomeScreen)
        home.show_demos(loaded.demos)
        self.take_knowledge(loaded)

    def on_open_paths(self, event: OpenPaths) -> None:
        """A path was chosen."""
        self.read_paths(event.paths)

    # ---- screens

    async def show_case(self, case: Case) -> None:
        """Show a verdict."""
        from assistant.tui.screens.diagnosis import DiagnosisScreen

        self.case = case
        self.clear_notifications()  # what went wrong before lies over the verdict, and is of no use any more
        if self.is_screen_installed("diagnosis"):
            screen = self.get_screen("diagnosis")
            assert isinstance(screen, DiagnosisScreen)
            await screen.show_case(case)
        else:
            self.install_screen(DiagnosisScreen(case), "diagnosis")
        await self.show_screen("diagnosis")

    async def show_screen(self, name: str) -> None:
        """Show a screen of ours, whatever lies on it."""
        while isinstance(self.screen, ModalScreen):
            await self.pop_screen()
        if self.screen is not self.get_screen(name):
            await self.switch_screen(name)

    async def action_home(self) -> None:
        """Open another log; the path of the one before is not in the way."""
        await self.show_screen("home")
        home = self.get_screen("home")
        assert isinstance(home, HomeScreen)
        home.begin()

    async def action_talk(self) -> None:
        """Go to the conversation about the open verdict, from wherever; without one, to where a log is opened."""
        if self.case is None:
            await self.action_home()
            return
        await self.show_screen("diagnosis")
        self.screen.action_pane("talk")  # type: ignore[attr-defined]  # the screen just shown

    async def answer_at_home(self, question: str) -> None:
        """A question was typed where a path belongs: it is about the open verdict, else about the library."""
        from assistant.tui.screens.browse import BrowseScreen
        from assistant.tui.screens.diagnosis import DiagnosisScreen

        if self.is_reading:
            self.notify("The log is still being read; ask once its verdict is there.", severity="warning")
            return
        await (self.action_browse() if self.case is None else self.show_screen("diagnosis"))
        if isinstance(self.screen, DiagnosisScreen):
            self.screen.ask(question)
        elif isinstance(self.screen, BrowseScreen):
            self.screen.search_for(question)
            self.notify("No log is open, so this is what the library has. A log's own questions come with its verdict.")

    async def action_browse(self, entry: str = "") -> None:
        """Go to the library, perhaps to an entry in it."""
        from assistant.tui.screens.browse import BrowseScreen

        if self.loaded is None:
            self.notify("The knowledge is not ready yet.", severity="warning")
            return
        case = self.case or self.empty_case()
        if not self.is_screen_installed("browse"):
            self.install_screen(BrowseScreen(case), "browse")
        await self.show_screen("browse")
        screen = self.screen
        assert isinstance(screen, BrowseScreen)
        screen.show_case(case)
        if entry:
            screen.open_entry(entry)

    # ---- actions

    async def action_back(self) -> None:
        """Cancel what is running, else go one step back."""
        stopped = self.stop_shown()
        if stopped:
            self.notify(f"Cancelled: {stopped}.", markup=False)
        elif self.base is not None:
            await self.base.back()

    def action_help(self) -> None:
        """Explain what has the focus."""
        from assistant.tui.screens.help import HelpScreen

        if not isinstance(self.screen, ModalScreen):
            self.push_screen(HelpScreen.of(self.screen))

    def action_copy(self) -> None:
        """Copy what is under the cursor."""
        node: DOMNode | None = self.focused
        while node is not None and not hasattr(node, "copy_text"):
            node = node.parent
        text = node.copy_text() if node is not None else ""
        if not text:
            self.notify("Nothing to copy here.", severity="warning")
            return
        self.copy_to_clipboard(text)
        self.notify(f"Copied: {text.splitlines()[0][:60]}", markup=False)

    def action_toggle_theme(self) -> None:
        """Change between dark and light."""
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name
