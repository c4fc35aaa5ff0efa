"""The comparison of two runs, for people."""

from __future__ import annotations

from typing import Final

from assistant.comparison import Control, Side
from assistant.reports._page import Page
from assistant.reports._words import listing, named, plural

_HEADLINES: Final = {
    "follows-workload": "The fault follows the workload.",
    "follows-node": "The fault stays with the node.",
    "gone": "The fault is gone.",
    "repeats": "The fault is there again.",
    "other-fault": "The fault is gone, and another one took its place.",
    "undecided": "These two runs do not decide it.",
}
_STYLES: Final = {"gone": "bold green", "undecided": "bold yellow"}


def render(control: Control, *, width: int = 100, colour: bool = False) -> str:
    """The comparison as text of so many columns."""
    page = Page(width, colour=colour)
    label = control.outcome.upper()
    if len(label) > 11:  # the labels of a page end at a fixed column
        page.head("CONTROL", _HEADLINES[control.outcome], control.outcome, style="bold", label_style="bold red")
    else:
        style = _STYLES.get(control.outcome, "bold red")
        page.head(label, _HEADLINES[control.outcome], label_style=style, style="bold")
    page.text(f"{control.because}.", lead="because  ")
    page.gap()
    _side(page, "BEFORE", control.before)
    _side(page, "AFTER", control.after)
    page.gap()
    for number, note in enumerate(control.not_proved):
        page.head("" if number else "NOT PROVED", note)
    page.gap()
    if control.meaning:
        page.head("BY THE ENTRY", control.experiment, lead="its own control: ")
        page.text(control.meaning, lead="if that was the change: ")
        page.gap()
    if control.criterion is not None:
        page.head("FIXED WHEN", control.criterion.expect)
        page.command(control.criterion.command or "")
    return str(page)


def _side(page: Page, label: str, side: Side) -> None:
    facts: list[str] = [side.status]
    facts += [named(side.ranks)] if side.ranks else []
    facts += [f"on {listing(side.fault_hosts)}"] if side.fault_hosts else []
    facts += [f"last step {side.last_step}"] if side.last_step is not None else []
    facts += ["completed"] if side.completed else []
    facts += [plural(len(side.hosts), "host")] if len(side.hosts) > 1 else []
    page.head(label, f"{listing(side.paths)}: {', '.join(facts)}", side.entry.id if side.entry else "")
    if side.fault is not None:
        page.line(side.fault.place, side.fault.text, rows=2, indent=2)
