"""Questions about a value of the log: which job id, version, step, how many ranks, which PCI address.

They are asked in few words, and the verdict knows the value with the line it
stands on. What an entry says of such things is true of every run and answers
nothing here, so this is looked at first; what is no such question, or asks for
a value that the logs do not hold, is left to the others, but for the job id:
that none is named is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from assistant.chat.draft import Draft
from assistant.reports import _words
from assistant.values import job_ids
from assistant.verdict import Diagnosis, EvidenceLine, Finding

_ASKS: Final = r"^\W*(?:and |so |ok,? )?(?:(?:can|could) you )?(?:tell me |show me |give me |do you know )?"
_WHAT: Final = _ASKS + r"(?:what|which|whats|what's)(?:'s)?\b"
_JOB: Final = re.compile(r"\bjob ?(?:id|number)\b|\bid of (?:the|my|this|our) job\b", re.I)
_NOT_JOB: Final = re.compile(r"\b(?:cancel|requeue|array|how do|restart|before|after)\b", re.I)
_VERSION: Final = re.compile(_WHAT + r"[^?]*\bversions?\b|" + _ASKS + r"(?:the )?version of\b", re.I)
_NOT_VERSION: Final = re.compile(
    r"\b(?:fix\w*|affect\w*|introduc\w*|since|upgrade|need|should|support\w*|compatib\w*)\b", re.I
)
_STEP: Final = re.compile(
    _WHAT + r" (?:was |is |were )?(?:the |my |our )?(?:last |final |latest )?(?:training )?(?:step|iteration)\b"
    r"(?! size)(?: number)?(?: (?:was it|did it|before|of|reached|it|did|when|at)\b.*)?\W*$"
    r"|\bhow far did (?:it|the (?:job|run|training)) get\b|\bat (?:which|what) (?:step|iteration)\b", re.I
)  # fmt: skip
_MANY: Final = re.compile(
    r"\bhow many (?:ranks|gpus|workers|processes|nodes|hosts|machines)\b(?!.*\b(?:fail|die|died|hung|hang|report|complain|lost|gone|broken|need)\w*)"
    r"|\bworld[ _]?size\b", re.I
)  # fmt: skip
_LONG: Final = re.compile(
    r"\bhow long (?:did|has|had) (?:it|the (?:job|run|training)|my (?:job|run))(?: been)? (?:run|train|last)\w*\b", re.I
)
_ATTEMPTS: Final = re.compile(
    r"\bhow (?:many attempts|many restarts|many retries|often (?:was|did|has) (?:it|the job)\b.*\brestart\w*)\b", re.I
)
_PHASE: Final = re.compile(r"\b(?:what|which) phase\b", re.I)
_NAMED: Final = re.compile(
    _WHAT + r"\s+(?:is|was|were|are)?\s*(?:the |my |its |this |that |our )?((?:[\w/-]+ ){0,2}[\w/-]+?)"
    r"(?: (?:was it|of (?:it|this|the \w+(?: \w+)?)))?\W*$", re.I
)  # fmt: skip
_OTHER: Final = re.compile(
    r"^\W*(?:why|how(?! (?:many|much|large|big|long|far|often)\b)|is|are|was|does|did|do(?! you know)|should|may|can(?! you)|who|where|when)\b",
    re.I,
)
"""How a question begins that asks for more than a value, although it speaks of one."""
_SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    "pci": ("pci", "pci address", "pci id", "bus id", "busid", "bus address", "pci bus id", "device address"),
    "pid": ("pid", "process id"),
    "seq": ("seq", "sequence", "sequence number", "seq num"),
    "op": ("op", "operation", "collective", "collective operation"),
    "code": ("code", "exit code", "exit status", "status code", "error code", "return code"),
    "exitcode": ("exit code", "exit status"),
    "sig": ("signal", "signal number"),
    "signal": ("signal", "signal number"),
    "limit_ms": ("timeout", "limit", "time limit", "timeout value"),
    "path": ("path", "file"),
    "host": ("peer", "address"),
}


_HOW_MUCH: Final = re.compile(
    r"\bhow (?:much|many (?:[kmgt]i?b|bytes|gigs?)|large|big)\b|" + _WHAT + r"(?: \w+){0,3} (?:free|available|capacity|size|amount)\b", re.I
)  # fmt: skip
_NOT_AMOUNT: Final = re.compile(
    r"\b(?:should|need to|must|could|can i|do i|would|longer|time|work|progress|slower|faster|lost|lose)\b", re.I
)
_AMOUNTS: Final[dict[str, tuple[str, ...]]] = {
    "free": ("available", "avail", "left", "unused"),
    "wanted": ("want", "need", "needed", "asked", "request", "requested", "allocate", "allocation", "try", "tried"),
    "total": ("capacity", "size", "overall"),
    "used": ("use", "in_use", "occupied", "taken"),
    "allocated": (),
    "reserved": ("unallocated",),
    "limit": ("cap", "max", "maximum", "allowed"),
}
"""Amounts by the names that messages and signatures give them, and the words that ask for them."""
_SIZE: Final = re.compile(r"\b\d[\d.,]{0,20} ?(?:[KMGT]i?B|[kmgt]b|bytes|%)(?!\w)|\b\d{4,20}\b")
_NEAR: Final = 24
"""Characters between a size and the word that says what it is."""


def tell(draft: Draft, question: str, diagnosis: Diagnosis, finding: Finding | None) -> bool:
    """Say the value that a question asks for; False when it asks for none, or the logs hold none."""
    if _OTHER.search(question):
        return False
    return any(teller(draft, question, diagnosis, finding) for teller in _TELLERS)


def _job(draft: Draft, question: str, diagnosis: Diagnosis, _finding: Finding | None) -> bool:
    if not _JOB.search(question) or _NOT_JOB.search(question):
        return False
    found = job_ids(diagnosis)
    for number, place in found.items():
        draft.say(f"Job {number}", place)
    if not found:
        draft.note("These logs name no job id.")
    return True


def _versions(draft: Draft, question: str, diagnosis: Diagnosis, _finding: Finding | None) -> bool:
    run = diagnosis.run
    if not run.versions or not _VERSION.search(question) or _NOT_VERSION.search(question):
        return False
    words = set(re.findall(r"[a-z0-9]+", question.lower()))
    wanted = {
        name: version for name, version in run.versions.items() if words & set(re.findall(r"[a-z0-9]+", name.lower()))
    }
    if not wanted and re.search(r"\bversions? of (?!it\b|this\b)\w|\b(?:what|which) \w+ version", question, re.I):
        draft.say(f"These logs do not say; the versions they name: {_words.versions(run)}", "verdict#run")
    else:
        named = wanted or run.versions
        draft.say("These logs name " + ", ".join(f"{name} {version}" for name, version in named.items()), "verdict#run")
    return True


def _step(draft: Draft, question: str, diagnosis: Diagnosis, _finding: Finding | None) -> bool:
    run = diagnosis.run
    if run.last_step is None or not _STEP.search(question):
        return False
    sampled = " (of the lines that were looked at)" if "last_step" in run.sampled else ""
    when = f", the last record is of {_words.Clock(diagnosis).show(run.last_time)}" if run.last_time else ""
    draft.say(f"The last step in these logs is {run.last_step}{sampled}{when}", "verdict#run")
    return True


def _many(draft: Draft, question: str, diagnosis: Diagnosis, _finding: Finding | None) -> bool:
    run = diagnosis.run
    facts = _words.run_facts(diagnosis, _words.Clock(diagnosis))
    if not _MANY.search(question) or not (run.world_size or run.ranks_seen or run.hosts):
        return False
    hosts = f"; hosts: {_words.listing(run.hosts, 8)}" if run.hosts else ""
    draft.say(f"{facts[0]}{hosts}", "verdict#run")
    return True


def _long(draft: Draft, question: str, diagnosis: Diagnosis, _finding: Finding | None) -> bool:
    clock = _words.Clock(diagnosis)
    first, last = _words.parse_time(diagnosis.run.first_time), _words.parse_time(diagnosis.run.last_time)
    if first is None or last is None or not _LONG.search(question) or (first.tzinfo is None) != (last.tzinfo is None):
        return False
    minutes = (last - first).total_seconds() / 60
    span = f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
    shown = f"from {clock.show(diagnosis.run.first_time)} to {clock.show(diagnosis.run.last_time)}"
    draft.say(f"These logs span {span}, {shown}", "verdict#run")
    return True


def _attempts(draft: Draft, question: str, diagnosis: Diagnosis, _finding: Finding | None) -> bool:
    if not _ATTEMPTS.search(question):
        return False
    count = len(diagnosis.run.attempts)
    draft.say(_words.plural(max(1, count), "attempt"), "verdict#run")
    return True


def _phase(draft: Draft, question: str, diagnosis: Diagnosis, _finding: Finding | None) -> bool:
    if diagnosis.run.phase is None or not _PHASE.search(question):
        return False
    draft.say(f"The run was in the phase `{diagnosis.run.phase}`", "verdict#run")
    return True


def _captured(draft: Draft, question: str, diagnosis: Diagnosis, finding: Finding | None) -> bool:
    """A value that a signature bound, asked for by its name."""
    asked = _NAMED.match(" ".join(question.split()))
    if asked is None:
        return False
    name = asked[1].lower()
    others = [item for item in diagnosis.all_findings() if item is not finding]
    for item in [*([finding] if finding is not None else []), *others]:
        for line in item.evidence:
            for key, value in line.captures.items():
                if value and name in (*_SYNONYMS.get(key, ()), key, key.replace("_", " ")):
                    draft.say(f"{asked[1][:1].upper()}{asked[1][1:]} {value}", line.place)
                    return True
    return False


def _amount(draft: Draft, question: str, diagnosis: Diagnosis, finding: Finding | None) -> bool:
    """How much was free, wanted, used: values that a signature bound, else the size beside that word on its line."""
    if not _HOW_MUCH.search(question) or _NOT_AMOUNT.search(question):
        return False
    words = set(re.findall(r"[a-z]+", question.lower()))
    others = [item for item in diagnosis.all_findings() if item is not finding and item.role == "initiating"]
    for item in [*([finding] if finding is not None else []), *others]:
        for line in item.evidence:
            told = [f"{name} {value}" for name, value in _amounts(line, words)]
            if told:
                draft.say(f"{', '.join(told)}, as the line says", line.place)
                draft.quote(line)
                return True
    return False


def _amounts(line: EvidenceLine, words: set[str]) -> list[tuple[str, str]]:
    """The amounts of a line that a question's words name, with their names."""
    wanted = {name: names for name, names in _AMOUNTS.items() if words & {name, *names}}
    found: list[tuple[str, str]] = []
    for name, names in wanted.items():
        bound = next((line.captures[key] for key in (name, *names) if line.captures.get(key)), None)
        value = bound or _beside(line.text, (name, *names))
        if value:
            found.append((name.capitalize() if not found else name, value))
    return found


def _beside(text: str, names: tuple[str, ...]) -> str | None:
    """The size that stands nearest to one of these words."""
    sizes = list(_SIZE.finditer(text))
    places = [match for name in names for match in re.finditer(rf"\b{name}\b", text, re.I)]
    gaps = {
        (max(size.start() - place.end(), place.start() - size.end()), size.group())
        for size in sizes
        for place in places
    }
    near = min(gaps, default=None)
    return near[1] if near is not None and near[0] <= _NEAR else None


Teller = Callable[[Draft, str, Diagnosis, Finding | None], bool]
_TELLERS: Final[tuple[Teller, ...]] = (_job, _versions, _step, _many, _long, _attempts, _phase, _amount, _captured)
