"""What a question is about, apart from what it wants: the words that the material must know."""

from __future__ import annotations

import re
from typing import Final

from assistant.chat.ranking import SURE, Ranked
from assistant.chat.router import Route
from assistant.chat.words import content, plain

_FINDING: Final = re.compile(r"\bf\d+\b", re.IGNORECASE)
_WISHES: Final = content(
    "confirm fix why restart resume prevent collect owner rank compare evidence line escalate ignore harmless cause "
    "hardware broken bug code first log checkpoint command step option setting change alert monitor vendor team node "
    "similar related difference hour minute second time today yesterday tonight people engineer again safe exit "
    "criterion call contact ticket proof quick way go going sure certain work"
)
"""Words that belong to a wish and need not stand in an entry."""


def without_findings(question: str) -> str:
    """A question without the ids of findings, which stand in no entry."""
    return _FINDING.sub(" ", question)


def substance(route: Route) -> frozenset[str]:
    """The words of a question without those of its wish and the name of the entry it is about."""
    names = content(plain(route.entries[0])) if route.named and route.entries else frozenset()
    return content(without_findings(route.question)) - _WISHES - names


def share(words: frozenset[str], text: str) -> float:
    """The share of some words that stand in a text."""
    return len(words & content(text)) / len(words) if words else 0.0


def is_sure(best: Ranked, route: Route) -> bool:
    """Whether a FAQ answers this very question: alike, and silent on none of what it is about."""
    words = substance(route)
    return best.score >= SURE and (not words or share(words, f"{best.question} {best.answer}") > 0.5)
