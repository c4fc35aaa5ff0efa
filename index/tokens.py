"""Words of logs and of questions, for the lexical index.

Identifiers, codes and paths are kept whole and split as well, so that
`ProcessGroupNCCL.cpp`, `process group` and `nccl` all find the same line.
Numbers are kept up to six digits: exit codes, Xids and errnos tell failures
apart, addresses and process ids never do.
"""

from __future__ import annotations

import re

MAX_DIGITS = 6
"""Longer numbers are values of one run: times, addresses, sizes in bytes."""

_RAW = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:+\-]*[A-Za-z0-9_+]|[A-Za-z0-9_]")
_PIECE = re.compile(r"[A-Za-z]+|\d+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_HEX = re.compile(r"0[xX][0-9a-fA-F_]+|(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{7,}")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b")

STOP_WORDS = frozenset(
    "a about after all already also although always am an and any anybody anyone anything are as at away be because "
    "been before being both but by came can come could did do does doing done each either else even ever every few "
    "for from gave get gets give given gives go goes going gone got had has have having he her here hers him his how "
    "however i if in into is it its itself just know let like look made make makes may me might mine more most much "
    "must my myself of off on one only onto or other others our ours over own per please put quite rather really say "
    "says seem seems seen shall she should since so some somebody something somehow still such take than that the "
    "their them then there these they thing this those though through to too under until up upon us use used uses "
    "using very want wants was way we well went were what when where whether which while who whom whose why will with "
    "would yet you your".split()
)
"""Words that carry a sentence, not a failure. `no`, `not`, `out`, `down` and numbers stay."""


def tokenize(text: str) -> list[str]:
    """The words of a text in order, lower case; repeated as often as they stand.

    Compounds give themselves and their parts: `torch.cuda.OutOfMemoryError`
    gives that word, then torch, cuda, out, of, memory, error.
    """
    words: list[str] = []
    for found in _RAW.finditer(_STAMP.sub(" ", text)):
        _add(found.group().rstrip(".:-/"), words)
    return words


def query_words(text: str) -> list[str]:
    """The words of a query without those that only carry the sentence; all of them if nothing else is left."""
    words = tokenize(text)
    return [word for word in words if word not in STOP_WORDS] or words


def _add(raw: str, words: list[str]) -> None:
    if not raw or _HEX.fullmatch(raw):
        return
    parts: list[str] = []
    for piece in _PIECE.findall(raw):
        if piece[0].isdigit():
            if len(piece) <= MAX_DIGITS:
                parts.append(piece.lstrip("0") or "0")
        else:
            humps = _CAMEL.findall(piece)
            parts.extend(_stem(hump.lower()) for hump in humps)
            if len(humps) > 1:
                parts.append(piece.lower())
    whole = raw.lower()
    if len(parts) != 1 and not whole.isdigit() and whole not in parts and len(whole) <= 80:
        words.append(whole)
    words.extend(parts)


def _stem(word: str) -> str:
    """Fold plural and tense of longer words: killed, kills and killing are one word to a reader."""
    if word in STOP_WORDS:
        return word
    if len(word) < 5:
        return word[:-1] if len(word) == 4 and word[-1] == "s" and word[-2] not in "suia" else word
    for ending, kept in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and not word.endswith(("ss", "us", "is")):
            stem = word[: -len(ending)] + kept
            if len(stem) < 3 or not any(char in "aeiouy" for char in stem):
                return word
            return _fold(stem)
    return _fold(word)


def _fold(stem: str) -> str:
    """Take off what the endings leave: a doubled consonant (stopped) and a silent e (cache)."""
    if len(stem) > 4 and stem[-1] == stem[-2] and stem[-1] not in "aeiouls":
        return stem[:-1]
    return stem[:-1] if len(stem) > 4 and stem.endswith("e") else stem
