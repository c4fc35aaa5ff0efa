"""C205 and C206: two entries never claim the same line without a rule who wins."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from corpus.lints.base import EntryFile, Finding, KeyPath, Knowledge, at, corpus_rule, fixed, parsed, signatures
from corpus.model import Signature
from corpus.placeholders import KINDS
from corpus.signature import Part, Pattern

_WORD = re.compile(r"[A-Za-z]{3,}")
KEY_LENGTH = 4


@dataclass(frozen=True, slots=True)
class Placed:
    """A one-line signature and the line that it would match."""

    file: EntryFile
    where: KeyPath
    signature: Signature
    line: str

    def may_match(self, line: str) -> bool:
        """Whether all fixed parts stand in a line; compiling the pattern costs a thousand times more."""
        return all(_squeezed(part) in line for part in fixed(self.signature.text or ""))


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def example_line(parts: tuple[Part, ...]) -> str:
    """A line that a signature matches, with an example value for each placeholder."""
    return "".join(part.literal or _example(part) for part in parts)


def _example(part: Part) -> str:
    if part.choices:
        return part.choices[0]
    return "(any text)" if part.kind == "any" else KINDS[part.kind].accepts[0]


def _placed(knowledge: Knowledge) -> list[Placed]:
    found = []
    for file in knowledge.files.entry_files:
        if file.value.status == "retired" or file.value.broad:
            continue  # a broad class loses every line that another entry has, so nothing is left to decide
        for index, signature in signatures(file):
            if signature.text is not None:
                alternatives = parsed(signature.text)
                if not isinstance(alternatives, str):
                    line = example_line(alternatives[0])
                    found.append(Placed(file, ("signature", index, "text"), signature, line))
    return found


def _contained(knowledge: Knowledge) -> list[tuple[Placed, Placed, bool]]:
    """Pairs (short, long, equal): the first matches the example line of the second."""
    placed = _placed(knowledge)
    by_key: dict[str, list[Placed]] = defaultdict(list)
    for one in placed:
        by_key[_key(one.signature.text or "")].append(one)
    pairs = []
    patterns = {one.signature.text: Pattern(one.signature.text or "") for one in placed}
    for other in placed:
        keys = {word[:KEY_LENGTH] for word in _WORD.findall(other.line)} | {""}
        keys |= {word[:3] for word in keys}
        candidates = [one for key in sorted(keys) for one in by_key.get(key, ()) if one is not other]
        squeezed = _squeezed(other.line)
        for one in candidates:
            if not one.may_match(squeezed):
                continue
            found = patterns[one.signature.text].search(other.line)
            if found is not None:
                pairs.append((one, other, found.end - found.start >= len(other.line.strip())))
    return pairs


def _key(text: str) -> str:
    """The start of the longest whole word of the fixed text, by which its lines are found."""
    whole = [match.group() for part in fixed(text) for match in _WORD.finditer(part)]
    longest = max(whole, key=len, default="")
    return longest[:KEY_LENGTH] if longest else ""


def _pairs(knowledge: Knowledge) -> list[tuple[Placed, Placed, bool]]:
    found: list[tuple[Placed, Placed, bool]] = knowledge.cached("overlap", lambda: _contained(knowledge))
    return found


def _is_told_apart(one: Signature, other: Signature) -> bool:
    """Whether context, level or repetition decides between two signatures with one text."""
    mine = (one.requires, one.excludes, one.level, one.min_count, one.unbroken)
    theirs = (other.requires, other.excludes, other.level, other.min_count, other.unbroken)
    return mine != theirs


@corpus_rule(
    "C205",
    "two signatures match the same line",
    why="longer wins and a failure wins over a class; between equals nothing decides.",
    mend="merge the entries (keep the id as alias), or give one a longer text or a `requires`.",
)
def no_duplicate(knowledge: Knowledge) -> Iterator[Finding]:
    """No signature covers the whole line of another one, unless kind or context decides."""
    seen: set[tuple[object, ...]] = set()
    for one, other, is_equal in _pairs(knowledge):
        same_kind = one.file.value.kind == other.file.value.kind
        if not is_equal or not same_kind or _is_told_apart(one.signature, other.signature):
            continue
        if one.file is other.file and one.signature.text != other.signature.text:
            continue  # versions of one wording within an entry may be wider and narrower
        if (other.file.path, other.where, one.file.path, one.where) in seen:
            continue
        seen.add((one.file.path, one.where, other.file.path, other.where))
        owner = f"`{other.signature.name}`" if one.file is other.file else f"`{other.file.value.id}`"
        yield at(one.file, one.where, f"`{one.signature.name}` matches the very line of {owner}.")


@corpus_rule(
    "C206",
    "contained in a signature that the scan does not try",
    why="the longer text would win, but of tier candidate it is not looked for, so the shorter one answers.",
    mend='set tier = "scan" on the longer one, or exclude its wording from the shorter.',
)
def no_hidden_longer(knowledge: Knowledge) -> Iterator[Finding]:
    """A scan signature is not contained in another entry's candidate signature of the same kind."""
    for one, other, is_equal in _pairs(knowledge):
        is_hidden = one.signature.tier == "scan" and other.signature.tier == "candidate"
        same_kind = one.file.value.kind == other.file.value.kind
        if is_hidden and same_kind and not is_equal and one.file is not other.file:
            message = f"`{one.signature.name}` stands inside a candidate text of `{other.file.value.id}`."
            yield at(one.file, one.where, message)
