"""Whether a question is English; others are answered from the identifiers in them."""

from __future__ import annotations

import re
from typing import Final

_ENGLISH: Final = frozenset(
    "the is are was were be do does did how what why which who where when can could should may must will would i we it "
    "my our this that these those of to in on for from with and or not no a an has have had there their they you your "
    "show tell".split()
)
_OTHERS: Final = (
    frozenset(
        "der die das ist sind war wie was warum wer wo wann kann soll muss ich wir mein nicht kein und oder ein eine mit von zu "
        "auf fuer für bei den dem des "
        "le la les est sont pourquoi comment quoi quel quelle qui je nous mon pas et ou un une avec dans sur ce cette des du "
        "el los las es son por porque que como cual quien donde cuando puedo debo mi no y o un una con en qué cómo cuál "
        "il lo gli sono perche perché cosa chi dove quando posso devo mio non e o uno una con nel della "
        "os as é são por porquê como qual quem onde posso devo meu não e ou um uma com no na "
        "waarom hoe wat wie waar wanneer ik wij mijn niet geen en of een met van op het".split()
    )
    - _ENGLISH
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_LETTER: Final = re.compile(r"[^\W\d_]")


def is_english(question: str) -> bool:
    """False for other scripts, and where another language's function words outnumber the English ones."""
    letters = _LETTER.findall(question)
    foreign = sum(ord(letter) > 0x24F for letter in letters)
    if letters and foreign / len(letters) > 0.3:
        return False
    words = [word.lower() for word in _WORD.findall(question)]
    english = sum(word in _ENGLISH for word in words)
    others = sum(word in _OTHERS for word in words)
    return others < 2 or english >= others
