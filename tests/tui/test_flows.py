"""Every way through the screens, driven by keys alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.widgets import Input

from assistant.tui.screens.browse import BrowseScreen, Entries
from assistant.tui.screens.home import HomeScreen, PathInput
from assistant.tui.services import Start
from assistant.tui.widgets.chat import Chat, Turns
from assistant.tui.widgets.checklist import Checklist
from assistant.tui.widgets.entry import DossierPane
from assistant.tui.widgets.evidence import EvidenceLines
from assistant.tui.widgets.log_view import LogView
from assistant.tui.widgets.page import Page
from assistant.tui.widgets.prompt import Prompt
from assistant.tui.widgets.related import Related
from assistant.tui.widgets.timeline import Timeline
from tests.tui.driver import INCIDENT, OUTPUT, WATCHDOG, XID, FakeConversation

pytestmark = pytest.mark.asyncio
PASTED = (INCIDENT / "dmesg-node-b.log").read_text(encoding="utf-8")


async def test_a_demo_is_opened_by_two_keys(opened: Any, talk: FakeConversation) -> None:
    async with opened() as driver:
        await driver.ready()
        await driver.press("down", "enter")
        await driver.diagnosed()
        assert driver.app.case.diagnosis.initiating.entry.id == XID
        assert "GPU fell off the PCIe bus" in driver.text("Turn")
        assert talk.begun == 1


async def test_a_path_is_completed_and_opened(opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "training-logs").symlink_to(INCIDENT)
    monkeypatch.chdir(tmp_path)
    async with opened() as driver:
        await driver.ready()
        await driver.type("tra")
        await driver.press("tab")
        assert driver.app.screen.query_one(PathInput).value == "training-logs/"
        await driver.press("enter")
        await driver.diagnosed()
        assert {source.path for source in driver.app.case.diagnosis.sources} == {"dmesg-node-b.log", "train.log"}


async def test_files_are_listed_while_typing(opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "alpha.log").write_text("x\n", encoding="utf-8")
    (tmp_path / "alps.log").write_text("x\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    async with opened() as driver:
        await driver.ready()
        await driver.type("alp")
        choices = driver.app.screen.query_one("#choices")
        await driver.until("both are listed", lambda: choices.option_count == 2 and choices.border_title == "Files")
        await driver.press("escape")
        assert choices.border_title == "Incidents to try"


async def test_a_path_that_is_not_there_is_said_and_can_be_mended(opened: Any) -> None:
    async with opened() as driver:
        await driver.ready()
        await driver.type("nowhere.log")
        await driver.press("enter")
        await driver.until("the reason is shown", lambda: driver.app.screen.query("Toast"))
        assert isinstance(driver.app.screen, HomeScreen)
        assert driver.app.screen.query_one(PathInput).has_focus
        assert not driver.app.jobs.get("diagnose")


async def test_a_log_is_pasted_on_the_first_screen(opened: Any) -> None:
    async with opened() as driver:
        await driver.ready()
        driver.app.screen.focused.post_message(events.Paste(PASTED))
        await driver.diagnosed()
        assert driver.app.case.diagnosis.initiating.evidence[0].source == "pasted.log"


async def test_three_questions_are_asked(opened: Any, talk: FakeConversation) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.type("is it broken?")
        await driver.press("enter")
        await driver.until("the first answer is there", lambda: "Answer 1" in driver.text("Turn.-answer"))
        await driver.press("1", "enter")
        await driver.until("the follow-up is answered", lambda: "Answer 2" in driver.text("Turn.-answer"))
        await driver.press("up", "enter")
        await driver.until("the same was asked again", lambda: len(talk.asked) == 3)
        assert [question for question, _ in talk.asked] == ["is it broken?", "And then?", "And then?"]
        assert {entry for _, entry in talk.asked} == {XID}
        answer = driver.text("Turn.-answer")
        assert "[not markup]" in answer
        assert "\\x1b[31m" in answer
        assert f"[{XID}#faq-1]" in answer


async def test_a_citation_leads_to_its_place(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.type("why?")
        await driver.press("enter")
        await driver.until("the answer is there", lambda: "Answer 1" in driver.text("Turn.-answer"))
        pane = driver.app.screen.query_one(DossierPane)
        driver.app.screen.action_cite("0")
        await driver.until("the FAQ is shown", lambda: pane.section == "faq")
        driver.app.screen.action_cite("1")
        await driver.until("the line is shown", lambda: pane.section == "evidence")


async def test_a_question_that_fails_frees_the_prompt(opened: Any, talk: FakeConversation) -> None:
    talk.error = ZeroDivisionError("secret of the log")
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.type("why?")
        await driver.press("enter")
        await driver.until("the reason is shown", lambda: "Internal error" in driver.text("Turn.-note"))
        assert "secret" not in driver.text("Turn.-note")
        talk.error = None
        await driver.type("why?")
        await driver.press("enter")
        await driver.until("the next one is answered", lambda: "Answer 2" in driver.text("Turn.-answer"))


async def test_a_question_is_cancelled(opened: Any, talk: FakeConversation) -> None:
    talk.gate.clear()
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.type("why?")
        await driver.press("enter")
        await driver.until("it is shown that one waits", lambda: driver.app.screen.query("ProgressLine.-busy"))
        await driver.press("escape")
        assert "answer" not in driver.app.jobs
        talk.gate.set()
        await driver.type("again?")
        await driver.press("enter")
        await driver.until("the next one is answered", lambda: "Answer 2" in driver.text("Turn.-answer"))
        assert "Answer 1" not in driver.text("Turn.-answer")


async def test_a_check_is_ticked_by_hand(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.press("f4", "right_square_bracket")
        checks = driver.app.screen.query_one(Checklist)
        await driver.until("the checklist has the focus", lambda: checks.has_focus)
        await driver.press("down", "space")
        assert driver.app.case.done == {f"{XID}#check-2"}
        assert checks.copy_text().startswith("journalctl")
        await driver.press("enter")
        assert driver.app.case.done == set()


async def test_output_is_judged_and_ticks(opened: Any, talk: FakeConversation) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        driver.app.screen.query_one(Prompt).post_message(events.Paste(OUTPUT))
        await driver.until("it was judged", lambda: "It confirms." in driver.text("Turn.-answer"))
        assert talk.judged == [OUTPUT]
        checks = driver.app.screen.query_one(Checklist)
        row = checks._sheets[f"{XID}#check-1"].plain
        assert row.startswith("[x] 1.")
        assert "confirms" in row and "(rev ff)" in row


async def test_a_pasted_log_is_diagnosed_in_the_middle_of_a_conversation(opened: Any, talk: FakeConversation) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        talk.kind = "log"
        driver.app.screen.query_one(Prompt).post_message(events.Paste(PASTED))
        await driver.until("the paste is the case", lambda: driver.app.case.name == "a paste")


async def test_a_paste_can_be_taken_otherwise(opened: Any, talk: FakeConversation) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        driver.app.screen.query_one(Prompt).post_message(events.Paste("what is\nthis?"))
        await driver.until("it was judged", lambda: talk.judged)
        await driver.type("/ask")
        await driver.press("enter")
        await driver.until("it was asked", lambda: talk.asked == [("what is this?", XID)])


async def test_a_slash_goes_to_the_prompt_from_anywhere_and_is_typed_once(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        prompt = driver.app.screen.query_one(Prompt)
        await driver.press("slash", "c")
        assert prompt.value == "/c"
        prompt.value = ""
        await driver.press("f2", "slash", "c")
        assert prompt.has_focus
        assert prompt.value == "/c"


async def test_related_entries_are_walked_and_walked_back(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.type("/related")
        await driver.press("enter")
        related = driver.app.screen.query_one(Related)
        pane = driver.app.screen.query_one(DossierPane)
        await driver.until("the graph has the focus", lambda: related.has_focus)
        await driver.press("enter")
        await driver.until("the neighbour is shown", lambda: pane.dossier.entry == WATCHDOG)
        assert pane.dossier.finding.id == "f2"
        await driver.press("enter")
        assert pane.dossier.entry == "nvlink-error"
        await driver.press("backspace")
        assert pane.dossier.entry == WATCHDOG
        await driver.press("escape")
        assert pane.dossier.entry == XID


async def test_the_timeline_leads_the_entry(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        pane = driver.app.screen.query_one(DossierPane)
        await driver.press("f2")
        assert driver.app.screen.query_one(Timeline).has_focus
        await driver.press("down")
        await driver.until("the consequence is shown", lambda: pane.dossier.entry == WATCHDOG)
        await driver.press("up", "up")
        await driver.until("the verdict is shown", lambda: pane.is_verdict)
        assert "The run" in driver.text("#overview")
        await driver.press("down", "enter")
        await driver.until("the entry has the focus", lambda: pane.has_focus_within)


async def test_evidence_stands_in_its_context_beside_what_is_expected(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.type("/evidence")
        await driver.press("enter")
        rows = driver.app.screen.query_one(EvidenceLines)
        await driver.until("the lines are there", lambda: rows.has_focus and rows.option_count)
        text = rows._sheets["0"].plain
        assert "dmesg-node-b.log:13" in text
        assert "expects: NVRM: Xid (PCI:{pci:pci}" in text
        assert "pci = 0000:8a:00" in text
        view = driver.app.screen.query_one(LogView)
        await driver.until("the context is there", lambda: view.virtual_size.height > 5)
        drawn = "".join(view.render_line(y).text for y in range(view.size.height))
        assert "> 13" in drawn
        assert "fallen off the bus" in driver.app.screen.query_one("#evidence").copy_text()


async def test_every_tab_has_something_to_say(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.press("f4")
        pane = driver.app.screen.query_one(DossierPane)
        seen = []
        for _ in range(7):
            seen.append(pane.section)
            await driver.press("right_square_bracket")
        assert seen == ["overview", "checks", "fix", "faq", "evidence", "candidates", "related"]
        assert pane.section == "overview"
        pages = {page.id: page.sheet.plain for page in driver.app.screen.query(Page)}
        assert "because" in pages["overview"] and "refuted by" in pages["overview"]
        assert "node-b" in pages["fix"]
        assert len(pages["faq"]) > 200


async def test_the_verdict_is_saved_and_nothing_is_overwritten(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.type("why?")
        await driver.press("enter")
        await driver.until("the answer is there", lambda: "Answer 1" in driver.text("Turn.-answer"))
        for name in ("firstfault-verdict.md", "firstfault-verdict-2.md"):
            await driver.press("ctrl+s")
            await driver.until(f"{name} is written", lambda name=name: (tmp_path / name).exists())
        text = (tmp_path / "firstfault-verdict.md").read_text(encoding="utf-8")
        assert "# Post-mortem: GPU fell off the PCIe bus" in text
        assert "## Conversation" in text and "why?" in text
        await driver.type("/save /nowhere/x.md")
        await driver.press("enter")
        await driver.until("the reason is shown", lambda: driver.app.screen.query("Toast.-error"))


async def test_a_line_is_copied(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.type("/evidence")
        await driver.press("enter")
        await driver.until("the lines are there", lambda: driver.app.screen.query_one(EvidenceLines).has_focus)
        await driver.press("ctrl+y")
        assert "NVRM: Xid (PCI:0000:8a:00): 79" in driver.app.clipboard


async def test_the_library_is_searched_and_read(opened: Any) -> None:
    async with opened() as driver:
        await driver.ready()
        await driver.press("ctrl+l")
        await driver.until("the library is shown", lambda: isinstance(driver.app.screen, BrowseScreen))
        entries = driver.app.screen.query_one(Entries)
        assert len(entries._sheets) == 5
        await driver.type("nvlink")
        await driver.until(
            "the words found it, the index more", lambda: [*entries._sheets][:2] == ["nvlink-error", WATCHDOG]
        )
        await driver.press("enter", "enter")
        pane = driver.app.screen.query_one(DossierPane)
        await driver.until("the entry has the focus", lambda: pane.has_focus_within)
        assert pane.dossier.entry == "nvlink-error"
        await driver.press("escape", "escape", "escape")
        await driver.until("home again", lambda: isinstance(driver.app.screen, HomeScreen))


async def test_the_mouse_works(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.pilot.click("#tab-related")
        pane = driver.app.screen.query_one(DossierPane)
        await driver.until("the tab is shown", lambda: pane.section == "related")
        await driver.pilot.click(Related, offset=(6, 1))
        await driver.until("walked there", lambda: pane.dossier.entry == WATCHDOG)
        await driver.pilot.click("#follow-ups", offset=(6, 0))
        await driver.until("a follow-up is asked", lambda: "How do I confirm it?" in driver.text("Turn.-question"))


async def test_the_session_goes_on_after_a_look_at_home(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.type("why?")
        await driver.press("enter")
        await driver.until("the answer is there", lambda: "Answer 1" in driver.text("Turn.-answer"))
        await driver.press("ctrl+o")
        await driver.until("home", lambda: isinstance(driver.app.screen, HomeScreen))
        await driver.press("escape")
        await driver.until("back", lambda: not isinstance(driver.app.screen, HomeScreen))
        assert "Answer 1" in driver.text("Turn.-answer")
        assert driver.app.screen.query_one(Chat).query_one(Turns)
        assert isinstance(driver.app.screen.query_one(Prompt), Input)
