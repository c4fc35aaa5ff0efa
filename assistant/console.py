"""Where the program speaks: results on stdout, talk on stderr, exit codes, progress.

Nothing else in the packages writes to a stream. Importing this module costs
nothing beyond the standard library.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Final, Protocol, TextIO

from corpus.errors import FirstfaultError

DEFAULT_WIDTH: Final = 100
"""Columns of a text report that does not go to a terminal."""
MIN_WIDTH: Final = 40
MAX_WIDTH: Final = 160
"""Longer rows of prose are hard to read."""


class ExitCode(IntEnum):
    """What the exit status says; an interface for scripts, so no number is ever reused."""

    DONE = 0
    """The result was given (with --exit-code: and the verdict is healthy)."""
    USAGE = 2
    """Wrong usage, nothing readable was named, or the result could not be written."""
    CORPUS = 4
    """The corpus or the index is broken."""
    PARTIAL = 5
    """The result was given, but some input was unreadable or truncated."""
    FAULT = 10
    """With --exit-code: a first fault was identified or classified."""
    UNDECIDED = 11
    """With --exit-code: symptom-only, unexplained or inconclusive."""
    DEGRADED = 12
    """With --exit-code: the run lives or finished, but a fault slows it."""
    INTERNAL = 70
    """A defect of firstfault; the report file is named on stderr."""
    INTERRUPTED = 130
    """Ctrl-C."""


_OF_STATUS: Final[Mapping[str, ExitCode]] = {
    "healthy": ExitCode.DONE,
    "identified": ExitCode.FAULT,
    "classified": ExitCode.FAULT,
    "symptom-only": ExitCode.UNDECIDED,
    "unexplained": ExitCode.UNDECIDED,
    "inconclusive": ExitCode.UNDECIDED,
    "degraded": ExitCode.DEGRADED,
}


def exit_code(status: str, *, by_status: bool, partial: bool) -> ExitCode:
    """The exit status of a diagnosis.

    A fault that was found stands whatever else could not be read; but where
    some input is missing, `healthy` is not proven, and the code says so.
    """
    code = _OF_STATUS[status] if by_status else ExitCode.DONE
    return ExitCode.PARTIAL if partial and code is ExitCode.DONE else code


class OutputError(FirstfaultError):
    """The result could not be written."""

    exit_code = ExitCode.USAGE


class Console:
    """The two streams of one run of the program."""

    def __init__(
        self, stdout: TextIO | None = None, stderr: TextIO | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        # Either is None where the caller closed it.
        self.stdout: TextIO | None = stdout or sys.stdout
        self.stderr: TextIO | None = stderr or sys.stderr
        self._env = os.environ if env is None else env

    def result(self, text: str) -> None:
        """Write a result; characters that the terminal's encoding lacks are written as escapes."""
        self.pieces([text if text.endswith("\n") else text + "\n"])

    def pieces(self, texts: Iterable[str]) -> None:
        """Write a result that comes piece by piece."""
        if self.stdout is None:
            raise OutputError("The result could not be written: stdout is closed.", "Redirect it to a file or a pipe.")
        try:
            for text in texts:
                _write(self.stdout, text)
            self.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            message = f"The result could not be written: {error.strerror}."
            raise OutputError(message, "Free some space and try again.") from error

    def say(self, text: str) -> None:
        """Tell a person something that is not part of the result; nobody to tell it to is no error."""
        if self.stderr is None:
            return
        with contextlib.suppress(OSError):
            _write(self.stderr, f"firstfault: {text}\n")
            self.stderr.flush()

    def width(self, wanted: int | None = None) -> int:
        """Columns for prose: as asked, as the terminal has, or the default for files and pipes."""
        if wanted:
            return max(MIN_WIDTH, wanted)
        if not is_terminal(self.stdout) and not self._env.get("COLUMNS"):
            return DEFAULT_WIDTH
        columns = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
        return max(MIN_WIDTH, min(columns, MAX_WIDTH))

    def colour(self, wanted: str = "auto") -> bool:
        """Whether the result may be coloured: as asked, else by NO_COLOR, TERM and the terminal."""
        if wanted != "auto":
            return wanted == "always"
        if self._env.get("NO_COLOR") or self._env.get("TERM") == "dumb":
            return False
        return bool(self._env.get("FORCE_COLOR")) or is_terminal(self.stdout)

    def progress(self, wanted: str = "auto") -> Progress:
        """The progress renderer: `none`, `plain` or `tty`; `auto` looks at stderr."""
        if wanted == "auto":
            wanted = "tty" if is_terminal(self.stderr) and self._env.get("TERM") != "dumb" else "plain"
        if wanted == "none" or self.stderr is None:
            return NoProgress()
        return TtyProgress(self.stderr) if wanted == "tty" else PlainProgress(self.stderr)


