"""Where it happened: the reader's line of code, the host, what a rank was at, what came just before or after.

Such questions are short and about this run alone. They are answered from the
verdict and its lines before any entry is asked, for an entry speaks of every run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from assistant.chat.contract import Intent
from assistant.chat.draft import Draft
from assistant.chat.findings import in_order
from assistant.chat.story import place_of
from assistant.reports import _words
from assistant.reports._rest import states
from assistant.verdict import Diagnosis, Finding, Line

_LEAD: Final = r"^\W*(?:(?:and|so|but|ok|okay|well|then)\W+)*"
_SOURCE: Final = r"(?:code|script|program|source|repo|train(?:ing)? (?:script|code|loop)|traceback|stack ?trace)"
_CODE: Final = re.compile(
    rf"\b(?:which|what|where)\b.*\b(?:my|our|own|user'?s?) (?:own )?{_SOURCE}\b"
    rf"|\b(?:which|what) (?:line|file|function|call|part)s?(?: (?:and|or) (?:line|file|function|call))?\b"
    rf"(?: number)?(?: (?:in|of) (?:my|our|the|which) (?:\w+ )?{_SOURCE}\b|.*\b(?:crash|break|broke|fail|die|raise|threw|throw|code)\w*)"
    rf"|\bwhere in (?:the|my|our) {_SOURCE}\b|\b(?:line|file) (?:and|or|/) ?(?:line|file)\b"
    rf"|\b(?:line number|code line|line of code|stack ?trace|traceback)\b",
    re.I,
)  # fmt: skip
_NOT_CODE: Final = re.compile(
    r"\b(?:change|fix|set|put|add|need|should|mean|why)\b|\blogs?\b|\bjudg\w*|\bproof|\bevidence\b", re.I
)
_MACHINE: Final = r"(?:host(?:name)?|node(?: name)?|machine|server|box|pod|computer)s?"
_HOST: Final = re.compile(
    rf"{_LEAD}(?:(?:what|how) about )?(?:on )?(?:the |its |my )?{_MACHINE}\W*$"
    rf"|\b(?:which|what|whose) {_MACHINE}\b(?:\W*$| (?:is|was|were|are|did|does|had|has|it)\b(?!.*\b(?:should|can|may|first|drain|replace|exclude|avoid|use|culprit|broken|bad|faulty|guilty)\b))"
    rf"|\bwhat(?:'s| is| was) (?:the |its )(?:name of the )?{_MACHINE}(?: name)?\W*$"
    rf"|\bwhere did (?:it|this|that) (?:happen|occur|run)\b(?! in)|\bname of the {_MACHINE}\b",
    re.I,
)  # fmt: skip
_DOING: Final = re.compile(
    r"\bwhat (?:is|was|were|are|did|does|had)(?: the)?(?: other)? (?:(?:ranks?|workers?)\b.*|it|the (?:job|run|training|others?|rest)|everyone else) (?:do|doing|did|done|waiting|up to|busy|stuck|at)\b"
    r"|\bwhat (?:happened|happens) (?:to|on|with|at|in) (?:the other )?ranks?\b|\bwhere (?:is|was|were|are) (?:the other )?ranks?\b.*"
    r"|" + _LEAD + r"(?:(?:what|how) about )?ranks? \d+\W*$",
    re.I,
)  # fmt: skip
_BEFORE: Final = re.compile(
    r"\bwhat(?:'s| is| was| has| had| did)? ?(?:it |the (?:job|log|rank|run) )?(?:came|come|comes|happen\w*|happend|preced\w+|print\w*|said|say|log\w*|stand|stands|stood|there|do|doing|going on|else)?"
    r"(?: (?:right|just|directly|immediately|shortly|short))* (?:before|beforehand|above|prior|leading up)\b"
    r"(?!.*\b(?:restart|resume|reboot|collect|save|start again|i)\b)"
    r"|\b(?:lines?|log|records?|context|anything)\b.* (?:right |just |directly |immediately )?(?:before|above|preceding|around)(?: (?:it|that|this|the \w+))?\W*$"
    r"|\bwhat (?:led|leads) (?:up )?to (?:it|this|that)\b|" + _LEAD + r"(?:right |just )?before (?:it|that|this)\W*$",
    re.I,
)  # fmt: skip
_AFTER: Final = re.compile(
    r"\bwhat(?:'s)? ?(?:came|happen\w*|happend|followed|follows|comes)(?: \w+)? (?:next|after\w*|then|behind)\b(?!.*\b(?:fix|restart|reboot|resume)\b)"
    r"|\bwhat followed\b|" + _LEAD[:-1] + r"(?:and )?(?:then|after(?: that)?|next|what (?:then|next))\W*$|^\W*and then\b.{0,12}$",
    re.I,
)  # fmt: skip
_RANK: Final = re.compile(r"\branks?\s*(\d+)\b", re.I)
_OTHERS: Final = re.compile(r"\bother|\brest\b|\beveryone\b", re.I)
MOST: Final = 4


@dataclass(frozen=True)
class Asked:
    """A question about the run, and the finding that is under discussion."""

    question: str
    diagnosis: Diagnosis
    finding: Finding | None

    @property
    def first(self) -> Finding | None:
        """The finding that is meant: the one under discussion, else the first."""
        return self.finding or self.diagnosis.initiating or next(iter(in_order(self.diagnosis)), None)


def tell(draft: Draft, question: str, diagnosis: Diagnosis, finding: Finding | None) -> Intent | None:
    """Answer a question about a place in the run; None when it asks for something else."""
    asked = Asked(" ".join(question.split()), diagnosis, finding)
    for pattern, intent, teller in _TELLERS:
        if pattern.search(asked.question) and teller(draft, asked):
            return intent
    return None


def _code(draft: Draft, asked: Asked) -> bool:
    """The reader's own line of code."""
    first = asked.first
    if first is None or _NOT_CODE.search(asked.question):
        return False
    others = [item for item in in_order(asked.diagnosis) if item is not first and item.role != "unrelated"]
    item = next((item for item in (first, *others) if item.code is not None), None)
    if item is None or item.code is None:
        draft.say(
            f"The logs do not say: no traceback of {first.id}, {_words.title(first)}, names a file of your own code",
            f"verdict#{first.id}",
        )
        _decides(draft, first)
        return True
    if item is not first:
        draft.say(f"{first.id} has no traceback with code of yours; {item.id}, {_words.title(item)}, has one",
                  f"verdict#{item.id}")  # fmt: skip
    function = f", in {item.code.function}" if item.code.function not in {"", "<module>"} else ""
    shown = f": `{item.code.code}`" if item.code.code else ""
    draft.say(f"In your code at {item.code.place}{function}{shown}", item.code.at.place)
    draft.note(
        "It is the deepest call of the traceback that is not in a library; the fault itself was raised below it."
    )
    _decides(draft, item)
    return True


