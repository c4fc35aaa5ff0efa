"""The library: all entries, searched by words and meaning, read like those of a verdict."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, Input, OptionList

from assistant.tui.actions import bindings_of
from assistant.tui.case import Case
from assistant.tui.messages import FoundEntries, JobReady, Walk
from assistant.tui.screens.base import BaseScreen
from assistant.tui.sheet import MUTED, Sheet, plain
from assistant.tui.widgets.entry import DossierPane
from assistant.tui.widgets.progress_line import ProgressLine
from assistant.tui.widgets.rows import Rows
from corpus.catalogue import Catalogue
from corpus.head import Head

MOST: Final = 60
"""Entries listed for a search."""


class SearchInput(Input):
    """Where the search is typed."""

    HELP = "browse"


class Entries(Rows):
    """The entries, by family or by how well they answer."""

    HELP = "browse"
    EMPTY = "No entry is like that."


class BrowseScreen(BaseScreen):
    """List on the left, entry on the right."""

    OWNER = "browse"
    AUTO_FOCUS = "#search"
    HELP = "browse"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings_of("browse")]

    def __init__(self, case: Case) -> None:
        """Take the case in which entries are shown: that of the open verdict, or one without findings."""
        super().__init__()
        self._case = case

    @property
    def catalogue(self) -> Catalogue:
        """The knowledge."""
        return self._case.catalogue

    def compose(self) -> ComposeResult:
        """Search, list, entry."""
        with Horizontal(id="panes"):
            with Vertical(id="library", classes="pane"):
                yield SearchInput(placeholder="words, an id, a code, or what you saw", id="search")
                yield Entries(id="entries")
            yield DossierPane(id="entry", classes="pane")
        yield ProgressLine()
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Begin with all entries by family."""
        self.query_one("#library").border_title = f"Library: {len(self.catalogue.heads):,} entries"
        self.query_one("#library").border_subtitle = self.told("{key:back} goes back")
        self.query_one(DossierPane).border_title = "Entry"
        self._list_all()

    def show_case(self, case: Case) -> None:
        """Show entries from the point of view of another verdict."""
        self._case = case

    def _list_all(self) -> None:
        heads = sorted(self.catalogue.heads.values(), key=lambda head: (head.family, head.title))
        rows: list[tuple[str | None, Sheet]] = []
        family = ""
        for head in heads:
            if head.family != family:
                family = head.family
                rows.append((None, Sheet().add(family, style="bold $secondary")))
            rows.append((head.id, _row(head)))
        self.query_one(Entries).set_rows(rows)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while typing: at once by words, then by the conversation's index."""
        event.stop()
        query = event.value.strip()
        if not query:
            self.desk.cancel_job("search")
            self._list_all()
            return
        self._show(by_words(self.catalogue, query))
        self.desk.search(query, MOST)

    def _show(self, ids: tuple[str, ...]) -> None:
        heads = [self.catalogue.heads[key] for key in ids if key in self.catalogue.heads]
        self.query_one(Entries).set_rows([(head.id, _row(head)) for head in heads[:MOST]])

    async def take(self, ready: JobReady) -> None:
        """Add what the index found to what the words found."""
        result = ready.result
        if isinstance(result, FoundEntries) and result.query == self.query_one(SearchInput).value.strip():
            if self.query_one(Entries).has_focus:
                return  # the list must not change under the cursor
            self._show(joined(by_words(self.catalogue, result.query), result.ids))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter goes to the list."""
        event.stop()
        self.query_one(Entries).focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """The entry follows the cursor."""
        event.stop()
        if event.option_id is not None and isinstance(event.option_list, Entries):
            self.query_one(DossierPane).show_entry(self._case, event.option_id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter goes on to the entry."""
        event.stop()
        if isinstance(event.option_list, Entries):
            self.add_class("-reading")
            self.query_one(DossierPane).focus_body()

    def on_walk(self, event: Walk) -> None:
        """Walk the graph."""
        event.stop()
        self.query_one(DossierPane).walk(event.entry)

    def search_for(self, text: str) -> None:
        """Search as if it had been typed."""
        search = self.query_one(SearchInput)
        search.value = text
        search.cursor_position = len(text)
        search.focus()

    def open_entry(self, entry: str) -> None:
        """Show one entry."""
        self.add_class("-reading")
        self.query_one(DossierPane).show_entry(self._case, entry)
        self.call_after_refresh(self.query_one(DossierPane).focus_body)

    async def back(self) -> None:
        """Walk back, leave the entry, empty the search, leave the library: in this order."""
        search = self.query_one(SearchInput)
        if self.query_one(DossierPane).walk_back():
            return
        if self.query_one(DossierPane).has_focus_within:
            self.remove_class("-reading")
            self.query_one(Entries).focus()
        elif search.value:
            search.value = ""
            search.focus()
        else:
            await self.desk.show_screen("diagnosis" if self.desk.case is not None else "home")


def _row(head: Head) -> Sheet:
    return Sheet().add(plain(head.title)).add(head.id, indent=2, style=MUTED)


def by_words(catalogue: Catalogue, query: str) -> tuple[str, ...]:
    """Entries whose id, title, family or component has all words, those with a title hit first; ties by id."""
    words = query.lower().split()
    found = []
    for head in catalogue.heads.values():
        text = " ".join((head.id, head.title, head.family, head.component, *head.aliases)).lower()
        if all(word in text for word in words):
            misses = sum(word not in head.title.lower() for word in words)
            found.append((misses, head.status == "retired", head.id))
    return tuple(key for *_, key in sorted(found))


def joined(by_words: tuple[str, ...], by_index: tuple[str, ...]) -> tuple[str, ...]:
    """What both found, in the order of the index, which knows the common from the rare; then the rest of each."""
    both = [key for key in by_index if key in by_words]
    return tuple(dict.fromkeys([*both, *by_words[:10], *by_index, *by_words]))
