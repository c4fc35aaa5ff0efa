"""Streams, exit codes, escaping, progress."""

from __future__ import annotations

import errno
import io
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.console import (
    DEFAULT_WIDTH,
    MIN_WIDTH,
    Console,
    ExitCode,
    NoProgress,
    OutputError,
    PlainProgress,
    TtyProgress,
    describe,
    escape,
    exit_code,
    size,
)
from assistant.verdict import VerdictStatus


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Full(io.StringIO):
    """A stream without room."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


class Time:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_exit_codes_are_an_interface() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0,
        "USAGE": 2,
        "CORPUS": 4,
        "PARTIAL": 5,
        "FAULT": 10,
        "UNDECIDED": 11,
        "DEGRADED": 12,
        "INTERNAL": 70,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize("status", get_args(VerdictStatus))
def test_without_the_option_a_verdict_is_a_success(status: str) -> None:
    assert exit_code(status, by_status=False, partial=False) == 0


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("healthy", 0),
        ("identified", 10),
        ("classified", 10),
        ("symptom-only", 11),
        ("unexplained", 11),
        ("inconclusive", 11),
        ("degraded", 12),
    ],
)
def test_with_the_option_the_status_decides(status: str, code: int) -> None:
    assert exit_code(status, by_status=True, partial=False) == code


def test_missing_input_spoils_only_a_success() -> None:
    assert exit_code("identified", by_status=False, partial=True) == 5
    assert exit_code("healthy", by_status=True, partial=True) == 5
    assert exit_code("identified", by_status=True, partial=True) == 10


def test_result_and_talk_go_to_their_streams() -> None:
    out, err = io.StringIO(), io.StringIO()
    console = Console(out, err, {})
    console.result("verdict")
    console.say("talk")
    assert out.getvalue() == "verdict\n"
    assert err.getvalue() == "firstfault: talk\n"


def test_a_narrow_encoding_loses_nothing() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Console(stream, io.StringIO(), {}).result("a … ü")
    assert raw.getvalue() == b"a \\u2026 \\xfc\n"


def test_a_full_disk_is_a_sentence() -> None:
    with pytest.raises(OutputError, match="No space left on device"):
        Console(Full(), io.StringIO(), {}).result("x")


@pytest.mark.parametrize(
    ("stream", "env", "wanted", "expected"),
    [
        (Screen(), {}, "auto", True),
        (Screen(), {"NO_COLOR": "1"}, "auto", False),
        (Screen(), {"TERM": "dumb"}, "auto", False),
        (Screen(), {}, "never", False),
        (io.StringIO(), {}, "auto", False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, "auto", True),
        (io.StringIO(), {"NO_COLOR": "1"}, "always", True),
    ],
)
def test_colour(stream: io.StringIO, env: dict[str, str], wanted: str, expected: bool) -> None:
    assert Console(stream, io.StringIO(), env).colour(wanted) is expected


def test_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    assert Console(Screen(), io.StringIO(), {"COLUMNS": "30"}).width() == MIN_WIDTH
    assert Console(io.StringIO(), io.StringIO(), {}).width() == DEFAULT_WIDTH
    assert Console(io.StringIO(), io.StringIO(), {}).width(140) == 140


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("bell\x07 nul\x00 del\x7f csi\x9b", "bell\\x07 nul\\x00 del\\x7f csi\\x9b"),
        ("a\rb\nc", "a\\x0db\\x0ac"),
        ("tab\there", "tab    here"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("größe 大", "größe 大"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
    ],
)
def test_escape(text: str, shown: str) -> None:
    assert escape(text) == shown


@given(st.text())
def test_escaped_text_never_controls_a_terminal(text: str) -> None:
    shown = escape(text)
    assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in shown)
    assert escape(shown) == shown


def test_short_work_shows_no_progress() -> None:
    clock, screen = Time(), Screen()
    progress = TtyProgress(screen, clock)
    progress.start("job.log", 1000)
    clock.now = 0.29
    progress.update(900)
    progress.finish()
    assert screen.getvalue() == ""


def test_long_work_draws_and_wipes() -> None:
    clock, screen = Time(), Screen()
    progress = TtyProgress(screen, clock)
    progress.start("job.log", 1024 * 1024)
    for step in range(1, 6):
        clock.now = 0.2 * step
        progress.update(step * 1024 * 100)
    progress.finish()
    drawn = screen.getvalue().split("\r\x1b[2K")
    assert drawn[1].startswith("job.log 200.0 KiB of 1.0 MiB (20%)")
    assert drawn[-1] == ""
    progress.finish()
    assert len(screen.getvalue().split("\r")) == len(drawn)


def test_plain_progress_is_rare() -> None:
    clock, stream = Time(), io.StringIO()
    progress = PlainProgress(stream, clock)
    progress.start("logs")
    for step in range(100):
        clock.now = step / 10
        progress.update(step)
    progress.finish()
    assert 1 <= len(stream.getvalue().splitlines()) <= 3


def test_progress_renderer_fits_the_stream() -> None:
    assert isinstance(Console(Screen(), Screen(), {}).progress(), TtyProgress)
    assert isinstance(Console(Screen(), io.StringIO(), {}).progress(), PlainProgress)
    assert isinstance(Console(Screen(), Screen(), {"TERM": "dumb"}).progress(), PlainProgress)
    assert isinstance(Console(Screen(), Screen(), {}).progress("none"), NoProgress)


def test_progress_text() -> None:
    assert describe("a\x1b", 0, None, 0) == "a\\x1b 0 bytes"
    assert describe("a", 1024, 4096, 2.0) == "a 1.0 KiB of 4.0 KiB (25%), 512 bytes/s, 6 s left"
    assert describe("a", 1024, 4096, 2.0, "passages") == "a 1,024 of 4,096 passages (25%), 512/s, 6 s left"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 * 2**40, "5.0 TiB")]
)
def test_size(count: int, text: str) -> None:
    assert size(count) == text


def test_a_number_agrees_with_its_noun() -> None:
    from assistant.console import counted

    assert counted(1, "over-long line was", "over-long lines were") == "1 over-long line was"
    assert counted(1200, "rank waits", "ranks wait") == "1,200 ranks wait"
    assert counted(0, "file", "files") == "0 files"
