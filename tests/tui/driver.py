"""What the tests of the screens share: a conversation of a few sentences, and a driver that waits for named states."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from assistant.chat.contract import Answer, AnswerLine, Citation, Judgement
from assistant.tui.app import FirstfaultApp
from assistant.tui.conversation import Kind
from assistant.tui.sheet import Sheet
from assistant.verdict import Diagnosis

HERE = Path(__file__).parent
INCIDENT = HERE / "logs" / "xid79-node-b"
XID = "xid-79-gpu-fell-off-bus"
WATCHDOG = "nccl-watchdog-collective-timeout"
OUTPUT = "3b:00.0 3D controller: NVIDIA Corporation (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n"


class FakeConversation:
    """Answers every question in the same way, and counts."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.judged: list[str] = []
        self.begun = 0
        self.kind: Kind = "output"
        self.error: Exception | None = None
        self.gate = threading.Event()
        """Answers wait for it."""
        self.gate.set()

    def prepare(self, progress: Callable[[int, int], None]) -> None:
        progress(1, 1)

    def begin(self, diagnosis: Diagnosis) -> None:
        self.begun += 1

    def kind_of(self, text: str) -> Kind:
        return self.kind

    def ask(self, question: str, *, entry: str | None) -> Answer:
        self.asked.append((question, entry))
        self.gate.wait(10)
        if self.error is not None:
            raise self.error
        return Answer(
            answer=f"Answer {len(self.asked)}.",
            question=question,
            citations=(
                Citation(id=f"{XID}#faq-1", kind="entry", entry=XID, section="faq-1"),
                Citation(id="dmesg-node-b.log:13", kind="log", source="dmesg-node-b.log", line=13),
            ),
            lines=(
                AnswerLine(text=f"Answer {len(self.asked)} to [not markup].", citations=(f"{XID}#faq-1",)),
                AnswerLine(text="lspci -vv", form="command", citations=(f"{XID}#faq-1",)),
                AnswerLine(text="a quoted \x1b[31mline", form="quote", citations=("dmesg-node-b.log:13",)),
            ),
            follow_ups=("And then?", "What else?"),
        )

    def judge(self, output: str, *, entry: str | None) -> Answer:
        self.judged.append(output)
        judgement = Judgement(entry=XID, check=1, says="confirms", condition="(rev ff)", line=1, text=OUTPUT[:60])
        return Answer(answer="It confirms.", intent="paste", judgements=(judgement,))

    def search(self, text: str, most: int) -> Sequence[str]:
        return (WATCHDOG,)

    def ticks(self) -> Mapping[str, tuple[str, str]]:
        return {f"{XID}#check-1": ("confirms", "(rev ff)")} if self.judged else {}


class Driver:
    """A running app, and the one way in which tests wait: for a named state."""

    def __init__(self, app: FirstfaultApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> Any:
        return self.app.screen

    async def until(self, what: str, state: Callable[[], object], seconds: float = 15.0) -> None:
        end = time.monotonic() + seconds
        while not state():
            assert time.monotonic() < end, f"waited in vain until {what}"
            await asyncio.sleep(0.01)
            await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Into the input that has the focus, as one stroke: a stroke a letter costs seconds."""
        line = self.app.focused
        assert isinstance(line, Input)
        line.insert_text_at_cursor(text)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def ready(self) -> None:
        await self.until("the knowledge is loaded", lambda: self.app.loaded)
        await self.pilot.pause()

    async def diagnosed(self) -> None:
        from assistant.tui.screens.diagnosis import DiagnosisScreen

        await self.until("a verdict is shown", lambda: isinstance(self.app.screen, DiagnosisScreen))
        await self.until("the prompt has the focus", lambda: isinstance(self.app.focused, Input))

    def text(self, selector: str) -> str:
        """The plain text of the sheets that a selector finds."""
        found = []
        for widget in self.app.screen.query(selector):
            content = getattr(widget, "sheet", None) or getattr(widget, "_Static__content", None)
            found.append(content.plain if isinstance(content, Sheet) else str(content))
        return "\n".join(found)
