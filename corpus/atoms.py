"""What a scan looks for: the texts of signatures (atoms), and the literals by which they are found.

Atoms are numbered in the order of the entries, literals in the order of their
bytes. A corpus has thousands of both and a log holds a few of them, so a table
says what belongs to a number and need not hold everything: `BuiltTable` is
built from heads, `corpus.compiled` reads the same from a file.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from corpus.head import SCAN_MIN_LITERAL, Head, SignatureHead
from corpus.signature import fixed_parts, scan_literal

SHARED_BY = 4
"""A fixed part that this many signatures share tells them apart badly."""
_ESCAPED = frozenset('"\\&<>')


class Use(NamedTuple):
    """A signature that begins with an atom; `place` orders it among all signatures."""

    place: tuple[int, int]
    """Index of the entry, and of the signature in it."""
    head: Head
    signature: SignatureHead


class Table(Protocol):
    """Atoms, literals and signatures by their numbers."""

    @property
    def texts(self) -> Sequence[str]:
        """The text of each atom."""
        ...

    @property
    def literals(self) -> Sequence[bytes]:
        """The literals, in order of their bytes."""
        ...

    @property
    def key(self) -> str:
        """Tells these literals from others: what is compiled of them is kept under it."""
        ...

    def atoms_of(self, literal: int) -> tuple[int, ...]:
        """The atoms that a literal finds."""
        ...

    def literals_of(self, atom: int) -> Sequence[int]:
        """The literals by which an atom is found."""
        ...

    def uses_of(self, atom: int) -> Sequence[Use]:
        """The signatures whose first text this is."""
        ...


class BuiltTable:
    """A table held in memory, of the signatures of some heads."""

    def __init__(
        self, heads: Iterable[Head], literals: Mapping[str, str] | None = None, *, with_candidates: bool = False
    ) -> None:
        """Number the texts of these heads; `literals` are scan literals that were chosen before."""
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}
        """The atom of each text."""
        self._uses: dict[int, list[Use]] = defaultdict(list)
        padded: set[str] = set()
        for position, head in enumerate(heads):
            for index, signature in enumerate(head.signatures):
                if signature.tier != "scan" and not with_candidates:
                    continue
                for text in signature.all_texts():
                    if text not in self.numbers:
                        self.numbers[text] = len(self.texts)
                        self.texts.append(text)
                self._uses[self.numbers[signature.texts[0]]].append(Use((position, index), head, signature))
                if signature.aligned:
                    padded.update(signature.texts)
        self._index(literals or {}, padded)

    def _index(self, literals: Mapping[str, str], padded: set[str]) -> None:
        missing = [text for text in self.texts if text not in literals]
        if missing:
            literals = {**literals, **choose_literals(missing, padded)}
        atoms_of: dict[bytes, list[int]] = defaultdict(list)
        for atom, text in enumerate(self.texts):
            for spelling in spellings(literals[text]):
                atoms_of[spelling].append(atom)
        self.literals: list[bytes] = sorted(atoms_of)
        self._atoms_of = [tuple(atoms_of[literal]) for literal in self.literals]

    @cached_property
    def key(self) -> str:
        """Hash of the literals."""
        return literals_key(self.literals)

    def atoms_of(self, literal: int) -> tuple[int, ...]:
        """The atoms that a literal finds."""
        return self._atoms_of[literal]

    @cached_property
    def _owners(self) -> dict[int, list[int]]:
        owners: dict[int, list[int]] = defaultdict(list)
        for literal, atoms in enumerate(self._atoms_of):
            for atom in atoms:
                owners[atom].append(literal)
        return owners

    def literals_of(self, atom: int) -> Sequence[int]:
        """The literals by which an atom is found."""
        return self._owners[atom]

    def uses_of(self, atom: int) -> Sequence[Use]:
        """The signatures whose first text this is."""
        return self._uses.get(atom, ())


def literals_key(literals: Sequence[bytes]) -> str:
    """A hash of literals in their order."""
    state = hashlib.sha256(" ".join(map(str, map(len, literals))).encode())
    state.update(b"".join(literals))
    return state.hexdigest()


def signature_texts(heads: Iterable[Head]) -> tuple[set[str], set[str]]:
    """Every text of signatures, contexts and all-clear lines; and those printed in padded columns."""
    texts: set[str] = set()
    aligned: set[str] = set()
    for head in heads:
        # No scan looks for a broad class; its everyday words are not to weigh on the choice for the others.
        for signature in head.signatures if not head.broad else ():
            texts.update(signature.all_texts())
            if signature.aligned:
                aligned.update(signature.texts)
    return texts, aligned


def choose_literals(texts: Iterable[str], aligned: Iterable[str] = ()) -> dict[str, str]:
    """The scan literal of each text, chosen so that it tells the texts apart."""
    padded = frozenset(aligned)
    parts = {text: fixed_parts(text) for text in texts}
    frequency = Counter(part for found in parts.values() for part in set(found))
    shared = frozenset(part for part, count in frequency.items() if count >= SHARED_BY)
    return {text: scan_literal(text, shared, aligned=text in padded) for text in sorted(parts)}


def spellings(literal: str) -> Collection[bytes]:
    """The literal as printed, and as JSON and HTML escape it."""
    if literal.isascii() and literal.isprintable() and _ESCAPED.isdisjoint(literal):
        return (literal.encode(),)  # nothing to escape: true of most literals, and there are thousands
    forms = {literal}
    if len(literal) >= SCAN_MIN_LITERAL:
        forms.add(json.dumps(literal)[1:-1])
        forms.add(json.dumps(literal, ensure_ascii=False)[1:-1])
        forms.add(literal.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    return {form.encode() for form in forms}
