"""The lines that prove a finding: each beside the text its entry expects, and in its surroundings."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList

from assistant.tui.case import Dossier
from assistant.tui.sheet import BOLD, CODE, MUTED, PLACE, Sheet, plain
from assistant.tui.widgets.log_view import LogView
from assistant.tui.widgets.rows import Rows
from assistant.verdict import EvidenceLine


class EvidenceLines(Rows):
    """The evidence of a finding, the deciding line first."""

    HELP = "evidence"
    EMPTY = "This entry is not in the verdict, so no line of these logs proves it."


class Evidence(Vertical):
    """Evidence lines above, the log around the chosen one below."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._dossier: Dossier | None = None

    def compose(self) -> ComposeResult:
        """The list, then the log."""
        yield EvidenceLines()
        yield LogView()

    def show(self, dossier: Dossier) -> None:
        """Show the evidence of a finding, with the fingerprint that its entry expects."""
        self._dossier = dossier
        lines = dossier.evidence()
        rows = [(f"{number}", _row(dossier, line, is_first=number == 0)) for number, line in enumerate(lines)]
        self.query_one(EvidenceLines).set_rows(rows)
        self.query_one(LogView).display = bool(lines)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The log follows the cursor."""
        event.stop()
        if self._dossier is None or event.option_id is None:
            return
        lines = self._dossier.evidence()
        line = lines[int(event.option_id)]
        marks = {item.line for item in lines if item.source == line.source}
        view = self.query_one(LogView)
        view.border_title = plain(f"{line.place} in context").markup
        view.show_lines(self._dossier.case.lines_around(line), marks, line.line)

    def copy_text(self) -> str:
        """The chosen line as it stands in the log."""
        chosen = self.query_one(EvidenceLines).chosen
        lines = self._dossier.evidence() if self._dossier is not None else ()
        return lines[int(chosen)].text if chosen is not None and lines else ""


def _row(dossier: Dossier, line: EvidenceLine, *, is_first: bool) -> Sheet:
    label = "decides  " if is_first else "also     "
    sheet = Sheet().add(plain(line.place, PLACE), lead=plain(label, BOLD if is_first else MUTED))
    sheet.add(plain(line.text.rstrip(), BOLD if is_first else ""), indent=2)
    expected = dossier.expected(line)
    for number, text in enumerate(expected.splitlines()):
        sheet.add(plain(text, CODE), lead="expects: " if number == 0 else "         ", indent=2)
    values = ", ".join(f"{name} = {value}" for name, value in line.captures.items())
    return sheet.add(values, lead="binds:   ", indent=2)
