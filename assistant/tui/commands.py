"""The command palette: what can be done here and now, and every entry by its title."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode

from assistant.tui.actions import Action, Owner, actions_of, owners

if TYPE_CHECKING:
    from assistant.tui.app import FirstfaultApp


def possible(screen: DOMNode, focused: DOMNode | None) -> Iterator[tuple[Action, Owner]]:
    """Every action that can be done on a screen, that of the focus first, with the node that does it."""
    seen: set[str] = set()
    # Parts that do not have the focus can be asked, too.
    nodes: list[tuple[Owner, str]] = [*owners(focused or screen)]
    nodes += [(node, node.OWNER) for node in screen.query("*") if hasattr(node, "OWNER")]
    for node, name in nodes:
        for action in actions_of(name):
            if action.id not in seen and action.id != "palette":
                seen.add(action.id)
                yield action, node


class ActionCommands(Provider):
    """The actions of the screen below."""

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for action, node in possible(self.screen, self.focused):
            yield DiscoveryHit(
                Content(action.label), partial(node.run_action, action.run), text=action.label, help=action.help
            )

    async def search(self, query: str) -> Hits:
        """Those whose label or sentence has what was typed."""
        matcher = self.matcher(query)
        for action, node in possible(self.screen, self.focused):
            text = f"{action.label}: {action.help}"
            score = matcher.match(text)
            if score > 0:
                yield Hit(score, matcher.highlight(text), partial(node.run_action, action.run), text=text)


class EntryCommands(Provider):
    """The entries of the library."""

    async def search(self, query: str) -> Hits:
        """Entries whose title has what was typed."""
        app = cast("FirstfaultApp", self.app)
        if app.loaded is None or len(query) < 3:
            return
        matcher = self.matcher(query)
        for head in app.loaded.catalogue.heads.values():
            score = matcher.match(head.title)
            if score > 0:
                # Below every action: a person who types a command means the command.
                yield Hit(
                    score * 0.5, matcher.highlight(head.title), partial(app.action_browse, head.id),
                    text=head.title, help=head.id,
                )  # fmt: skip
