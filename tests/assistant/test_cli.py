"""The verbs: what goes to stdout, what to stderr, and with which exit status they end."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from assistant import __version__
from assistant.cli.group import VERBS
from assistant.cli.main import cli
from assistant.verdict import Diagnosis

SEED = "tpu-ici-link-error"


def test_help_everywhere(firstfault: Callable[..., Any]) -> None:
    for words in ([], *([verb] for verb in VERBS)):
        for option in ("-h", "--help"):
            ended = firstfault(*words, option)
            assert ended.code == 0, words
            assert "sage:" in ended.out
            assert ended.err == ""


def test_help_names_every_verb_and_exit_status(firstfault: Callable[..., Any]) -> None:
    shown = firstfault("-h").out
    for verb in VERBS:
        assert re.search(rf"^  {verb} ", shown, re.M)
    for number in ("0", "2", "4", "5", "10", "11", "12", "70", "130"):
        assert re.search(rf"\b{number} \w", shown)
    assert "./show" in shown


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_a_command_with_help(verb: str) -> None:
    command = importlib.import_module(f"assistant.cli.{verb}").command
    assert isinstance(command, click.Command)
    assert command.name == verb
    assert command.help
    assert command.short_help == VERBS[verb]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{verb} {parameter.name} has no help"


def test_version(firstfault: Callable[..., Any]) -> None:
    assert firstfault("--version").out == f"firstfault {__version__}\n"


def test_version_is_that_of_the_project(root: Path) -> None:
    import tomllib

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == __version__


# ------------------------------------------------------------------------------------------- diagnose


@pytest.mark.parametrize("words", [("job.log",), ("diagnose", "job.log"), ("-q", "job.log"), ("./show",), ("-",)])
def test_a_first_word_that_is_no_verb_is_a_path(
    firstfault: Callable[..., Any], told: Callable[..., None], stories: dict[str, Diagnosis], words: tuple[str, ...]
) -> None:
    told(stories["xid-79"])
    ended = firstfault(*words)
    assert ended.code == 0
    assert ended.out.startswith("IDENTIFIED")
    assert ended.err == ""


def test_a_pipe_without_arguments_is_diagnosed(
    firstfault: Callable[..., Any], told: Callable[..., None], stories: dict[str, Diagnosis]
) -> None:
    told(stories["healthy"])
    assert firstfault().out.startswith("HEALTHY")


@pytest.mark.parametrize("words", [(), ("diagnose",)])
def test_a_terminal_without_input_gets_a_usage_sentence(
    firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    # Keys come from a terminal, but nobody looks at a screen: with one, `firstfault` alone opens the interface.
    for module in ("group", "diagnose"):
        monkeypatch.setattr(f"assistant.cli.{module}.is_terminal", lambda stream: stream is sys.stdin)
    ended = firstfault(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("firstfault: Nothing to read: name a log file or a directory, or pipe a log in")
    assert "-h` shows the usage." in ended.err


@pytest.mark.parametrize(
    ("story", "code"),
    [("xid-79", 10), ("symptom-only", 11), ("unexplained", 11), ("inconclusive", 11), ("healthy", 0)],
    indirect=False,
)
def test_exit_code_option(
    firstfault: Callable[..., Any],
    told: Callable[..., None],
    stories: dict[str, Diagnosis],
    story: str,
    code: int,
) -> None:
    told(stories[story])
    assert firstfault("--exit-code", "job.log").code == code
    told(stories[story])
    assert firstfault("job.log").code == (5 if story == "unexplained" else 0)


def test_formats(firstfault: Callable[..., Any], told: Callable[..., None], stories: dict[str, Diagnosis]) -> None:
    told(stories["unexplained"])
    ended = firstfault("job.log", "--format", "json")
    assert json.loads(ended.out)["schema"] == "firstfault.diagnosis/1"
    assert ended.err == (
        "firstfault: 1 of 2 sources could not be read whole: run/rank_3.log.gz (truncated after line 41). "
        "What could be read is diagnosed.\n"
    )
    # The reason for exit status 5 stands beside it, whatever the form.
    assert firstfault("job.log").err == ended.err
    assert firstfault("job.log", "--format", "json", "--quiet").err == ""
    assert firstfault("job.log", "--format", "markdown").out.startswith("# Post-mortem")


def test_context_and_settings(
    firstfault: Callable[..., Any],
    told: Callable[..., None],
    stories: dict[str, Diagnosis],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told(stories["xid-79"])
    assert "> 812  line 812 of dmesg-node-b.log" in firstfault("job.log", "--context", "1").out
    assert "line 811 of" not in firstfault("job.log").out
    monkeypatch.setenv("FIRSTFAULT_CONTEXT", "3")
    monkeypatch.setenv("FIRSTFAULT_WIDTH", "60")
    shown = firstfault("job.log").out
    assert "line 809 of" in shown
    assert max(map(len, shown.splitlines())) < 100


def test_colour_only_where_it_is_wanted(
    firstfault: Callable[..., Any], told: Callable[..., None], stories: dict[str, Diagnosis]
) -> None:
    told(stories["xid-79"])
    assert "\x1b[" not in firstfault("job.log").out
    assert "\x1b[" in firstfault("job.log", "--color", "always").out


def test_click_runner_sees_the_same(told: Callable[..., None], stories: dict[str, Diagnosis]) -> None:
    told(stories["xid-79"])
    result = CliRunner().invoke(cli, ["job.log", "--exit-code"])
    assert result.exit_code == 10
    assert result.stdout.startswith("IDENTIFIED")


def test_progress_is_told_per_source() -> None:
    from assistant.cli.diagnose import by_source
    from assistant.console import NoProgress

    calls: list[tuple[str, Any]] = []

    class Recorder(NoProgress):
        def start(self, what: str, total: int | None = None) -> None:
            calls.append((what, total))

        def update(self, done: int) -> None:
            calls.append(("", done))

    report = by_source(Recorder())
    report("a", 1, 10)
    report("a", 5, 10)
    report("b", 2, None)
    assert calls == [("a", 10), ("", 1), ("", 5), ("b", None), ("", 2)]


# ------------------------------------------------------------------------------------------- show, related, list


def test_show(firstfault: Callable[..., Any]) -> None:
    shown = firstfault("show", SEED).out
    order = [shown.index(f"\n{label}") for label in ("SUMMARY", "MECHANISM", "CONFIRM", "FIX", "FAQ", "SIGNATURES")]
    assert order == sorted(order)
    assert "link state DOWN" in shown


def test_show_a_section(firstfault: Callable[..., Any]) -> None:
    shown = firstfault("show", SEED, "--section", "confirm", "-s", "fix").out
    assert shown.startswith("CONFIRM")
    assert "\nFIX" in shown
    assert "MECHANISM" not in shown


def test_show_an_empty_section_says_so(firstfault: Callable[..., Any]) -> None:
    assert "the entry says nothing about this" in firstfault("show", SEED, "-s", "narrows").out


def test_show_json(firstfault: Callable[..., Any]) -> None:
    body = json.loads(firstfault("show", SEED, "--format", "json").out)
    assert body["id"] == SEED
    assert body["signature"]


def test_every_entry_can_be_shown(firstfault: Callable[..., Any]) -> None:
    from assistant.cli.common import load_catalogue
    from assistant.reports import entry
    from assistant.settings import Settings

    catalogue = load_catalogue(Settings())
    sections = ("", *entry._SECTIONS)
    for key in catalogue.heads:
        body = catalogue.body(key)
        family = catalogue.family(body["family"])
        for section in sections:
            wanted = (section,) if section else ()
            shown = entry.render(body, family, catalogue, sections=wanted, width=80)
            assert shown.strip()
            assert "\x1b" not in shown


def test_related(firstfault: Callable[..., Any]) -> None:
    shown = firstfault("related", SEED).out
    assert shown.splitlines()[0].startswith(SEED)
    assert "├─ causes" in shown
    assert "gpu-memory-clock-throttle" in shown
    assert "└─ confused with" in shown


def test_related_shows_both_sides(firstfault: Callable[..., Any]) -> None:
    causes = re.findall(r"─ ([a-z0-9-]+)  ", firstfault("related", SEED).out.split("related")[0])
    if causes:
        back = firstfault("related", causes[0]).out
        assert "caused by" in back
        assert SEED in back


def test_list(firstfault: Callable[..., Any]) -> None:
    rows = firstfault("list").out.splitlines()
    assert len(rows) >= 45
    assert any(row.startswith(SEED) for row in rows)
    filtered = firstfault("list", "--family", "interconnect", "--kind", "failure", "--status", "verified").out
    assert SEED in filtered
    assert all("  interconnect  " in row for row in filtered.splitlines())


def test_list_without_matches(firstfault: Callable[..., Any]) -> None:
    ended = firstfault("list", "--family", "interconnect", "--kind", "wrapper", "--status", "retired")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "firstfault: no entry is like that.\n"


# ------------------------------------------------------------------------------------------- corpus, doctor, completion


def test_corpus_passes_everything_on(firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr("corpus.authoring.cli.main", lambda words: seen.append(words) or 1)
    assert firstfault("corpus", "lint", "--help", "-x", "--corpus", "d").code == 1
    assert seen == [["lint", "--help", "-x", "--corpus", "d"]]


def test_doctor_finds_a_sound_installation(firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_FORMT", "json")
    ended = firstfault("doctor")
    assert ended.code == 0, ended.out
    for label in ("firstfault", "python", "hyperscan", "corpus", "digest", "scanner", "settings", "cache", "terminal"):
        assert re.search(rf"^{label} ", ended.out, re.M), label
    assert "FIRSTFAULT_FORMT means nothing to firstfault" in ended.out


def test_doctor_names_a_broken_corpus(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    ended = firstfault("doctor", "--corpus", str(tmp_path))
    assert ended.code == 4
    assert "PROBLEM" in ended.out


@pytest.mark.parametrize(("typed", "expected"), [("", "plain,diagnose"), ("sh", "plain,show"), ("jo", "file,jo")])
def test_completion_offers_verbs_and_files(
    firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, typed: str, expected: str
) -> None:
    monkeypatch.setenv("_FIRSTFAULT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"firstfault {typed}")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert expected in firstfault().out


def test_completion_offers_ids(firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_FIRSTFAULT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "firstfault show tpu-ici-link-e")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert f"plain,{SEED}" in firstfault().out


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("words", [("related", SEED), ("show", SEED)])
def test_rows_fit_the_width(
    firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], width: int
) -> None:
    monkeypatch.setenv("FIRSTFAULT_WIDTH", str(width))
    rows = [row for row in firstfault(*words).out.splitlines() if "$ " not in row]
    unbroken = [row for row in rows if len(row) > width and len(max(row.split(), key=len)) < width - 16]
    assert unbroken == []
