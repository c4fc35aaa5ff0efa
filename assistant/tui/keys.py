"""The keys in force: those of the one list, changed by the settings, and how they are called in prose.

[keys]                    # in config.toml
help = "f12"
next-section = "right,l"
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Final

from assistant.settings import SettingsError
from assistant.tui.actions import ACTIONS

OTHERS: Final = {
    "complete": "tab", "to-list": "down", "earlier": "up", "later": "down", "page-up": "pageup", "page-down": "pagedown",
}  # fmt: skip
"""Keys of single widgets, which are no action of the palette."""
DEFAULT: Final[Mapping[str, str]] = {**{action.id: action.key for action in ACTIONS if action.key}, **OTHERS}
CLOSE_HELP: Final = "close-help"
_KEY: Final = re.compile(r"(?:(?:ctrl|alt|shift|super|meta)\+)*(?:[a-z][a-z0-9_]*|[^\s,])")
_NAMES: Final = {
    "escape": "Esc", "right_square_bracket": "]", "left_square_bracket": "[", "slash": "/", "pageup": "PageUp",
    "pagedown": "PageDown", "question_mark": "?", "full_stop": ".", "comma": ",",
}  # fmt: skip
_TOLD: Final = re.compile(r"\{key:([a-z-]+)\}")


def checked(keys: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The keys of the settings as Textual's keymap; raises SettingsError for an unknown name or no key."""
    keymap: dict[str, str] = {}
    for name, key in keys:
        if name not in DEFAULT:
            close = difflib.get_close_matches(name, DEFAULT, n=1, cutoff=0.5)
            hint = f" Did you mean `{close[0]}`?" if close else ""
            raise SettingsError(f"`keys`: no action is called `{name}`.{hint}", f"Known: {', '.join(sorted(DEFAULT))}.")
        parts = [part.strip().lower() if len(part.strip()) > 1 else part.strip() for part in key.split(",")]
        if not all(_KEY.fullmatch(part) for part in parts):
            raise SettingsError(f"`keys`: `{key}` is no key for `{name}`.", "Keys are written f5, ctrl+x or ctrl+x,f5.")
        keymap[name] = ",".join(parts)
    if "help" in keymap:
        # The key that opens the help closes it, too.
        keymap[CLOSE_HELP] = f"escape,q,{keymap['help']}"
    return keymap


def clashes(keymap: Mapping[str, str]) -> list[str]:
    """A sentence for every key that the settings give to two actions which can meet.

    Textual tells of two keys that are both set, not of one that is set to another's usual key.
    """
    found = []
    keys = {action.id: keymap.get(action.id, action.key).split(",") for action in ACTIONS if action.key}
    actions = [action for action in ACTIONS if action.key]
    for number, one in enumerate(actions):
        for other in actions[number + 1 :]:
            shared = set(keys[one.id]) & set(keys[other.id])
            can_meet = one.owner == other.owner or {one.owner, other.owner} & {"app", "diagnosis"}
            if not shared or not can_meet or not {one.id, other.id} & keymap.keys():
                continue
            winner, loser = (one, other) if one.id in keymap else (other, one)
            found.append(
                f"{spoken(min(shared))} is set for `{winner.id}`, so `{loser.id}` has it no more; "
                f"give one of them another under `keys`."
            )
    return found


def spoken(key: str) -> str:
    """A key as people write it: `Ctrl+Y`, `F1`, `Esc`."""
    first = key.split(",")[0]
    *modifiers, last = first.split("+")
    name = _NAMES.get(last, last.upper() if modifiers or re.fullmatch(r"f\d+", last) else last.capitalize())
    return "+".join([*(modifier.capitalize() for modifier in modifiers), name])


def told(text: str, keymap: Mapping[str, str]) -> str:
    """Prose in which `{key:help}` stands for the key of that action as it is now."""
    return _TOLD.sub(lambda found: spoken(keymap.get(found[1], DEFAULT[found[1]])), text)