def _decides(draft: Draft, finding: Finding) -> None:
    if finding.evidence:
        draft.quote(finding.evidence[0])


def _host(draft: Draft, asked: Asked) -> bool:
    """The host, node or pod, as far as the logs name one."""
    first, run = asked.first, asked.diagnosis.run
    named = {name: run.names[name] for name in ("host", "node", "pod", "namespace", "container") if name in run.names}
    called = ", ".join(f"{name} {value}" for name, value in named.items())
    if first is not None and first.hosts:
        where = _words.place(first, run)
        draft.say(f"{_words.title(first)}: {where}", place_of(first))
        _decides(draft, first)
    elif called:
        draft.say(f"The line itself names no host; these logs name {called}", "verdict#run")
    elif run.hosts:
        rank = f" for {_words.named(first.ranks)}" if first is not None and first.ranks else ""
        draft.say(f"The logs do not say which{rank}; they name the hosts {_words.listing(run.hosts, 8)}", "verdict#run")
    else:
        rank = f"; it was {_words.named(first.ranks)}" if first is not None and first.ranks else ""
        place = place_of(first) if first is not None else "verdict#run"
        draft.say(f"These logs name no host, node or pod{rank}", place)
    return True


def _doing(draft: Draft, asked: Asked) -> bool:
    """What certain ranks, or the run, were at."""
    ranks = [int(number) for number in _RANK.findall(asked.question)]
    diagnosis = asked.diagnosis
    if not ranks and _OTHERS.search(asked.question) and asked.first is not None:
        mine = set(asked.first.ranks)
        ranks = [rank for rank in _known_ranks(diagnosis) if rank not in mine][:MOST]
    if ranks:
        for rank in ranks:
            _of_rank(draft, diagnosis, rank)
        return True
    return _of_run(draft, asked)


def _known_ranks(diagnosis: Diagnosis) -> list[int]:
    found = {rank for finding in diagnosis.all_findings() for rank in finding.ranks}
    found |= {rank.rank for group in diagnosis.collectives for rank in group.ranks}
    return sorted(found | set(diagnosis.run.ranks_seen))


