"""Pasted output of a check's command, judged by the entry's own conditions.

A check confirms, clears, or says nothing; the line that decides is shown. What
is pasted is told from a question by its shape: several lines, a prompt, columns,
or a line that a program printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from assistant.chat.contract import Judgement
from assistant.chat.material import Material
from corpus.judging import judge
from corpus.model import Check

MAX_PASTE: Final = 4 << 20
"""Characters of a paste that are judged."""
_PROMPT: Final = re.compile(r"^\s*(?:[\w.@~:/-]*[$#%>]|\(\w+\)\s*\$)\s+(?P<command>\S.*)$")
_ASKING: Final = re.compile(
    r"^\W*(?:how|what|why|which|who|whom|whose|when|where|is|are|was|were|can|could|do|does|did|should|may|must|will|would|"
    r"has|have|i|we|my|show|tell|explain|compare|give|list|please)\b",
    re.IGNORECASE,
)
_COLUMNS: Final = re.compile(r"\S(?: {2,}|\t+| \| |\s*[:=]\s*)\S")
_WORD: Final = re.compile(r"[A-Za-z][\w.-]+")
_ORDER: Final = {"confirms": 0, "clears": 1, "nothing": 2}

Kind = Literal["question", "output", "log"]


def kind_of(text: str) -> Kind:
    """Whether a text is a question, the output of a command, or a log."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return "question"
    if _PROMPT.match(lines[0]) and not _ASKING.match(lines[0]):
        return "output"
    from index.query import read_query

    if len(lines) == 1:
        line = lines[0].strip()
        if line.endswith("?") or _ASKING.match(line):
            return "question"
        if _is_stamped(read_query(line).records):
            return "log"
        return "output" if _COLUMNS.search(line) and not _is_prose(line) else "question"
    asks = lines[-1].rstrip().endswith("?") or _ASKING.match(lines[0]) is not None
    if len(lines) <= 3 and asks and _is_prose(" ".join(lines)):
        return "question"
    return "log" if _is_stamped(read_query(text).records) else "output"


def _is_stamped(records: Sequence[Any]) -> bool:
    """Whether most lines carry a time, rank or level, as a program's log does."""
    marked = [r for r in records if r.time is not None or r.rank is not None or r.level is not None]
    return len(marked) * 2 > len(records)


def _is_prose(line: str) -> bool:
    words = line.split()
    plain = sum(word.strip(".,;:?!()'\"").isalpha() for word in words)
    return len(words) >= 3 and plain / len(words) > 0.7


@dataclass(frozen=True, slots=True)
class Paste:
    """A paste, without the prompt line that named its command."""

    text: str
    command: str = ""
    offset: int = 0
    """Lines of the paste that stand before the output."""


def read_paste(text: str) -> Paste:
    """Take the prompt line off and keep its command."""
    cut = text[:MAX_PASTE]
    first, _, rest = cut.partition("\n")
    found = _PROMPT.match(first)
    if found is not None and rest.strip():
        return Paste(rest, found["command"], 1)
    return Paste(cut)


def judge_paste(text: str, owners: Iterable[str], material: Material) -> list[Judgement]:
    """What a paste says to the checks of entries and families, the clearest word first.

    Only checks with conditions can speak. Where the paste names its command,
    checks of another command are left out.
    """
    paste = read_paste(text)
    found: list[tuple[int, int, Judgement]] = []
    for order, owner in enumerate(owners):
        for number, item in enumerate(material.body(owner).get("check", []), start=1):
            if paste.command and not _same_command(paste.command, item.get("command")):
                continue
            judgement = _judge(owner, number, item, paste)
            if judgement is not None:
                found.append((_ORDER[judgement.says], order, judgement))
    return [judgement for _, _, judgement in sorted(found, key=lambda row: row[:2])]


def _judge(owner: str, number: int, item: dict[str, Any], paste: Paste) -> Judgement | None:
    if not item.get("confirms") and not item.get("clears"):
        return None
    said = judge(Check.model_validate(item), paste.text)
    if said.says == "nothing":
        return Judgement(entry=owner, check=number, says="nothing")
    line = paste.text.splitlines()[said.line - 1]
    return Judgement(
        entry=owner, check=number, says=said.says, condition=said.condition, line=said.line + paste.offset, text=line
    )


def _same_command(typed: str, command: str | None) -> bool:
    """Whether two command lines run the same program, options aside."""
    if not command:
        return False
    wanted = set(_WORD.findall(command))
    words = _WORD.findall(typed)
    programs = [word for word in words[:2] if word not in {"sudo", "kubectl", "docker", "exec"}]
    return any(word in wanted for word in programs or words[:1])
