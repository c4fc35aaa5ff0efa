"""Progress and completion: what the job achieved, and whether it went on after a fault.

Reads the step counters of the trainers (Megatron, DeepSpeed, HF Trainer,
Lightning, MaxText/JAX, torchtitan, MMEngine, tqdm bars) and the served requests
of inference servers, and the lines by which programs say that they are done.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from corpus.record import Record

_STEP = re.compile(
    r"(?<![A-Za-z_])(?:global[_ ]step|train[_ ]step|steps?|iteration|iter|it)(?![A-Za-z_])['\"]?\s{0,3}[:=#]?\s{0,8}[\[(]?(\d{1,10})(?:\s{0,6}(?:/|of)\s{0,8}(\d{1,10}))?(?![\d.]*[A-Za-z%])",
    re.I,
)
_BAR = re.compile(r"(\d{1,10})/(\d{1,10}) \[\d+:\d+(?::\d+)?<")
_KERAS = re.compile(r"\d{1,9}/\d{1,9} \S")
"""Keras' bar: batches of the epoch, so no number of a step."""
_EPOCH = re.compile(
    r"\bepoch['\"]?\s{0,3}[:=#]?\s{0,3}\[?(\d{1,7})\]?(?:\s{0,3}[/\[]\s{0,3}(\d{1,9})(?:/\d{1,9})?)?", re.I
)
_LOSS = re.compile(
    r"\b(?:lm |train_|train/)?loss['\"]?(?:\s{0,3}[:=]\s{0,3}|\s{1,3})['\"]?[-+]?(?:\d|nan|inf)|\bit/s\b|\bs/it\b|samples/s|tokens/s|tok/s",
    re.I,
)
_SERVED = re.compile(r"HTTP/[\d.]{1,3}\" 2\d\d\b|Avg prompt throughput|Decode batch|generation throughput")
_DONE = re.compile(
    r"(?:[Tt]raining|[Ff]ine-?tuning|[Jj]ob|[Rr]un|[Ee]valuation|[Pp]retraining|[Ww]orkflow|[Bb]enchmark|[Ss]cript|[Pp]rocess|[Tt]est|[Cc]opy|[Dd]ownload|[Ee]xperiment|worker)s? (?:is |was |has |have )?(?:now )?(?:done|complete[d]?|finished|succeeded|successful)\b"
    r"|\b(?:[Ff]inished|[Cc]ompleted) (?:training|successfully|run|evaluation|all|the run|job)|completed successfully|[Ss]uccessfully (?:installed|built|completed|trained|finished)"
    r"|'train_runtime'|\btrain_runtime\b|`Trainer\.fit` stopped|\[after training is done\]|exit(?:ed)?(?: with)?(?: exit)? (?:code|status):? 0\b|returned 0\b|\bSUCCEEDED\b|[Jj]ob [\w.\-/]+ succeeded\b|\bCOMPLETED\b"
    r"|^(?:All )?[Dd]one(?:[.!]?$|, \w+ (?:saved|written)\b)|# Avg bus bandwidth|Avg bus bandwidth|Out of bounds values : 0 OK|Total training time|Test PASSED|\bPASS(?:ED)?$|^sent [\d,]+ bytes|Run summary|Fine-tuning took|All tests passed|Successfully tagged|Finished processing|[Ww]riting (?:final )?outputs|Training took|exiting program at iteration"
)
# Most lines hold none of these pieces; looking for them first is ten times cheaper.
_DONE_PIECES = (
    "done", "Done", "omplete", "inished", "uccess", "ucceed", "UCCEED", "OMPLETED", "passed", "PASS", "train_runtime",
    "stopped", "exit", "returned", "andwidth", "took", "summary", "bounds", "utputs", "training time",
)  # fmt: skip
_LIKELY_MARK = re.compile(r"[Ss]tep|[Ii]ter|[Ee]poch|[Ll]oss|it/s|s/it|HTTP/|hroughput|atch|\d/\d|/s\b")
_PASSED = re.compile(r"^(?!.*\b[1-9]\d* (?:failed|errors?)\b).*\b\d+ passed\b")
# Said by helpers beside the job as well (rsync, wandb, an epilog): proof of an end, not of the job's success.
_WEAK_DONE = re.compile(
    r"^sent [\d,]+ bytes|[Rr]un summary|^(?:All )?[Dd]one[.!]?$|exit (?:code|status):? 0\b|upload|[Cc]opy|epilog|[Pp]rocess(?:es)? (?:has |have )?finished"
)
_NOT_DONE = re.compile(r"\bnot (?:complete|done|finish)|(?:was|were) not|[Ff]ailed|[Ee]rror|CANCELLED|if |when |until ")


@dataclass(frozen=True, slots=True)
class Mark:
    """One sign of progress: a step, an epoch, a loss line, a served request."""

    source: int
    line: int
    step: int | None
    total: int | None


