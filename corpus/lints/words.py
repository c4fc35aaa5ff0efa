"""Short word lists that the checks use, and how prose is cut into sentences and words."""

from __future__ import annotations

import re

EVERYDAY = frozenset(
    """a an and any are as at be been but by can cannot could did do does for from had has have if in into is it its
    more most must no not of on one or other out over so some such than that the their then there this to was were
    when which while will with would you your
    abort aborted arg args call called caught class code config connection core count data detected device
    error errors exception exit exited expected fail failed fails failure fatal file found function get got host id
    info init internal invalid job key line list load loading log main message method missing model module name
    node none null number object occurred operation pid process python rank read reason received request
    required response result return returned run running runtime runtimeerror server set size start started state
    status step stop stopped string system task test thread time timed timeout trace traceback true false try type
    reading unable unexpected unknown use used user using valid value valueerror version waiting warn warning worker write
    writing wrong
    """.split()
)
"""Words so common in logs that they tell nothing apart."""

FILLER = (
    "it is important to note",
    "it is worth noting",
    "please note that",
    "it should be noted",
    "for more information",
    "as needed",
    "as appropriate",
    "best practice",
    "in order to ensure",
    "various reasons",
    "various factors",
    "a variety of",
    "make sure everything",
    "ensure that everything",
    "and so on and so forth",
    "seamless",
    "leverage",
    "state-of-the-art",
    "should be investigated",
    "contact your administrator",
    "check the documentation",
    "consult the documentation",
    "this may indicate a problem",
    "there may be an issue",
    "something went wrong",
)
"""Phrases that fill a line and tell an engineer nothing; kept short on purpose."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"')\]]*\s+|\n+")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_'./:-]*")
_VALUE = re.compile(r"<[a-z][a-z0-9_-]*>")
_NUMBER = re.compile(r"\d[\d.,]*")


def sentences(text: str) -> list[str]:
    """The sentences of a prose text, without blanks at the ends."""
    return [piece for piece in (part.strip() for part in _SENTENCE_END.split(text)) if piece]


def words(text: str) -> list[str]:
    """The words of a text, in their order, lower case, without end punctuation."""
    return [word.rstrip(".:/'-").lower() for word in _WORD.findall(text)]


def skeleton(sentence: str) -> tuple[str, ...]:
    """The words of a sentence with values and numbers blanked, for comparing near-twins."""
    return tuple(words(_NUMBER.sub("0", _VALUE.sub(" value ", sentence))))


def letters(text: str) -> int:
    """How many letters and digits a text has."""
    return sum(char.isalnum() for char in text)


def is_everyday(word: str) -> bool:
    """Whether a word tells nothing: too short, only digits, or in the list."""
    bare = word.lower().strip("_-.:'")
    return len(bare) < 3 or bare.isdigit() or bare in EVERYDAY


def split_words(text: str) -> list[str]:
    """The words of a log text: runs of letters and digits."""
    return re.findall(r"[A-Za-z0-9_]+", text)
