"""Questions as a tired person types them: fillers in front, words cut short, the usual slips."""

from __future__ import annotations

import re
from typing import Final

from assistant.chat.language import is_english

_FILLERS: Final = re.compile(
    r"^(?:(?:ok(?:ay)?|k|hmm+|hm|uh+|um+|hey|hi|hello|well|right|alright|thanks?|thx|please|pls|plz|damn|wtf|fine|great|sorry|yo|dude"
    r"|good|cool|yes|yeah|yep|no wait|wait|oh)\b[\s,.!:-]*)+(?=\S)",
    re.IGNORECASE,
)
_TAIL: Final = re.compile(
    r"[\s,]+(?:pls|plz|please|thx|thanks|thank you|then|lol|ffs|asap|man|dude)\s*(?=[?.!]*$)", re.IGNORECASE
)
_SLIPS: Final = {
    "wat": "what", "wht": "what", "whta": "what", "waht": "what", "hwat": "what", "wath": "what", "whats": "what's",
    "wich": "which", "whcih": "which", "whihc": "which", "witch": "which", "wy": "why", "y": "why", "hwy": "why", "whyy": "why",
    "hw": "how", "hwo": "how", "hwere": "where", "wher": "where", "wehre": "where", "happend": "happened", "hapened": "happened",
    "happned": "happened", "hapend": "happened", "happenend": "happened", "ist": "is it", "isit": "is it",
    "u": "you", "ur": "your", "r": "are", "teh": "the", "hte": "the", "cna": "can", "acn": "can", "shoud": "should", "shuld": "should",
    "restat": "restart", "retsart": "restart", "resart": "restart", "rstart": "restart", "restrat": "restart", "reboto": "reboot",
    "chekpoint": "checkpoint", "checkpint": "checkpoint", "ckpt": "checkpoint", "ckpoint": "checkpoint", "chkpt": "checkpoint",
    "confrim": "confirm", "cofirm": "confirm", "comfirm": "confirm", "prevnt": "prevent", "fxi": "fix", "fx": "fix", "ifx": "fix",
    "memroy": "memory", "mem": "memory", "liens": "lines", "evidnce": "evidence", "cuase": "cause", "casue": "cause",
    "realy": "really", "befor": "before", "bfore": "before", "befroe": "before", "aftr": "after", "hardwre": "hardware",
    "differnt": "different", "diffrent": "different", "copmare": "compare",
    "compair": "compare", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "isnt": "isn't", "cant": "can't",
}  # fmt: skip
_WORD: Final = re.compile(r"(?<![\w./=@-])[A-Za-z][A-Za-z'.]*(?![\w/=@-])")
"""A word by itself: `--mem=0`, `/home/u/run` and `r-2` are names, whatever stands in them."""
_WHO: Final = re.compile(
    r"^((?:and |so |then |but )?how)(?: to)? (fix|confirm|prevent|solve|repair|verify|avoid|check|restart|resume|mend)\b",
    re.IGNORECASE,
)
LONGEST: Final = 200
"""Characters of what may be a hasty question; a longer one is meant as it stands."""


def tidied(question: str) -> str:
    """The question without fillers and slips; as it was where it has none."""
    text = " ".join(question.split())
    if len(text) > LONGEST or "`" in text or not is_english(text):
        return question  # `ist` and `wat` are words elsewhere
    shown = _FILLERS.sub("", text)
    while (shorter := _TAIL.sub("", shown)) != shown and len(shorter.split()) > 1:
        shown = shorter
    shown = _WORD.sub(_right, shown)
    shown = re.sub(r"^(what) happen\b", r"\1 happened", shown, flags=re.IGNORECASE)
    shown = _WHO.sub(r"\1 do I \2", shown)
    return question if shown == text else shown


def _right(found: re.Match[str]) -> str:
    word = found[0]
    lower = word.rstrip(".").lower()
    # A name of the log may be spelt like a slip: `Y`, `R` and whatever stands in capitals is left alone.
    if word.isupper() or lower not in _SLIPS:
        return word
    return _SLIPS[lower] + word[len(word.rstrip(".")) :]
