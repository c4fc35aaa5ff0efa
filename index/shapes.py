"""Remembering by its shape what stands on a line, so that a storm costs a look-up a line.

The shape of a line is the line with every digit made 0. Placeholders never ask
which digit it is, so all lines of one shape hold the same texts, and the rank
stands at the same place in each. Where a text itself has digits (`Xid 79`),
the lines of a shape are told apart by the digits at exactly those places; where
escapes spell characters in digits (`\\u0022`), nothing is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from operator import itemgetter

from corpus.match import Matcher
from corpus.record import TEXT_CAP, Record, read_records
from corpus.signature import Part, parse

MASK = bytes.maketrans(b"0123456789", b"0" * 10)
MOST_SHAPES = 8192
"""Shapes remembered for one literal, and values at the digits of one shape; then it starts afresh."""
MOST_EXACT = 256
"""Endings of lines, digits and all, by which a text that asks for digits is told; with more it is told by shapes."""
NEIGHBOURS = 12
"""Characters of fixed text by which a closed list of numbers is found in a shape."""
LONGEST_LINE = 16_384
"""Longer lines are not remembered: their records may be cut."""
UNKNOWN = (0, 1)
"""The place of the rank while it is not known: a newline, which no rank is written as."""
NOWHERE = (0, -1)
"""The place of a rank that no digits of the line decide alone."""

Digits = bytes | tuple[bytes, ...]
"""What stands at one or several places of a line."""

_HEX_RUN = re.compile(rb"[0-9a-fA-F]{6,64}")
_HEAD = re.compile(rb"\n\[(?:rank|Rank|RANK)[ _:=]?(\d{1,6})\]:? ")
HEAD = 13
"""Bytes of the newline before a line and of its beginning that hold `[rank123]: `."""
_DIGITS = re.compile(r"\d+")
_RUN = re.compile(rb"\d+")


class Group:
    """Shapes of one literal that hold the same texts; `places` are their lines in the present block."""

    __slots__ = ("atoms", "heads", "known", "places", "wide")

    def __init__(self, atoms: tuple[int, ...]) -> None:
        self.atoms = atoms
        self.places: list[int] = []
        self.known: set[bytes] = set()
        """Ranks seen in the present source, as they are written."""
        self.heads: set[bytes] = set()
        """Beginnings of lines seen in the present source, each of which names a rank."""
        self.wide: dict[tuple[int, int], set[bytes]] = {}
        """Ranks seen in the present source with what follows them, by where that stands in the line."""

    def forget(self) -> None:
        """Turn to another source."""
        self.known.clear()
        self.heads.clear()
        self.wide.clear()


class Shape:
    """What stands on every line of one shape; `low` and `high` enclose the digits of the rank."""

    __slots__ = ("forks", "group", "high", "known", "low", "pick", "places")

    def __init__(self, group: Group, low: int = 0, high: int = 0) -> None:
        self.group = group
        self.places = group.places
        self.known = group.known
        self.low = low
        self.high = high
        self.pick: Callable[[bytes], Digits] | None = None
        """Takes the digits that the texts ask for out of a line; then `forks` holds the shapes by them."""
        self.forks: dict[Digits, Shape] = {}


class Core(Enum):
    """How much of a line shows a text by itself."""

    UNKNOWN = 0
    LITERAL = 1
    """The literal with a character on both sides."""
    REST = 2
    """All from the character before the literal; digits are masked, unless the text asks for some."""
    NONE = 3


class Plan:
    """How the lines of one literal are looked up."""

    __slots__ = (
        "atoms",
        "core",
        "cores",
        "digits",
        "exact",
        "get",
        "groups",
        "has_hashes",
        "is_early",
        "is_far",
        "is_single",
        "is_varied",
        "is_word",
        "late_ends",
        "learned",
        "literal",
        "others",
        "reach",
        "shapes",
        "vain",
    )

    def __init__(self, literal: bytes, atoms: tuple[int, ...], texts: Sequence[str], others: frozenset[int]) -> None:
        self.literal = literal
        self.atoms = atoms
        self.digits = digit_patterns(texts)
        self.others = others
        """The other literals by which one of its texts is found."""
        self.is_single = len(atoms) == 1 and not others
        """One text, found by no other literal: a match in the first part of a line settles it."""
        self.is_word = begins_word(literal, texts)
        """Whether it shows nothing where a letter stands before it, as `Error:` does in `RuntimeError:`."""
        self.vain = 0
        """How many of its lines were read although a letter stands before it."""
        self.is_early = False
        """Whether first parts of lines are remembered where they settle all."""
        self.is_far = False
        """Whether the last line was looked up as a whole, not up to the literal only."""
        self.has_hashes = False
        """Whether its lines hold hashes or addresses that are made alike."""
        self.learned = 0
        """How many of its lines were read because their shape was new."""
        self.late_ends = 0
        """How many of them could not be settled by their first part."""
        self.shapes: dict[bytes, Shape] = {}
        self.get: Callable[[bytes], Shape | None] = self.shapes.get
        self.cores: set[bytes] = set()
        """Literals with a character on both sides (or with all that follows) that show the text by themselves."""
        self.exact: set[bytes] = set()
        """Endings of lines, digits and all, that show the text."""
        self.is_varied = False
        """Whether there are too many of those to remember."""
        self.core = Core.UNKNOWN if len(atoms) == 1 else Core.NONE
        self.reach = len(literal) + 1
        self.groups: dict[tuple[int, ...], Group] = {}

    def group(self, atoms: tuple[int, ...]) -> Group:
        """The group for these texts."""
        found = self.groups.get(atoms)
        if found is None:
            found = self.groups[atoms] = Group(atoms)
        return found

    def remember(self, shape_of_line: bytes, shape: Shape, line: bytes, *, is_common: bool) -> None:
        """Look this shape up from now on, by itself and by the digits that the texts ask for."""
        key = hexless(shape_of_line) if is_common else shape_of_line
        self.has_hashes |= key != shape_of_line
        spans = self._spans(shape_of_line)
        holder = self.shapes.get(key)
        if holder is None:
            if len(self.shapes) >= MOST_SHAPES:
                self.shapes.clear()
            holder = self.shapes[key] = Shape(self.group(())) if spans else shape
            holder.pick = itemgetter(*spans) if spans else None
        if holder is not shape and holder.pick is not None:
            if len(holder.forks) >= MOST_SHAPES:
                holder.forks.clear()
            holder.forks[holder.pick(line)] = shape

    def _spans(self, shape_of_line: bytes) -> list[slice]:
        spans = {
            (found.start(1) + run.start(), found.start(1) + run.end())
            for pattern in self.digits
            for found in pattern.finditer(shape_of_line)
            for run in _RUN.finditer(found.group(1))
        }
        return [slice(low, high) for low, high in sorted(spans)]


def begins_word(literal: bytes, texts: Sequence[str]) -> bool:
    """Whether the literal is one word that stands for the beginning of fixed text, wherever the texts have it.

    Such text does not match behind a letter. Of several words the blanks may
    differ between two places of a line, so that one says nothing of the other.
    """
    word = literal.decode("utf-8", "replace")
    if not (word[:1].isascii() and word[:1].isalpha()) or any(char.isspace() for char in word):
        return False
    parts = [[part.literal for part in parts if word in part.literal] for text in texts for parts in parse(text)]
    return all(found and all(part.startswith(word) for part in found) for found in parts)


def digit_patterns(texts: Sequence[str]) -> tuple[re.Pattern[bytes], ...]:
    """What finds, in a shape, the digits that these texts ask for."""
    pieces = {piece for text in texts for parts in parse(text) for piece in _digit_pieces(parts)}
    # A lookahead, so that occurrences that overlap are all found.
    return tuple(re.compile(f"(?=({piece}))".encode()) for piece in sorted(pieces))


def _digit_pieces(parts: list[Part]) -> Iterator[str]:
    """Fixed text that holds digits, and closed lists of numbers with the fixed text around them."""
    for index, part in enumerate(parts):
        if _DIGITS.search(part.literal):
            yield _masked(part.literal)
        if any(_DIGITS.search(choice) for choice in part.choices):
            before = parts[index - 1].literal[-NEIGHBOURS:] if index else ""
            after = parts[index + 1].literal[:NEIGHBOURS] if index + 1 < len(parts) else ""
            choices = sorted({_masked(choice) for choice in part.choices}, key=len, reverse=True)
            yield f"{_masked(before)}(?:{'|'.join(choices)}){_masked(after)}"


def _masked(literal: str) -> str:
    """A regular expression for a literal in a shape: digits are 0, blanks match any run of blanks."""
    words = [re.escape(word) for word in re.split("[ \t\u00a0]+", literal)]
    return _DIGITS.sub(lambda found: "0" * len(found.group()), "(?:[ \t]|\u00a0)+".join(words))


def hexless(shape: bytes) -> bytes:
    """A shape with addresses and hashes made alike, by length and kind of the first digit."""
    return _HEX_RUN.sub(_blur, shape)


def _blur(found: re.Match[bytes]) -> bytes:
    run = found.group()
    if b"0" not in run or run.isdigit():
        return run  # a word, or a number
    return (b"0" if run[:1].isdigit() else b"f").ljust(len(run), b"f")


def rank_of_head(head: bytes) -> int | None:
    """The rank that the beginning of a simple line decides, whatever follows."""
    found = _HEAD.match(head)
    return int(found.group(1)) if found else None


def rank_of(record: Record) -> int | None:
    """The rank that a record's own line names; a launcher's task label counts as one."""
    return record.rank if record.rank is not None else record.task


def _is_bare(line: bytes) -> bool:
    """Whether the text of the line's one record is the line itself: no JSON, entities, boxes or redraws."""
    return not (line.rstrip().endswith(b"}") or b"&" in line or b"\xe2" in line or b"\r" in line)


