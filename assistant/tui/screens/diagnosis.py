"""The main screen: findings, conversation, entry; side by side where there is room, else one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widgets import Footer, Static, Tab, Tabs

from assistant.reports._words import headline
from assistant.tui.actions import bindings_of, by_slash, owners
from assistant.tui.case import Case
from assistant.tui.conversation import is_for_check, starters
from assistant.tui.messages import Answered, Choose, JobReady, Pasted, Saved, Submitted, Walk
from assistant.tui.pages import welcome
from assistant.tui.screens.base import BaseScreen
from assistant.tui.sheet import BOLD, plain
from assistant.tui.widgets.chat import Chat, Turns
from assistant.tui.widgets.checklist import Checklist
from assistant.tui.widgets.entry import DossierPane
from assistant.tui.widgets.progress_line import ProgressLine
from assistant.tui.widgets.prompt import Prompt
from assistant.tui.widgets.tabs import CalmTabs
from assistant.tui.widgets.timeline import Timeline

if TYPE_CHECKING:
    from assistant.chat.contract import Answer

PANES: Final = {
    "findings": "{key:findings} Findings", "talk": "{key:talk} Conversation", "entry": "{key:entry} Entry",
}  # fmt: skip
SHOWN_PASTE: Final = 3
"""Lines of a paste that the conversation repeats."""


class PaneTabs(CalmTabs):
    """Which pane is looked at, on a narrow screen."""

    HELP = "diagnosis"


class DiagnosisScreen(BaseScreen):
    """Shows one case."""

    OWNER = "diagnosis"
    AUTO_FOCUS = "Prompt"
    HELP = "diagnosis"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of("diagnosis")]

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case
        self._answer: Answer | None = None
        self._paste = ""

    def compose(self) -> ComposeResult:
        """Headline, pane tabs, panes, progress, keys."""
        yield Static(id="headline", markup=False)
        yield PaneTabs(*(Tab(self.told(label), id=f"pane-{name}") for name, label in PANES.items()), active="pane-talk")
        with Horizontal(id="panes"):
            yield Timeline(id="findings", classes="pane")
            yield Chat(id="talk", classes="pane -active")
            yield DossierPane(id="entry", classes="pane")
        yield ProgressLine()
        yield Footer(compact=True, show_command_palette=False)

    async def on_mount(self) -> None:
        """Name the panes and show the case."""
        if not self.query("#findings"):
            return  # left again before it was made
        for name, label in PANES.items():
            self.query_one(f"#{name}").border_title = self.told(label)
        self.show_index(self.desk.index_news)
        await self.show_case(self.case)

    async def show_case(self, case: Case) -> None:
        """Show another case, its conversation from the beginning."""
        self.case = case
        self._answer, self._paste = None, ""
        status = case.diagnosis.status
        text = plain(f"{status.upper()}  {headline(case.diagnosis)}  {case.name}")
        self.query_one("#headline", Static).update(text.stylize(BOLD, 0, len(status)))
        self.set_class(status == "healthy", "-healthy")
        self.query_one(Timeline).show_case(case)
        await self.query_one(Chat).open_with(welcome(case), starters(case.diagnosis))
        self.action_pane("talk")

    # ---- panes

    def action_pane(self, name: str) -> None:
        """Bring a pane forward and put the focus into it."""
        for pane in self.query(".pane"):
            pane.set_class(pane.id == name, "-active")
        tabs = self.query_one(PaneTabs)
        if tabs.active != f"pane-{name}":
            with self.prevent(Tabs.TabActivated):
                tabs.active = f"pane-{name}"
        if name == "findings":
            self.set_focus(self.query_one(Timeline))
        elif name == "talk":
            self.set_focus(self.query_one(Prompt))
        else:
            self.query_one(DossierPane).focus_body()

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        """The pane tabs were used."""
        event.stop()
        # Tabs also tell of the first one while they are being made; that is no wish of anybody.
        if isinstance(event.tabs, PaneTabs) and event.tab.id is not None and event.tabs.active == event.tab.id:
            self.action_pane(event.tab.id.removeprefix("pane-"))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The pane with the focus is the one that stays when the screen gets narrow."""
        for pane in self.query(".pane"):
            if pane in event.widget.ancestors_with_self:
                self._mark(pane.id or "")

    def _mark(self, name: str) -> None:
        for pane in self.query(".pane"):
            pane.set_class(pane.id == name, "-active")
        with self.prevent(Tabs.TabActivated):
            self.query_one(PaneTabs).active = f"pane-{name}"

    def on_choose(self, event: Choose) -> None:
        """The cursor of the timeline moved."""
        event.stop()
        pane = self.query_one(DossierPane)
        if event.finding is None:
            pane.show_verdict(self.case)
        else:
            pane.show_finding(self.case, event.finding)

    def action_command(self) -> None:
        """A `/` was typed where nothing takes letters."""
        self.action_pane("talk")
        self.query_one(Prompt).insert_text_at_cursor("/")

    # ---- typing and pasting

    def on_submitted(self, event: Submitted) -> None:
        """A line was sent: a follow-up's number, a `/` command, or a question."""
        event.stop()
        numbered = self.query_one(Chat).numbered(event.text)
        if numbered is not None:
            self.ask(numbered)
        elif event.text.startswith("/"):
            self._command(event.text[1:])
        else:
            self.ask(event.text)

    def _command(self, text: str) -> None:
        self.query_one(Prompt).remember(f"/{text}")
        word, _, rest = text.partition(" ")
        action = by_slash(word)
        if action is None:
            listed = self.told("{key:palette} lists all")
            self.notify(f"No command is called /{word}; {listed}.", severity="warning", markup=False)
        elif action.id == "save":
            self.action_save(rest.strip())
        elif action.id == "open" and rest.strip():
            self.desk.read_paths((rest.strip(),))
        else:
            self._run(action.owner, action.run)

    def _run(self, owner: str, run: str) -> None:
        """Run an action on its owner; a tab of the entry is brought forward."""
        places: dict[str, Any] = {name: node for node, name in owners(self.query_one(Checklist))}
        if owner == "dossier":
            self.action_pane("entry")
        node = places.get(owner, self.app if owner == "app" else self)
        self.run_worker(node.run_action(run), group="action")

    def ask(self, question: str) -> None:
        """Ask the conversation; the answer comes from a thread."""
        self.query_one(Prompt).remember(question)
        entry = self._entry_in_view()
        case = self.case
        self._begin(question)
        self.desk.answer(case, lambda talk: talk.ask(question, entry=entry), "looking for an answer")

    def action_follow(self, number: int) -> None:
        """A follow-up was clicked."""
        text = self.query_one(Chat).numbered(str(number))
        if text is not None:
            self.ask(text)

    def on_pasted(self, event: Pasted) -> None:
        """Several lines were pasted into the prompt."""
        event.stop()
        self._take_paste(event.text)

    def on_paste(self, event: events.Paste) -> None:
        """A paste that no input took."""
        event.stop()
        if event.text.strip():
            self._take_paste(event.text)

    def _take_paste(self, text: str) -> None:
        self._paste = text
        kind = self.desk.talk().kind_of(text)
        if is_for_check(kind, self.query_one(Checklist).open_check):
            self.action_paste_as("judge")
        elif kind == "log":
            self.action_paste_as("log")
        else:
            self.action_paste_as("ask")

    def action_paste_as(self, kind: str) -> None:
        """Take the last paste as what the person says it is."""
        text = self._paste
        if not text:
            self.notify("Nothing was pasted yet.", severity="warning")
        elif kind == "log":
            self.desk.read_pasted(text)
        elif kind == "ask":
            self.ask(" ".join(text.split()))
        else:
            lines = text.strip("\n").splitlines()
            more = f"\n… {len(lines) - SHOWN_PASTE} more lines" if len(lines) > SHOWN_PASTE else ""
            self._begin("\n".join(lines[:SHOWN_PASTE]) + more)
            entry = self._entry_in_view()
            self.desk.answer(self.case, lambda talk: talk.judge(text, entry=entry), "judging the output", is_paste=True)

    def _begin(self, text: str) -> None:
        self.run_worker(self.query_one(Chat).say(text), group="say")

    def _entry_in_view(self) -> str | None:
        dossier = self.query_one(DossierPane).dossier
        return dossier.entry if dossier is not None else None

    # ---- results

    def show_index(self, news: str) -> None:
        """Where questions are typed, for it is their answers that get better."""
        self.query_one(Prompt).show_index(news)

    async def take(self, ready: JobReady) -> None:
        """An answer came, or the file was written."""
        result = ready.result
        if isinstance(result, Saved):
            self.notify(f"Written to {result.path}", markup=False)
        elif isinstance(result, Answered) and result.case is self.case:
            self._answer = result.answer
            chat = self.query_one(Chat)
            await chat.reply(result.answer)
            if result.is_paste:
                await chat.note("Taken as the output of a command; /log reads it as a log, /ask asks it instead.")
            self.case.judged.update(result.ticks)
            self.query_one(DossierPane).refresh_ticks()

    def failed(self, group: str, sentence: str) -> None:
        """A question that failed is answered by the reason, where the eye is."""
        if group == "answer":
            self.run_worker(self.query_one(Chat).note(sentence), group="say")
        else:
            super().failed(group, sentence)

    def action_cite(self, number: str) -> None:
        """A citation was clicked: show the place it names."""
        if self._answer is None:
            return
        citation = self._answer.citations[int(number)]
        pane = self.query_one(DossierPane)
        if citation.kind == "log":
            self._show_line(citation.source or "", citation.line or 0)
        elif citation.kind == "verdict":
            finding = self.case.diagnosis.finding(citation.section or "")
            if finding is None:
                pane.show_verdict(self.case)
            else:
                pane.show_finding(self.case, finding.id)
            self._turn_to("overview")
        elif citation.entry is not None:
            if pane.dossier is None or pane.dossier.entry != citation.entry:
                pane.walk(citation.entry)
            self._turn_to(section_of(citation.section or ""))

    def _show_line(self, source: str, line: int) -> None:
        for finding in self.case.findings():
            if any(item.source == source and item.line == line for item in finding.evidence):
                self.query_one(DossierPane).show_finding(self.case, finding.id)
                self._turn_to("evidence")
                return

    def _turn_to(self, section: str) -> None:
        self.query_one(DossierPane).action_section(section)
        self.action_pane("entry")

    # ---- the rest

    def on_walk(self, event: Walk) -> None:
        """Walk the graph of entries."""
        event.stop()
        self.query_one(DossierPane).walk(event.entry)

    def action_save(self, path: str = "") -> None:
        """Write the verdict and the conversation to a file."""
        self.desk.save(self.case, tuple(self.query_one(Chat).spoken), path)

    async def back(self) -> None:
        """Walk back; without a trail, go to the findings, or from there to the prompt."""
        pane = self.query_one(DossierPane)
        if pane.has_focus_within and pane.walk_back():
            return
        self.action_pane("findings" if isinstance(self.focused, Prompt | Turns) else "talk")


def section_of(cited: str) -> str:
    """The tab that shows a cited section such as `faq-3` or `confused_with-1`."""
    name = cited.rpartition("-")[0] or cited
    tabs = {
        "check": "checks", "collect": "checks", "fix": "fix", "verify": "fix", "recovery": "fix", "escalate": "fix",
        "compare": "fix", "stack": "fix", "prevent": "fix", "faq": "faq", "signature": "evidence",
        "confused_with": "related", "causes": "related", "related": "related",
    }  # fmt: skip
    return tabs.get(name, "overview")
