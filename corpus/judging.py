"""What the output of a check's command says: it confirms, clears, or says nothing.

Conditions that confirm go first: `nvidia-smi -q` prints a clean block for each
of seven healthy cards beside the one that is broken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from corpus.model import Check
from corpus.signature import Condition, parse


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on an output, with the condition and the line that decide."""

    says: Literal["confirms", "clears", "nothing"]
    condition: str = ""
    line: int = 0
    """1-based line of the output, 0 when nothing decides."""


def judge(check: Check, output: str) -> Judgement:
    """Judge the output of a check's command by the conditions of the check."""
    for text in check.confirms:
        line = Condition(text).deciding_line(output)
        if line is not None:
            return Judgement("confirms", text, line)
    for text in check.clears:
        line = Condition(text).deciding_line(output)
        if line is not None:
            return Judgement("clears", text, line)
    return Judgement("nothing")


def compares_nothing(text: str) -> bool:
    """Whether a condition compares a placeholder without a name, so that it can never hold."""
    condition = Condition(text)
    if condition.pattern.text == text:
        return False
    return not any(part.name for part in parse(condition.pattern.text)[0])
