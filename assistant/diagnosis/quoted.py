"""Text that quotes errors without being the log of a job: documents, code, chats, search output.

Such lines hold the literals of many entries to the letter. A hit on them is
shown, but it is no event of a job.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from corpus.late import late
from corpus.record import Record

_DOCUMENTS = frozenset(
    ".md .rst .py .pyi .ipynb .sh .bash .c .cc .cpp .cu .h .hpp .go .rs .js .ts .java .yaml .yml .toml .ini .cfg .html .htm"
    " .css .csv .tsv .diff .patch .tex .adoc .man .1 .8".split()
)  # fmt: skip
_TABLES = frozenset({".csv", ".tsv"})
_HEADS = (
    (late(r"^diff --git "), "a diff"),
    (late(r"^#!\s?/"), "a script"),
    (late(r"^(?:apiVersion|groups|version): ?\S*$"), "a configuration file"),
    (
        late(r"^(?:IDENTIFIED|CLASSIFIED|UNEXPLAINED|SYMPTOM-ONLY|DEGRADED)  ?\s*This came first"),
        "a report of this program",
    ),
    (late(r'^(?:\{\s*)?"(?:cells|nbformat)"\s*:'), "a notebook"),
    (late(r'"schema"\s*:\s*"firstfault\.'), "a result of this program"),
    (late(r"^[A-Z][A-Z0-9_.-]*\(\d\)\s+.*\s+[A-Z][A-Z0-9_.-]*\(\d\)$"), "a manual page"),
)
_LINE = late(
    r"^(?:> |\$ (?:echo|grep|rg|git|cat|sed|awk|tail|head)\b|\d{1,6}\s{1,4}(?:echo|grep|rg|git|vim|cat|sed|awk|tail|less|python|kubectl)\b"
    r"|(?:echo|grep|git commit)\b|[\w./\-]{1,200}\.\w{1,8}(?:\.\d{1,3})?:\d{1,7}:(?! \S)|\{\"role\": ?\"|[*\-] (?:Fix|Add|Handle|Better)\b)"
)
_QUOTED = late(r"(?<![:=(\[{,])\s[\"`]$")
"""What stands before a literal that prose quotes: a blank and an opening quote, but no key, list or call."""
_REQUEST = late(
    r"""\b[Rr]eceived request \S{1,80}: prompt: |\bprompt(?:_text)?["']?\s?[:=]\s?["'\[(<`]|["']?messages["']?\s?[:=]\s?\[\s?[{(]|["']role["']\s?:\s?["']"""
    r"""|["'](?:inputs?|query|question|instruction|user_input|text_input)["']\s?:\s?\[?["']|<\|(?:user|im_start|start_header_id|begin_of_text|system|assistant)\b|<start_of_turn>|\[INST\]"""
    r"""|### (?:Instruction|Human|User)\b|"(?:GET|POST|PUT|HEAD|DELETE|PATCH|OPTIONS) /[^"]{0,400}$"""
)
"""What stands before the words of a user that a server writes to its log: a request, its body, a chat template, a URL."""
_WHOLLY_QUOTED = late(r'"[^"]+"')
_COLUMNS = late(r"\"?[A-Za-z_][\w ]{0,40}\"?(?:,\"?[A-Za-z_][\w ]{0,40}\"?){2,40}")
_TIME = late(r"time|date|\bts\b|\bat\b", re.I)
_OPENS = late(r"\bprompt[\"']?\s?[:=]\s?[\"']")
_CLOSES = late(r"[\"'],? ?(?:params|sampling_params|max_tokens|lora_request|prompt_token_ids|stream|temperature|\}|\))")
MAX_PROMPT = 400
"""Lines that a prompt takes at most; one that is never closed quotes nothing."""
FENCE = "```"
WHOLE_SHARE = 0.8
"""Share of the lines from which on fences or quotation marks hold a whole log."""


