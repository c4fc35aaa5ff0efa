"""Looking up hits: which texts stand on the line of each, and which rank its line names.

The hits of one literal in a block are looked up together, in loops that do
little for each of them. In a storm the short way settles them by the characters
around the literal; else the shapes of their lines do (`index.shapes`); and a
line whose shape is new is read in full.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable
from operator import attrgetter

from corpus.match import Matcher
from index.blocks import Block, Limits
from index.shapes import (
    HEAD,
    LONGEST_LINE,
    MASK,
    MOST_EXACT,
    MOST_SHAPES,
    NOWHERE,
    UNKNOWN,
    Core,
    Group,
    Plan,
    Shape,
    ShapeReader,
    hexless,
    rank_of_head,
)
from index.tallies import Track

COMMON = 4
"""Hits of one literal in a block from which the short way is tried."""
MOST_RANK_HITS = 4096
"""Hits of a text that are kept because they bring a new rank; the set of ranks is exact beyond it."""
MOST_ON_LINE = 32
"""Hits of one literal on one line that are looked up: a line that repeats it thousands of times is read once anyway,
and each look-up costs as much as the line is long."""
NEWLINE = 10
"""Found faster as a number than as bytes."""
_LETTERS = frozenset(string.ascii_letters.encode())
_BACKSLASH = ord("\\")
_LOW, _HIGH = attrgetter("low"), attrgetter("high")
SELDOM = 4
"""Shapes of a literal that are read before it counts as one that comes often."""


class Lookup:
    """The plans of all literals, and the tracks of the texts found in the present source."""

    def __init__(self, matcher: Matcher) -> None:
        self._reader = ShapeReader(matcher)
        self.plans: dict[int, Plan] = {}
        """Of the literals that were found, by their numbers."""
        self.touched: set[Group] = set()
        """Groups with places in the present block."""
        self._used: set[Group] = set()
        self.start(Limits())

    def start(self, limits: Limits) -> None:
        """Forget the source before."""
        self.begin(Block(b"\n", 1, starts_line=True, ends_line=True))
        for group in self._used:
            group.forget()
        self._used.clear()
        self._limits = limits
        self.tracks: dict[int, Track] = {}

    def begin(self, block: Block, fired: Collection[int] = ()) -> None:
        """Turn to the next block, in which these literals were found."""
        for group in self.touched:
            group.places.clear()
        self._used |= self.touched
        self.touched.clear()
        self._block = block
        self._fired = fired
        self._simple: bool | None = None

    def track(self, atom: int) -> Track:
        """What is known of a text in the present source."""
        track = self.tracks.get(atom)
        if track is None:
            track = self.tracks[atom] = Track.start(self._limits)
        return track

    # ---- the hits of one literal in a block

    def look_up(self, literal: int, ends: list[int]) -> None:
        """Find out what stands on the lines of these hits, given by where the literal ends."""
        plan = self.plans.get(literal)
        if plan is None:
            plan = self.plans[literal] = self._reader.plan(literal)
        text = self._block.text
        is_common = len(ends) >= COMMON and self._is_simple()
        if is_common and plan.vain > SELDOM and b"&" not in text:
            ends = _behind_no_letter(plan, text, ends)
        rfind = text.rfind
        places = [rfind(NEWLINE, 0, end) for end in ends]
        if len(ends) > MOST_ON_LINE and len(ends) > MOST_ON_LINE * len(set(places)):
            ends, places = _thinned(ends, places)
        if is_common and self._settle_by_core(plan, ends, places):
            return
        find = text.find
        if plan.is_far:
            lines = [text[place : find(NEWLINE, end) + 1] for place, end in zip(places, ends, strict=True)]
        else:
            lines = [text[place : end + 1] for place, end in zip(places, ends, strict=True)]
        keys = [line.translate(MASK) for line in lines]
        if plan.is_far and plan.has_hashes:
            keys = [hexless(key) for key in keys]
        shapes: list[Shape | None] = list(map(plan.get, keys))
        if plan.digits:
            shapes = [
                shape if shape is None or shape.pick is None else shape.forks.get(shape.pick(line))
                for shape, line in zip(shapes, lines, strict=True)
            ]
        if None in shapes:
            before = [-1, *places]
            shapes = [
                shape if shape is not None else self._miss(plan, place, end, is_first=place != last)
                for shape, place, end, last in zip(shapes, places, ends, before, strict=False)
            ]
            places = [place for shape, place in zip(shapes, places, strict=True) if shape is not None]
        self._note(plan, [shape for shape in shapes if shape is not None], places)

    def _is_simple(self) -> bool:
        if self._simple is None:
            self._simple = self._block.is_simple()
        return self._simple

    def _settle_by_core(self, plan: Plan, ends: list[int], places: list[int]) -> bool:
        """The short way of a storm: one text, shown by what stands around it, in lines that begin with a rank."""
        text = self._block.text
        if plan.core is Core.NONE or not ends or not plan.others.isdisjoint(self._fired):
            return False
        if not self._knows_cores(plan, ends) or len(set(places)) != len(places):
            return False
        heads = {text[place : place + HEAD] for place in places}
        group = plan.group(plan.atoms)
        if not heads <= group.heads:
            ranks = {head: rank_of_head(head) for head in heads}
            if None in ranks.values():
                return False
            for place in places:
                self._meet(group, ranks[text[place : place + HEAD]] or 0, place)
            group.heads |= heads
        group.places += places
        self.touched.add(group)
        return True

    def _knows_cores(self, plan: Plan, ends: list[int]) -> bool:
        """Whether what stands around the literal shows the text in each of these lines."""
        text = self._block.text
        reach = plan.reach
        if plan.core is Core.UNKNOWN:
            plan.core = self._reader.core_of(plan, text, ends[0])
        if plan.core is Core.LITERAL:
            cores = {text[end - reach : end + 1] for end in ends}
            return cores <= plan.cores or self._learn_cores(plan, dict(zip(cores, cores, strict=True)))
        if plan.core is Core.NONE:
            return False
        find = text.find
        if plan.is_varied:
            shapes = {text[end - reach : find(NEWLINE, end)].translate(MASK) for end in ends}
            if plan.has_hashes:
                shapes = {hexless(shape) for shape in shapes}
            return shapes <= plan.cores or self._learn_rests(
                plan, {text[end - reach : find(NEWLINE, end)] for end in ends}
            )
        rests = {text[end - reach : find(NEWLINE, end)] for end in ends} - plan.exact
        plan.is_varied = len(rests) + len(plan.exact) > MOST_EXACT
        if plan.is_varied and plan.digits:
            # Then digits are told apart by the shapes of whole lines.
            plan.core = Core.NONE
            return False
        samples = {rest: rest for rest in rests}
        is_known = self._learn_cores(plan, samples) if plan.digits else self._learn_rests(plan, samples)
        if is_known:
            plan.exact |= rests
        return is_known

    def _learn_rests(self, plan: Plan, rests: Iterable[bytes]) -> bool:
        samples = {rest.translate(MASK): rest for rest in rests}
        if plan.has_hashes:
            samples = {hexless(shape): rest for shape, rest in samples.items()}
        return self._learn_cores(plan, samples)

    def _learn_cores(self, plan: Plan, samples: dict[bytes, bytes]) -> bool:
        """Read one sample of each new kind; False when one does not show the text by itself."""
        if len(plan.cores) > MOST_SHAPES:
            plan.cores.clear()
        new = [shape for shape in samples if shape not in plan.cores]
        shown = [shape for shape in new if self._reader.shows(plan, samples[shape])]
        plan.cores.update(shown)
        return len(shown) == len(new)

    def _note(self, plan: Plan, shapes: list[Shape], places: list[int]) -> None:
        """Hand the places to the groups of their shapes, and look for new ranks."""
        kinds = set(shapes)
        groups = {shape.group for shape in kinds}
        if len(groups) == 1:
            (group,) = groups
            new = {group: places}
            group.places += places
        else:
            known = {group: len(group.places) for group in groups}
            for shape, place in zip(shapes, places, strict=True):
                shape.places.append(place)
            new = {group: group.places[count:] for group, count in known.items()}
        self.touched |= groups
        lows, highs = set(map(_LOW, kinds)), set(map(_HIGH, kinds))
        if highs == {0}:
            return
        low, top = lows.pop() if len(lows) == 1 else 0, max(highs, default=0)
        if low and all(
            self._tokens(low, top, added) <= group.wide.get((low, top), set())
            for group, added in new.items()
            if group.atoms
        ):
            return
        self._meet_ranks(plan, shapes, places)
        if low:
            for group, added in ((group, added) for group, added in new.items() if group.atoms):
                tokens = group.wide.setdefault((low, top), set())
                if len(tokens) > MOST_SHAPES:
                    tokens.clear()
                tokens |= self._tokens(low, top, added)

    def _tokens(self, low: int, top: int, places: list[int]) -> set[bytes]:
        """The ranks on these lines, each with what follows it if it is shorter than others."""
        text = self._block.text
        return {text[place + low : place + top] for place in places}

    def _meet_ranks(self, plan: Plan, shapes: list[Shape], places: list[int]) -> None:
        text = self._block.text
        for shape, place in zip(shapes, places, strict=True):
            if shape.high and text[place + shape.low : place + shape.high] not in shape.known:
                self._meet_rank(plan, shape, place)

    # ---- a hit whose shape was not found at once

    def _miss(self, plan: Plan, place: int, end: int, *, is_first: bool) -> Shape | None:
        """The shape of the line, or None when the line was counted by an earlier occurrence."""
        if not is_first:
            return None
        text = self._block.text
        stop = text.find(NEWLINE, end) + 1
        return self._find(plan, text, place, end, stop) or self._learn(plan, text, place, end, stop)

    @staticmethod
    def _find(plan: Plan, text: bytes, place: int, end: int, stop: int) -> Shape | None:
        """The shape of the line up to the literal, of the whole line, or of the line without its hashes."""
        after = 1
        shape = plan.get(text[place : end + 1].translate(MASK))
        if shape is None:
            after = stop - end
            key = text[place:stop].translate(MASK)
            shape = plan.get(key)
            if shape is None and plan.learned > SELDOM:
                shape = plan.get(hexless(key))
        if shape is None:
            return None
        plan.is_far = after != 1
        return shape if shape.pick is None else shape.forks.get(shape.pick(text[place:stop]))

    def _learn(self, plan: Plan, text: bytes, place: int, end: int, stop: int) -> Shape:
        """Read a line whose shape is new, and remember what stands on it."""
        plan.learned += 1
        line = text[place + 1 : stop - 1]
        if len(line) > LONGEST_LINE and b"\r" in line:
            # Megabytes of a progress bar: the redraw with the literal stands for the line.
            line = text[max(place, text.rfind(b"\r", place, end)) + 1 : stop - 1].partition(b"\r")[0]
            self._block.cuts[place] = line
        masked = text[place:stop].translate(MASK)
        layout = self._reader.layout(masked)
        atoms, ranks = self._reader.read(plan, line, needs_rank=layout is None)
        self._note_vain(plan, text, end)
        shape = Shape(plan.group(atoms), *(layout or ()))
        for rank in ranks:
            self._meet(shape.group, rank, place)
        if len(ranks) > 1 or stop - place > LONGEST_LINE or not self._reader.is_plain(plan, line, masked):
            shape.low, shape.high = NOWHERE if layout is None and ranks else (shape.low, shape.high)
            return shape
        if ranks:
            shape.low, shape.high = UNKNOWN
        if self._is_settled_early(plan, shape, text[place + 1 : end + 1], ranks):
            masked = masked[: end + 1 - place]
            if not plan.is_early:
                # Whole lines remembered so far would be looked up in vain, or by turns with the first parts.
                plan.is_early = True
                plan.shapes.clear()
        plan.remember(masked, shape, text[place:stop], is_common=plan.learned > SELDOM)
        return shape

    @staticmethod
    def _note_vain(plan: Plan, text: bytes, end: int) -> None:
        """Once a word often stands in the middle of longer ones, those are passed over, and the short way is tried anew."""
        if plan.is_word and plan.vain <= SELDOM and not _behind_no_letter(plan, text, [end]):
            plan.vain += 1
            if plan.vain > SELDOM and plan.core is Core.NONE and len(plan.atoms) == 1:
                plan.core = Core.UNKNOWN

    def _is_settled_early(self, plan: Plan, shape: Shape, start: bytes, ranks: set[int]) -> bool:
        """Whether the line up to the literal says all, so that what follows need not be looked at.

        Tried only once a literal comes often, because it means to read a line twice.
        """
        if plan.learned <= SELDOM or plan.late_ends > SELDOM or not (plan.is_single and shape.group.atoms):
            return False
        atoms, same_ranks = self._reader.read(plan, start, needs_rank=bool(ranks))
        is_settled = b"{" not in start and atoms == shape.group.atoms and (not ranks or same_ranks == ranks)
        plan.late_ends += not is_settled
        return is_settled

    # ---- ranks

    def _meet_rank(self, plan: Plan, shape: Shape, place: int) -> None:
        """A line whose rank was not seen yet with these texts, or whose rank stands nobody knows where."""
        text = self._block.text
        line = text[place + 1 : text.find(b"\n", place + 1)]
        if (shape.low, shape.high) == UNKNOWN:
            shape.low, shape.high = self._reader.locate_rank(plan, line) or NOWHERE
        if shape.high == NOWHERE[1]:
            for rank in self._reader.read(plan, line)[1]:
                self._meet(shape.group, rank, place)
            return
        token = text[place + shape.low : place + shape.high]
        shape.known.add(token)
        self._meet(shape.group, int(token), place)

    def _meet(self, group: Group, rank: int, place: int) -> None:
        for atom in group.atoms:
            track = self.track(atom)
            if rank not in track.tally.ranks:
                track.tally.ranks.add(rank)
                if len(track.tally.ranks) <= MOST_RANK_HITS:
                    track.ranked.append(place)


def _behind_no_letter(plan: Plan, text: bytes, ends: list[int]) -> list[int]:
    """Hits of a word without those in the middle of a longer one; a letter that a backslash escapes is none."""
    reach = plan.reach
    return [end for end in ends if text[end - reach] not in _LETTERS or text[end - reach - 1] == _BACKSLASH]


def _thinned(ends: list[int], places: list[int]) -> tuple[list[int], list[int]]:
    """The first hits of each line."""
    kept: dict[int, list[int]] = {}
    for end, place in zip(ends, places, strict=True):
        mine = kept.setdefault(place, [])
        if len(mine) < MOST_ON_LINE:
            mine.append(end)
    pairs = [(end, place) for place, mine in kept.items() for end in mine]
    return [end for end, _ in pairs], [place for _, place in pairs]
