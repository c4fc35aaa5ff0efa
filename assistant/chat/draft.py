"""An answer in the making: lines with their places, a bound on its length, values filled in."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from assistant.chat.contract import Answer, AnswerLine, Confidence, Intent, Judgement
from assistant.chat.findings import finding_of
from assistant.chat.material import Material
from assistant.chat.values import conversation_values, fill, fill_command
from assistant.chat.words import capital

if TYPE_CHECKING:
    from assistant.verdict import Diagnosis, Line

ROWS: Final = 12
"""Rows of an answer at a usual width: what is read before the next question is asked."""
WIDTH: Final = 110
_END: Final = re.compile(r"[.!?:;]$")
_SPACES: Final = re.compile(r"[\r\n]+\s*")


@dataclass
class Draft:
    """Collects what is said, each line once, until the answer is long enough."""

    material: Material
    diagnosis: Diagnosis | None = None
    values: dict[str, str] = field(default_factory=dict)
    paste: str = ""
    entry: str | None = None
    """The entry whose finding the values are of."""
    told: frozenset[str] = frozenset()
    """Places of what was said a moment ago to another wish; behind a first sentence it is not said again."""
    lines: list[AnswerLine] = field(default_factory=list)
    rows: int = 0

    def say(self, text: str, *places: str, at_any_length: bool = False) -> bool:
        """Say something that stands at these places; False when it was said already or there is no room."""
        assert places, text
        if all(self.cites(place) for place in places) or (self.said and self.told.issuperset(places)):
            return False
        shown = capital(fill(" ".join(text.split()), self.values_at(places[0])))
        shown = shown if _END.search(shown) else f"{shown}."
        return self._add(AnswerLine(text=shown, citations=places), at_any_length or not self.said)

    def command(self, text: str | None, place: str) -> bool:
        """The command of what was just said, if it was; only values that a shell takes as one word are filled in."""
        if not text or not self.cites(place):
            return False
        shown = fill_command(_SPACES.sub("\n", text.strip()), self.values_at(place))
        return self._add(AnswerLine(text=shown, form="command", citations=(place,)), at_any_length=False)

    def quote(self, line: Line) -> bool:
        """A line of the log as it stands there."""
        if self.cites(line.place):
            return False
        return self._add(AnswerLine(text=line.text, form="quote", citations=(line.place,)), at_any_length=False)

    def note(self, text: str) -> None:
        """A connecting word of the program's own; it states nothing about the failure."""
        self._add(AnswerLine(text=text, form="note"), at_any_length=True)

    def values_at(self, place: str) -> dict[str, str]:
        """The values for text of a place: an entry's text is about its own finding, whatever the answer is about."""
        owner, mark, _ = place.rpartition("#")
        if not mark or owner == self.entry or owner not in self.material.catalogue.heads:
            return self.values
        return conversation_values(finding_of(self.diagnosis, owner), self.diagnosis)

    def cites(self, place: str) -> bool:
        """Whether the answer has something from this place."""
        return any(place in line.citations for line in self.lines)

    @property
    def said(self) -> bool:
        """Whether anything but notes was said."""
        return any(line.form != "note" for line in self.lines)

    @property
    def has_room(self) -> bool:
        """Whether another sentence fits."""
        return self.rows <= ROWS - 2

    def _add(self, line: AnswerLine, at_any_length: bool) -> bool:
        # A long log line is cut to two rows when it is shown.
        length = min(len(line.text), 2 * WIDTH) if line.form == "quote" else len(render_line(line))
        rows = max(1, math.ceil(length / WIDTH)) + line.text.count("\n")
        if self.rows + rows > ROWS and not at_any_length:
            return False
        self.rows += rows
        self.lines.append(line)
        return True

    def finish(
        self,
        question: str,
        intent: Intent,
        confidence: Confidence,
        *,
        entry: str | None = None,
        follow_ups: tuple[str, ...] = (),
        judgements: tuple[Judgement, ...] = (),
    ) -> Answer:
        """The answer; a place that cannot be resolved is a defect and raises KeyError."""
        places = dict.fromkeys(place for line in self.lines for place in line.citations)
        return Answer(
            answer="\n".join(render_line(line) for line in self.lines),
            citations=tuple(self.material.cite(place, self.diagnosis, self.paste) for place in places),
            confidence=confidence,
            follow_ups=tuple(fill(text, self.values) for text in follow_ups),
            question=question,
            intent=intent,
            entry=entry,
            judgements=judgements,
            lines=tuple(self.lines),
        )


def render_line(line: AnswerLine) -> str:
    """A line of an answer as text, its places behind it."""
    places = " ".join(f"[{place}]" for place in line.citations)
    if line.form == "command":
        rows = line.text.split("\n")
        return "\n".join([f"  $ {rows[0]}", *(f"    {row}" for row in rows[1:])])
    if line.form == "quote":
        return f"  {places} {line.text.strip()}"
    return f"{line.text} {places}".rstrip()