def _of_rank(draft: Draft, diagnosis: Diagnosis, rank: int) -> None:
    """All that the verdict knows of one rank."""
    before = len(draft.lines)
    for number, suspect in enumerate(diagnosis.suspects, start=1):
        if suspect.rank == rank:
            draft.say(
                f"Rank {rank}: {suspect.reason.replace('-', ' ')}: {suspect.because}", f"verdict#suspects-{number}"
            )
    for finding in in_order(diagnosis):
        if rank not in finding.ranks or finding.role == "unrelated":
            continue
        part = {"initiating": "showed the first fault", "downstream": "shows a consequence"}.get(finding.role, "shows")
        draft.say(f"Rank {rank} {part}: {_words.title(finding)}", f"verdict#{finding.id}")
        line = next((line for line in finding.evidence if line.rank in {rank, None}), None)
        if line is not None:
            draft.quote(line)
        if finding.code is not None and len(finding.ranks) == 1:
            draft.say(f"It was in your code at {finding.code.place}", finding.code.at.place)
        _quote(draft, [line for line in finding.before if line.rank == rank][-2:])
    _of_collective(draft, diagnosis, rank)
    if len(draft.lines) > before:
        return
    if rank in diagnosis.run.ranks_seen:
        text = f"Rank {rank} printed lines, but none of them is of a fault"
    else:
        seen = f"; they hold lines of {_words.named(diagnosis.run.ranks_seen)}" if diagnosis.run.ranks_seen else ""
        text = f"No line of these logs is known to be of rank {rank}{seen}"
    draft.say(text, "verdict#run")


def _of_collective(draft: Draft, diagnosis: Diagnosis, rank: int) -> None:
    for group in diagnosis.collectives[:2]:
        state = next((state for ranks, state in states(group) if rank in ranks), "")
        if state:
            number = f" {group.seq}" if group.seq is not None else ""
            draft.say(f"Rank {rank} in the collective{number} of group {group.group}: {state}", "verdict#collectives")


def _of_run(draft: Draft, asked: Asked) -> bool:
    """What the run as a whole was at: phase, step, code, last lines."""
    run, first = asked.diagnosis.run, asked.first
    facts = [f"in the phase `{run.phase}`"] if run.phase else []
    facts += [f"the last step in these logs is {run.last_step}"] if run.last_step is not None else []
    if facts:
        draft.say("It was " + ", and ".join(facts) if run.phase else facts[0], "verdict#run")
    if first is not None and first.code is not None:
        draft.say(f"In your code it was at {first.code.place}", first.code.at.place)
    _quote(draft, first.before if first is not None and first.before else run.last_lines)
    return draft.said


def _before(draft: Draft, asked: Asked) -> bool:
    """What came before the finding under discussion: its cause, or the lines above it."""
    item, diagnosis = asked.first, asked.diagnosis
    if item is None:
        _quote(draft, diagnosis.run.last_lines)
        return draft.said
    causes = [cause for name in item.explained_by if (cause := diagnosis.finding(name)) is not None]
    for cause in causes[:2]:
        draft.say(f"{cause.id} came before it: {_words.title(cause)}", f"verdict#{cause.id}")
        _decides(draft, cause)
    first = item if item.before else diagnosis.initiating
    if first is None or not first.before:
        if not causes and item.evidence:
            draft.say(f"Nothing that was read stands before {item.evidence[0].place} in its log", place_of(item))
        return True
    is_first = item is diagnosis.initiating
    draft.note(f"{'No earlier fault is known. ' if is_first else ''}The lines above {first.id}:")
    _quote(draft, first.before)
    draft.note(f"More of them: `firstfault --context 20 {_source(first.before[-1])}`.")
    return True


def _source(line: Line) -> str:
    path = line.source.partition("!")[0]
    return path if re.fullmatch(r"[\w./-]+", path) and path != "-" else "LOG"


def _after(draft: Draft, asked: Asked) -> bool:
    """What followed the first fault, in order; each with its line."""
    first = asked.diagnosis.initiating
    followers = [item for item in asked.diagnosis.findings if item.role == "downstream" and item is not first]
    if first is None and not followers:
        return False
    for group in _words.grouped(followers)[:MOST]:
        item = group[0]
        where = _words.who(item.ranks, item.hosts, asked.diagnosis.run)
        text = " ".join(part for part in ("Then", f"{where}:" if where else "", _words.title(item)) if part)
        if draft.say(text, f"verdict#{item.id}"):
            _decides(draft, item)
    if not followers and first is not None:
        draft.say(f"Nothing else in these logs follows from {first.id}, {_words.title(first)}", f"verdict#{first.id}")
    _end(draft, asked.diagnosis)
    return True


def _end(draft: Draft, diagnosis: Diagnosis) -> None:
    last = _words.Clock(diagnosis).show(diagnosis.run.last_time)
    if last and draft.has_room:
        draft.say(f"The last record of these logs is of {last}", "verdict#run")


def _quote(draft: Draft, lines: Sequence[Line]) -> None:
    for line in lines:
        draft.quote(line)


_TELLERS: Final[tuple[tuple[re.Pattern[str], Intent, Callable[[Draft, Asked], bool]], ...]] = (
    (_CODE, "lines", _code),
    (_BEFORE, "when", _before),
    (_AFTER, "when", _after),
    (_DOING, "rank", _doing),
    (_HOST, "rank", _host),
)
