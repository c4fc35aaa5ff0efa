"""What a change of entries means to those who rely on them, as a version bump.

major: a log that was identified may no longer be (entry gone, signature
removed or narrowed). minor: more is found, or an answer moved (entry or
signature added, widened, severity, role, owner). patch: words, logs, links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from corpus.errors import SignatureError
from corpus.placeholders import KINDS
from corpus.signature import Part, Pattern, parse

LEVELS = ("patch", "minor", "major")
_ANSWERS = ("kind", "status", "depth", "severity", "role", "scope", "restart")
_RESTRICTIONS = ("requires", "excludes", "level", "cleared_by")

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """One change, and the part of the version that it moves."""

    level: str
    entry: str
    what: str

    def __str__(self) -> str:
        return f"{self.level:5}  {self.entry}: {self.what}"


def compare(before: dict[str, Data], after: dict[str, Data]) -> list[Change]:
    """All changes between two sets of entries, the weightiest first."""
    changes: list[Change] = []
    aliases = {alias: name for name, entry in after.items() for alias in entry.get("aliases", ())}
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            changes.append(Change("minor", name, "added"))
        elif name not in after:
            merged = aliases.get(name)
            what = f"merged into {merged}" if merged else 'removed; set status = "retired" instead'
            changes.append(Change("minor" if merged else "major", name, what))
        elif before[name] != after[name]:
            changes += _entry_changes(name, before[name], after[name])
    return sorted(changes, key=lambda change: (-LEVELS.index(change.level), change.entry))


def report(changes: Sequence[Change]) -> str:
    """The changes, one a line, and the version bump they ask for."""
    if not changes:
        return "no change"
    return "\n".join([*map(str, changes), f"version: {changes[0].level}"])


def _entry_changes(name: str, old: Data, new: Data) -> Iterator[Change]:
    found = [*_answer_changes(name, old, new), *_signature_changes(name, old, new)]
    yield from found
    rest = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)} - {*_ANSWERS, "signature"}
    if rest:
        yield Change("patch", name, f"text: {', '.join(sorted(rest))}")
    elif not found:
        yield Change("patch", name, "text")


def _answer_changes(name: str, old: Data, new: Data) -> Iterator[Change]:
    for key in _ANSWERS:
        if old.get(key) == new.get(key):
            continue
        moved = f"{key} {old.get(key)} -> {new.get(key)}"
        if key == "status" and new.get(key) == "retired":
            successor = new.get("replaced_by")
            what = f"retired, replaced by {successor}" if successor else "retired"
            yield Change("minor" if successor else "major", name, what)
        elif key == "depth":
            yield Change("patch", name, moved)
        else:
            yield Change("minor", name, moved)


def _signature_changes(name: str, old: Data, new: Data) -> Iterator[Change]:
    before = {signature.get("name"): signature for signature in old.get("signature", ())}
    after = {signature.get("name"): signature for signature in new.get("signature", ())}
    for label in dict.fromkeys([*before, *after]):
        if label not in before:
            yield Change("minor", name, f"signature `{label}` added: `{_text(after[label])}`")
        elif label not in after:
            yield Change("major", name, f"signature `{label}` removed: `{_text(before[label])}`")
        elif before[label] != after[label]:
            yield _one_signature(name, str(label), before[label], after[label])


def _one_signature(name: str, label: str, old: Data, new: Data) -> Change:
    narrowed, widened = _direction(old, new)
    texts = f": `{_text(old)}` -> `{_text(new)}`" if _text(old) != _text(new) else ""
    if narrowed and widened:
        return Change("major", name, f"signature `{label}` changed{texts}")
    if narrowed:
        return Change("major", name, f"signature `{label}` narrowed{texts}")
    if widened:
        return Change("minor", name, f"signature `{label}` widened{texts}")
    return Change("patch", name, f"signature `{label}`: same lines match{texts}")


def _direction(old: Data, new: Data) -> tuple[bool, bool]:
    """Whether the new form matches less, and whether it matches more, than the old one."""
    narrowed = not _covers(new, old)
    widened = not _covers(old, new)
    for key in _RESTRICTIONS:
        if old.get(key) != new.get(key):
            narrowed |= bool(new.get(key))
            widened |= bool(old.get(key))
    if old.get("tier", "scan") != new.get("tier", "scan"):
        narrowed |= new.get("tier") == "candidate"
        widened |= old.get("tier") == "candidate"
    for key, default in (("min_count", 1), ("unbroken", False)):
        narrowed |= new.get(key, default) > old.get(key, default)
        widened |= new.get(key, default) < old.get(key, default)
    return narrowed, widened


def _covers(wide: Data, narrow: Data) -> bool:
    """Whether one signature matches every example line of the other."""
    wide_texts, narrow_texts = _texts(wide), _texts(narrow)
    if len(wide_texts) != len(narrow_texts):
        return False
    try:
        return all(
            Pattern(mine).search(line) is not None
            for mine, theirs in zip(wide_texts, narrow_texts, strict=True)
            for line in example_lines(theirs)
        )
    except SignatureError:
        return False


def example_lines(text: str) -> Iterator[str]:
    """Lines that a signature text matches: every alternative, with several values for placeholders."""
    for parts in parse(text):
        for turn in range(3):
            yield "".join(part.literal or _example(part, turn) for part in parts)


def _example(part: Part, turn: int) -> str:
    if part.choices:
        return part.choices[turn % len(part.choices)]
    if part.kind == "any":
        return ("(any text)", "-", "(several other words, 7)")[turn]
    accepts = KINDS[part.kind].accepts
    return accepts[turn % len(accepts)]


def _texts(signature: Data) -> list[str]:
    return list(signature.get("lines") or [signature.get("text", "")])


def _text(signature: Data) -> str:
    return " / ".join(_texts(signature))
