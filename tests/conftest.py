"""Cuts the tests off from the machine they run on: home, caches, terminal, clock zone, network.

Nothing here is needed to run a single test by hand; it makes that run mean the same everywhere.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# A busy machine is not a failing property. CI repeats the same examples on every run.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", parent=settings.get_profile("default"), derandomize=True, print_blob=True, database=None
)
settings.load_profile("ci" if os.environ.get("CI") else "default")

FIXED = {
    "NO_COLOR": "1",
    "TERM": "xterm",
    "COLUMNS": "100",
    "LINES": "40",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "PYTHONUTF8": "1",
    # No test leaves a process behind that computes for a minute; those of the building itself switch it on.
    "FIRSTFAULT_BACKGROUND_BUILD": "no",
    # What a test starts as a process of its own cannot install anything either.
    "PIP_NO_INDEX": "1",
}
REMOVED = ("FORCE_COLOR", "CLICOLOR_FORCE", "PYTHONPATH", "PYTHONHOME", "LANG", "LANGUAGE")
FOLDERS = {
    "HOME": "",
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_RUNTIME_DIR": ".run",
}

_homes: list[Path] = []


def pytest_configure() -> None:
    """Before anything is imported or collected, so that session fixtures are covered too."""
    home = Path(tempfile.mkdtemp(prefix="firstfault-tests-"))
    _homes.append(home)
    for name in [*REMOVED, *(n for n in os.environ if n.startswith("FIRSTFAULT_"))]:
        os.environ.pop(name, None)
    os.environ.update(FIXED)
    os.environ.update(_folders(home))
    time.tzset()


def pytest_unconfigure() -> None:
    """Leave nothing behind."""
    for home in _homes:
        shutil.rmtree(home, ignore_errors=True)


def _folders(home: Path) -> dict[str, str]:
    folders = {name: home / below for name, below in FOLDERS.items()}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    return {name: str(folder) for name, folder in folders.items()}


class NetworkBlockedError(RuntimeError):
    """A test tried to reach a network."""


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test opens a connection; local (Unix) sockets stay allowed."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != getattr(socket, "AF_UNIX", None):
            raise NetworkBlockedError(f"tests must not connect to {address!r}")
        connect(self, address)

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise NetworkBlockedError(f"tests must not look up {args[:2]!r}")

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


@pytest.fixture
def fresh_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home with empty caches; without it a run shares one among its tests."""
    home = tmp_path / "home"
    for name, folder in _folders(home).items():
        monkeypatch.setenv(name, folder)
    yield home


@pytest.fixture(scope="session")
def root() -> Path:
    """The project folder."""
    return ROOT
