"""What the verdict itself says: what happened, which line, which rank, when, what to fetch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from assistant.chat.contract import Intent
from assistant.chat.draft import Draft
from assistant.chat.findings import in_order
from assistant.chat.words import capital
from assistant.reports import _words
from assistant.verdict import Diagnosis, Finding

_MOST_FOLLOWERS: Final = 3
_QUIET: Final = frozenset({"healthy", "inconclusive"})


def place_of(finding: Finding) -> str:
    """Where a statement about a finding is proven: its deciding line, else the finding."""
    return finding.evidence[0].place if finding.evidence else f"verdict#{finding.id}"


def story(draft: Draft, diagnosis: Diagnosis, finding: Finding | None) -> None:
    """The verdict in a few lines: what came first, why we think so, what followed."""
    if diagnosis.initiating is None or finding is not diagnosis.initiating or finding.entry is None:
        draft.say(_words.headline(diagnosis), "verdict#status")
    if finding is not None:
        tell(draft, diagnosis, finding)
    followers = [item for item in in_order(diagnosis) if item.role == "downstream" and item is not finding]
    for group in _words.grouped(followers)[:_MOST_FOLLOWERS]:
        first = group[0]
        where = _words.who(first.ranks, first.hosts, diagnosis.run)
        text = " ".join(part for part in ("Then", f"{where}:" if where else "", _words.title(first)) if part)
        draft.say(text, place_of(first))


def tell(draft: Draft, diagnosis: Diagnosis, finding: Finding) -> None:
    """One finding: where, what, its line, the reason."""
    where = _words.place(finding, diagnosis.run)
    role = {"initiating": "First", "downstream": "A consequence"}.get(
        finding.role, _words.heading(finding).capitalize()
    )
    name = f"{_words.title(finding)} ({_words.tag(finding)})"
    draft.say(": ".join(part for part in (role, where, name) if part), f"verdict#{finding.id}")
    if finding.evidence:
        draft.quote(finding.evidence[0])


def lines(draft: Draft, diagnosis: Diagnosis, finding: Finding | None) -> None:
    """The lines that prove the finding in focus, the deciding one first."""
    shown = [finding] if finding is not None else list(in_order(diagnosis))[:1]
    for item in shown:
        draft.note(f"{item.id}, {_words.title(item)}, rests on:")
        for line in item.evidence[:6]:
            draft.quote(line)
    if not shown:
        for near in diagnosis.near_misses[:3]:
            draft.quote(near.line)


def lines_of(draft: Draft, diagnosis: Diagnosis, ranks: Sequence[int]) -> bool:
    """The lines of certain ranks, whatever finding they prove; False where none is quoted in the verdict."""
    found = [line for finding in in_order(diagnosis) for line in finding.evidence if line.rank in ranks]
    for line in found[:6]:
        draft.quote(line)
    return bool(found)


def rank(draft: Draft, diagnosis: Diagnosis, finding: Finding | None) -> None:
    """Where it began, as far as the logs say; then the suspects."""
    first = diagnosis.initiating or next(iter(in_order(diagnosis)), finding)
    if diagnosis.initiating is None:
        _suspects(draft, diagnosis)  # who only waited is not the answer
    if first is not None:
        where = _words.place(first, diagnosis.run)
        name = _words.title(first)
        lead = "First" if first.role == "initiating" else "The first that is seen, a consequence"
        known = f"{lead}: {where} ({name})" if where else f"The logs do not name a rank or host for: {name}"
        # The first facts say where; those behind are about what followed, and stand in the verdict.
        facts = "; ".join(first.because.split("; ")[:2]).rstrip(".")
        draft.say(". ".join(part for part in (known, capital(facts)) if part), f"verdict#{first.id}")
        if first.evidence:
            draft.quote(first.evidence[0])
    _suspects(draft, diagnosis)


def _suspects(draft: Draft, diagnosis: Diagnosis) -> None:
    for number, suspect in enumerate(diagnosis.suspects[:3], start=1):
        who = f"rank {suspect.rank}" if suspect.rank is not None else suspect.host or ""
        named = f"{who} ({suspect.reason})" if who else _words.suspected(suspect, diagnosis.run)
        draft.say(f"Suspect: {named}: {suspect.because}", f"verdict#suspects-{number}")


def when(draft: Draft, diagnosis: Diagnosis, finding: Finding | None) -> None:
    """The findings on one time line, those that began first before the others."""
    clock = _words.Clock(diagnosis)
    ours = [item for item in diagnosis.all_findings() if item.role != "unrelated" or item is finding]
    ordered = sorted(ours, key=lambda item: item.onset or "~")
    shown = ordered[:4] if finding is None or finding in ordered[:4] else [*ordered[:3], finding]
    for item in shown:
        time = clock.when_told(item)
        if time:
            began = clock.began(item)
            text = f"{time}{f' ({began})' if began else ''}: {_words.title(item)}"
            draft.say(text, place_of(item))
    if not draft.said and ordered:
        first = finding or ordered[0]
        draft.say(f"The logs give no time for {_words.title(first)}", f"verdict#{first.id}")
    if not draft.said and diagnosis.run.last_time:
        draft.say(f"The last record is of {clock.show(diagnosis.run.last_time)}", "verdict#run")


def collect(draft: Draft, diagnosis: Diagnosis, finding: Finding | None) -> None:
    """The logs that would decide."""
    for number, item in enumerate(diagnosis.fetch_next[:3], start=1):
        place = f"verdict#fetch_next-{number}"
        draft.say(f"{item.what[:1].upper()}{item.what[1:]}{f': {item.why}' if item.why else ''}", place)
        draft.command(item.command, place)


_ASIDE: Final = {
    "survived": "Mostly: the run got over {name} and made steps after it",
    "handled": "Mostly: {name} was printed as a warning, or the program dealt with it",
    "only-slows": "Not for good: {name} slows a run, though it did not end this one",
    "earlier-run": "For this run yes: {name} belongs to an earlier one",
    "harmless": "Yes: {name} stands only in a line that is known to be harmless",
    "quoted": "Yes: {name} is only quoted there, nothing reports it",
}


def ignore(draft: Draft, diagnosis: Diagnosis, finding: Finding | None) -> None:
    """Whether it may be ignored: by its part in the story."""
    if finding is None:
        nothing(draft, diagnosis)
        return
    name = _words.title(finding)
    verdicts = {
        "initiating": f"No: {name} came first and everything else follows from it",
        "downstream": f"By itself yes: {name} is a consequence; what matters is what came before it",
        "recovered": _ASIDE[finding.set_aside or "survived"].format(name=name),
        "unrelated": f"For this job yes: {name} is not part of it",
    }
    draft.say(verdicts[finding.role], f"verdict#{finding.id}")


def nothing(draft: Draft, diagnosis: Diagnosis) -> None:
    """A verdict without a first fault: nothing in these logs needs action, as far as they go."""
    if diagnosis.status == "healthy":
        draft.say(f"None of these lines needs action. {_words.headline(diagnosis)}", "verdict#status")
    elif diagnosis.status == "inconclusive":
        draft.say(f"None of these lines is a known fault. {_words.headline(diagnosis)}", "verdict#status")
    else:
        draft.say(_words.headline(diagnosis), "verdict#status")


def unexplained(draft: Draft, diagnosis: Diagnosis, finding: Finding) -> None:
    """A fault without an entry: the line is real, the knowledge is missing; the nearest entries."""
    draft.say(f"No entry covers {_words.title(finding)}; its line and its place in the story are real",
              f"verdict#{finding.id}")  # fmt: skip
    if finding.evidence:
        draft.quote(finding.evidence[0])
    candidates = [item for excerpt in diagnosis.unexplained for item in excerpt.candidates]
    for number, candidate in enumerate(candidates[:2], start=1):
        missing = f"; missing: {', '.join(candidate.missing[:2])}" if candidate.missing else ""
        draft.say(f"Nearest, not verified: {candidate.entry.title}{missing}", f"verdict#candidates-{number}")


Teller = Callable[[Draft, Diagnosis, Finding | None], None]
TELLERS: Final[Mapping[Intent, Teller]] = {
    "story": story,
    "lines": lines,
    "rank": rank,
    "when": when,
    "collect": collect,
    "ignore": ignore,
}
"""Wishes that the verdict answers."""


def is_quiet(diagnosis: Diagnosis) -> bool:
    """Whether the verdict blames nothing."""
    return diagnosis.status in _QUIET and diagnosis.initiating is None
