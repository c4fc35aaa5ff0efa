"""The entry pane: one tab for each thing one wants to know of a finding, and a trail to walk back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import ContentSwitcher, Static, Tab, Tabs

from assistant.reports._words import title
from assistant.tui import pages
from assistant.tui.actions import bindings_of
from assistant.tui.case import Case, Dossier
from assistant.tui.keys import told
from assistant.tui.sheet import BOLD, MUTED, Sheet, plain
from assistant.tui.widgets.candidates import Candidates
from assistant.tui.widgets.checklist import Checklist
from assistant.tui.widgets.evidence import Evidence
from assistant.tui.widgets.page import Page
from assistant.tui.widgets.related import Related
from assistant.tui.widgets.tabs import CalmTabs

if TYPE_CHECKING:
    from assistant.tui.app import FirstfaultApp

SECTIONS: Final = {
    "overview": "Overview",
    "checks": "Checks",
    "fix": "Fix",
    "faq": "FAQ",
    "evidence": "Evidence",
    "candidates": "Near",
    "related": "Related",
}


class SectionTabs(CalmTabs):
    """The tabs of the entry pane."""

    HELP = "entry"


class DossierPane(Vertical):
    """Shows a finding or an entry; only the tab that is looked at is made."""

    OWNER = "dossier"
    HELP = "entry"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of("dossier")]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.case: Case | None = None
        self.dossier: Dossier | None = None
        self.is_verdict = False
        self._trail: list[str | None] = []
        self._stale: set[str] = set()

    def compose(self) -> ComposeResult:
        """Title, tabs, and one page a tab."""
        yield Static(id="dossier-title", markup=False)
        yield SectionTabs(*(Tab(label, id=f"tab-{key}") for key, label in SECTIONS.items()))
        with ContentSwitcher(initial="overview"):
            yield Page(id="overview")
            yield Checklist(id="checks")
            yield Page(id="fix")
            yield Page(id="faq")
            yield Evidence(id="evidence")
            yield Candidates(id="candidates")
            yield Related(id="related")

    # ---- what is shown

    def show_verdict(self, case: Case) -> None:
        """Show the verdict as a whole."""
        self._trail = []
        self._show(case, case.dossier(), is_verdict=True)

    def show_finding(self, case: Case, finding: str) -> None:
        """Show a finding with its entry."""
        self._trail = []
        self._show(case, case.dossier(finding=finding))

    def show_entry(self, case: Case, entry: str) -> None:
        """Show an entry that one starts to read from, as in the library."""
        self._trail = []
        self._show(case, case.dossier(entry=entry))

    def walk(self, entry: str) -> None:
        """Go on to a neighbour; a finding of the verdict is shown as such."""
        if self.case is None or self.dossier is None:
            return
        self._trail.append(self.dossier.finding.id if self.dossier.finding is not None else self.dossier.entry)
        self._show(self.case, self.case.dossier(entry=entry))

    def walk_back(self) -> bool:
        """Go back one step; whether there was one."""
        if self.case is None or not self._trail:
            return False
        last = self._trail.pop()
        is_finding = last is not None and self.case.diagnosis.finding(last) is not None
        dossier = self.case.dossier(finding=last) if is_finding else self.case.dossier(entry=last)
        self._show(self.case, dossier, is_verdict=last is None)
        return True

    def action_walk_back(self) -> None:
        """Back to the entry one came from."""
        self.walk_back()

    def _show(self, case: Case, dossier: Dossier, *, is_verdict: bool = False) -> None:
        self.case, self.dossier, self.is_verdict = case, dossier, is_verdict
        self._stale = set(SECTIONS)
        self.query_one("#dossier-title", Static).update(self._title())
        self._fill()

    def _title(self) -> Sheet:
        assert self.dossier is not None
        finding, head = self.dossier.finding, self.dossier.head
        sheet, desk = Sheet(), cast("FirstfaultApp", self.app)
        if self.is_verdict:
            return sheet.add("The verdict as a whole", style=BOLD)
        name = head.title if head is not None else title(finding) if finding is not None else "Nothing is chosen"
        lead = "‹ " * min(len(self._trail), 5)
        sheet.add(plain(name, BOLD), lead=plain(lead, MUTED))
        notes = [finding.id if finding is not None else "not in this verdict" if self._trail else ""]
        notes += [self.dossier.entry or ""]
        sheet.add("  ".join(note for note in notes if note), style=MUTED)
        return sheet.add(told("{key:walk-back} walks back", desk.keys) if self._trail else "", style=MUTED)

    # ---- tabs

    @property
    def section(self) -> str:
        """The tab that is looked at."""
        return self.query_one(ContentSwitcher).current or "overview"

    def action_section(self, name: str) -> None:
        """Show a tab."""
        self.query_one(SectionTabs).active = f"tab-{name}"

    def action_turn(self, step: int) -> None:
        """Show the next tab or the one before."""
        names = list(SECTIONS)
        self.action_section(names[(names.index(self.section) + step) % len(names)])

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        """Make the page of the tab, if it is not made yet."""
        event.stop()
        if event.tab.id is None:
            return
        had_focus = self.has_focus_within and not isinstance(self.screen.focused, SectionTabs)
        self.query_one(ContentSwitcher).current = event.tab.id.removeprefix("tab-")
        self._fill()
        if had_focus:
            self.focus_body()

    def focus_body(self) -> None:
        """Put the focus on what the tab shows."""
        page = self.query_one(f"#{self.section}")
        target = page if page.can_focus else next((item for item in page.query("*") if item.focusable), None)
        if target is not None:
            self.screen.set_focus(target)

    def _fill(self) -> None:
        name = self.section
        if name not in self._stale or self.dossier is None or self.case is None:
            return
        self._stale.discard(name)
        page = self.query_one(f"#{name}")
        if isinstance(page, Page):
            made = pages.verdict(self.case) if self.is_verdict else getattr(pages, name)(self.dossier)
            page.show_sheet(made)
        elif isinstance(page, Checklist | Evidence | Candidates | Related):
            page.show(self.dossier)

    def refresh_ticks(self) -> None:
        """Draw the boxes of the checklist again."""
        if self.dossier is not None:
            self._stale.discard("checks")
            checklist = self.query_one(Checklist)
            if checklist.dossier is not self.dossier:
                checklist.show(self.dossier)
            checklist.refresh_ticks()
