"""A job as a child process: two pipes passed on as they come, signals forwarded, status kept."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assistant.jobs.keeping import KeptOutput
from corpus.errors import FirstfaultError

KEPT_RUNS: Final = 8
CHUNK: Final = 1 << 16
LINGER_S: Final = 2.0
"""How long output is waited for after the job ended; a daemon it left may hold the pipe for ever."""
NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
_FORWARDED: Final = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
_OF_TERMINAL: Final = frozenset({"SIGINT", "SIGQUIT"})


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended."""

    status: int
    """As a shell has it: 128 + N after signal N."""
    left_out: int = 0
    error: str = ""
    """Why it could not be started."""


def run_job(words: Sequence[str], log: Path) -> JobOutcome:
    """Run a command, pass its output on, and keep it in `log`; raises FirstfaultError where that cannot be written."""
    # Unbuffered, or the last lines of a Python job die with it and stdout falls behind stderr.
    env = {"PYTHONUNBUFFERED": "1", **os.environ}
    try:
        kept = KeptOutput(log)
    except OSError as error:
        what = f"The job was not started, because its output cannot be kept in {log}: {error.strerror}."
        raise FirstfaultError(what, "Name a file you can write with --log.") from error
    try:
        job = subprocess.Popen(list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=env)
    except OSError as error:
        kept.close()
        status = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        return JobOutcome(status, error=f"`{words[0]}` cannot be started: {error.strerror}.")
    with _forwarding(job):
        _pass_on(job, kept)
        code = job.wait()
    kept.close()
    return JobOutcome(code if code >= 0 else 128 - code, kept.left_out)


def _pass_on(job: subprocess.Popen[bytes], kept: KeptOutput) -> None:
    assert job.stdout is not None
    assert job.stderr is not None
    # Each pipe with the descriptor it goes on to; None once its reader left, the job runs on all the same.
    onward: dict[int, int | None] = {
        job.stdout.fileno(): _descriptor(sys.stdout),
        job.stderr.fileno(): _descriptor(sys.stderr),
    }
    ended_at = 0.0
    with selectors.DefaultSelector() as pipes:
        for pipe in onward:
            pipes.register(pipe, selectors.EVENT_READ)
        while pipes.get_map():
            ready = pipes.select(0.2)
            for key, _ in ready:
                data = os.read(key.fd, CHUNK)
                if not data:
                    pipes.unregister(key.fd)
                    continue
                kept.write(data)
                onward[key.fd] = _write(onward[key.fd], data)
            if not ready and job.poll() is not None:
                ended_at = ended_at or time.monotonic()
                if time.monotonic() - ended_at > LINGER_S:
                    break


def _descriptor(stream: object) -> int | None:
    try:
        stream.flush()  # type: ignore[attr-defined]
        return int(stream.fileno())  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return None


def _write(descriptor: int | None, data: bytes) -> int | None:
    if descriptor is None:
        return None
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except BlockingIOError:
        return descriptor
    except OSError:
        return None
    return descriptor


@contextlib.contextmanager
def _forwarding(job: subprocess.Popen[bytes]) -> Iterator[None]:
    """While the job runs, signals to us are its signals."""
    at_terminal = _is_foreground()

    def forward(number: int, _frame: object) -> None:
        # The terminal gives Ctrl-C to the whole foreground group: the job has it already.
        if at_terminal and signal.Signals(number).name in _OF_TERMINAL:
            return
        with contextlib.suppress(ProcessLookupError):
            job.send_signal(number)

    previous = {}
    for name in _FORWARDED:
        if hasattr(signal, name):
            number = getattr(signal, name)
            with contextlib.suppress(ValueError, OSError):  # not in the main thread
                previous[number] = signal.signal(number, forward)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _is_foreground() -> bool:
    with contextlib.suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        finally:
            os.close(terminal)
    return False


def prune(folder: Path, keep: int = KEPT_RUNS) -> None:
    """Remove the logs of all runs but the last few."""
    logs = sorted(folder.glob("run-*.log"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in logs[keep - 1 :]:
        old.unlink(missing_ok=True)
