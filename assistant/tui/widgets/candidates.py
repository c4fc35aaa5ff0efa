"""Entries that were considered and not verified: what they have and what they lack."""

from __future__ import annotations

from textual.widgets import OptionList

from assistant.tui.case import Dossier, Near
from assistant.tui.messages import Walk
from assistant.tui.sheet import BOLD, MUTED, PLACE, Sheet, plain
from assistant.tui.widgets.rows import Rows


class Candidates(Rows):
    """Near misses and candidates; Enter walks to the entry."""

    HELP = "candidates"
    EMPTY = "Nothing else came near: every fault that was found is covered by a verified entry, or has no likeness."

    def show(self, dossier: Dossier) -> None:
        """Show what was considered for the verdict."""
        found = dossier.near()
        self._near = found
        self.set_rows([(f"{number}", _row(item)) for number, item in enumerate(found)])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter walks to the entry."""
        event.stop()
        if event.option_id is not None:
            self.post_message(Walk(self._near[int(event.option_id)].entry))


def _row(near: Near) -> Sheet:
    sheet = Sheet().add(plain(near.title, BOLD)).add(near.entry, indent=2, style=MUTED)
    if near.place:
        sheet.add(plain(near.place, PLACE), indent=2).add(near.text, lead="has   ", indent=2)
    for text in near.expected.splitlines():
        sheet.add(text, lead="wants ", indent=2)
    for text in near.matched:
        sheet.add(text, lead="[x] ", indent=2)
    for text in near.missing:
        sheet.add(plain(text, "$text-warning"), lead="[ ] missing: ", indent=2)
    return sheet.add(near.reason, lead="why not: ", indent=2)
