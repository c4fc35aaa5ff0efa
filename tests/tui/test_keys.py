"""Keys from the settings: they work, help and footer say so, wrong ones are a sentence, a clash is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Tab

from assistant.settings import SettingsError, load_settings
from assistant.tui.actions import ACTIONS
from assistant.tui.keys import CLOSE_HELP, DEFAULT, checked, clashes, spoken, told
from assistant.tui.screens.diagnosis import DiagnosisScreen
from assistant.tui.screens.help import HelpScreen, help_text, live_keys
from assistant.tui.services import Start
from tests.tui.driver import INCIDENT

START = Start((str(INCIDENT),))


@pytest.fixture
def settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def write(text: str) -> None:
        path = tmp_path / "config.toml"
        path.write_text(text, encoding="utf-8")
        monkeypatch.setenv("FIRSTFAULT_CONFIG", str(path))

    return write


# ---- settings


def test_keys_come_from_the_settings_file(settings_file: Callable[[str], None]) -> None:
    settings_file('[keys]\nhelp = "F12"\nnext-section = "right, ]"\n')
    keymap = checked(load_settings().keys)
    assert keymap == {"help": "f12", "next-section": "right,]", CLOSE_HELP: "escape,q,f12"}


def test_keys_come_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_KEYS", "help=f12 save=ctrl+w")
    assert load_settings().keys == (("help", "f12"), ("save", "ctrl+w"))


@pytest.mark.parametrize("text", ["keys = 3", 'keys = "f1"', "[keys]\nhelp = 3", '[keys]\nhelp = ""'])
def test_what_is_no_table_of_keys_is_named(text: str, settings_file: Callable[[str], None]) -> None:
    settings_file(text)
    with pytest.raises(SettingsError, match=r"config\.toml:1: `keys` is a table of actions and keys"):
        load_settings()


def test_an_unknown_action_names_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"no action is called `hlep`. Did you mean `help`\?"):
        checked([("hlep", "f12")])


@pytest.mark.parametrize("key", ["ctrl +x", "f1 f2", "ctrl+", ","])
def test_what_is_no_key_is_named(key: str) -> None:
    with pytest.raises(SettingsError, match="is no key for `help`"):
        checked([("help", key)])


def test_a_wrong_key_ends_the_interface_before_it_begins(
    settings_file: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from assistant.cli import tui
    from assistant.cli.main import main

    monkeypatch.setattr(tui, "is_terminal", lambda _: True)
    settings_file('[keys]\nhlep = "f12"\n')
    assert main(["tui"]) == 2
    assert "Did you mean `help`?" in capsys.readouterr().err


# ---- names in prose


@pytest.mark.parametrize(
    ("key", "name"),
    [("ctrl+y", "Ctrl+Y"), ("f1", "F1"), ("escape", "Esc"), ("right_square_bracket", "]"), ("space", "Space"),
     ("backspace", "Backspace"), ("f5,ctrl+g", "F5"), ("shift+left", "Shift+LEFT")],
)  # fmt: skip
def test_keys_are_written_as_people_write_them(key: str, name: str) -> None:
    assert spoken(key) == name


def test_every_key_in_prose_is_one_of_the_list() -> None:
    folder = Path(help_text.__code__.co_filename).parents[1]
    texts = [path.read_text(encoding="utf-8") for path in [*folder.rglob("*.py"), *(folder / "help").glob("*.md")]]
    names = {name for text in texts for name in re.findall(r"\{key:([a-z-]+)\}", text)}
    assert names
    assert names <= DEFAULT.keys()


def test_help_names_no_key_of_an_action_by_itself() -> None:
    """A key that the settings may change is written as `{key:ID}`, or the text would lie."""
    named = {spoken(action.key) for action in ACTIONS if action.key and action.key != "enter"}
    named = {name for name in named if len(name) > 1}
    folder = Path(help_text.__code__.co_filename).parents[1] / "help"
    for path in folder.glob("*.md"):
        found = set(re.findall(r"\b(?:Ctrl\+\w|F\d+|Esc|Backspace|Space)\b", path.read_text(encoding="utf-8")))
        assert not found & named, path.name


def test_prose_says_the_key_in_force() -> None:
    assert told("{key:help} helps, {key:quit} quits", {"help": "f12"}) == "F12 helps, Ctrl+Q quits"


# ---- on the screen


@pytest.mark.asyncio
async def test_changed_keys_work_and_are_shown(opened: Any) -> None:
    keys = checked([("help", "f12"), ("entry", "f8"), ("copy", "ctrl+k")])
    async with opened(start=START, keys=keys) as driver:
        await driver.diagnosed()
        assert [str(tab.label) for tab in driver.screen.query("PaneTabs Tab").results(Tab)] == [
            "F2 Findings", "F3 Conversation", "F8 Entry",
        ]  # fmt: skip
        await driver.press("f1")
        assert isinstance(driver.screen, DiagnosisScreen)
        await driver.press("f8")
        assert driver.screen.query_one("#entry").has_focus_within
        await driver.press("f12")
        assert isinstance(driver.screen, HelpScreen)
        await driver.press("f12")
        assert isinstance(driver.screen, DiagnosisScreen)
        shown = live_keys(driver.screen).plain
        for action in ACTIONS:
            if action.id in {"help", "entry"}:
                key = driver.app.get_key_display(driver.screen.active_bindings[keys[action.id]].binding)
                assert re.search(rf"^{re.escape(key)} +{re.escape(action.help)}$", shown, re.M)


def test_only_keys_of_the_settings_clash() -> None:
    assert clashes({}) == []
    assert clashes({"open": "ctrl+g"}) == []
    (sentence,) = clashes({"open": "ctrl+l"})
    assert sentence.startswith("Ctrl+L is set for `open`, so `browse` has it no more")
    # Swapped keys are no clash, and neither are keys of parts that never have the focus together.
    assert clashes({"open": "ctrl+l", "browse": "ctrl+o"}) == []
    assert clashes({"walk": "space"}) == []
    assert clashes({"tick": "f1"})


@pytest.mark.asyncio
async def test_a_clash_is_told(opened: Any) -> None:
    async with opened(keys=checked([("open", "ctrl+l")])) as driver:
        await driver.ready()
        await driver.until("it is said", lambda: driver.screen.query("Toast.-warning"))
