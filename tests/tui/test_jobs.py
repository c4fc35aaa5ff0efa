"""Work in threads: progress, cancelling, failing, and a screen that is free again after each."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from assistant.tui import reading
from assistant.tui.jobs import Job, Reporter, Stopped
from assistant.tui.messages import JobProgress
from assistant.tui.screens.diagnosis import DiagnosisScreen
from assistant.tui.screens.home import HomeScreen
from assistant.tui.services import Start
from assistant.tui.widgets.progress_line import ProgressLine
from assistant.tui.widgets.prompt import INVITATION, Prompt
from tests.tui.driver import INCIDENT, Driver, FakeConversation


class SlowRead:
    """Stands for a large log: goes on telling its progress until it is let go or stopped."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate = threading.Event()
        self.was_stopped = threading.Event()
        self.real = reading._case
        monkeypatch.setattr(reading, "_case", self.read)

    def read(self, paths: Any, catalogue: Any, version: str, report: Reporter, *rest: Any) -> Any:
        done = 0
        try:
            while not self.gate.wait(0.01):
                done += 1 << 20
                report("huge.log", done, 1 << 30)
        except Stopped:
            self.was_stopped.set()
            raise
        return self.real(paths, catalogue, version, report, *rest)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowRead:
    return SlowRead(monkeypatch)


async def shown(driver: Driver) -> str:
    await driver.until("progress is shown", lambda: "MiB" in driver.text("ProgressLine.-busy"))
    return driver.text("ProgressLine.-busy")


@pytest.mark.asyncio
async def test_a_scan_tells_amount_rate_and_how_to_stop_it(opened: Any, slow: SlowRead) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        text = await shown(driver)
        assert text.startswith("Esc cancels   huge.log ")
        assert "of 1.0 GiB" in text and "/s" in text
        slow.gate.set()
        await driver.diagnosed()
        await driver.until("the line is gone", lambda: not driver.screen.query("ProgressLine.-busy"))


@pytest.mark.asyncio
async def test_a_scan_is_cancelled(opened: Any, slow: SlowRead) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await shown(driver)
        await driver.press("escape")
        assert "diagnose" not in driver.app.jobs
        await driver.until("the thread stopped", slow.was_stopped.is_set)
        await driver.until("the line is gone", lambda: not driver.screen.query("ProgressLine.-busy"))
        assert isinstance(driver.screen, HomeScreen)
        slow.gate.set()
        await driver.press("down", "enter")
        await driver.diagnosed()


@pytest.mark.asyncio
async def test_a_second_log_takes_the_place_of_the_first(opened: Any, slow: SlowRead) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await shown(driver)
        driver.app.read_pasted("nothing\n" * 3)
        await driver.until("the first thread stopped", slow.was_stopped.is_set)
        slow.gate.set()
        await driver.diagnosed()
        assert driver.app.case.name == "a paste"


@pytest.mark.asyncio
async def test_a_scan_that_fails_inside_says_so_and_names_the_report(
    opened: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("secret of the log")

    errors: list[Exception] = []

    def crash(error: Exception) -> Path:
        errors.append(error)
        return tmp_path / "crash.txt"

    monkeypatch.setattr(reading, "_case", broken)
    async with opened(start=Start((str(INCIDENT),)), crash=crash) as driver:
        await driver.until("the reason is shown", lambda: driver.screen.query("Toast.-error"))
        toast = str(driver.screen.query("Toast").first().render())
        assert "Internal error while reading (KeyError)." in toast
        assert "crash.txt" in toast and "secret" not in toast
        assert isinstance(errors[0], KeyError)
        assert driver.app.jobs.get("diagnose") is None


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [(40, 20), (80, 24), (160, 50)], ids=str)
async def test_a_resize_in_the_middle_of_a_scan(opened: Any, slow: SlowRead, size: tuple[int, int]) -> None:
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await shown(driver)
        await driver.pilot.resize_terminal(*size)
        assert driver.screen.query_one(ProgressLine).region.width == size[0]
        slow.gate.set()
        await driver.diagnosed()
        await driver.pilot.resize_terminal(120, 30)
        await driver.pilot.resize_terminal(*size)
        assert isinstance(driver.screen, DiagnosisScreen)
        assert isinstance(driver.app.focused, Input)
        assert driver.app.focused.region.width > 0


