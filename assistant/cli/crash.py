"""The report of an internal error: where it happened, never what was in the log."""

from __future__ import annotations

import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from assistant import __version__
from assistant.cli.group import VERBS
from assistant.settings import cache_dir

_ROOT = Path(__file__).parents[2]


def write_report(error: BaseException, words: Sequence[str]) -> Path | None:
    """Write the report into the cache directory, else the temporary one; None where neither can be written."""
    text = "\n".join(report_lines(error, words)) + "\n"
    name = f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{error.__class__.__name__}.txt"
    for directory in (cache_dir() / "crashes", Path(tempfile.gettempdir())):
        try:
            directory.mkdir(parents=True, exist_ok=True)
            path = directory / name
            path.write_text(text, encoding="utf-8")
        except OSError:
            continue
        return path
    return None


def report_lines(error: BaseException, words: Sequence[str]) -> Iterator[str]:
    """Versions, the verb, and the frames; messages and values are left out, for they may quote the log."""
    yield f"firstfault {__version__}, Python {platform.python_version()}, {platform.platform()}"
    verb = words[0] if words and words[0] in VERBS else "diagnose"
    options = sorted({word.split("=")[0] for word in words if word.startswith("-")})
    yield f"verb {verb}, options {' '.join(options) or 'none'}, {len(words)} words"
    yield f"loaded {len(sys.modules)} modules"
    seen: BaseException | None = error
    while seen is not None:
        yield f"{type(seen).__module__}.{type(seen).__qualname__}"
        for frame in traceback.extract_tb(seen.__traceback__):
            yield f"  {_short(frame.filename)}:{frame.lineno} in {frame.name}"
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
        if seen is not None:
            yield "after"


def _short(filename: str) -> str:
    """A path without the part that names the machine or its user."""
    path = Path(filename)
    if path.is_relative_to(_ROOT):
        return path.relative_to(_ROOT).as_posix()
    parts = path.parts
    return "/".join(parts[-3:])
