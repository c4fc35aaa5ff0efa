"""Faults that a program plainly outlived, although nothing counts its steps.

A retry that succeeds, a batch size that is tried and given up, a request that
fails in a server that lives on: the same literals as in a dead job, and then
ordinary records go on. Only where nothing fatal follows is a fault taken for
handled; a file that ends shortly after it never is.
"""

from __future__ import annotations

from collections.abc import Sequence

from assistant.diagnosis.events import Event, Tier
from assistant.diagnosis.quoted import document_kind, fenced_lines, is_quoted_whole, prompt_lines, quotes
from assistant.diagnosis.reading import Run
from assistant.diagnosis.window import kernel_sources
from assistant.logs.clock import RunClock
from corpus.late import late
from corpus.record import Record

PLAIN_AFTER = 15
"""So many ordinary records after a logged error say that it was handled."""
PLAIN_AFTER_WORDS = 2
"""So many are enough when the program says in words that it goes on."""
WORDS_WITHIN = 2
"""Records after a fault in which such words are looked for."""

_GOES_ON = late(
    r"\b[Rr]etr(?:y|ies|ying|ied)\b|attempt \d+(?:/\d+| of \d+)? ?(?:failed|ok|succe)|\b[Ff]all(?:ing|s)? ?back\b|\(ignored\)"
    r"|\b[Ii]gnoring\b|\bwill be ignored\b|\bskipping\b|\bfailed, (?:using|trying)\b|, using \w+ (?:instead)?$|not usable here|\b(?:unavailable|not (?:available|installed|supported|found))[,;:.] ?(?:using|disabling|continuing|will use)\b"
    r"|\b[Tt]rial \d+ (?:failed|finished|ok)|\brequest \S{1,60} failed|trying (?:the )?(?:next|batch size)|HTTP/[\d.]{1,3}\" [45]\d\d\b|\binstead\b$"
)
_PASSES = late(
    r"\bgoing to \S{1,200} instead\b|\b(?:[Ss]tep(?:Id=| ))?\d{1,12}\.extern\b|\b[Rr]etrying\b|\b[Ww]ill (?:be )?retr(?:y|ied)\b|\b[Ff]alling back to\b"
    r"|\b[Ss]etting TMPDIR to\b|\bNode configuration differs from hardware: CPUs="
)
"""Words by which a line says that it ended nobody: what a retry met, what Slurm took instead, and the step that holds no task."""
_NEXT = late(
    r"^(?:[\w.\-]{1,60}: )*(?:[Rr]etrying|[Ww]ill (?:be )?retr(?:y|ied)|[Ff]alling back to|[Ss]etting TMPDIR to)\b"
)
"""How the line below an error begins that says of it that the program goes on."""
_TRIES = late(r"\(?\b(?:attempt |retry )?(\d{1,4}) ?(?:/|of) ?(\d{1,4})\)?")
_FATAL_WORDS = late(
    r"exit(?:ed)?(?: with)?(?: exit)? ?(?:code|status):? ?\(?[1-9-]|\bAborted\b|\bKilled\b|core dumped|\bexiting\b|shutting down"
    r"|Shutting down|terminated|Traceback|CANCELLED|failed to start|FAILED|(?<!Server )\bError\b|\bfatal\b|make: \*\*\*"
)
_PROMPT = late(r"[$#%>] |^\(\w[\w.-]*\) \S+@")


def mark_handled(run: Run, events: Sequence[Event], error_lines: Sequence[set[int]], clock: RunClock) -> None:
    """Quiet what only quotes an error, and what the program plainly outlived."""
    _mark_quoted(run, events)
    kernel = kernel_sources(run)
    _prefer_loud(run, events, error_lines)
    busy = [set(lines) for lines in error_lines]
    for event in events:
        busy[event.source].add(event.line)
    ends = _Ends(events)
    disordered = [source.is_disordered for source in clock.sources]
    for event in events:
        if event.kernel or event.source in kernel or event.recovered or event.unrelated or event.tier > Tier.ERROR_LINE:
            continue
        if ends.follow(event):
            continue
        if event.line in clock.sources[event.source].adrift:
            continue  # nothing says what came after it
        after = _plain_after(run, event, busy[event.source])
        if after is not None and disordered[event.source]:
            after = [record for record in after if _is_later(record, event, clock)]
        if after is None:
            continue
        needed = PLAIN_AFTER_WORDS if _says_it_goes_on(run, event) else PLAIN_AFTER
        event.quiet = event.quiet or len(after) >= needed
    _mark_passing(run, events)


