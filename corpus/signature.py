"""The signature language: literal text with typed placeholders, compiled for matching.

`parse` turns a text into parts; `Pattern` matches the parts inside one record.
A pattern is a list of alternatives (one per choice of optional segments), and
an alternative is a list of chunks that `{any}` separates. Chunks are regular
expressions without nested repetition and are looked for from left to right,
so the time stays linear in the record. Nothing here knows entries or files.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from corpus.errors import SignatureError
from corpus.placeholders import ANY_LIMIT, KINDS, REDACTED

MAX_OPTIONAL = 4
"""Optional segments in one text; each doubles the number of alternatives."""
MIN_TELLING = 6
"""Letters and digits of a fixed part from which on it tells signatures apart."""
MAX_STARTS = 12
"""How many places of a record are tried as the start of a signature."""

_PLACEHOLDER = re.compile(r"\{(?:([a-z][a-z0-9_]*):)?([a-z]+)(?:=([^{}]+))?\}")
_BLANKS = re.compile(r"[ \t\u00a0]+")
_COMPARISON = re.compile(r"^(.*\})\s*(>=|<=|==|!=|>|<)\s*(-?\d+(?:\.\d+)?)\s*$", re.S)


class Part(NamedTuple):
    """A piece of a signature: fixed text, or a placeholder of a kind."""

    literal: str = ""
    kind: str = ""
    name: str = ""
    choices: tuple[str, ...] = ()


class Capture(NamedTuple):
    """The value bound to a named placeholder; redacted values are marked."""

    text: str
    redacted: bool = False


class Match(NamedTuple):
    """Where a pattern matched in a record, and what it bound."""

    start: int
    end: int
    captures: dict[str, Capture]


def parse(text: str) -> list[list[Part]]:
    """Split a signature text into alternatives, the longest first.

    Raises SignatureError for an unknown placeholder, an unbalanced optional
    segment, too many of them, a name used twice, or an `{any}` at an end.
    """
    segments = _segments(text)
    optional = [index for index, (is_optional, _) in enumerate(segments) if is_optional]
    if len(optional) > MAX_OPTIONAL:
        raise SignatureError(f"{len(optional)} optional segments in `{text}`; at most {MAX_OPTIONAL} are allowed.")
    alternatives = []
    for chosen in itertools.product((True, False), repeat=len(optional)):
        dropped = {index for index, keep in zip(optional, chosen, strict=True) if not keep}
        parts = [part for index, (_, body) in enumerate(segments) if index not in dropped for part in body]
        alternatives.append(_join_literals(parts))
    for parts in alternatives:
        _check_parts(parts, text)
    return alternatives


def _segments(text: str) -> list[tuple[bool, list[Part]]]:
    segments: list[tuple[bool, list[Part]]] = []
    rest = text
    while rest:
        start = rest.find("{?")
        if start < 0:
            segments.append((False, _parse_flat(rest, text)))
            break
        end = rest.find("?}", start)
        if end < 0:
            raise SignatureError(f"the optional segment of `{text}` is not closed with `?}}`.")
        if start:
            segments.append((False, _parse_flat(rest[:start], text)))
        segments.append((True, _parse_flat(rest[start + 2 : end], text)))
        rest = rest[end + 2 :]
    return segments


def _parse_flat(piece: str, whole: str) -> list[Part]:
    parts: list[Part] = []
    position = 0
    while position < len(piece):
        brace = piece.find("{", position)
        if brace < 0:
            parts.append(Part(literal=piece[position:]))
            break
        if brace > position:
            parts.append(Part(literal=piece[position:brace]))
        if piece.startswith("{{", brace):
            parts.append(Part(literal="{"))
            position = brace + 2
            continue
        found = _PLACEHOLDER.match(piece, brace)
        if found is None:
            raise SignatureError(
                f"`{piece[brace : brace + 20]}` in `{whole}` is no placeholder; write {{{{ for a brace."
            )
        name, kind, choices = found.groups()
        if kind not in KINDS:
            raise SignatureError(f"unknown placeholder kind `{kind}` in `{whole}`; known: {', '.join(KINDS)}.")
        parts.append(Part(kind=kind, name=name or "", choices=tuple(choices.split("|")) if choices else ()))
        position = found.end()
    return parts


def _join_literals(parts: list[Part]) -> list[Part]:
    joined: list[Part] = []
    for part in parts:
        if not part.kind and joined and not joined[-1].kind:
            joined[-1] = Part(literal=joined[-1].literal + part.literal)
        else:
            joined.append(part)
    return joined


def _check_parts(parts: list[Part], text: str) -> None:
    if not parts:
        raise SignatureError("a signature must not be empty.")
    if parts[0].kind == "any" or parts[-1].kind == "any":
        raise SignatureError(f"`{{any}}` stands at an end of `{text}`, where it says nothing.")
    if any(a.kind == "any" and b.kind == "any" for a, b in itertools.pairwise(parts)):
        raise SignatureError(f"two `{{any}}` in a row in `{text}`.")
    names = [part.name for part in parts if part.name]
    if len(names) != len(set(names)):
        raise SignatureError(f"a placeholder name stands twice in `{text}`.")


def _literal_regex(literal: str) -> str:
    """Escape a literal; runs of blanks match any run, words and numbers are delimited."""
    pieces = [re.escape(piece) for piece in _BLANKS.split(literal)]
    body = r"[ \t\u00a0]+".join(pieces)
    if literal[0].isdigit():
        body = r"(?<![0-9])" + body
    elif literal[0].isalpha():
        # A letter may follow an escaped newline or tab of a repr'd message.
        body = r"(?:(?<![A-Za-z])|(?<=\\[nt]))" + body
    if literal[-1].isdigit():
        body += r"(?![0-9])"
    return body


def _placeholder_regex(part: Part, group: str) -> str:
    value = "|".join(re.escape(choice) for choice in part.choices) if part.choices else KINDS[part.kind].pattern
    if part.choices and all(choice.lstrip("-").isdigit() for choice in part.choices):
        value = rf"(?<![0-9])(?:{value})(?![0-9])"
    return f"(?P<{group}>{value}|{REDACTED})" if group else f"(?:{value}|{REDACTED})"


@dataclass(frozen=True)
class Pattern:
    """A compiled signature text; compiled on first use, because a corpus has thousands."""

    text: str

    @cached_property
    def alternatives(self) -> list[list[Part]]:
        """The parts of every choice of optional segments, the longest first."""
        return parse(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the placeholders that a match may bind."""
        return frozenset(part.name for parts in self.alternatives for part in parts if part.name)

    @cached_property
    def _words(self) -> list[list[str]]:
        """The fixed words of every alternative: without all of them it cannot match.

        The last stand first: texts that a literal of the scan leaves to be told
        apart begin alike (`NVRM: Xid (PCI:`), and a hundred of them are tried.
        """
        return [
            [word for part in parts if not part.kind for word in _BLANKS.split(part.literal) if word][::-1]
            for parts in self.alternatives
        ]

    @cached_property
    def _needed(self) -> list[str]:
        """The words that every alternative asks for."""
        first, *others = self._words
        return [word for word in first if all(word in words for words in others)]

    @cached_property
    def _chunks(self) -> dict[int, list[re.Pattern[str]]]:
        """Compiled alternatives: most logs need one of the choices of optional segments."""
        return {}

    def search(self, text: str) -> Match | None:
        """Find the signature in a record; the longest alternative that matches wins."""
        for word in self._needed:
            if word not in text:
                return None
        for index, words in enumerate(self._words):
            if not all(word in text for word in words):
                continue
            chunks = self._chunks.get(index)
            if chunks is None:
                chunks = [re.compile(chunk) for chunk in _chunk_regexes(self.alternatives[index])]
                self._chunks[index] = chunks
            found = _search_chunks(chunks, text)
            if found is not None:
                return found
        return None