def _bare_record(line: bytes) -> Record:
    text = line[: TEXT_CAP * 4].decode("utf-8", "replace")[:TEXT_CAP]
    return Record(number=0, raw=text, text=text, message=text)


class ShapeReader:
    """Reads a line in full: which texts stand on it, and where its rank is written."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._layouts: dict[bytes, tuple[int, int]] = {}

    def plan(self, index: int) -> Plan:
        """The plan of a literal of the matcher; made for those that are found, because a corpus has thousands."""
        atoms = self._matcher.atoms_of(index)
        texts = [self._matcher.texts[atom] for atom in atoms]
        others = frozenset(owner for atom in atoms for owner in self._matcher.literals_of(atom)) - {index}
        return Plan(self._matcher.literals[index], atoms, texts, others)

    def read(self, plan: Plan, line: bytes, *, needs_rank: bool = True) -> tuple[tuple[int, ...], set[int]]:
        """The texts of this literal on the line, and the ranks that their records name."""
        found: set[int] = set()
        ranks: set[int] = set()
        records = read_records(line, 0) if needs_rank or not _is_bare(line) else [_bare_record(line)]
        for record in records:
            hits = self._matcher.verify(plan.atoms, record)
            rank = rank_of(record)
            if hits and rank is not None:
                ranks.add(rank)
            found.update(hit.atom for hit in hits)
        if not plan.is_single:
            # A text with two spellings on one line is counted by the first of them.
            found = {atom for atom in found if self._owner(atom, line) == plan.literal}
        return tuple(sorted(found)), ranks if found else set()

    def shows(self, plan: Plan, part: bytes) -> bool:
        """Whether a part of a line shows the one text of this literal by itself."""
        return bool(self.read(plan, part.strip(b"\n"), needs_rank=False)[0])

    def core_of(self, plan: Plan, text: bytes, end: int) -> Core:
        """How much of the line shows the text, tried on one hit."""
        if self.shows(plan, text[end - plan.reach : end + 1]):
            return Core.LITERAL
        rest = text[end - plan.reach : text.find(b"\n", end)]
        # Hashes are told from words once a literal is common.
        plan.has_hashes |= hexless(rest.translate(MASK)) != rest.translate(MASK)
        return Core.REST if self.shows(plan, rest) else Core.NONE

    def _owner(self, atom: int, line: bytes) -> bytes:
        literals = (self._matcher.literals[index] for index in self._matcher.literals_of(atom))
        return next((literal for literal in literals if literal in line), b"")

    @staticmethod
    def is_plain(plan: Plan, line: bytes, shape: bytes) -> bool:
        """Whether the shape of the line says everything about it."""
        if b"\\u" in line or b"\\x" in line or b"&#" in line or b"\r" in line[:-1]:
            return False
        if shape.count(plan.literal.translate(MASK)) != 1:
            return False  # two hits would be looked up alike and be counted twice
        # Digits that a text asks for are looked for as they are printed, not as JSON or HTML spells their neighbours.
        return not plan.digits or (b"\\" not in line and b"&" not in line)

    def layout(self, shape: bytes) -> tuple[int, int] | None:
        """Where the rank stands on lines that begin like this one, if that is known."""
        for prefix, place in self._layouts.items():
            if shape.startswith(prefix):
                return place
        return None

    def locate_rank(self, plan: Plan, line: bytes) -> tuple[int, int] | None:
        """Where the digits of the rank stand, counted from the newline before the line.

        Found by trial: other digits there must give that other rank.
        """
        shape = b"\n" + line.translate(MASK)
        _, ranks = self.read(plan, line)
        if len(ranks) != 1:
            return None
        (rank,) = ranks
        for run in _RUN.finditer(line):
            if int(run.group()) != rank:
                continue
            other = bytes(48 + (digit - 47) % 10 for digit in run.group())
            changed = line[: run.start()] + other + line[run.end() :]
            if self.read(plan, changed)[1] == {int(other)}:
                return self._remember(shape, run.start() + 1, run.end() + 1)
        return None

    def _remember(self, shape: bytes, low: int, high: int) -> tuple[int, int]:
        prefix = shape[: high + 1]
        if b"{" not in prefix and len(self._layouts) < 64:
            self._layouts[prefix] = (low, high)
        return low, high
