"""Help for what has the focus: its text from a file, its keys as they are at this moment."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Markdown, Static

from assistant.tui.actions import ACTIONS
from assistant.tui.keys import CLOSE_HELP, told
from assistant.tui.sheet import BOLD, MUTED, Sheet, plain

if TYPE_CHECKING:
    from assistant.tui.app import FirstfaultApp

FALLBACK: Final = "diagnosis"
BASIC: Final = frozenset({"up", "down", "left", "right", "pageup", "pagedown", "home", "end", "enter"})
"""Keys of lists and pages that are worth telling; how to edit a line is not."""


class HelpScreen(ModalScreen[None]):
    """A window over the screen; Esc and the key that opened it close it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q", "close", "Close", tooltip="Close the help", id=CLOSE_HELP)
    ]

    def __init__(self, topic: str, keys: Sheet) -> None:
        super().__init__()
        self.topic = topic
        self.keys = keys

    @classmethod
    def of(cls, screen: Screen[object]) -> HelpScreen:
        """Help for a screen as it is now."""
        return cls(topic_of(screen.focused or screen), live_keys(screen))

    def compose(self) -> ComposeResult:
        """Text, then keys."""
        with VerticalScroll(id="help") as box:
            box.border_title = "Help"
            box.border_subtitle = "Esc closes"
            keys = cast("FirstfaultApp", self.app).keys
            yield Markdown(told(help_text(self.topic), keys), open_links=False)
            yield Static(self.keys, id="help-keys", markup=False)

    def on_mount(self) -> None:
        """The text can be scrolled at once."""
        self.query_one("#help").focus()

    def action_close(self) -> None:
        """Back to where one was."""
        self.dismiss()


def topic_of(node: DOMNode) -> str:
    """The help topic of a node, or of the nearest one around it that has one."""
    for ancestor in node.ancestors_with_self:
        topic = getattr(ancestor, "HELP", None)
        if isinstance(topic, str) and topic:
            return topic
    return FALLBACK


def help_text(topic: str) -> str:
    """The text of a topic."""
    return (files("assistant.tui") / "help" / f"{topic}.md").read_text(encoding="utf-8")


def live_keys(screen: Screen[object]) -> Sheet:
    """The keys that work now, those of the focused widget first, then what `/` understands."""
    ours = {action.id: action for action in ACTIONS}
    groups: dict[str, list[tuple[str, str]]] = {"Here": [], "On this screen": [], "Everywhere": []}
    for active in screen.active_bindings.values():
        binding = active.binding
        text = ours[binding.id].help if binding.id in ours else binding.tooltip or binding.description
        node = active.node
        is_ours = bool(binding.id and binding.tooltip)
        is_basic = binding.key in BASIC and not isinstance(node, Input)
        if not active.enabled or not text or binding.system or not (is_ours or is_basic):
            continue
        name = "Everywhere" if node is screen.app else "On this screen" if node is screen else "Here"
        groups[name].append((screen.app.get_key_display(binding), text))
    sheet = Sheet()
    for name, keys in groups.items():
        if keys:
            sheet.head(name)
            width = max(len(key) for key, _ in keys)
            for key, text in dict.fromkeys(keys):
                sheet.add(text, lead=plain(f"{key:<{width}}  ", BOLD))
    sheet.head("In the prompt")
    for action in ACTIONS:
        if action.slash:
            sheet.add(action.help, lead=plain(f"/{action.slash}  ", BOLD))
    return sheet.gap().add("Ctrl+C copies what the mouse has selected.", style=MUTED)