def _chunk_regexes(parts: list[Part]) -> Iterator[str]:
    chunk = ""
    for part in parts:
        if part.kind == "any" and not part.name:
            yield chunk
            chunk = ""
        elif part.kind:
            is_lazy = part.kind == "any"
            chunk += _placeholder_regex(part, part.name) if not is_lazy else f"(?P<{part.name}>{KINDS['any'].pattern})"
        else:
            chunk += _literal_regex(part.literal)
    yield chunk


def _search_chunks(chunks: list[re.Pattern[str]], text: str) -> Match | None:
    position = 0
    for _ in range(MAX_STARTS):
        first = chunks[0].search(text, position)
        if first is None:
            return None
        found = _continue_from(first, chunks, text)
        if found is not None:
            return found
        position = first.start() + 1
    return None


def _continue_from(first: re.Match[str], chunks: list[re.Pattern[str]], text: str) -> Match | None:
    groups = _captures(first)
    end = first.end()
    for chunk in chunks[1:]:
        found = chunk.search(text, end)
        if found is None or found.start() - end > ANY_LIMIT:
            return None
        groups.update(_captures(found))
        end = found.end()
    return Match(first.start(), end, groups)


_REDACTION = re.compile(REDACTED)


def _captures(found: re.Match[str]) -> dict[str, Capture]:
    return {
        name: Capture(value, _REDACTION.fullmatch(value) is not None)
        for name, value in found.groupdict().items()
        if value is not None
    }


