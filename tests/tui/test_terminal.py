"""The real program in a real terminal: tmux types, looks at the screen, and reads what is left when it ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.driver import INCIDENT

pytestmark = [
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
    pytest.mark.slow,
]
COMMAND = f"'{sys.executable}' -m assistant"


class Terminal:
    """A tmux of its own with one shell in it."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", os.devnull]
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(root)}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):  # the terminal tells its size itself
            environment.pop(name, None)
        environment["FIRSTFAULT_CACHE_DIR"] = str(folder / "cache")
        self.run("new-session", "-d", "-x", "120", "-y", "40", "sh", env=environment)
        self.run("set-option", "-g", "history-limit", "5000")

    def run(self, *words: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, env=env, check=True)
        return done.stdout

    def type(self, text: str) -> None:
        self.run("send-keys", "-l", text)

    def keys(self, *names: str) -> None:
        self.run("send-keys", *names)

    def paste(self, text: str) -> None:
        """As a terminal does it: bracketed."""
        self.run("set-buffer", text)
        self.run("paste-buffer", "-p", "-d")

    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def scrollback(self) -> str:
        return self.run("capture-pane", "-p", "-S", "-")

    def wait(self, *texts: str, seconds: float = 60.0) -> str:
        end = time.monotonic() + seconds
        while True:
            shown = self.screen()
            if all(text in shown for text in texts):
                return shown
            assert time.monotonic() < end, f"waited in vain for {texts}; the screen is\n{shown}"
            time.sleep(0.05)


@pytest.fixture
def terminal(tmp_path: Path, root: Path) -> Iterator[Terminal]:
    found = Terminal(tmp_path, root)
    # In two pieces, so that the line that is typed does not look like the prompt.
    found.type("PS1='REA''DY> '")
    found.keys("Enter")
    found.wait("READY>")
    yield found
    found.run("kill-server")


def test_demo_three_questions_a_tick_a_walk_and_the_verdict_stays(terminal: Terminal) -> None:
    terminal.type(COMMAND)
    terminal.keys("Enter")
    terminal.wait("Incidents to try", "xid79-node-b")
    terminal.keys("Enter")
    terminal.wait("IDENTIFIED", "F3 Conversation", "How do I confirm it?")
    for question, answer in (
        ("How do I confirm it?", "lspci"),
        ("Which rank was it?", "ank 5"),
        ("How do I fix it?", "rain"),
    ):
        terminal.type(question)
        terminal.keys("Enter")
        terminal.wait(f"> {question}", answer)
    terminal.type("/checks")
    terminal.keys("Enter")
    terminal.wait("[ ] 1.", "Tick")
    terminal.keys("Space")
    terminal.wait("[x] 1.")
    terminal.keys("F3")
    terminal.wait("┏━ F3")
    terminal.type("/related")
    terminal.keys("Enter")
    terminal.wait("brings about")
    terminal.keys("Enter")
    terminal.wait("Backspace walks back")
    terminal.keys("F1")
    terminal.wait("The graph around an entry")
    terminal.keys("C-q")
    terminal.wait("MORE  ", "READY>")
    left = terminal.scrollback()
    assert "INITIATING   rank 5 on node-b" in left
    assert "F3 Conversation" not in left


def test_a_pipe_leaves_the_keys_to_the_terminal(terminal: Terminal) -> None:
    terminal.type(f"cat '{INCIDENT}/dmesg-node-b.log' | {COMMAND} -i")
    terminal.keys("Enter")
    terminal.wait("the pipe", "F3 Conversation")
    terminal.paste("3b:00.0 3D controller: NVIDIA Corporation (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n")
    terminal.wait("confirms")
    terminal.type("/checks")
    terminal.keys("Enter")
    terminal.wait("[x] 1.")
    terminal.keys("C-q")
    terminal.wait("MORE  ", "READY>")
    assert "GPU fell off the PCIe bus" in terminal.scrollback()


def test_a_log_on_the_command_line_in_a_narrow_terminal(terminal: Terminal) -> None:
    terminal.run("resize-window", "-x", "44", "-y", "20")
    terminal.type(f"{COMMAND} -i '{INCIDENT}'")
    terminal.keys("Enter")
    terminal.wait("F2 Findings", "GPU fell off")
    terminal.run("resize-window", "-x", "130", "-y", "40")
    terminal.wait("F4 Entry", "Overview", "DOWNSTREAM")
    terminal.keys("C-q")
    terminal.wait("MORE  ", "READY>")
