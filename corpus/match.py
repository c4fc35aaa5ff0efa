"""Matching: which signatures stand on which records, in the required context.

Two steps. `Matcher.verify` runs the compiled pattern of each candidate text
(atom) on one record. `Matcher.resolve` turns the atoms found in all sources
into hits of signatures: messages of several lines, required and excluding
context, repetition, all-clear lines, and containment (a longer match hides the
shorter one inside it; a failure hides a class on the same record, and every
entry a broad class).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from corpus.atoms import BuiltTable, Table, Use
from corpus.head import ContextHead, Head, SignatureHead
from corpus.record import Record
from corpus.signature import Capture, Pattern, fixed_parts

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue

COUNT_NAMES = frozenset({"count", "errors", "events", "faults"})
"""Captures that count faults: a hit that counts none is no hit."""
_CLEARED = "cleared by line "


class AtomHit(NamedTuple):
    """One text found on one record of one source."""

    atom: int
    source: int
    record: Record
    start: int
    end: int
    captures: dict[str, Capture]


class Hit(NamedTuple):
    """A signature of an entry found on a record, its context fulfilled."""

    entry: str
    signature: str
    source: int
    record: Record
    start: int
    end: int
    captures: dict[str, Capture]
    atom: int


class Unmet(NamedTuple):
    """A signature whose text is there but whose context is not: a near miss."""

    entry: str
    signature: str
    source: int
    record: Record
    reason: str
    atom: int = -1
    cleared: bool = False
    """True when a later line says that it passed."""


class Resolution(NamedTuple):
    """Hits in order of source and line, and the hits that their context refused."""

    hits: list[Hit]
    unmet: list[Unmet]


class Matcher:
    """All signature texts of a set of heads, compiled lazily."""

    def __init__(
        self,
        heads: Iterable[Head],
        literals: Mapping[str, str] | None = None,
        *,
        with_candidates: bool = False,
        with_broad: bool = False,
    ) -> None:
        """Take the heads to match; `literals` are the catalogue's precomputed scan literals.

        With `with_candidates` the signatures of tier `candidate` match as well,
        with `with_broad` those of broad classes, whose words are too common for a scan.
        """
        live = {head.id: head for head in heads if head.status != "retired" and (with_broad or not head.broad)}
        self._take(live, BuiltTable(live.values(), literals, with_candidates=with_candidates))

    @classmethod
    def of(cls, catalogue: Catalogue) -> Matcher:
        """All signatures of a catalogue; where its tables were compiled, only what is asked for is read."""
        table = catalogue.table
        if table is None:
            return cls(catalogue.heads.values(), catalogue.literals)
        matcher = cls.__new__(cls)
        matcher._take(catalogue.heads, table)
        return matcher

    def _take(self, heads: Mapping[str, Head], table: Table) -> None:
        self.heads = heads
        self.table = table
        self.texts = table.texts
        self.literals = table.literals
        self.atoms_of = table.atoms_of
        self.literals_of = table.literals_of
        self._patterns = _Patterns(table.texts)

    def atom(self, text: str) -> int | None:
        """The atom of a text, if any signature here uses it."""
        return self._numbers.get(text)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {text: atom for atom, text in enumerate(self.texts)}

    def verify(self, atoms: Iterable[int], record: Record, source: int = 0) -> list[AtomHit]:
        """Run the patterns of these atoms on one record."""
        found = []
        for atom in atoms:
            match = self._patterns[atom].search(record.text)
            if match is not None:
                found.append(AtomHit(atom, source, record, match.start, match.end, match.captures))
        return found

    def scan_records(self, records: Iterable[Record], source: int = 0) -> list[AtomHit]:
        """Find all atoms on records without a scanner: for tests and small texts."""
        listed = list(records)
        whole = "\n".join(f"{record.text}" for record in listed).encode("utf-8", "replace")
        present = [(index, literal) for index, literal in enumerate(self.literals) if literal in whole]
        needles = [(literal.decode("utf-8", "replace"), self.atoms_of(index)) for index, literal in present]
        found: list[AtomHit] = []
        for record in listed:
            atoms = sorted({atom for needle, owners in needles if needle in record.text for atom in owners})
            found.extend(self.verify(atoms, record, source))
        return found

    def resolve(
        self,
        found: Sequence[AtomHit],
        *,
        counts: Mapping[int, int] | None = None,
        progress: Mapping[int, Sequence[int]] | None = None,
    ) -> Resolution:
        """Turn atoms found in all sources into hits of signatures.

        `counts` gives exact numbers of an atom where only some hits were kept;
        `progress` gives, per source, the lines on which the job made a step.
        """
        index = _AtomIndex(found, self.texts)
        hits: list[Hit] = []
        unmet: list[Unmet] = []
        for atom, (_, head, signature) in self._present(index):
            mine, refused = self._hits_of(head, signature, index, progress or {})
            number = max(len(mine), (counts or {}).get(atom, 0) if mine else 0)
            if mine and number < signature.min_count:
                reason = f"seen {number} of {signature.min_count} times"
                refused += [Unmet(head.id, signature.name, hit.source, hit.record, reason) for hit in mine[:1]]
                mine = []
            hits += mine
            unmet += refused
        kept = _drop_contained(hits, self.heads)
        taken = {(hit.entry, hit.source, hit.record.number) for hit in kept}
        return Resolution(kept, [item for item in unmet if (item.entry, item.source, item.record.number) not in taken])

    def _present(self, index: _AtomIndex) -> list[tuple[int, Use]]:
        """The signatures whose first text was found, each with its atom, in the order of the corpus."""
        present = [(atom, use) for atom in index.atoms() for use in self.table.uses_of(atom)]
        return sorted(present, key=lambda item: item[1].place)

    def _hits_of(
        self, head: Head, signature: SignatureHead, index: _AtomIndex, progress: Mapping[int, Sequence[int]]
    ) -> tuple[list[Hit], list[Unmet]]:
        hits, refused = [], []
        for found in index.of(signature.texts[0]):
            if signature.level and found.record.level is not None and found.record.level not in signature.level:
                continue
            if any(name in COUNT_NAMES and capture.text == "0" for name, capture in found.captures.items()):
                # `Detected 0 errors` is the all-clear in the words of the fault.
                continue
            captures, reason = self._context(signature, found, index, progress)
            if reason:
                cleared = reason.startswith(_CLEARED)
                refused.append(Unmet(head.id, signature.name, found.source, found.record, reason, found.atom, cleared))
                continue
            hits.append(
                Hit(head.id, signature.name, found.source, found.record, found.start, found.end, captures, found.atom)
            )
        return hits, refused

    def _context(
        self, signature: SignatureHead, found: AtomHit, index: _AtomIndex, progress: Mapping[int, Sequence[int]]
    ) -> tuple[dict[str, Capture], str]:
        """The captures of a hit with its following lines, or the reason why it does not count."""
        captures = dict(found.captures)
        last = found
        for text in signature.texts[1:]:
            following = index.next_after(text, last, found.record.number + signature.within)
            if following is None:
                return captures, f"the line `{text}` does not follow within {signature.within} lines"
            captures.update(following.captures)
            last = following
        for context in signature.requires:
            if not index.near(context.text, found, context):
                return captures, f"`{context.text}` is missing {_reach(context)}"
        for context in signature.excludes:
            if index.near(context.text, found, context):
                return captures, f"refuted by `{context.text}` {_reach(context)}"
        if signature.cleared_by is not None:
            cleared = index.next_after(signature.cleared_by, found, None)
            if cleared is not None:
                return captures, f"{_CLEARED}{cleared.record.number}"
        if signature.unbroken and any(line > found.record.number for line in progress.get(found.source, ())):
            return captures, "the job made progress after it"
        return captures, ""


def _reach(context: ContextHead) -> str:
    where = {"source": "in this source", "run": "in all sources"}
    place = where.get(str(context.within), f"within {context.within} lines")
    return f"{place}, same {context.same}" if context.same else place


class _Patterns(dict[int, Pattern]):
    """The pattern of each atom that was asked for."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self._texts = texts

    def __missing__(self, atom: int) -> Pattern:
        pattern = self[atom] = Pattern(self._texts[atom])
        return pattern


