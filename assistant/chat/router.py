"""Where a question goes: what it wants, and which entries it is about.

The focus moves only when a question names something: `f2`, an id or alias, an
Xid, a title, `rank 3`. `it`, `this` and no name at all keep the entry that was
spoken of last. Without a first fault `it` may mean several findings; then the
route says so and the answer asks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from assistant.chat import blame
from assistant.chat.contract import Intent
from assistant.chat.findings import choices, finding_of, in_focus, named_findings
from assistant.chat.intents import intent_of
from assistant.chat.language import is_english
from assistant.chat.material import Material
from assistant.chat.session import Session
from assistant.chat.words import content, plain
from assistant.verdict import Finding

_XID: Final = re.compile(r"\bxid\D{0,3}(\d{1,3})\b", re.IGNORECASE)
_RANK: Final = re.compile(r"\brank\s*(\d+)\b", re.IGNORECASE)
_AND: Final = re.compile(r"^\W*(?:and|or|what about|how about)\b", re.IGNORECASE)
_OR: Final = re.compile(r"\b(?:or|versus|vs\.?|from|and|with|than)\b", re.IGNORECASE)
_ORDINALS: Final = {"first": 1, "1": 1, "former": 1, "second": 2, "2": 2, "third": 3, "3": 3, "latter": -1}
_NEEDS_ONE: Final = frozenset({"confirm", "fixed", "fix", "prevent", "restart", "owner", "escalate", "what-is"})
"""Wishes that are about one failure; the others are answered by the verdict as a whole."""
_CATCHWORDS: Final = 2
"""Words of an id that a question must have in a row to name it."""


@dataclass(frozen=True, slots=True)
class Route:
    """What a question wants and what it is about."""

    intent: Intent
    entries: tuple[str, ...] = ()
    """The one that is meant first, then the others under discussion."""
    named: bool = False
    """Whether the question itself named the first."""
    other: str | None = None
    """The second party of a comparison."""
    ranks: tuple[int, ...] = ()
    narrow: tuple[Finding, ...] = ()
    """Findings of which the question may mean any."""
    english: bool = True
    question: str = ""
    """The question to answer: a choice (`the second`) brings back the one that was waiting."""
    finding: str | None = None
    """A finding that was named and has no entry."""
    parties: tuple[blame.Party, ...] = ()
    """Ranks and hosts of which the question wants to know whether they are the one."""
    aside: bool = False
    """Whether it only asks for the meaning of a term; the talk goes on about what it was about."""

    @property
    def entry(self) -> str | None:
        """The entry that is meant."""
        return self.entries[0] if self.entries else None


def route(question: str, session: Session, material: Material) -> Route:
    """Find out what a question wants and which entries it is about."""
    intent = intent_of(question)
    chosen = _chosen(question, session) if intent == "choose" else None
    if chosen is not None and session.pending:
        question, intent = session.pending, intent_of(session.pending)
    elif intent == "choose":
        intent = "story"
    findings = [chosen] if chosen is not None else named_findings(question, session.diagnosis)
    ranks = tuple(int(number) for number in _RANK.findall(question))
    names = [finding.entry.id for finding in findings if finding.entry is not None]
    names += [name for name in named_entries(question, session, material) if name not in names]
    defined = _defined(question, session, material) if intent == "what-is" and not names else []
    parties = _accused(question, ranks, session)
    if parties and not names and not findings:
        intent = "blame"
    elif not names and not findings and ranks:
        names = _of_ranks(session, ranks)
    names += defined
    if len(names) > 1 and _OR.search(question) and intent in {"why", "what-is", "unknown", "hardware", "else"}:
        intent = "compare"
    focus = [entry for entry in (session.focus or _default_focus(session)) if material.knows(entry)]
    other = _other(names, focus, intent)
    # A comparison with a stranger is still about the entry under discussion.
    lead = focus[:1] if other is not None and other == names[0] else []
    entries = tuple(dict.fromkeys([*lead, *names, *focus]))
    without_entry = next((finding.id for finding in findings if finding.entry is None), None)
    is_named = bool(names) or without_entry is not None
    english = is_english(question)
    if not english and is_named:
        intent = "what-is"
    elif intent == "unknown" and ranks and session.diagnosis is not None:
        intent = "lines"
    return Route(
        intent=intent,
        entries=entries,
        named=is_named,
        other=other,
        ranks=ranks,
        narrow=() if is_named else _narrow(session, intent),
        english=english,
        question=question,
        finding=without_entry,
        parties=parties if intent == "blame" else (),
        aside=bool(defined) and defined != list(focus[:1]),
    )


def _defined(question: str, session: Session, material: Material) -> list[str]:
    """The entry of a finding whose name holds all words that `what is a watchdog timeout?` asks about."""
    words = content(question)
    if len(words) < _CATCHWORDS or session.diagnosis is None:
        return []
    for entry in in_focus(session.diagnosis):
        if material.knows(entry):
            head = material.catalogue.heads[entry]
            if words <= content(" ".join((plain(head.id), head.title, *map(plain, head.aliases)))):
                return [entry]
    return []


def _accused(question: str, ranks: tuple[int, ...], session: Session) -> tuple[blame.Party, ...]:
    """Who is meant by `was rank 3 the culprit?` and `and rank 4?` behind it; nobody where something else is asked."""
    if session.diagnosis is None:
        return ()
    named = blame.parties(question, ranks, session.diagnosis)
    goes_on = bool(session.turns) and session.turns[-1].intent == "blame" and _AND.search(question) is not None
    return named if goes_on or blame.asks(question) else ()


def _default_focus(session: Session) -> tuple[str, ...]:
    return in_focus(session.diagnosis) if session.diagnosis is not None else ()


def _chosen(question: str, session: Session) -> Finding | None:
    """The finding that `f2`, `2` or `the second one` picks among those that were offered."""
    found = named_findings(question, session.diagnosis)
    if found:
        return found[0]
    offered = choices(session.diagnosis)
    number = next((_ORDINALS[word] for word in plain(question).split() if word in _ORDINALS), 0)
    if not number or abs(number) > len(offered):
        return None
    return offered[number - 1] if number > 0 else offered[-1]


def _of_ranks(session: Session, ranks: tuple[int, ...]) -> list[str]:
    """The entry of the first finding that a rank took part in."""
    if session.diagnosis is None:
        return []
    for finding in session.diagnosis.all_findings():
        if finding.entry is not None and set(ranks) & set(finding.ranks):
            return [finding.entry.id]
    return []


def _other(names: list[str], focus: list[str], intent: Intent) -> str | None:
    if intent != "compare":
        return None
    if len(names) > 1:
        return names[1]
    if names and focus and names[0] != focus[0]:
        return names[0]
    return next((entry for entry in focus if names and entry != names[0]), None)


def _narrow(session: Session, intent: Intent) -> tuple[Finding, ...]:
    """The findings to choose from, as long as the talk has not settled on one."""
    if intent not in _NEEDS_ONE or any(turn.entry is not None for turn in session.turns):
        return ()
    if session.focus and session.focus[:1] != _default_focus(session)[:1]:
        return ()  # somebody chose: the screen, or --entry
    offered = choices(session.diagnosis)
    return tuple(offered[:3]) if len(offered) > 1 else ()


def named_entries(question: str, session: Session, material: Material) -> list[str]:
    """Entries that a question names, in the order of the words; those under discussion win over strangers."""
    text = plain(question)
    found: list[tuple[int, int, str]] = []
    for head in material.catalogue.heads.values():
        if head.status == "retired":
            continue
        known = finding_of(session.diagnosis, head.id) is not None or head.id in session.focus
        place = _place(text, (head.id, *head.aliases), head.title, loosely=known)
        if place is not None:
            found.append((place, 0 if known else 1, head.id))
    for number in _XID.findall(question):
        for entry in material.catalogue.heads:
            if entry.startswith(f"xid-{number}-") and entry not in {name for _, _, name in found}:
                found.append((text.find(number), 0, entry))
    under = [name for _, rank, name in sorted(found) if rank == 0]
    return under + [name for _, rank, name in sorted(found) if rank == 1]


def _place(text: str, names: tuple[str, ...], title: str, *, loosely: bool) -> int | None:
    """Where a text names an entry: by id, alias or title; loosely also by two words of its id in a row."""
    padded = f" {text} "
    phrases = [plain(name) for name in names]
    phrases.append(plain(title.partition("(")[0]))
    if loosely:
        words = phrases[0].split()
        pairs = [" ".join(words[at : at + _CATCHWORDS]) for at in range(len(words) - _CATCHWORDS + 1)]
        phrases += [pair for pair in pairs if len(pair) > 6]
    places = [padded.find(f" {phrase} ") for phrase in phrases if " " in phrase]
    found = [place for place in places if place >= 0]
    return min(found) if found else None


def about_it(intent: Intent) -> Intent:
    """The wish for an entry that the question did not name: first of all what it is."""
    return "what-is" if intent in {"unknown", "why", "story", "choose"} else intent
