"""Settings: file, then variables, then flags; errors that name place, key and nearest key."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from assistant.settings import (
    KEYS,
    Settings,
    SettingsError,
    cache_dir,
    config_file,
    load_settings,
    unknown_variables,
)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Variables that name a settings file which is not there yet."""
    return {"FIRSTFAULT_CONFIG": str(tmp_path / "config.toml")}


def write(env: dict[str, str], text: str) -> Path:
    path = Path(env["FIRSTFAULT_CONFIG"])
    path.write_text(text, encoding="utf-8")
    return path


def test_without_anything_the_defaults_hold(env: dict[str, str]) -> None:
    assert load_settings(env=env) == Settings()


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().context = 3  # type: ignore[misc]


def test_later_sources_win_key_by_key(env: dict[str, str]) -> None:
    path = write(env, 'format = "json"\ncontext = 2\nquiet = true\n')
    env["FIRSTFAULT_CONTEXT"] = "5"
    settings = load_settings({"context": 9, "format": None}, env)
    assert (settings.format, settings.context, settings.quiet) == ("json", 9, True)
    assert settings.origin == {"format": str(path), "context": "--context", "quiet": str(path)}


def test_directories_of_a_file_are_meant_from_where_it_lies(env: dict[str, str], tmp_path: Path) -> None:
    write(env, 'corpus_paths = ["own", "/srv/entries"]\n')
    assert load_settings(env=env).corpus_paths == (tmp_path / "own", Path("/srv/entries"))


def test_directories_of_a_variable(env: dict[str, str]) -> None:
    env["FIRSTFAULT_CORPUS_PATHS"] = os.pathsep.join(["a", "b"])
    assert load_settings(env=env).corpus_paths == (Path("a"), Path("b"))


@pytest.mark.parametrize("text", ["1", "true", "YES", "on"])
def test_switches_of_a_variable(env: dict[str, str], text: str) -> None:
    assert load_settings(env={**env, "FIRSTFAULT_EXIT_CODE": text}).exit_code is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('# mine\nformt = "json"\n', r"config\.toml:2: unknown key `formt`\. Did you mean `format`\?"),
        ("zebra = 1\n", r"unknown key `zebra`\. Known keys: format, context"),
        ('format = "yaml"\n', r"config\.toml:1: `format` is one of text, json, markdown, not 'yaml'"),
        ("context = -1\n", r"`context` is a whole number from 0 to 1000, not -1"),
        ("context = true\n", r"`context` is a whole number"),
        ('quiet = "maybe"\n', r"`quiet` is true or false, not 'maybe'"),
        ("corpus_paths = [1]\n", r"`corpus_paths` is a list of directories"),
        ("format = \n", r"config\.toml is not valid TOML"),
    ],
)
def test_errors_name_place_and_key(env: dict[str, str], text: str, message: str) -> None:
    write(env, text)
    with pytest.raises(SettingsError, match=message):
        load_settings(env=env)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("FIRSTFAULT_CONTEXT", "three", r"FIRSTFAULT_CONTEXT: `context` is a whole number from 0 to 1000, not 'three'"),
        ("FIRSTFAULT_FORMAT", "yaml", r"FIRSTFAULT_FORMAT: `format` is one of"),
        ("FIRSTFAULT_QUIET", "perhaps", r"FIRSTFAULT_QUIET: `quiet` is true or false"),
    ],
)
def test_errors_of_variables_name_them(env: dict[str, str], name: str, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_settings(env={**env, name: text})


def test_an_unreadable_file_is_a_sentence(env: dict[str, str]) -> None:
    Path(env["FIRSTFAULT_CONFIG"]).write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match=r"cannot be read: it is not UTF-8 text"):
        load_settings(env=env)
    directory = {"FIRSTFAULT_CONFIG": str(Path(env["FIRSTFAULT_CONFIG"]).parent)}
    with pytest.raises(SettingsError, match=r"cannot be read: Is a directory"):
        load_settings(env=directory)


def test_places_follow_the_system(fresh_home: Path) -> None:
    assert config_file({}) == fresh_home / ".config" / "firstfault" / "config.toml"
    assert cache_dir({}) == fresh_home / ".cache" / "firstfault"
    assert cache_dir({"FIRSTFAULT_CACHE_DIR": "/x"}) == Path("/x")


def test_misspelled_variables_are_found() -> None:
    env = {"FIRSTFAULT_FORMT": "json", "FIRSTFAULT_FORMAT": "json", "FIRSTFAULT_DEBUG": "1", "PATH": ""}
    assert unknown_variables(env) == ["FIRSTFAULT_FORMT"]


def test_every_setting_is_documented() -> None:
    import ast

    import assistant.settings

    tree = ast.parse(Path(assistant.settings.__file__).read_text(encoding="utf-8"))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings")
    fields = [node for node in body if isinstance(node, ast.AnnAssign)]
    documented = [node for node in body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    assert len(documented) == len(fields) + 1
    assert len(fields) == len(KEYS) + 1
