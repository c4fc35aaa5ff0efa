"""The one list of what a person can do: keys, footer, palette, `/` commands and help are all made from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.widget import Widget

Owner = Widget | App[None]
"""What can run an action."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done, and every way to ask for it."""

    id: str
    key: str
    """Empty where the palette and the `/` command are enough."""
    label: str
    """A word or two, for the footer."""
    help: str
    """One sentence, for tooltips, palette and help."""
    run: str
    """The action's name on its owner, as Textual writes it."""
    owner: str
    """The class of the node that can do it, as its `OWNER` says."""
    shown: bool = True
    """Whether the footer has room for it."""
    slash: str = ""
    """What to type into the prompt after `/`."""
    always: bool = False
    """Whether the key works under help and palette, too."""


def _section(name: str, slash: str, what: str) -> Action:
    return Action(f"section-{name}", "", what, f"Show the {what.lower()} of the entry", f"section('{name}')", "dossier",
                  slash=slash)  # fmt: skip


ACTIONS: Final = (
    Action("help", "f1", "Help", "Help for what has the focus, with its keys", "help", "app", slash="help"),
    Action("findings", "f2", "Findings", "Go to the timeline of findings", "pane('findings')", "diagnosis", shown=False,
           slash="findings"),
    Action("talk", "f3", "Ask", "Go to the conversation", "talk", "app", shown=False, slash="talk"),
    Action("entry", "f4", "Entry", "Go to the entry and its evidence", "pane('entry')", "diagnosis", shown=False, slash="entry"),
    Action("back", "escape", "Back", "Cancel what is running, else go one step back", "back", "app", shown=False),
    Action("open", "ctrl+o", "Open", "Open another log: a path, a paste or a demo", "home", "app", slash="open"),
    Action("browse", "ctrl+l", "Library", "Browse and search all entries", "browse", "app", slash="library"),
    Action("save", "ctrl+s", "Save", "Write the verdict and the conversation to a Markdown file", "save", "diagnosis",
           slash="save"),
    Action("copy", "ctrl+y", "Copy", "Copy the line or command under the cursor", "copy", "app", shown=False,
           slash="copy"),
    Action("command", "slash", "Command", "Type a `/` command into the prompt", "command", "diagnosis", shown=False),
    Action("palette", "ctrl+p", "Commands", "Find a command or an entry by name", "command_palette", "app"),
    Action("theme", "ctrl+t", "Theme", "Change between dark and light", "toggle_theme", "app", shown=False,
           slash="theme"),
    Action("quit", "ctrl+q", "Quit", "Leave; the verdict stays on the terminal", "quit", "app", slash="quit", always=True),
    Action("next-section", "right_square_bracket", "Next tab", "Show the next tab of the entry", "turn(1)", "dossier",
           shown=False),
    Action("previous-section", "left_square_bracket", "Previous tab", "Show the tab before", "turn(-1)", "dossier",
           shown=False),
    _section("overview", "overview", "Overview"),
    _section("checks", "checks", "Checks"),
    _section("fix", "fix", "Fix"),
    _section("faq", "faq", "FAQ"),
    _section("evidence", "evidence", "Evidence"),
    _section("candidates", "candidates", "Candidates"),
    _section("related", "related", "Related"),
    Action("tick", "space", "Tick", "Tick the check as done, or take the tick back", "tick", "checklist"),
    Action("walk", "enter", "Walk there", "Go to the entry under the cursor", "select", "related"),
    Action("walk-back", "backspace", "Walk back", "Go back to the entry you came from", "walk_back", "dossier",
           shown=False, slash="back"),
    Action("ask-on", "", "Judge a paste as a question", "Ask the last paste instead of judging it", "paste_as('ask')",
           "diagnosis", slash="ask"),
    Action("judge", "", "Judge a paste by the open check", "Judge the last paste by the open check",
           "paste_as('judge')", "diagnosis", slash="judge"),
    Action("read", "", "Read a paste as a log", "Diagnose the last paste", "paste_as('log')", "diagnosis",
           slash="log"),
)  # fmt: skip


def actions_of(owner: str) -> Iterator[Action]:
    """What the node of that name can do."""
    return (action for action in ACTIONS if action.owner == owner)


def bindings_of(owner: str) -> list[Binding]:
    """The keys of a node, each with its id and tooltip."""
    return [
        Binding(
            action.key,
            action.run,
            action.label,
            show=action.shown,
            tooltip=action.help,
            id=action.id,
            priority=action.always,
        )
        for action in actions_of(owner)
        if action.key
    ]


def owners(node: DOMNode | None) -> Iterator[tuple[Owner, str]]:
    """The nodes from here up that can do something, with their names."""
    while node is not None:
        name = getattr(node, "OWNER", "")
        if name and isinstance(node, Widget | App):
            yield node, name
        node = node.parent


def by_slash(word: str) -> Action | None:
    """The action of a `/` command; a beginning that fits only one is enough."""
    found = [action for action in ACTIONS if action.slash and action.slash == word]
    found = found or [action for action in ACTIONS if action.slash and action.slash.startswith(word)]
    return found[0] if len(found) == 1 else None