class _AtomIndex:
    """Hits of each text, sorted by source and line, for context questions."""

    def __init__(self, found: Iterable[AtomHit], texts: Sequence[str]) -> None:
        hits_of: dict[int, list[AtomHit]] = defaultdict(list)
        for hit in found:
            hits_of[hit.atom].append(hit)
        for hits in hits_of.values():
            hits.sort(key=_place)
        self._atoms = hits_of.keys()
        self._hits = {texts[atom]: hits for atom, hits in hits_of.items()}
        self._keys = {text: [_place(hit) for hit in hits] for text, hits in self._hits.items()}

    def atoms(self) -> Iterable[int]:
        return self._atoms

    def of(self, text: str) -> list[AtomHit]:
        return self._hits.get(text, [])

    def next_after(self, text: str, after: AtomHit, last_line: int | None) -> AtomHit | None:
        hits, keys = self.of(text), self._keys.get(text, [])
        position = bisect_right(keys, _place(after))
        if position < len(hits) and hits[position].source == after.source:
            found = hits[position]
            if last_line is None or found.record.number <= last_line:
                return found
        return None

    def near(self, text: str, around: AtomHit, context: ContextHead) -> bool:
        hits = self.of(text)
        if isinstance(context.within, int):
            keys = self._keys.get(text, [])
            line = around.record.number
            low = bisect_left(keys, (around.source, line - context.within))
            high = bisect_right(keys, (around.source, line + context.within))
            hits = hits[low:high]
        elif context.within == "source":
            hits = [hit for hit in hits if hit.source == around.source]
        return any(_same(hit, around, context.same) for hit in hits)