def is_terminal(stream: object) -> bool:
    """Whether a stream is a terminal; a closed or replaced stream is none."""
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError, OSError):
        return False


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


# ------------------------------------------------------------------------------------------- escaping


def _control_table() -> dict[int, str]:
    controls = [*range(0x20), *range(0x7F, 0xA0)]
    invisible = [0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    table = {code: f"\\x{code:02x}" for code in controls}
    table |= {code: f"\\u{code:04x}" for code in invisible}
    table |= {code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)}
    table[ord("\t")] = "    "
    return table


_CONTROLS: Final = _control_table()


def escape(text: str) -> str:
    """Log text for a terminal: control bytes and direction marks shown, never obeyed."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_CONTROLS)


# ------------------------------------------------------------------------------------------- progress


class Progress(Protocol):
    """What long work tells about itself; all calls are cheap and may come very often."""

    def start(self, what: str, total: int | None = None, unit: str = "") -> None:
        """Begin a piece of work of `total` bytes (or of another unit), if the amount is known."""

    def update(self, done: int) -> None:
        """So much is done, counted from the start of this piece."""

    def finish(self) -> None:
        """The work is over; nothing of the display stays behind on a terminal."""


class NoProgress:
    """Says nothing: for `--quiet`, libraries and tests."""

    def start(self, what: str, total: int | None = None, unit: str = "") -> None:
        """Ignore it."""

    def update(self, done: int) -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""


class _Timed:
    """Draws at most once a period, and not at all for work that is over at once."""

    delay = 0.3
    period = 0.1

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self._clock = clock
        self._started = 0.0
        self._next: float | None = None
        self._what = ""
        self._total: int | None = None
        self._unit = ""

    def start(self, what: str, total: int | None = None, unit: str = "") -> None:
        """Begin a piece of work; the delay runs from the first piece."""
        self._what = what
        self._total = total
        self._unit = unit
        self._started = self._clock()
        if self._next is None:
            self._next = self._started + self.delay

    def update(self, done: int) -> None:
        """Draw if it is time to."""
        now = self._clock()
        if self._next is not None and now >= self._next:
            self._next = now + self.period
            self._draw(describe(self._what, done, self._total, now - self._started, self._unit))

    def finish(self) -> None:
        """Leave the stream as it was."""

    def _draw(self, text: str) -> None:
        raise NotImplementedError


class PlainProgress(_Timed):
    """A line now and then: for log files and pipes."""

    period = 5.0

    def _draw(self, text: str) -> None:
        _write(self.stream, f"firstfault: {text}\n")
        self.stream.flush()


class TtyProgress(_Timed):
    """One line that redraws itself and is wiped at the end."""

    _drawn = False

    def finish(self) -> None:
        """Wipe the line."""
        if self._drawn:
            self._drawn = False
            self.stream.write("\r\x1b[2K")
            self.stream.flush()

    def _draw(self, text: str) -> None:
        columns = shutil.get_terminal_size((80, 24)).columns
        self._drawn = True
        _write(self.stream, "\r\x1b[2K" + text[: columns - 1])
        self.stream.flush()


def describe(what: str, done: int, total: int | None, seconds: float, unit: str = "") -> str:
    """Amount, share, rate and time left, as far as they are known; in bytes where no unit is named."""
    text = f"{escape(what)} {f'{done:,}' if unit else size(done)}"
    if total:
        share = min(done / total, 1.0)
        text += f" of {f'{total:,} {unit}' if unit else size(total)} ({share:.0%})"
    if done and seconds > 0:
        rate = done / seconds
        text += f", {f'{rate:.0f}' if unit else size(int(rate))}/s"
        if total and done < total and seconds > 1:
            text += f", {(total - done) / rate:.0f} s left"
    return text


def counted(count: int, one: str, many: str) -> str:
    """`1 line was`, `12,345 lines were`: a number with its noun, and the verb that goes with it."""
    return f"{count:,} {one if count == 1 else many}"


def size(count: int) -> str:
    """A number of bytes for people."""
    if count < 1024:
        return f"{count} bytes" if count != 1 else "1 byte"
    value = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 1024 or unit == "TiB":
            return f"{value:.1f} {unit}"
    raise AssertionError("unreachable")
