"""Sizes, colours, help, palette, and the one list of actions behind them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.binding import Binding

from assistant.tui.actions import ACTIONS, actions_of, by_slash
from assistant.tui.app import FirstfaultApp
from assistant.tui.commands import possible
from assistant.tui.screens.browse import BrowseScreen
from assistant.tui.screens.diagnosis import DiagnosisScreen
from assistant.tui.screens.help import HelpScreen, help_text, live_keys
from assistant.tui.screens.home import HomeScreen
from assistant.tui.services import Start
from assistant.tui.widgets.checklist import Checklist
from assistant.tui.widgets.entry import DossierPane
from assistant.tui.widgets.prompt import Prompt
from assistant.tui.widgets.related import Related
from tests.tui.driver import INCIDENT, Driver

OWNERS = {"app": FirstfaultApp, "diagnosis": DiagnosisScreen, "browse": BrowseScreen, "dossier": DossierPane,
          "checklist": Checklist, "related": Related}  # fmt: skip
START = Start((str(INCIDENT),))


# ---- one list behind keys, palette, `/` and help


@pytest.mark.parametrize("owner", OWNERS)
def test_keys_come_from_the_list(owner: str) -> None:
    bound = {item.id: item for item in OWNERS[owner].BINDINGS if isinstance(item, Binding) and item.id}
    listed = {action.id: action for action in actions_of(owner) if action.key}
    assert bound.keys() == listed.keys()
    for key, binding in bound.items():
        assert (binding.key, binding.tooltip) == (listed[key].key, listed[key].help)


def test_every_action_belongs_to_somebody_and_is_named_once() -> None:
    assert {action.owner for action in ACTIONS} <= OWNERS.keys()
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    slashes = [action.slash for action in ACTIONS if action.slash]
    assert len(set(slashes)) == len(slashes)
    assert all(by_slash(word) is not None for word in slashes)


@pytest.mark.asyncio
async def test_palette_help_and_keys_agree(opened: Any) -> None:
    async with opened(start=START) as driver:
        await driver.diagnosed()
        listed = {action.id for action in ACTIONS if action.owner != "browse"}
        in_palette = {action.id for action, _ in possible(driver.screen, driver.app.focused)}
        assert in_palette == listed - {"palette"}
        shown = live_keys(driver.screen).plain
        for action in ACTIONS:
            if action.owner in {"app", "diagnosis"} and action.key:
                assert action.help in shown, action.id
            if action.slash:
                assert f"/{action.slash}  " in shown
        await driver.type("/checks")
        await driver.press("enter")
        await driver.until("the checklist has the focus", lambda: isinstance(driver.app.focused, Checklist))
        for action in actions_of("checklist"):
            assert action.help in live_keys(driver.screen).plain


@pytest.mark.asyncio
async def test_every_action_of_the_palette_runs(opened: Any) -> None:
    async with opened(start=START) as driver:
        await driver.diagnosed()
        for action, node in list(possible(driver.screen, driver.app.focused)):
            if action.id not in {"quit", "help", "save"}:
                await node.run_action(action.run)
                await driver.pilot.pause()
        assert driver.app.is_running


@pytest.mark.asyncio
async def test_the_palette_finds_commands_and_entries(opened: Any) -> None:
    async with opened() as driver:
        await driver.ready()
        await driver.press("ctrl+p")
        await driver.type("nvlink")
        await driver.until("the entry is proposed", lambda: driver.screen.query_one("CommandList").option_count)
        await driver.press("down", "enter")
        await driver.until("the library shows it", lambda: isinstance(driver.screen, BrowseScreen))
        await driver.until("the entry is there", lambda: driver.screen.query_one(DossierPane).dossier)
        assert driver.screen.query_one(DossierPane).dossier.entry == "nvlink-error"


# ---- help


@pytest.mark.asyncio
async def test_help_is_about_what_has_the_focus(opened: Any) -> None:
    async with opened(start=START) as driver:
        await driver.diagnosed()
        await driver.press("f1")
        assert isinstance(driver.screen, HelpScreen)
        assert driver.screen.topic == "prompt"
        await driver.press("escape", "f2", "f1")
        assert driver.screen.topic == "timeline"
        await driver.press("f1")
        assert isinstance(driver.screen, DiagnosisScreen)
        assert driver.screen.query_one("#findings").has_focus


def test_every_topic_has_a_text_and_every_text_a_topic() -> None:
    folder = Path(help_text.__code__.co_filename).parents[1]
    named = set()
    for path in folder.rglob("*.py"):
        named |= set(re.findall(r'HELP = "(\w+)"', path.read_text(encoding="utf-8")))
    assert {path.stem for path in (folder / "help").glob("*.md")} == named
    assert all(help_text(topic).startswith("# ") for topic in named)


# ---- sizes and colours


async def walk_through(driver: Driver) -> None:
    await driver.diagnosed()
    for key in ("f2", "f4", *["right_square_bracket"] * 7, "f3", "f1", "escape", "ctrl+p", "escape"):
        await driver.press(key)
        focused = driver.app.focused
        assert focused is None or focused.region.area > 0, f"after {key} the focus is on something that is not shown"
    await driver.type("/evidence")
    await driver.press("enter", "ctrl+l")
    await driver.until("the library is shown", lambda: isinstance(driver.screen, BrowseScreen))
    await driver.press("enter", "enter")


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [(40, 20), (80, 24), (99, 30), (100, 30), (200, 60)], ids=str)
async def test_every_size_works(opened: Any, size: tuple[int, int]) -> None:
    async with opened(size=size, start=START) as driver:
        await walk_through(driver)


@pytest.mark.asyncio
async def test_one_pane_at_a_time_where_it_is_narrow(opened: Any) -> None:
    async with opened(size=(60, 24), start=START) as driver:
        await driver.diagnosed()
        panes = {name: driver.screen.query_one(f"#{name}") for name in ("findings", "talk", "entry")}
        assert [name for name, pane in panes.items() if pane.region.area] == ["talk"]
        await driver.press("f2")
        assert [name for name, pane in panes.items() if pane.region.area] == ["findings"]
        await driver.pilot.resize_terminal(120, 24)
        await driver.pilot.pause()
        assert all(pane.region.area for pane in panes.values())
        await driver.press("f4")
        await driver.pilot.resize_terminal(60, 24)
        await driver.until("the entry stays", lambda: not panes["talk"].region.area)
        assert [name for name, pane in panes.items() if pane.region.area] == ["entry"]


@pytest.mark.asyncio
async def test_without_colour(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(size=(80, 24), start=START) as driver:
        assert driver.app.no_color
        await walk_through(driver)


@pytest.mark.asyncio
async def test_dark_and_light(opened: Any) -> None:
    async with opened(start=START) as driver:
        await driver.diagnosed()
        assert driver.app.theme == "firstfault-dark"
        await driver.press("ctrl+t")
        assert driver.app.theme == "firstfault-light"


def test_styles_speak_in_variables_only() -> None:
    folder = Path(help_text.__code__.co_filename).parents[1]
    for path in [*folder.rglob("*.tcss"), *(folder / "widgets").glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"#[0-9a-fA-F]{6}\b|\brgb\(", text) == [], path.name


@pytest.mark.asyncio
async def test_an_app_without_case_goes_home_and_no_further(opened: Any) -> None:
    async with opened() as driver:
        await driver.ready()
        await driver.press("escape", "escape")
        assert isinstance(driver.screen, HomeScreen)
        assert not driver.screen.query(Prompt)
