"""One line to type into, which tells a paste of several lines from typing."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.suggester import Suggester
from textual.widgets import Input

from assistant.tui.actions import ACTIONS
from assistant.tui.messages import Pasted, Submitted

MAX_HISTORY: Final = 100
INVITATION: Final = "Ask, paste output or a log, / for commands"
LONG_LINE: Final = 1_000
"""A single pasted line that is longer is no question."""


class PasteInput(Input):
    """An input whose bracketed pastes of several lines arrive whole, as `Pasted`."""

    def _on_paste(self, event: events.Paste) -> None:
        text = event.text.strip("\r\n")
        if "\n" in text or "\r" in text or len(text) > LONG_LINE:
            event.prevent_default()
            event.stop()
            self.post_message(Pasted(event.text))


class SlashSuggester(Suggester):
    """Completes `/` commands."""

    def __init__(self) -> None:
        super().__init__(use_cache=True, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """The first command that begins like this."""
        if not value.startswith("/") or len(value) < 2:
            return None
        return next((f"/{item.slash}" for item in ACTIONS if item.slash.startswith(value[1:])), None)


class Prompt(PasteInput):
    """Where questions are asked; Up and Down bring earlier ones back, PageUp and PageDown turn the conversation."""

    HELP = "prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "recall(-1)", "Earlier", show=False, tooltip="Bring an earlier question back", id="earlier"),
        Binding("down", "recall(1)", "Later", show=False, tooltip="Bring a later question back", id="later"),
        Binding("pageup", "page(-1)", "Up", show=False, tooltip="Turn the conversation back", id="page-up"),
        Binding("pagedown", "page(1)", "Down", show=False, tooltip="Turn the conversation on", id="page-down"),
    ]

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            select_on_focus=False,
            placeholder=INVITATION,
            suggester=SlashSuggester(),
            **settings,
        )
        self._history: list[str] = []
        self._place = 0

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send what was typed."""
        event.stop()
        text = self.value.strip()
        if not text:
            return
        self.value = ""
        self.post_message(Submitted(text))

    def show_index(self, news: str) -> None:
        """Say in the empty line how far the index is; until it is there, answers are found by words."""
        self.placeholder = f"Ask (index {news}; by words until then)" if news else INVITATION

    def remember(self, text: str) -> None:
        """Keep what was asked: of a typed number the question that it stood for."""
        self._history = [*self._history, text][-MAX_HISTORY:]
        self._place = len(self._history)

    def action_recall(self, step: int) -> None:
        """Bring an earlier or later question back."""
        self._place = min(max(self._place + step, 0), len(self._history))
        self.value = self._history[self._place] if self._place < len(self._history) else ""
        self.cursor_position = len(self.value)

    def action_page(self, step: int) -> None:
        """Turn the conversation by a page."""
        from assistant.tui.widgets.chat import Turns

        turns = self.screen.query_one(Turns)
        turns.scroll_page_up() if step < 0 else turns.scroll_page_down()
