"""Pictures of the main states, few on purpose: behaviour is tested by keys.

A changed picture is looked at before it is taken over: `scripts/test --fast tests/tui/test_snapshots.py` writes
build/snapshots.html with both sides; `--snapshot-update` takes the new one. Pictures depend on textual and on nothing else,
so knowledge, incident and conversation are those of the tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from assistant.tui.app import FirstfaultApp
from assistant.tui.services import Services, Start
from tests.tui.driver import INCIDENT, Driver

pytestmark = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="pictures are compared on one Python only")
SMALL, LARGE = (80, 24), (140, 40)
STATES: dict[str, Sequence[str]] = {
    "verdict": (),
    "checks": ("f4", "right_square_bracket", "down", "space"),
    "evidence": ("f4", *["right_square_bracket"] * 4),
    "related": ("f4", "left_square_bracket"),
    "asked": ("1", "enter"),
    "help": ("f2", "f1"),
}


def prepare(app: FirstfaultApp, keys: Sequence[str], *, is_home: bool = False) -> Callable[[Pilot[None]], Any]:
    async def run(pilot: Pilot[None]) -> None:
        driver = Driver(app, pilot)
        await driver.ready()
        if not is_home:
            await driver.diagnosed()
        await driver.press(*keys)
        if "1" in keys:
            await driver.until("the answer is there", lambda: "Answer 1" in driver.text("Turn.-answer"))
        for line in app.screen.query(Input):
            line.cursor_blink = False
        await pilot.pause(0.2)

    return run


@pytest.mark.parametrize("state", STATES)
def test_80x24(snap_compare: Any, services: Services, state: str) -> None:
    app = FirstfaultApp(services, Start((str(INCIDENT),)))
    assert snap_compare(app, terminal_size=SMALL, run_before=prepare(app, STATES[state]))


@pytest.mark.parametrize("state", ["verdict", "evidence"])
def test_140x40(snap_compare: Any, services: Services, state: str) -> None:
    app = FirstfaultApp(services, Start((str(INCIDENT),)))
    assert snap_compare(app, terminal_size=LARGE, run_before=prepare(app, STATES[state]))


def test_home(snap_compare: Any, services: Services) -> None:
    app = FirstfaultApp(services)
    assert snap_compare(app, terminal_size=SMALL, run_before=prepare(app, (), is_home=True))


def test_light(snap_compare: Any, services: Services) -> None:
    app = FirstfaultApp(services, Start((str(INCIDENT),)))
    assert snap_compare(app, terminal_size=SMALL, run_before=prepare(app, ("ctrl+t",)))


def test_without_colour(snap_compare: Any, services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = FirstfaultApp(services, Start((str(INCIDENT),)))
    assert snap_compare(app, terminal_size=(80, 24), run_before=prepare(app, ("f2",)))


def test_narrow(snap_compare: Any, services: Services) -> None:
    app = FirstfaultApp(services, Start((str(INCIDENT),)))
    assert snap_compare(app, terminal_size=(40, 24), run_before=prepare(app, ("f4", "right_square_bracket")))
