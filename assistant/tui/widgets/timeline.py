"""The findings of a verdict in causal order, the first fault on top."""

from __future__ import annotations

from typing import Any

from textual.widgets import OptionList

from assistant.reports._findings import merge
from assistant.reports._words import grouped, heading, place, tag, title
from assistant.tui.case import Case
from assistant.tui.messages import Choose
from assistant.tui.sheet import BOLD, MUTED, Sheet, plain
from assistant.tui.widgets.rows import Rows
from assistant.verdict import Finding

VERDICT = "verdict"
_STYLES = {"initiating": "bold $text-error", "recovered": "$text-success", "unrelated": "$secondary"}


class Timeline(Rows):
    """One row for the verdict as a whole, one for each finding; same stories share one."""

    HELP = "timeline"
    SPACED = True

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._case: Case | None = None

    def show_case(self, case: Case) -> None:
        """List the findings of a case, the cursor on the first fault."""
        self._case = case
        rows: list[tuple[str | None, Sheet]] = [(VERDICT, self._verdict(case))]
        lead = case.lead()
        at = VERDICT
        for group in grouped(case.findings()):
            if lead is not None and lead.id in [finding.id for finding in group]:
                at = group[0].id
            rows.append((group[0].id, _row(case, merge(group))))
        self.set_rows(rows, highlight=at)

    def _verdict(self, case: Case) -> Sheet:
        diagnosis = case.diagnosis
        sheet = Sheet().add(plain(diagnosis.status.upper(), BOLD))
        facts = [f"{len(diagnosis.suspects)} suspected"] if diagnosis.suspects else []
        facts += [f"{len(diagnosis.fetch_next)} to fetch"] if diagnosis.fetch_next else []
        facts += [f"{len(diagnosis.warnings)} to know"] if diagnosis.warnings else []
        return sheet.add(", ".join(facts) or "the verdict as a whole", indent=2, style=MUTED)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Moving is choosing: the entry pane follows the cursor."""
        event.stop()
        if self._case is not None and event.option_id is not None:
            self.post_message(Choose(None if event.option_id == VERDICT else event.option_id))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter goes on to the entry."""
        event.stop()
        self.screen.run_worker(self.screen.run_action("pane('entry')"))


def _row(case: Case, finding: Finding) -> Sheet:
    role = finding.role
    independent = {item.id for item in case.diagnosis.independent}
    label = "INDEPENDENT" if finding.id in independent else heading(finding)
    when = case.clock.when(finding)
    began = case.clock.began(finding)
    sheet = Sheet().add(plain(f"{label}  {when}".rstrip(), _STYLES.get(role, BOLD)))
    sheet.add(plain(title(finding), BOLD if role == "initiating" else ""), indent=2)
    where = place(finding, case.diagnosis.run)
    notes = [where, began, f"{finding.count}x" if finding.count > 1 else ""]
    sheet.add(", ".join(note for note in notes if note), indent=2, style=MUTED)
    return sheet.add(tag(finding, explained="from"), indent=2, style=MUTED)
