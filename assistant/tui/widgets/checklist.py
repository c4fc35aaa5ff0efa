"""The confirm checklist, with ticks by hand and by the output of commands."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import BindingType
from textual.widgets import OptionList

from assistant.tui.actions import bindings_of
from assistant.tui.case import Dossier, Step
from assistant.tui.sheet import BOLD, MUTED, Sheet, plain
from assistant.tui.widgets.rows import Rows

_SAYS = {"confirms": ("[x] ", "confirms"), "clears": ("[-] ", "clears it: it was not this")}


class Checklist(Rows):
    """Steps in order; the one under the cursor is the open check, by which pasted output is judged."""

    HELP = "checklist"
    OWNER = "checklist"
    EMPTY = "No check is written for this."
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of("checklist")]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.dossier: Dossier | None = None
        self._steps: dict[str, Step] = {}

    def show(self, dossier: Dossier) -> None:
        """Show the checks of an entry and of its family."""
        self.dossier = dossier
        steps = dossier.checks()
        self._steps = {step.key: step for step in steps}
        rows: list[tuple[str | None, Sheet]] = [(step.key, self._row(step)) for step in steps if not step.is_family]
        shared = [step for step in steps if step.is_family]
        if shared:
            rows.append((None, Sheet().add("For every failure of this family:", style="bold $secondary")))
            rows += [(step.key, self._row(step)) for step in shared]
        self.set_rows(rows)

    def _row(self, step: Step) -> Sheet:
        assert self.dossier is not None
        case = self.dossier.case
        says, line = case.judged.get(step.key, ("", ""))
        box, word = _SAYS.get(says, ("[x] " if step.key in case.done else "[ ] ", ""))
        sheet = Sheet().add(plain(step.step, BOLD), lead=plain(f"{box}{step.number}. ", BOLD))
        sheet.command(step.command, indent=7).add(step.expect, lead="expect: ", indent=7)
        if word:
            sheet.add(plain(word, "bold $text-success" if says == "confirms" else "bold $text-warning"), indent=7)
            sheet.add(line, lead="line: ", indent=7, style=MUTED)
        return sheet

    @property
    def open_check(self) -> Step | None:
        """The check under the cursor."""
        return self._steps.get(self.chosen or "")

    def action_tick(self) -> None:
        """Tick the check, or take the tick back; what output decided stays until it is taken back too."""
        step = self.open_check
        if step is None or self.dossier is None:
            return
        case = self.dossier.case
        if case.judged.pop(step.key, None) is None:
            case.done ^= {step.key}
        else:
            case.done.discard(step.key)
        self.refresh_ticks()

    def refresh_ticks(self) -> None:
        """Draw the boxes again, the cursor where it was."""
        if self.dossier is not None:
            at, top = self.highlighted, self.scroll_offset
            self.show(self.dossier)
            self.highlighted = at
            self.scroll_to(y=top.y, animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter and click tick, too."""
        event.stop()
        self.action_tick()

    def copy_text(self) -> str:
        """The command of the open check."""
        step = self.open_check
        return (step.command or step.step) if step is not None else ""
