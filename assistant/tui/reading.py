"""What the jobs do: load, diagnose paths, pastes, pipes and demos, list paths, save. No widget is known here."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from assistant.tui.case import Case
    from assistant.tui.jobs import Reporter
    from assistant.tui.services import Demo
    from corpus.catalogue import Catalogue

PASTED: Final = "pasted.log"
MOST_MATCHES: Final = 200
_WAIT: Final = 0.1


class SaveError(FirstfaultError):
    """The file could not be written."""


def read_paths(paths: Sequence[str], catalogue: Catalogue, version: str, report: Reporter) -> Case:
    """Diagnose files and directories."""
    names = [os.path.expanduser(path) for path in paths]  # noqa: PTH111  a path is shown as it was typed
    return _case(names, catalogue, version, report, None, _name_of(names))


def read_text(text: str, catalogue: Catalogue, version: str, report: Reporter) -> Case:
    """Diagnose a paste."""
    with tempfile.TemporaryDirectory(prefix="firstfault-") as folder:
        # surrogatepass: a terminal may deliver halves of characters, and nothing of a log is thrown away.
        (Path(folder) / PASTED).write_bytes(text.encode("utf-8", "surrogatepass"))
        return _case([folder], catalogue, version, report, None, "a paste")


def read_demo(demo: Demo, catalogue: Catalogue, version: str, report: Reporter) -> Case:
    """Diagnose a bundled incident; its files are shown by their own names, wherever the program is installed."""
    with tempfile.TemporaryDirectory(prefix="firstfault-") as folder:
        for source in demo.sources:
            (Path(folder) / source).symlink_to((demo.folder / source).resolve())
        only = demo.folder / demo.sources[0]
        names = [str(only)] if len(demo.sources) == 1 and only.is_dir() else [folder]
        return _case(names, catalogue, version, report, None, f"demo {demo.name}")


def read_pipe(pipe: BinaryIO, catalogue: Catalogue, version: str, report: Reporter) -> Case:
    """Diagnose what comes through a pipe, for as long as it comes."""
    stream = cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", PatientPipe(pipe.fileno(), report.check))))
    return _case(["-"], catalogue, version, report, stream, "the pipe")


def _case(
    paths: Sequence[str], catalogue: Catalogue, version: str, report: Reporter, stdin: BinaryIO | None, name: str
) -> Case:
    # Verdicts need pydantic, which the first screen does not wait for.
    from assistant.diagnosis import pipeline
    from assistant.tui.case import Case

    outcome = pipeline.diagnose_run(
        paths, catalogue=catalogue, options=pipeline.Options(version=version), stdin=stdin, progress=report
    )
    return Case(outcome.diagnosis, catalogue, outcome, name)


def _name_of(paths: Sequence[str]) -> str:
    first = Path(paths[0]).name or paths[0]
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"


class PatientPipe(io.RawIOBase):
    """A pipe whose reader looks up ten times a second, so that it can be cancelled while nothing comes."""

    def __init__(self, handle: int, check: Callable[[], None]) -> None:
        super().__init__()
        self._handle = handle
        self._check = check

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]  # typeshed's buffer protocol
        """Wait for data; the check raises when nobody wants it any more."""
        import select

        while True:
            self._check()
            ready, _, _ = select.select([self._handle], [], [], _WAIT)
            if ready:
                return os.readv(self._handle, [buffer])


# ---- paths


def matching_paths(typed: str) -> tuple[str, ...]:
    """Paths that begin like what was typed, directories with their slash; the last word counts."""
    folder, _, start = typed.rpartition("/")
    place = os.path.expanduser(folder + "/" if folder or typed.startswith("/") else ".")  # noqa: PTH111
    found = []
    try:
        with os.scandir(place) as items:
            for item in items:
                if item.name.startswith(start) and (start.startswith(".") or not item.name.startswith(".")):
                    lead = f"{folder}/" if "/" in typed else ""
                    found.append(f"{lead}{item.name}{'/' if item.is_dir() else ''}")
    except OSError:
        return ()
    return tuple(sorted(found)[:MOST_MATCHES])


# ---- saving


def save_case(case: Case, spoken: Sequence[tuple[str, str]], path: str) -> str:
    """Write verdict and conversation as Markdown, never over a file that is there; gives the path."""
    from assistant.reports import markdown

    text = markdown.render(case.diagnosis, case.catalogue)
    if spoken:
        text += "\n## Conversation\n\n" + "\n".join(f"{who}:\n\n{_fenced(said)}\n" for who, said in spoken)
    wanted = Path(os.path.expanduser(path)) if path else Path("firstfault-verdict.md")  # noqa: PTH111
    for number in range(1, 1000):
        place = wanted if number == 1 else wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")
        try:
            with place.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            message = f"`{place}` could not be written: {error.strerror}."
            raise SaveError(message, "/save PATH writes elsewhere.") from error
        return str(place.absolute())
    raise SaveError(f"`{wanted}` and its numbered names are taken.", "/save PATH writes elsewhere.")


def _fenced(text: str) -> str:
    from assistant.console import escape

    fence = "```"
    while fence in text:
        fence += "`"
    return "\n".join([f"{fence}text", *(escape(line) for line in text.splitlines()), fence])
