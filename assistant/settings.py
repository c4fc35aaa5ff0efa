"""Settings: the file `config.toml`, then FIRSTFAULT_* variables, then flags.

Later sources win key by key. Every error names the place, the key and, for an
unknown key, the nearest known one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, cast

from corpus.errors import FirstfaultError

PREFIX: Final = "FIRSTFAULT_"
NOT_SETTINGS: Final = frozenset(
    {"FIRSTFAULT_CONFIG", "FIRSTFAULT_DEBUG", "FIRSTFAULT_CACHE_DIR", "FIRSTFAULT_STATE_DIR"}
)
"""Variables with our prefix that are no settings: where the file is, tracebacks, where cache and state are."""


class SettingsError(FirstfaultError):
    """A setting is unknown or has a value it cannot have."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a person can set once for all runs."""

    format: Literal["text", "json", "markdown"] = "text"
    """Form of the result."""
    context: int = 0
    """Lines shown before and after the first fault."""
    corpus_paths: tuple[Path, ...] = ()
    """Directories with entries of your own, layered over the bundled corpus."""
    color: Literal["auto", "always", "never"] = "auto"
    """Colour; `auto` follows NO_COLOR and the terminal."""
    width: int = 0
    """Columns of a text report; 0 takes the terminal's."""
    progress: Literal["auto", "none", "plain", "tty"] = "auto"
    """How progress is shown on stderr."""
    quiet: bool = False
    """Nothing on stderr but errors."""
    exit_code: bool = False
    """Let the exit status tell the verdict."""
    semantic: Literal["auto", "always", "never"] = "auto"
    """Look for unexplained lines by meaning; `auto` where an index lies ready, `always` builds one."""
    background_build: bool = True
    """Let a question that finds no index start building one in a process of its own, at the lowest priority."""
    keys: tuple[tuple[str, str], ...] = ()
    """Keys of the terminal user interface: pairs of an action's id and its key; a table in the file."""
    session: bool = True
    """Keep the last diagnosis, so that `ask` can speak of it."""
    origin: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Where each setting that is not the default came from."""


KEYS: Final = tuple(item.name for item in fields(Settings) if item.name != "origin")
_CHOICES: Final = {
    "format": ("text", "json", "markdown"),
    "color": ("auto", "always", "never"),
    "progress": ("auto", "none", "plain", "tty"),
    "semantic": ("auto", "always", "never"),
}
_NUMBERS: Final = {"context": 1000, "width": 1000}
_SWITCHES: Final = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


def config_file(env: Mapping[str, str] | None = None) -> Path:
    """The settings file: FIRSTFAULT_CONFIG, or `config.toml` where this system keeps such files."""
    named = (os.environ if env is None else env).get("FIRSTFAULT_CONFIG")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_config_path

    return user_config_path("firstfault") / "config.toml"


def cache_dir(env: Mapping[str, str] | None = None) -> Path:
    """Where things are kept that can be made again: FIRSTFAULT_CACHE_DIR, or the system's place."""
    named = (os.environ if env is None else env).get("FIRSTFAULT_CACHE_DIR")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("firstfault")


def state_dir(env: Mapping[str, str] | None = None) -> Path:
    """Where the last diagnosis is kept: FIRSTFAULT_STATE_DIR, or the system's place."""
    named = (os.environ if env is None else env).get("FIRSTFAULT_STATE_DIR")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_state_path

    return user_state_path("firstfault")


def load_settings(flags: Mapping[str, object] | None = None, env: Mapping[str, str] | None = None) -> Settings:
    """The settings in force; flags that were not given are None."""
    variables = os.environ if env is None else env
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    for source in (_from_file(config_file(variables)), _from_env(variables), _from_flags(given)):
        for key, (value, place) in source.items():
            values[key] = value
            origin[key] = place
    return Settings(**values, origin=origin)


def unknown_variables(env: Mapping[str, str] | None = None) -> list[str]:
    """Variables with our prefix that mean nothing; `doctor` lists them, because they are typing errors."""
    known = {PREFIX + key.upper() for key in KEYS} | NOT_SETTINGS
    names = os.environ if env is None else env
    return sorted(name for name in names if name.startswith(PREFIX) and name not in known)


def _from_file(path: Path) -> dict[str, tuple[object, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingsError(f"The settings file {path} cannot be read: {reason}.") from error
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"The settings file {path} is not valid TOML: {error}.") from error
    return {
        key: (_checked(key, value, _place(path, text, key), path.parent), str(path)) for key, value in table.items()
    }


def _place(path: Path, text: str, key: str) -> str:
    """The file and, where the key is found again, its line."""
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(rf"\s*\[*[\"']?{re.escape(key)}\b", line):
            return f"{path}:{number}"
    return str(path)


def _from_env(env: Mapping[str, str]) -> dict[str, tuple[object, str]]:
    found: dict[str, tuple[object, str]] = {}
    for key in KEYS:
        name = PREFIX + key.upper()
        if env.get(name):
            found[key] = (_checked(key, _parsed(key, env[name]), name, Path()), name)
    return found


def _parsed(key: str, text: str) -> object:
    """The value that a variable's text stands for; text that stands for none is left for the check."""
    if key == "corpus_paths":
        return [part for part in text.split(os.pathsep) if part]
    if key == "keys":
        return dict(part.partition("=")[::2] for part in text.split())
    if key in _NUMBERS:
        return int(text) if text.isascii() and text.isdigit() else text
    return text if key in _CHOICES else _SWITCHES.get(text.lower(), text)


def _from_flags(flags: Mapping[str, object]) -> dict[str, tuple[object, str]]:
    return {
        key: (_checked(key, value, f"--{key.replace('_', '-')}", Path()), f"--{key.replace('_', '-')}")
        for key, value in flags.items()
    }


def _checked(key: str, value: object, place: str, base: Path) -> object:
    if key not in KEYS:
        raise SettingsError(f"{place}: unknown key `{key}`.{_nearest(key)}", f"Known keys: {', '.join(KEYS)}.")
    if key == "corpus_paths":
        return _paths(value, place, base)
    if key == "keys":
        return _keys(value, place)
    if key in _CHOICES:
        if value not in _CHOICES[key]:
            raise SettingsError(f"{place}: `{key}` is one of {', '.join(_CHOICES[key])}, not {value!r}.")
    elif key in _NUMBERS:
        most = _NUMBERS[key]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise SettingsError(f"{place}: `{key}` is a whole number from 0 to {most}, not {value!r}.")
    elif not isinstance(value, bool):
        raise SettingsError(f"{place}: `{key}` is true or false, not {value!r}.")
    return value


def _paths(value: object, place: str, base: Path) -> tuple[Path, ...]:
    """Directories as paths; relative ones in a settings file are meant from where it lies."""
    items = list(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, str | Path) for item in items):
        raise SettingsError(f"{place}: `corpus_paths` is a list of directories, not {value!r}.")
    return tuple(base / Path(cast("str | Path", item)).expanduser() for item in items)


def _keys(value: object, place: str) -> tuple[tuple[str, str], ...]:
    """Pairs of names and keys; which names there are is known to the screens."""
    if not isinstance(value, dict) or not all(isinstance(key, str) and key for key in value.values()):
        raise SettingsError(f'{place}: `keys` is a table of actions and keys, such as `help = "f12"`, not {value!r}.')
    return tuple(value.items())


def _nearest(key: str) -> str:
    import difflib

    close = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.5)
    return f" Did you mean `{close[0]}`?" if close else ""