def _mark_passing(run: Run, events: Sequence[Event]) -> None:
    """Quiet what says itself that the program goes on, where nothing else in these logs is a fault."""
    opened = [event for event in events if not (event.quiet or event.recovered or event.unrelated or event.unplaced)]
    if opened and all(not event.kernel and _passes(run, event) for event in opened):
        for event in opened:
            event.quiet = True


def _passes(run: Run, event: Event) -> bool:
    last = event.episode.last if event.episode is not None else event.line
    below = run.around(event.source, last + 1, last + 1)
    for text, words in ((event.record.message, _PASSES), *((record.message, _NEXT) for record in below)):
        if words.search(text) is not None:
            tries = _TRIES.search(text)
            return tries is None or int(tries.group(1)) < int(tries.group(2))
    return False


def _mark_quoted(run: Run, events: Sequence[Event]) -> None:
    documents = [document_kind(source.path, source.records) for source in run.sources]
    fences = [fenced_lines(source.records) | prompt_lines(source.records) for source in run.sources]
    whole = [is_quoted_whole(source.records) for source in run.sources]
    for event in events:
        start = event.hit.start if event.hit is not None else len(event.record.text) - len(event.record.message)
        kind = documents[event.source]
        if kind:
            event.quiet, event.quoted = True, f"the source is {kind}, not the log of a job"
        elif event.line in fences[event.source] or (not whole[event.source] and quotes(event.record, start)):
            event.quiet, event.quoted = True, "the line quotes an error, it does not report one of this job"


def _prefer_loud(run: Run, events: Sequence[Event], error_lines: Sequence[set[int]]) -> None:
    """What is only told at INFO gives way to what a program reported as an error after going on for a while."""
    loud: dict[int, int] = {}
    for event in events:
        if event.tier <= Tier.EXCEPTION and not event.quiet and not event.recovered and not _is_told(event):
            loud[event.source] = min(loud.get(event.source, event.line), event.line)
    for event in events:
        spoils = event.head is not None and event.head.slows
        until = loud.get(event.source)
        if until is None or spoils or event.kernel or event.tier > Tier.CLASS or not _is_told(event):
            continue
        between = [record for record in run.sources[event.source].records if event.line < record.number < until]
        event.quiet = event.quiet or any(
            record.message
            and record.number not in error_lines[event.source]
            and record.level in {"INFO", "DEBUG", None}
            for record in between
        )


def _is_told(event: Event) -> bool:
    return event.record.level in {"INFO", "DEBUG"}


class _Ends:
    """Where things stand that end jobs: the last line of them in each source."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._last: dict[int, int] = {}
        for event in events:
            if event.quiet or event.unrelated or event.recovered:
                continue
            ends = event.tier >= Tier.CONSEQUENCE or (event.head is not None and event.head.ends)
            if ends or (event.tier == Tier.EXCEPTION and event.record.level is None):
                self._last[event.source] = max(self._last.get(event.source, 0), event.line)

    def follow(self, event: Event) -> bool:
        """Whether something that ends jobs stands below an event, or in another source."""
        others = len(self._last) - (event.source in self._last)
        return others > 0 or self._last.get(event.source, 0) > event.line


def _plain_after(run: Run, event: Event, error_lines: set[int]) -> list[Record] | None:
    """Ordinary records below an event in its stream; None when something fatal is among them."""
    plain = []
    for record in run.sources[event.source].records:
        if record.number <= event.line or record.number in error_lines or not record.message:
            continue
        if any(event.record.stream) and any(record.stream) and record.stream != event.record.stream:
            continue
        if _PROMPT.search(record.message[:80]):
            return None
        if _FATAL_WORDS.search(record.message):
            return None
        plain.append(record)
    return plain


def _is_later(record: Record, event: Event, clock: RunClock) -> bool:
    """Whether a line below an event was not printed before it, as far as times tell."""
    moment = clock.at(event.source, record.number)
    gap = event.moment.before(moment) if event.moment is not None and moment is not None else None
    return gap is None or gap >= 0


def _says_it_goes_on(run: Run, event: Event) -> bool:
    texts = [event.record.message]
    last = event.episode.last if event.episode is not None else event.line
    first = event.episode.first if event.episode is not None else event.line
    for record in run.sources[event.source].records:
        if first - 1 <= record.number < first or last < record.number <= last + WORDS_WITHIN:
            texts.append(record.message)
    return any(_GOES_ON.search(text) is not None for text in texts)