def document_kind(path: str, records: Sequence[Record]) -> str:
    """What kind of document a source is, or an empty text when it may be a log."""
    name = PurePosixPath(path.replace("!", "/"))
    exported = name.suffix.lower() in _TABLES and bool(records) and _TIME.search(records[0].text) is not None
    if name.suffix.lower() in _DOCUMENTS and not exported and not name.stem.endswith((".log", ".out", ".err")):
        return f"a {name.suffix} file"
    for record in records[:5]:
        for pattern, kind in _HEADS:
            if pattern.search(record.text.strip()):
                return kind
    if _is_manual(records):
        return "a manual page"
    return "a table" if _is_table(records) else ""


def _is_manual(records: Sequence[Record]) -> bool:
    """Whether a source has the headings of a manual page, each alone on its line."""
    headings = {record.text.strip() for record in records[:200]}
    return bool(records) and records[0].text.strip() == "NAME" and bool(headings & {"SYNOPSIS", "DESCRIPTION"})


def _is_table(records: Sequence[Record]) -> bool:
    """Whether a source is comma-separated with named columns and none of them is a time, as an export of a log has."""
    if len(records) < 2 or _COLUMNS.fullmatch(records[0].text.strip()) is None:
        return False
    names = records[0].text.strip().split(",")
    if any(_TIME.search(name) for name in names):
        return False
    return all(record.text.count(",") >= len(names) - 1 for record in records[1:20] if record.text)


def fenced_lines(records: Sequence[Record]) -> frozenset[int]:
    """Lines between Markdown fences."""
    inside = False
    found = set()
    for record in records:
        if record.message.startswith(FENCE):
            inside = not inside
        elif inside:
            found.add(record.number)
    # A paste that is all fence is a log in Markdown, not a document about one.
    return frozenset() if inside or _is_most(len(found), records) else frozenset(found)


def prompt_lines(records: Sequence[Record]) -> frozenset[int]:
    """Lines that a user's words take which a server prints as they are, from the quote that opens them to the one that closes them."""
    found: set[int] = set()
    opened: list[int] | None = None
    for record in records:
        if opened is not None:
            opened.append(record.number)
            if _CLOSES.search(record.text) is not None:
                found.update(opened)
                opened = None
            elif len(opened) > MAX_PROMPT:
                opened = None
        elif "prompt" in record.text and (start := _OPENS.search(record.text)) is not None:
            opened = None if _CLOSES.search(record.text, start.end() - 1) is not None else [record.number]
    return frozenset(found)


def is_quoted_whole(records: Sequence[Record]) -> bool:
    """Whether a source is one quotation (`> ` before nearly every line), as a mail or a chat passes a log on."""
    return _is_most(sum(record.message.startswith("> ") for record in records), records)


def _is_most(count: int, records: Sequence[Record]) -> bool:
    lines = sum(bool(record.message) and not record.message.startswith(FENCE) for record in records)
    return lines > 0 and count >= WHOLE_SHARE * lines


def _is_closed(asked: re.Match[str], between: str) -> bool:
    """Whether the only quote that a request opens is closed again, with no other one opened up to what follows."""
    quote = asked.group()[-1]
    if quote not in "\"'" or "role" in asked.group() or "messages" in asked.group():
        return False
    words, closing, rest = between.partition(quote)
    is_end = bool(closing) and not words.endswith("\\") and not rest[:1].isalnum()
    return is_end and not any(mark in rest for mark in "\"'`")


def quotes(record: Record, start: int) -> bool:
    """Whether a record quotes the text that starts at this position of `Record.text`."""
    if _LINE.search(record.message) is not None:
        return True
    if _WHOLLY_QUOTED.fullmatch(record.message.strip()) is not None:
        return False  # a logger that puts its messages in quotes
    asked = _REQUEST.search(record.text, 0, start)
    if asked is not None and not _is_closed(asked, record.text[asked.end() : start]):
        return True
    return _QUOTED.search(record.text[max(0, start - 40) : start]) is not None