@pytest.mark.asyncio
async def test_without_knowledge_the_app_ends_with_the_reason(opened: Any) -> None:
    from corpus.errors import CorpusError

    def broken() -> None:
        raise CorpusError("`x` holds no entries.")

    async with opened(catalogue=broken) as driver:
        await driver.until("it gave up", lambda: driver.app.fatal is not None)
        assert isinstance(driver.app.fatal, CorpusError)


@pytest.mark.asyncio
async def test_an_index_that_fails_is_said_and_words_must_do(
    opened: Any, talk: FakeConversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    from corpus.errors import CorpusError

    def broken(progress: Any) -> None:
        raise CorpusError("The encoder's file is not there.")

    monkeypatch.setattr(talk, "prepare", broken)
    async with opened(start=Start((str(INCIDENT),))) as driver:
        await driver.until("it is said", lambda: driver.screen.query("Toast.-warning"))
        await driver.diagnosed()
        await driver.type("why?")
        await driver.press("enter")
        await driver.until("the answer is there", lambda: "Answer 1" in driver.text("Turn.-answer"))


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [(40, 20), (80, 24)], ids=str)
async def test_how_far_the_index_is_stands_where_questions_are_typed(
    opened: Any, talk: FakeConversation, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    done = threading.Event()

    def slowly(progress: Any) -> None:
        while not done.wait(0.02):
            progress(30, 100)

    monkeypatch.setattr(talk, "prepare", slowly)
    async with opened(size=size, start=Start((str(INCIDENT),))) as driver:
        await driver.diagnosed()
        prompt = driver.screen.query_one(Prompt)
        told = "Ask (index 30 %; by words until then)"
        await driver.until("it is said", lambda: prompt.placeholder == told)
        # Nobody has to wait for it: questions are answered, and Esc is for what one waits for.
        await driver.type("why?")
        await driver.press("enter")
        await driver.until("the answer is there", lambda: "Answer 1" in driver.text("Turn.-answer"))
        await driver.press("escape")
        assert "index" in driver.app.jobs
        done.set()
        await driver.until("it is over", lambda: prompt.placeholder == INVITATION)


@pytest.mark.asyncio
async def test_a_pipe_is_read_while_it_comes_and_can_be_cancelled(opened: Any) -> None:
    reading_end, writing_end = os.pipe()
    with os.fdopen(reading_end, "rb", buffering=0) as pipe, os.fdopen(writing_end, "wb", buffering=0) as writer:
        async with opened(start=Start(pipe=pipe)) as driver:
            await driver.ready()
            writer.write((INCIDENT / "dmesg-node-b.log").read_bytes())
            await driver.until("it is shown that one waits", lambda: driver.screen.query("ProgressLine.-busy"))
            await driver.press("escape")
            assert "diagnose" not in driver.app.jobs


@pytest.mark.asyncio
async def test_a_pipe_is_diagnosed_at_its_end(opened: Any) -> None:
    reading_end, writing_end = os.pipe()
    with os.fdopen(reading_end, "rb", buffering=0) as pipe:
        with os.fdopen(writing_end, "wb") as writer:
            writer.write((INCIDENT / "dmesg-node-b.log").read_bytes())
        async with opened(start=Start(pipe=pipe)) as driver:
            await driver.diagnosed()
            assert driver.app.case.diagnosis.initiating is not None


def test_progress_is_told_seldom_and_only_after_a_moment() -> None:
    sent: list[JobProgress] = []
    job = Job("diagnose", 1, "reading")
    report = Reporter(sent.append, job, lambda: False)
    for done in range(1000):
        report("job.log", done, 1000)
    assert sent == []
    job.started -= 1
    report = Reporter(sent.append, job, lambda: False)
    for done in range(1000):
        report("job.log", done, 1000)
    assert len(sent) == 1
    assert sent[0].can_replace(JobProgress("diagnose", 0, "older"))
    assert not sent[0].can_replace(JobProgress("answer", 0, "another"))


def test_a_stopped_job_is_noticed_at_its_next_word() -> None:
    job = Job("diagnose", 1, "reading")
    report = Reporter(lambda _: None, job, lambda: False)
    job.is_stopped = True
    with pytest.raises(Stopped):
        report("job.log", 1, None)
    with pytest.raises(Stopped):
        report.count(1, 2)
