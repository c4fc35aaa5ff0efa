"""Numbers that are faults: a training loss or gradient norm that is not finite in a step line, in any trainer's form.

A trainer that prints `step 20 loss nan` prints four letters that decide and no
sentence that a signature could quote. The line is known by what it is, a step
with its loss, and by what follows it: from there on no loss is finite again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from assistant.diagnosis.events import Event, Tier
from assistant.diagnosis.progress import Mark, Progress
from assistant.diagnosis.reading import Run
from corpus.late import late
from corpus.match import Hit
from corpus.record import Record

ENTRY: Final = "loss-nan"
"""The entry that speaks of such numbers; without it in the catalogue nothing is said."""
FEWEST: Final = 2
"""Lines in a row that are needed where one alone is usual: an infinite norm is how a loss scaler finds its limit."""
_VALUE: Final = late(
    r"(?P<name>[A-Za-z][\w/.]{0,30}[_/. ])?(?P<what>loss|grad(?:ient)?[ _]?norm)[\"']?(?:\s{0,3}[:=]\s{0,8}|\s{1,8})[\"'(\[]{0,2}"
    r"(?P<value>[-+]?(?:nan|inf(?:inity)?)\b|[-+]?\.?\d)",
    re.I,
)
_NOT_TRAINING: Final = late(
    r"(?:^|[_/. ])(?:va?l|valid\w*|eval\w*|test\w*|dev|best|min|max|prev\w*|last|lowest)[_/. ]", re.I
)
_EVALUATES: Final = late(
    r"^\W{0,3}(?:va?l|valid|eval|test|dev)\b|\b(?:evaluat(?:e|ing|ion)|validat(?:e|ing|ion)|testing)\b[^,;|]{0,80}$",
    re.I,
)
"""What stands before the values of a line of an evaluation."""
_WHOLE_WORDS: Final = frozenset(
    {"train", "training", "total", "lm", "loss", "model", "mean", "avg", "average", "running", "reduced", "step", "batch", "epoch", "global", "smooth", "smoothed"}
)  # fmt: skip
"""Words in the name of the loss that is trained on; of other words, a name joined to it is that of a part."""
_PARTS: Final = frozenset({"aux", "auxiliary", "moe", "balancing", "balance", "contrastive", "kl", "mtp", "router"})
"""The same for a name that only stands before it."""
_WORDS: Final = late(r"[_/. ]")
_LIKELY: Final = late(r"loss|norm", re.I)


@dataclass(frozen=True, slots=True)
class _Step:
    """What a step line says of its numbers."""

    record: Record
    loss: str = ""
    """`nan` or `inf`; empty when it is finite or not printed."""
    norm: str = ""
    number: int | None = None
    has_finite_loss: bool = False
    is_part: bool = False
    """True when only a part of the loss is not finite, while another one on the line is: its part may be switched off."""


def nonfinite_events(run: Run, progress: Progress, hits: Sequence[Hit]) -> list[Event]:
    """An event for each step line from which on loss or gradient norm stay not finite to the end of their stream.

    Sources in which a signature of the same family has found something are left to it.
    """
    head = run.catalogue.heads.get(ENTRY)
    if head is None:
        return []
    told = {hit.source for hit in hits if run.catalogue.heads[hit.entry].family == head.family}
    marks: dict[int, dict[int, Mark]] = {}
    for mark in progress.marks:
        marks.setdefault(mark.source, {})[mark.line] = mark
    events = []
    for source, of_source in marks.items():
        if source in told:
            continue
        whole = run.sources[source].whole
        for lasting in _tails(run.sources[source].records, of_source):
            note = _note(lasting, whole)
            events += [Event(source, step.record, Tier.FAILURE, head, notes=[note]) for step in lasting]
    return events


def _step(record: Record, number: int | None) -> _Step | None:
    """The training loss and gradient norm of a step line; None where it has neither."""
    if _LIKELY.search(record.message) is None:
        return None
    values = {"loss": "", "norm": ""}
    seen = finite = whole = False
    for found in _VALUE.finditer(record.message):
        name = found["name"] or ""
        if _NOT_TRAINING.search(name) is not None or _EVALUATES.search(record.message[: found.start()]) is not None:
            continue
        seen = True
        letters = found["value"].lstrip("+-").lower()[:3]
        letters = letters if letters in {"nan", "inf"} else ""
        kind = "loss" if found["what"].lower() == "loss" else "norm"
        values[kind] = values[kind] or letters
        if kind == "loss":
            finite, whole = finite or not letters, whole or (bool(letters) and not _is_part(name))
    is_part = finite and not whole and not values["norm"] and bool(values["loss"])
    return (
        _Step(record, values["loss"], values["norm"], number, finite and not values["loss"], is_part) if seen else None
    )


def _is_part(name: str) -> bool:
    """Whether a loss of this name is one of several that are added up."""
    words = set(_WORDS.split(name.lower())) - {""}
    return bool(words & _PARTS) if name.endswith(" ") else not words <= _WHOLE_WORDS


def _tails(records: Sequence[Record], marks: Mapping[int, Mark]) -> list[list[_Step]]:
    """The last steps of each stream, as far back as none of them is finite, where that is a fault.

    Read from the end, and of each stream no further than to its last finite step: of a healthy one only one line.
    """
    tails: dict[tuple[object, ...], list[_Step]] = {}
    ended: set[tuple[object, ...]] = set()
    for record in reversed(records):
        if record.number not in marks or record.stream in ended:
            continue
        step = _step(record, marks[record.number].step)
        if step is None:
            continue
        if step.loss or step.norm:
            tails.setdefault(record.stream, []).append(step)
        else:
            ended.add(record.stream)
    lasting = []
    for stream, tail in tails.items():
        bad, after_finite = tail[::-1], stream in ended
        if not after_finite:
            # A part that was never finite is switched off: only what is more than that is a fault.
            more = list(takewhile(lambda step: not step.is_part, tail))[::-1]
            bad, after_finite = more, len(more) < len(bad)
        if bad and _lasts(bad, after_finite=after_finite):
            lasting.append(bad)
    return lasting


def _lasts(tail: Sequence[_Step], *, after_finite: bool) -> bool:
    """Whether the last steps, none of them finite, are a fault."""
    if not after_finite and all(step.norm and step.has_finite_loss for step in tail):
        return False  # a norm that never was a number is one that nobody computes: from real ones the loss would not stay finite
    if len(tail) >= FEWEST:
        return True
    # One line: a loss that is nan where losses were finite before, or at a step that is not the first.
    return tail[0].loss == "nan" and (after_finite or (tail[0].number or 0) > 1)


def _note(tail: Sequence[_Step], whole: bool) -> str:
    what = "loss" if tail[0].loss else "gradient norm"
    if len(tail) == 1:
        return f"the {what} of this step line, the last one of its log, is not finite"
    return f"the {what} is not finite from here on, in {'' if whole else 'at least '}{len(tail)} step lines up to the last one of this log"
