"""The conversation: turns that scroll, and the prompt below them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from assistant.tui.sheet import BOLD, CODE, MUTED, Sheet, link, plain
from assistant.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from assistant.chat.contract import Answer, AnswerLine

NEAR_BOTTOM: Final = 3
"""Rows from the bottom within which a reader is taken to be following."""
MAX_TURNS: Final = 200
_CITED: Final = re.compile(r"\[([^\[\]\s]+(?:#[\w-]+|:\d+))\]")


class Turn(Static):
    """One question or answer."""

    def __init__(self, sheet: Sheet, kind: str) -> None:
        super().__init__(sheet, markup=False, classes=f"-{kind}")
        self.sheet = sheet


class Turns(VerticalScroll, can_focus=True):
    """All turns; keeps to the bottom unless somebody reads further up."""

    HELP = "talk"

    async def add(self, turn: Turn, *, beside: Turn | None = None) -> None:
        """Add a turn, forgetting the oldest of very long conversations; an answer is shown beside its question."""
        follows = self.max_scroll_y - self.scroll_offset.y <= NEAR_BOTTOM or beside is not None
        await self.mount(turn)
        for old in list(self.query(Turn))[:-MAX_TURNS]:
            await old.remove()
        if follows:
            self.call_after_refresh(self._show, turn, beside)

    def _show(self, turn: Turn, beside: Turn | None) -> None:
        """Bring the new turn into view: its end, or its beginning where both do not fit."""
        first = beside or turn
        if turn.region.bottom - first.region.y > self.size.height:
            self.scroll_to_widget(first, animate=False, top=True, force=True)
        else:
            self.scroll_end(animate=False, force=True)

    def copy_text(self) -> str:
        """The last answer."""
        answers = list(self.query("Turn.-answer").results(Turn))
        return answers[-1].sheet.plain if answers else ""


class Chat(Vertical):
    """Turns, what may be asked next, and the prompt."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.follow_ups: tuple[str, ...] = ()
        self._question: Turn | None = None
        self.spoken: list[tuple[str, str]] = []
        """Who said what, for the file that the verdict is saved to."""

    def compose(self) -> ComposeResult:
        """The turns, the follow-ups, the prompt."""
        yield Turns()
        yield Static(id="follow-ups", markup=False)
        yield Prompt()

    async def open_with(self, sheet: Sheet, follow_ups: Sequence[str]) -> None:
        """Begin a conversation."""
        self.spoken = []
        self._question = None
        turns = self.query_one(Turns)
        await turns.remove_children()
        await turns.add(Turn(sheet, "opening"))
        turns.scroll_home(animate=False)
        self.suggest(follow_ups)

    async def say(self, text: str) -> None:
        """Show what the person asked or pasted."""
        self.spoken.append(("you", text))
        sheet = Sheet()
        for number, line in enumerate(text.splitlines()):
            sheet.add(plain(line, BOLD), lead=plain("  " if number else "> ", BOLD))
        self._question = Turn(sheet, "question")
        await self.query_one(Turns).add(self._question, beside=self._question)

    async def note(self, text: str) -> None:
        """Show a word of the program itself."""
        await self.query_one(Turns).add(Turn(Sheet().add(text, style=MUTED), "note"))

    async def reply(self, answer: Answer) -> None:
        """Show an answer and what may be asked next."""
        self.spoken.append(("firstfault", answer.answer))
        await self.query_one(Turns).add(Turn(answer_sheet(answer), "answer"), beside=self._question)
        self.suggest(answer.follow_ups)

    def suggest(self, follow_ups: Sequence[str]) -> None:
        """Offer questions that are asked by their number or by a click."""
        self.follow_ups = tuple(follow_ups)[:4]
        sheet = Sheet()
        for number, text in enumerate(self.follow_ups, 1):
            sheet.add(link(text, f"screen.follow({number})"), lead=plain(f"{number} ", BOLD))
        line = self.query_one("#follow-ups", Static)
        line.update(sheet)
        line.display = bool(self.follow_ups)

    def numbered(self, text: str) -> str | None:
        """The follow-up that a typed number means."""
        return self.follow_ups[int(text) - 1] if text.isdigit() and 0 < int(text) <= len(self.follow_ups) else None


def answer_sheet(answer: Answer) -> Sheet:
    """An answer with its citations as links."""
    known = {citation.id: number for number, citation in enumerate(answer.citations)}
    sheet = Sheet()
    told: tuple[str, ...] = ()
    for line in answer.lines:
        _line(sheet, line, known, told)
        told = line.citations or told
    if not answer.lines:
        for paragraph in answer.answer.splitlines():
            sheet.add(_cited(paragraph, known)) if paragraph.strip() else sheet.gap()
    if answer.confidence != "grounded":
        word = "partly answered" if answer.confidence == "partial" else "not known"
        sheet.add(f"({word})", style=MUTED)
    return sheet


def _line(sheet: Sheet, line: AnswerLine, known: dict[str, int], told: tuple[str, ...]) -> None:
    """One line with the places it comes from; a command's place is that of the sentence above it."""
    places = [name for name in line.citations if f"[{name}]" not in line.text and name not in told]
    cited = Content(" ").join([Content(""), *(_citation(name, known) for name in places)]) if places else Content("")
    if line.form == "command":
        sheet.command(line.text, indent=2).add(cited, indent=2)
        return
    text = _cited(line.text, known, MUTED if line.form == "note" else "")
    sheet.add(Content.assemble(text, cited), lead="| " if line.form == "quote" else "")


def _cited(text: str, known: dict[str, int], style: str = "") -> Content:
    """Text with its citations as links; the action names a number, so no log text is ever part of it."""
    parts: list[Content] = []
    end = 0
    for found in _CITED.finditer(text):
        if found[1] in known:
            parts += [plain(text[end : found.start()], style), _citation(found[1], known)]
            end = found.end()
    return Content.assemble(*parts, plain(text[end:], style))


def _citation(name: str, known: dict[str, int]) -> Content:
    if name not in known:
        return plain(f"[{name}]", CODE)
    return link(f"[{name}]", f"screen.cite('{known[name]}')", "$text-primary underline")