def _place(hit: AtomHit) -> tuple[int, int]:
    return hit.source, hit.record.number


def _same(hit: AtomHit, other: AtomHit, what: str | None) -> bool:
    if what is None:
        return True
    if what == "source":
        return hit.source == other.source
    mine, theirs = getattr(hit.record, what), getattr(other.record, what)
    return mine is None or theirs is None or mine == theirs


def _drop_contained(hits: list[Hit], heads: Mapping[str, Head]) -> list[Hit]:
    by_record: dict[tuple[int, int, str], list[Hit]] = defaultdict(list)
    for hit in hits:
        by_record[(hit.source, hit.record.number, hit.record.text)].append(hit)
    kept: list[Hit] = []
    for group in by_record.values():
        survivors = [hit for hit in group if not any(_beats(other, hit, heads) for other in group if other is not hit)]
        best: dict[str, Hit] = {}
        for hit in survivors:
            known = best.get(hit.entry)
            if known is None or hit.end - hit.start > known.end - known.start:
                best[hit.entry] = hit
        kept += best.values()
    kept.sort(key=lambda hit: (hit.source, hit.record.number, hit.start, hit.entry))
    return kept


def _beats(strong: Hit, weak: Hit, heads: Mapping[str, Head]) -> bool:
    """Whether one hit hides another on the same record."""
    if strong.entry == weak.entry:
        return False
    first, second = heads[strong.entry], heads[weak.entry]
    if first.broad or second.broad:
        return not first.broad or (second.broad and _worth(strong, first) > _worth(weak, second))
    if first.kind == "failure" and second.kind == "class":
        return True
    if first.kind == "class" and second.kind == "failure":
        return False
    contains = strong.start <= weak.start and strong.end >= weak.end
    contained = weak.start <= strong.start and weak.end >= strong.end
    if contains and not contained:
        return True
    if contained and not contains:
        return False
    overlap = strong.start < weak.end and weak.start < strong.end
    return overlap and first.rank < second.rank


def _worth(hit: Hit, head: Head) -> tuple[int, int, str]:
    """How much a broad hit says: by its fixed text, then by how early that ends; never equal for two entries."""
    text = next(signature.texts[0] for signature in head.signatures if signature.name == hit.signature)
    letters = sum(not char.isspace() for part in fixed_parts(text) for char in part)
    return letters, -hit.end, hit.entry