@dataclass
class Progress:
    """All signs of progress and completion that were read."""

    marks: list[Mark] = field(default_factory=list)
    done: list[tuple[int, Record]] = field(default_factory=list)
    """Lines of completion; after a fault only those that the job itself printed count (`is_weak`)."""

    @property
    def last_step(self) -> int | None:
        """The highest step of the last attempt that counted steps."""
        steps = [mark.step for mark in self.marks if mark.step is not None]
        return max(steps[-200:]) if steps else None

    @property
    def reached_total(self) -> bool:
        """True when the last counter of a run with a known total reached it."""
        with_total = [mark for mark in self.marks if mark.step is not None and mark.total]
        return bool(with_total) and with_total[-1].step == with_total[-1].total

    def lines(self) -> dict[int, list[int]]:
        """Lines with progress, per source."""
        found: dict[int, list[int]] = {}
        for mark in self.marks:
            found.setdefault(mark.source, []).append(mark.line)
        return found

    def goes_on_after(self, source: int, line: int, *, ignoring: frozenset[int] = frozenset()) -> bool:
        """Whether the job made lasting progress below this line of the same source.

        Lines to ignore are steps that carry the fault themselves (a loss that is nan).

        Ranks that had not noticed yet may finish the step that was under way,
        so one further step is not progress; two are. Without step numbers three
        signs are asked for.
        """
        track = self._tracks.get(source)
        if track is None:
            return False
        position = bisect_right(track.lines, line)
        last = track.last_step[position]
        if ignoring.isdisjoint(track.lines[position:]):
            count, steps = len(track.lines) - position, track.steps_after[position]
        else:
            after = [
                step for at, step in zip(track.lines, track.steps, strict=True) if at > line and at not in ignoring
            ]
            count, steps = len(after), _summary({step for step in after if step is not None})
        if steps.distinct and last is not None:
            return steps.highest >= last + 2 or (steps.distinct >= 3 and steps.lowest < last)
        return steps.distinct >= 2 if steps.distinct else count >= 3

    def with_done(self, done: list[tuple[int, Record]]) -> Progress:
        """The same marks with other lines of completion; what was made of the marks is shared."""
        other = replace(self, done=done)
        other.__dict__.update(_tracks=self._tracks, marks_of=self.marks_of)
        return other

    @cached_property
    def marks_of(self) -> dict[int, list[Mark]]:
        """The marks of each source that has any, by line."""
        by_source: dict[int, list[Mark]] = {}
        for mark in self.marks:
            by_source.setdefault(mark.source, []).append(mark)
        return {source: sorted(marks, key=lambda mark: mark.line) for source, marks in by_source.items()}

    @cached_property
    def _tracks(self) -> dict[int, _Track]:
        """What lies before and after each mark of a source."""
        return {source: _track(marks) for source, marks in self.marks_of.items()}


@dataclass(frozen=True, slots=True)
class _Steps:
    """Steps of a stretch: how many different ones (three is enough), the lowest and the highest."""

    distinct: int = 0
    lowest: int = 0
    highest: int = 0


@dataclass(frozen=True, slots=True)
class _Track:
    """Marks of one source in order of lines; both lists of facts are one longer than the marks."""

    lines: list[int]
    steps: list[int | None]
    last_step: list[int | None]
    steps_after: list[_Steps]


def _summary(steps: set[int]) -> _Steps:
    return _Steps(min(len(steps), 3), min(steps), max(steps)) if steps else _Steps()


def _track(marks: Sequence[Mark]) -> _Track:
    steps = [mark.step for mark in marks]
    last: list[int | None] = [None]
    for step in steps:
        last.append(last[-1] if step is None else step)
    after = [_Steps()]
    few: set[int] = set()
    for step in reversed(steps):
        known = after[-1]
        if step is None:
            after.append(known)
            continue
        if len(few) < 3:
            few.add(step)
        lowest, highest = (min(known.lowest, step), max(known.highest, step)) if known.distinct else (step, step)
        after.append(_Steps(len(few), lowest, highest))
    return _Track([mark.line for mark in marks], steps, last, after[::-1])


def read_progress(sources: Sequence[Iterable[Record]], skip: Sequence[set[int]]) -> Progress:
    """Read the marks of all sources; `skip` holds, per source, the lines of error blocks."""
    progress = Progress()
    for index, records in enumerate(sources):
        for record in records:
            if record.number in skip[index] or record.program == "kernel" or not record.message:
                continue
            mark = mark_of(index, record)
            if mark is not None:
                progress.marks.append(mark)
            if record.level not in {"ERROR", "FATAL"} and is_completion(record.message):
                progress.done.append((index, record))
    return progress


def is_completion(message: str) -> bool:
    """Whether a message says that the program finished its work."""
    if not any(map(message.__contains__, _DONE_PIECES)) and not message.startswith("sent "):
        return False
    if _PASSED.search(message) is not None:
        return True
    return _DONE.search(message) is not None and _NOT_DONE.search(message) is None


def is_weak(message: str) -> bool:
    """Whether a line of completion may as well be that of a helper beside the job."""
    return _WEAK_DONE.search(message) is not None


def mark_of(source: int, record: Record) -> Mark | None:
    """The sign of progress that a record is, if it is one."""
    message = record.message
    if record.level in {"ERROR", "FATAL", "WARNING"} or len(message) > 2000 or _LIKELY_MARK.search(message) is None:
        return None
    if ("HTTP/" in message or "hroughput" in message or "Decode batch" in message) and _SERVED.search(message):
        return Mark(source, record.number, None, None)
    bar = _BAR.search(message) if "<" in message else None
    if bar is not None:
        return Mark(source, record.number, int(bar.group(1)), int(bar.group(2)))
    lower = message.lower()
    counts = ("loss" in lower or "/s" in lower or "s/it" in lower) and _LOSS.search(message) is not None
    step = _STEP.search(message) if "step" in lower or "it" in lower else None
    if step is not None and (counts or lower.startswith(("step", "iter", "[", "global", "training", "train", " it"))):
        total = step.group(2)
        return Mark(source, record.number, int(step.group(1)), int(total) if total else None)
    epoch = _EPOCH.search(message)
    if epoch is not None and counts:
        return Mark(source, record.number, None, None)
    is_loss_line = counts and ("'loss'" in message or _KERAS.match(message) is not None)
    return Mark(source, record.number, None, None) if is_loss_line else None
