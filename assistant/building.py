"""Building the index in a process of its own, so that no question waits for it.

A build takes a minute or more; a person who asks does not have that minute. The
first question that finds no index starts the build detached and at the lowest
priority, and is answered by words; the next one finds the index. One build runs
at a time: the builder holds a lock beside the index and writes into that file
how far it is. The system frees the lock of a builder that was killed, and the
vectors it had computed are kept, so the next question goes on from there. A
build that failed is not tried again for the same corpus until a person types
`firstfault index build`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PERIOD: Final = 0.5
"""Seconds between two notes of how far a build is, and between two looks at them."""
STARTING: Final = 10.0
"""Seconds that a builder may need to take the lock: it starts Python and reads the corpus."""


_started: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True, slots=True)
class Running:
    """A build that is going on."""

    pid: int
    done: int
    total: int
    """0 as long as the builder has not counted the passages."""


def lock_file(folder: Path) -> Path:
    """The lock of the index in `folder`; it holds how far the build is."""
    return folder.with_name(f"{folder.name}.lock")


def failure_file(folder: Path) -> Path:
    """Why the last build in the background came to nothing."""
    return folder.with_name(f"{folder.name}.failed")


def running(folder: Path) -> Running | None:
    """The build of the index in `folder` that is going on; None where there is none."""
    for builder in _started:
        builder.poll()
    try:
        with lock_file(folder).open(encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read(file.read())
    except OSError:
        pass
    return None


def _read(text: str) -> Running:
    try:
        pid, done, total = (int(part) for part in text.split())
    except ValueError:  # being written
        return Running(0, 0, 0)
    return Running(pid, done, total)


class Busy(Exception):
    """Another process builds this index."""


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[Callable[[int, int], None]]:
    """Hold the lock of an index while it is built; gives what notes how far the build is.

    Raises Busy when another process holds it. Where no lock can be made the
    build goes on without: two of them waste time, and harm nothing.
    """
    try:
        lock_file(folder).parent.mkdir(parents=True, exist_ok=True)
        file = lock_file(folder).open("a+", encoding="utf-8")
    except OSError:
        yield lambda _done, _total: None
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy from error
        except OSError:  # a file system without locks
            yield lambda _done, _total: None
            return
        noted = -PERIOD

        def note(done: int, total: int) -> None:
            nonlocal noted
            if done < total and time.monotonic() - noted < PERIOD:
                return
            noted = time.monotonic()
            with contextlib.suppress(OSError):
                file.truncate(0)
                file.write(f"{os.getpid()} {done} {total}\n")
                file.flush()

        note(0, 0)
        noted = -PERIOD
        yield note


def wait(folder: Path, progress: Callable[[int, int], None], seconds: float = STARTING) -> None:
    """Wait until no build is going on, telling how far it is; an exception out of `progress` ends the waiting.

    One that this process has started is waited for until it ends, another one that was just started is given some
    seconds to take the lock.
    """
    end = time.monotonic() + seconds
    seen = False
    while True:
        found = running(folder)
        is_own = any(builder.poll() is None for builder in _started)
        if found is None and not is_own and (seen or time.monotonic() > end or failure_file(folder).exists()):
            return
        if found is not None:
            seen = True
        progress(*((found.done, found.total) if found is not None else (0, 0)))
        time.sleep(PERIOD / 5)


def failure(folder: Path, corpus: str) -> str:
    """Why the index of this corpus digest could not be built in the background; empty when nothing failed."""
    try:
        found = json.loads(failure_file(folder).read_text(encoding="utf-8"))
        return str(found["reason"]) if found["corpus"] == corpus else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def note_failure(folder: Path, corpus: str, reason: str) -> None:
    """Keep why a build failed; where nothing can be written nothing is kept."""
    with contextlib.suppress(OSError):
        failure_file(folder).write_text(json.dumps({"corpus": corpus, "reason": reason}), encoding="utf-8")


def forget_failure(folder: Path) -> None:
    """A person asked for a build, or one came to its end."""
    with contextlib.suppress(OSError):
        failure_file(folder).unlink(missing_ok=True)


def can_start(folder: Path) -> bool:
    """Whether the place of the index can be written, so that a build in another process is of use."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder.parent, os.W_OK | os.X_OK)


def start(folder: Path, overlays: Sequence[Path] = ()) -> bool:
    """Start `index build` detached, at the lowest priority, for the index in `folder`; whether that worked.

    It outlives this process and its terminal, and prints nothing.
    """
    if not can_start(folder):
        return False
    # Not installed but run from its folder, the package is found there again.
    root = str(Path(__file__).resolve().parent.parent)
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part),
        "FIRSTFAULT_CACHE_DIR": str(folder.parent.absolute()),
        "FIRSTFAULT_CORPUS_PATHS": os.pathsep.join(str(path.absolute()) for path in overlays),
    }
    isolated = ["-I"] if sys.flags.isolated else []
    try:
        builder = subprocess.Popen(
            [sys.executable, *isolated, "-m", "assistant", "index", "build", "--low-priority"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=variables, cwd=folder.parent, start_new_session=True,
        )  # fmt: skip
    except OSError:
        return False
    _started.append(builder)  # so that its end is noticed, and nothing complains that it goes on
    return True
