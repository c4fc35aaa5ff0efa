"""What somebody does who has read nothing but the README: questions where a path belongs, keys before it is ready."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from assistant.tui import reading
from assistant.tui.screens.browse import BrowseScreen
from assistant.tui.screens.home import is_question
from assistant.tui.services import Start
from assistant.tui.widgets.prompt import Prompt
from corpus.catalogue import Catalogue
from tests.tui.driver import INCIDENT, FakeConversation


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("what happened?", True), ("how do I fix it", True), ("xid?", True), ("job.log", False), ("my old job.log", False),
     ("logs of node b/", False), ("a b", False), ("", False)],
)  # fmt: skip
def test_a_question_is_told_from_a_path(text: str, is_one: bool) -> None:
    assert is_question(text) is is_one


@pytest.mark.asyncio
async def test_a_question_without_a_log_goes_to_the_library(opened: Any) -> None:
    async with opened() as driver:
        await driver.ready()
        await driver.type("what is an nvlink error?")
        await driver.press("enter")
        await driver.until("the library is shown", lambda: isinstance(driver.screen, BrowseScreen))
        assert driver.app.focused.value == "what is an nvlink error?"
        await driver.until("something is found", lambda: driver.screen.query_one("#entries").option_count)


@pytest.mark.asyncio
async def test_a_question_at_home_is_asked_of_the_open_verdict(opened: Any, talk: FakeConversation) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.press("ctrl+o")
        await driver.type("how do I confirm it?")
        await driver.press("enter")
        await driver.diagnosed()
        await driver.until("it is answered", lambda: talk.asked)
        assert talk.asked[0][0] == "how do I confirm it?"


@pytest.mark.asyncio
async def test_a_question_while_the_log_is_read_stops_nothing(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    real = reading._case

    def slow(*given: Any) -> Any:
        gate.wait(10)
        return real(*given)

    monkeypatch.setattr(reading, "_case", slow)
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.ready()
        await driver.type("what happened?")
        await driver.press("enter")
        await driver.until("it is said", lambda: driver.screen.query("Toast.-warning"))
        assert "diagnose" in driver.app.jobs
        gate.set()
        await driver.diagnosed()


@pytest.mark.asyncio
async def test_a_log_that_waits_for_the_knowledge_is_shown_and_can_be_given_up(
    opened: Any, catalogue: Catalogue
) -> None:
    gate = threading.Event()

    def slowly() -> Catalogue:
        gate.wait(10)
        return catalogue

    async with opened(start=Start((str(INCIDENT),)), catalogue=slowly) as driver:
        await driver.until("it is shown", lambda: driver.screen.query("ProgressLine.-busy"))
        await driver.press("escape")
        gate.set()
        await driver.ready()
        await driver.until("the line is gone", lambda: not driver.screen.query("ProgressLine.-busy"))
        assert not driver.app.is_reading


@pytest.mark.asyncio
async def test_another_log_is_asked_for_anew(opened: Any) -> None:
    async with opened() as driver:
        await driver.ready()
        await driver.type("/no/such.log")
        await driver.press("enter")
        await driver.until("the reason is said", lambda: driver.app._notifications)
        await driver.press("ctrl+o")
        assert driver.screen.query_one("#path").value == ""
        await driver.type(str(INCIDENT))
        await driver.press("enter")
        await driver.diagnosed()
        assert not driver.app._notifications  # nothing lies over the verdict


@pytest.mark.asyncio
async def test_the_library_tells_the_way_back_and_f3_leads_to_the_conversation(opened: Any) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        await driver.press("ctrl+l")
        await driver.until("the library is shown", lambda: isinstance(driver.screen, BrowseScreen))
        assert "Esc" in str(driver.screen.query_one("#library").border_subtitle)
        await driver.press("f3")
        await driver.until("the conversation is shown", lambda: not isinstance(driver.screen, BrowseScreen))
        assert isinstance(driver.app.focused, Prompt)


@pytest.mark.asyncio
async def test_f3_without_a_verdict_asks_for_a_log(opened: Any) -> None:
    async with opened() as driver:
        await driver.ready()
        await driver.press("ctrl+l")
        await driver.until("the library is shown", lambda: isinstance(driver.screen, BrowseScreen))
        await driver.press("f3")
        await driver.until("the path is asked for", lambda: driver.app.focused and driver.app.focused.id == "path")
