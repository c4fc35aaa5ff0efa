"""Exceptions of a program that had been told to stop.

A scheduler that takes the nodes sends SIGTERM; a handler that then looks up what
is not there, or a save whose pipe is gone, dies with a traceback of its own. It
may stand above the scheduler's notice, which comes last in the grace time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assistant.diagnosis.events import Event, Tier
from assistant.diagnosis.progress import Progress
from assistant.diagnosis.reading import Run
from assistant.logs.cancelled import read_cancelled
from corpus.late import late

GRACE_S = 600.0
"""Seconds between a signal and the notice or kill that it warned of, at most."""
TOLD_WITHIN = 60
"""Lines above an exception in which the program says that it was told to stop."""

_STOPS = late(r"PREEMPT|[Pp]reempt|CANCELLED AT|[Rr]equeue|[Ii]nterruption|[Ee]vict|NODE FAILURE|reclaim")
_TOLD = late(
    r"\b(?:[Rr]eceived|[Cc]aught|[Gg]ot|[Hh]andling|[Tt]rapped) (?:a |the |an? )?(?:[Ss]ignal )?(?:SIG(?:TERM|INT|USR[12])|signal(?: number)?:? (?:10|12|15)\b|15 death signal|preemption)"
    r"|\bSIG(?:TERM|USR[12]) (?:received|caught)"
)
_HANDLER = late(
    r"\bin _*(?:"
    r"(?:on|handle|catch|process)?_?sig(?:term|int|usr\d)(?:_?(?:handler|handle|catcher|callback|exit))?"
    r"|(?:on|handle|catch)_?signal(?:_?(?:handler|handle|catcher|callback|exit))?"
    r"|signal_?(?:handler|handle|catcher|callback|exit)"
    r")$",
    re.I,
)
_MAYBE_HANDLER = late(
    r"\bin _*(?:(?:on|handle|catch|process)_?)?(?:signal|preempt\w*)(?:_?(?:handler|handle|catcher|callback|exit))?$",
    re.I,
)
"""Names that code has which handles no signal as well: of audio, of a scheduler of requests, of a whole training step."""
_SAVED = late(
    r"\b(?:[Cc]heckpoint|[Ss]napshot|[Mm]odel|[Ss]tate)\b.{0,120}\b(?:saved|written|stored|complete[d]?|finished|done)\b"
    r"|\b(?:[Ss]aved|[Ww]rote|[Ww]ritten|[Ff]inished (?:saving|writing))\b.{0,60}\b(?:[Cc]heckpoint|[Ss]napshot|model|state)\b"
)
_TASK_ENDED = late(
    r"srun: error: \S{1,200}: tasks? [\d,\-]{1,200}: (?:Exited with exit code (?!0\b|13[07]\b|143\b)\d|Aborted|Segmentation fault|Bus error|Illegal instruction|Floating point exception)"
)
"""A task that ended by itself: what a signal to stop makes of one, in words or as 128 and its number, is left out."""


def mark_signalled(run: Run, events: Sequence[Event], progress: Progress) -> None:
    """Take exceptions of a program that was being stopped for consequences of the scheduler's notice."""
    _mark_ended_task(events)
    notices = [event for event in events if _is_notice(event)]
    if not notices:
        return
    steps = progress.lines()
    for event in events:
        if event.tier == Tier.CLASS and _is_same_stop(event, notices):
            event.tier = Tier.CONSEQUENCE
            continue
        if event.tier not in {Tier.CLASS, Tier.EXCEPTION} or event.episode is None or event.episode.kind != "exception":
            continue
        near = [one for one in notices if _is_near(event, one)]
        if not near:
            continue
        told = _told(run, event, steps.get(event.source, ()), is_noticed=any(_is_before(one, event) for one in near))
        if told is not None:
            event.tier = Tier.CONSEQUENCE
            event.notes.append(
                f"{run.paths[event.source]}:{told} shows that the program was handling the signal to stop"
            )


def _mark_ended_task(events: Sequence[Event]) -> None:
    """A step that srun ends because a task of it has failed: the task comes first, and Slurm gives no reason.

    Where anything else is a fault, that says more than the task's exit code.
    """
    for event in events:
        cancelled = read_cancelled(event.record.text) if event.tier == Tier.CLASS else None
        if cancelled is None or not cancelled.is_step or cancelled.has_reason:
            continue
        above = [one for one in events if one.source == event.source and one.line < event.line]
        ended = [one for one in above if one.attempt == event.attempt and _TASK_ENDED.search(one.record.text)]
        if not ended:
            continue
        event.tier = Tier.CONSEQUENCE
        if not any(_is_fault(one) for one in events):
            min(ended, key=lambda one: one.line).tier = Tier.CLASS


def _is_fault(event: Event) -> bool:
    """Whether an event tells of something open that is more than how a process ended."""
    is_end = event.head is not None and (event.head.ends or event.head.kind == "wrapper")
    return event.tier <= Tier.ERROR_LINE and not (is_end or event.quiet or event.recovered or event.unrelated)


def _is_notice(event: Event) -> bool:
    head = event.head
    is_platform = head is not None and head.family == "scheduler-platform" and event.tier == Tier.FAILURE
    return is_platform and not (event.unrelated or event.unplaced) and _STOPS.search(event.record.text) is not None


def _is_same_stop(event: Event, notices: Sequence[Event]) -> bool:
    """Whether a cancellation without a reason is one whose reason another notice gives: the signal comes first."""
    own = read_cancelled(event.record.text)
    if own is None or not own.job:
        return False
    told = (read_cancelled(one.record.text) for one in notices if _is_near(event, one))
    return any(other is not None and other.job == own.job for other in told)


def _is_near(event: Event, notice: Event) -> bool:
    if event.source == notice.source and event.attempt != notice.attempt:
        return False
    if event.moment is None or notice.moment is None:
        return event.source == notice.source
    gap = event.moment.before(notice.moment)
    return gap is None or abs(gap) <= GRACE_S


def _is_before(notice: Event, event: Event) -> bool:
    """Whether a notice had come when the exception was raised."""
    if notice.source == event.source:
        return notice.line < event.line
    gap = notice.moment.before(event.moment) if notice.moment is not None and event.moment is not None else None
    return gap is not None and gap > 0


def _told(run: Run, event: Event, steps: Sequence[int], *, is_noticed: bool) -> int | None:
    """The line that shows a program in its signal handler, or saying that a signal came."""
    assert event.episode is not None
    for record in event.episode.lines:
        if not record.message.startswith("File "):
            continue
        is_handler = _HANDLER.search(record.message) is not None
        if is_handler or (is_noticed and _MAYBE_HANDLER.search(record.message) is not None):
            return record.number
    first = event.episode.first
    told = None
    for record in run.around(event.source, first - TOLD_WITHIN, first - 1):
        same = not any(record.stream) or not any(event.record.stream) or record.stream == event.record.stream
        if same and _TOLD.search(record.message) is not None:
            told = record.number
        elif same and _SAVED.search(record.message) is not None:
            told = None  # what the signal asked for is done
    is_over = told is not None and any(told < line < first for line in steps)
    return None if is_over else told
