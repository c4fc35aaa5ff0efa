"""What is asked: a question in words, or a piece of log; and how much of it an encoder reads.

An encoder reads 256 tokens, and a vector of forty log lines says little about
the one that matters. A log is therefore cut into windows, the lines that speak
of errors first, and each window is asked for itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corpus.record import Record, read_records

WINDOW_CHARS = 360
"""Log text has about two characters a token for the encoder, which reads 256."""
MAX_WINDOWS = 3
"""A window costs 10 to 30 ms; warm answers are to stay under 100 ms."""
MAX_LINES = 2_000
"""Lines of a query that are looked at; longer logs are the scanner's business."""

_ASKING = re.compile(
    r"^\s*(?:how|what|why|which|who|whom|when|where|is|are|was|were|can|could|do|does|did|should|may|must|will|would|has|have|had|i|we|my|our|explain|show|tell|compare)\b",
    re.IGNORECASE,
)
_PRINTED = re.compile(
    r"(?:Error|Exception|Xid|WARN(?:ING)?|ERROR|FATAL|CRITICAL|Traceback)\b[:(]|^\s*File \"|^[$#>] |^[\[{(]|^[^\s:]{2,40}: |\S(?: {2,}|\t)\S|"
    r"\b0x[0-9a-f]{4,}|\[\w*\d+\]|\w\.(?:py|cc|cpp|cu|h|c|go|rs):\d+|\w\.\w[\w.]*: |"
    r": (?:error|fatal|failed|cannot|warning)\b|\((?:errno )?\d+\)|\([A-Z]{4,}\)",
)
"""What stands in printed lines and hardly ever in a sentence."""
_CODE = re.compile(r"\w=[\w\"'\[({-]|\w\(\w*\)|[a-z]_[a-z]|\w::\w")
"""What people quote in a sentence as well."""
_TELLING = re.compile(
    r"error|exception|fail|fatal|abort|killed|denied|refused|timed? ?out|timeout|unable|cannot|could not|couldn't|invalid|"
    r"not found|no such|missing|mismatch|exceed|exhaust|out of|lost|down|dead|died|unhealthy|corrupt|uncorrect|"
    r"panic|assert|unexpected|undefined|unknown|reset|overflow|\bnan\b|xid|oom|signal|evict|preempt|too (?:small|large|many|long)",
    re.IGNORECASE,
)
_FRAME = re.compile(r'^\s*(?:File "|at [\w.$]+\(|#\d+ |frame #\d+)')
_DIGITS = re.compile(r"\d+")
_LONG = re.compile(r"\b(?:0x)?[0-9a-fA-F]{9,}\b|\d{7,}")


@dataclass(frozen=True, slots=True)
class Query:
    """A query, read once."""

    text: str
    is_log: bool
    records: tuple[Record, ...]
    """The lines of a log, for the literal channel; of a question its lines as they are."""
    windows: tuple[str, ...]
    """What the encoder reads, the most telling first; each below its token limit."""
    words: str
    """What the lexical index reads: the windows' lines and the other telling ones, each shape once."""


def read_query(text: str) -> Query:
    """Read a question or a piece of log."""
    lines = text.splitlines()[:MAX_LINES]
    records = tuple(
        record for number, line in enumerate(lines, start=1) for record in read_records(line.encode(), number)
    )
    if not is_log(text):
        return Query(text, False, records, (" ".join(text.split())[:1_000],), text)
    ranked = _telling_first(records)
    return Query(text, True, records, tuple(_windows(ranked)), "\n".join(ranked[:40]))


def is_log(text: str) -> bool:
    """Whether a query is a piece of log rather than a question in words."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 2:
        return True
    if any(_is_printed(line) for line in lines):
        return True
    asks = bool(lines) and (_ASKING.match(lines[0]) is not None or lines[-1].rstrip().endswith("?"))
    printed = sum(len(_PRINTED.findall(line)) for line in lines)
    code = sum(len(_CODE.findall(line)) for line in lines)
    return printed * 3 + code >= (6 if asks else 3)


def is_telling(record: Record) -> bool:
    """Whether a line speaks of something that went wrong."""
    return record.level in {"ERROR", "FATAL"} or _TELLING.search(record.message) is not None


def excerpt(text: str) -> str:
    """The part of a query that matters most, short enough for an encoder."""
    windows = read_query(text).windows
    return windows[0] if windows else ""


def _is_printed(line: str) -> bool:
    """A line with a time, rank or level in front was printed by a program."""
    record = read_records(line.encode(), 1)[0]
    return any(value is not None for value in (record.time, record.rank, record.level, record.pid, record.program))


def _telling_first(records: Sequence[Record]) -> list[str]:
    """The messages, each shape once: those that speak of errors first, frames of stacks last."""
    shapes: dict[str, tuple[int, int, str]] = {}
    for position, record in enumerate(records):
        message = " ".join(_LONG.sub(" ", record.message).split())
        if len(message) < 4:
            continue
        weight = len({found.lower() for found in _TELLING.findall(message)})
        if record.level in {"ERROR", "FATAL"}:
            weight += 1
        if _FRAME.match(message):
            weight = -1
        shapes.setdefault(_DIGITS.sub("0", message), (-min(weight, 3), position, message))
    return [message for _, _, message in sorted(shapes.values())]


def _windows(messages: Sequence[str]) -> list[str]:
    """Fill windows with messages in this order; a long message is cut."""
    windows: list[str] = []
    current = ""
    for message in messages:
        piece = message[:WINDOW_CHARS]
        if current and len(current) + len(piece) > WINDOW_CHARS:
            windows.append(current)
            current = ""
            if len(windows) == MAX_WINDOWS:
                return windows
        current = f"{current}\n{piece}" if current else piece
    if current:
        windows.append(current)
    # The first message for itself as well: beside others its vector blurs.
    if messages and windows[0] != messages[0][:WINDOW_CHARS] and len(windows) < MAX_WINDOWS:
        windows.append(messages[0][:WINDOW_CHARS])
    return windows