def fixed_parts(text: str) -> list[str]:
    """Literal parts that every alternative contains, in order of the text."""
    parse(text)
    required = [body for is_optional, body in _segments(text) if not is_optional]
    literals = [part.literal.strip() for body in required for part in _join_literals(body) if not part.kind]
    return [literal for literal in literals if literal]


def scan_literal(text: str, shared: frozenset[str] = frozenset(), *, aligned: bool = False) -> str:
    """The fixed part by which the scan finds candidates for this signature.

    The longest part wins, measured in letters and digits, and parts that many
    signatures share (`NVRM: Xid (PCI:`) count only when nothing else serves.
    The scan takes blanks as they stand; text that is printed in padded columns
    (`aligned`) is therefore looked for by its longest word.
    """
    parts = fixed_parts(text)
    if aligned:
        parts = [word for part in parts for word in _BLANKS.split(part) if word]

    def worth(part: str) -> tuple[bool, int, int]:
        weight = sum(char.isalnum() for char in part)
        return (part not in shared and weight >= MIN_TELLING, min(weight, 40), len(part))

    return max(parts, key=worth, default="")


@dataclass(frozen=True)
class Condition:
    """A literal with placeholders, optionally with a comparison of the last named one.

    `SRAM Uncorrectable : {n:int} > 0` holds for an output in which some line
    binds n to a number above 0.
    """

    text: str

    @cached_property
    def _split(self) -> tuple[Pattern, str, float]:
        found = _COMPARISON.match(self.text)
        if found is None:
            return Pattern(self.text), "", 0.0
        body, operator, number = found.groups()
        return Pattern(body), operator, float(number)

    @property
    def pattern(self) -> Pattern:
        """The pattern without the comparison."""
        return self._split[0]

    def deciding_line(self, output: str) -> int | None:
        """The 1-based number of the first line that fulfils the condition, or None."""
        pattern, operator, number = self._split
        for line_number, line in enumerate(output.splitlines(), start=1):
            found = pattern.search(line)
            if found is not None and (not operator or _compares(found, pattern.text, operator, number)):
                return line_number
        return None


def _compares(found: Match, text: str, operator: str, number: float) -> bool:
    names = [part.name for part in parse(text)[0] if part.name]
    if not names or names[-1] not in found.captures:
        return False
    digits = re.match(r"[-+]?[\d,]*\.?\d+", found.captures[names[-1]].text)
    if digits is None:
        return False
    value = float(digits.group().replace(",", ""))
    results = {
        ">": value > number,
        "<": value < number,
        ">=": value >= number,
        "<=": value <= number,
        "==": value == number,
        "!=": value != number,
    }
    return results[operator]
