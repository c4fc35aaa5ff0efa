"""The graph around an entry: causes, effects, look-alikes, further reading; one may walk it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.widgets import OptionList

from assistant.tui.actions import bindings_of
from assistant.tui.case import Dossier, Neighbour
from assistant.tui.messages import Walk
from assistant.tui.sheet import MUTED, Sheet, plain
from assistant.tui.widgets.rows import Rows


class Related(Rows):
    """Neighbours in groups; one key walks to one, another back."""

    HELP = "related"
    OWNER = "related"
    EMPTY = "No entry stands next to this one."
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of("related")]

    def show(self, dossier: Dossier) -> None:
        """Show the neighbours of an entry; the same one may stand in several groups."""
        self._targets: dict[str, str] = {}
        rows: list[tuple[str | None, Sheet]] = []
        for label, found in dossier.neighbours():
            rows.append((None, Sheet().add(label, style="bold $secondary")))
            for number, item in enumerate(found):
                key = f"{label}-{number}"
                self._targets[key] = item.entry
                rows.append((key, _row(item, is_last=number == len(found) - 1)))
        self.set_rows(rows)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Walk to the entry."""
        event.stop()
        if event.option_id is not None:
            self.post_message(Walk(self._targets[event.option_id]))


def _row(item: Neighbour, *, is_last: bool) -> Sheet:
    sheet = Sheet().add(plain(item.title), lead=plain("└ " if is_last else "├ ", MUTED))
    if item.is_found:
        sheet.add("also found in these logs", indent=2, style="$text-warning")
    return sheet.add(item.note, lead="tell: ", indent=2)
