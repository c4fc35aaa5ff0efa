"""Whether a certain rank or host is the one: yes, no or open, as far as the verdict goes.

`was rank 3 the culprit?` is answered by the part that rank 3 played: it shows
the first fault, it shows a consequence, it is suspected, or nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from assistant.chat.draft import Draft
from assistant.chat.findings import in_order
from assistant.chat.words import capital
from assistant.reports import _words
from assistant.verdict import Diagnosis, Finding, Suspect

_ASKS: Final = re.compile(
    r"\b(?:culprits?|guilty|blam\w+|at fault|offenders?|origin|responsible|innocent|victims?|caus\w+|broke|started|"
    r"first|involved|the (?:one|problem|reason|source))\b",
    re.IGNORECASE,
)
_YES_OR_NO: Final = re.compile(
    r"^\W*(?:so |and |but |then )*(?:is|isn't|was|wasn't|were|are|did|didn't|does|do|could|can|might|may)\b",
    re.IGNORECASE,
)
_HOST: Final = re.compile(r"\b(?:node|host|worker|gpu|dgx|ip|hpc|compute|srv|server|cn)[-\w.]*\d[-\w.]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Party:
    """A rank or a host that a question names."""

    rank: int | None = None
    host: str | None = None

    @property
    def name(self) -> str:
        """As it is called in an answer."""
        return f"rank {self.rank}" if self.rank is not None else str(self.host)

    def is_of(self, ranks: Iterable[int | None], hosts: Iterable[str | None]) -> bool:
        """Whether it is among these ranks or hosts."""
        return self.rank in ranks if self.rank is not None else self.host in hosts


def asks(question: str) -> bool:
    """Whether a question wants to know if somebody is the one."""
    return _YES_OR_NO.search(question) is not None and _ASKS.search(question) is not None


def parties(question: str, ranks: Iterable[int], diagnosis: Diagnosis | None) -> tuple[Party, ...]:
    """The ranks and hosts of a question: hosts of the verdict by name, others by the look of their names."""
    found = [Party(rank=rank) for rank in ranks]
    text = question.lower()
    known = sorted(_hosts(diagnosis)) if diagnosis is not None else []
    named = [host for host in known if re.search(rf"(?<![\w.-]){re.escape(host.lower())}(?![\w-])", text)]
    if not named and not found:
        named = [match.group().rstrip(".") for match in _HOST.finditer(question)]
    return (*found, *(Party(host=host) for host in named))


def _hosts(diagnosis: Diagnosis) -> set[str]:
    of_findings = {host for finding in diagnosis.all_findings() for host in finding.hosts}
    of_suspects = {suspect.host for suspect in diagnosis.suspects if suspect.host is not None}
    return of_findings | of_suspects | set(diagnosis.run.hosts)


def tell(draft: Draft, diagnosis: Diagnosis, named: Iterable[Party]) -> None:
    """What the verdict says of each of them; the line that decides is quoted."""
    for party in named:
        first = diagnosis.initiating
        if first is None:
            _without_first(draft, diagnosis, party)
        elif party.is_of(first.ranks, first.hosts):
            _is_the_one(draft, diagnosis, party, first)
        elif (suspect := _suspect(diagnosis, party)) is not None:
            _is_suspected(draft, diagnosis, party, suspect)
        else:
            _is_another(draft, diagnosis, party, first)


def _is_the_one(draft: Draft, diagnosis: Diagnosis, party: Party, first: Finding) -> None:
    others = [rank for rank in first.ranks if rank != party.rank] if party.rank is not None else []
    beside = f", as {_words.named(others)} did" if others else ""
    where = _words.place(first, diagnosis.run) if not others else party.name
    draft.say(f"Yes: the first fault was seen on {where}{beside}: {_words.title(first)}", f"verdict#{first.id}")
    draft.quote(first.evidence[0])


def _is_suspected(draft: Draft, diagnosis: Diagnosis, party: Party, suspect: Suspect) -> None:
    number = diagnosis.suspects.index(suspect) + 1
    reason = suspect.reason.replace("-", " ")
    draft.say(f"Perhaps, it is not proven: {party.name} is suspected ({reason}): {suspect.because}",
              f"verdict#suspects-{number}")  # fmt: skip


def _is_another(draft: Draft, diagnosis: Diagnosis, party: Party, first: Finding) -> None:
    """Somebody who is not where the first fault was seen: a consequence, or nothing at all."""
    seen = next(_of(party, diagnosis), None)
    where = _words.place(first, diagnosis.run)
    if not where:
        text = f"The logs do not say: they name no rank or host for the first fault, {_words.title(first)}"
    elif seen is not None:
        text = f"No: {party.name} shows a consequence, {_words.title(seen)}. The first fault was on {where}"
    elif party.host is not None and party.host not in _hosts(diagnosis):
        text = f"These logs name no {party.name}. The first fault was on {where}"
    else:
        text = f"Nothing in these logs points to {party.name}. The first fault was on {where}"
    draft.say(f"{text}: {_words.title(first)}" if where else text, f"verdict#{first.id}")
    draft.quote(first.evidence[0])
    if seen is not None:
        line = next((line for line in seen.evidence if party.is_of((line.rank,), (line.host,))), None)
        if line is not None:
            draft.quote(line)


def _without_first(draft: Draft, diagnosis: Diagnosis, party: Party) -> None:
    suspect = _suspect(diagnosis, party)
    if suspect is not None:
        _is_suspected(draft, diagnosis, party, suspect)
        return
    seen = next(_of(party, diagnosis), None)
    shows = f"; of {party.name} they hold {_words.title(seen)}" if seen is not None else ""
    draft.say(f"That is open: no first fault stands in these logs{shows}", "verdict#status")
    if diagnosis.suspects:
        other = diagnosis.suspects[0]
        draft.say(f"{capital(_words.suspected(other, diagnosis.run))} is suspected: {other.because}",
                  "verdict#suspects-1")  # fmt: skip


def _suspect(diagnosis: Diagnosis, party: Party) -> Suspect | None:
    for suspect in diagnosis.suspects:
        ranks = [] if suspect.rank is None else [suspect.rank]
        hosts = [] if suspect.host is None else [suspect.host]
        if party.is_of(ranks, hosts):
            return suspect
    return None


def _of(party: Party, diagnosis: Diagnosis) -> Iterator[Finding]:
    """The findings in which somebody took part, consequences of the first fault before the rest."""
    for finding in in_order(diagnosis):
        if finding.role == "downstream" and party.is_of(finding.ranks, finding.hosts):
            yield finding
