"""What an entry says to a wish: its checklist, fix, decision, look-alikes and the rest, one function a wish."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from assistant.chat.contract import Intent
from assistant.chat.draft import Draft
from assistant.chat.session import Tick
from assistant.chat.words import Weights, capital, content, sentences
from assistant.verdict import Finding

RESTART: Final = {
    "safe": "A restart is safe",
    "after-fix": "Restart only after the fix",
    "other-node": "Restart on another node, not on this one",
    "never": "Do not restart",
}
SCOPE: Final = {
    "workload": "It is a matter of the workload (code, configuration or input), not of the node",
    "node": "It is a matter of the node (hardware, driver or host), not of the code that ran there",
    "platform": "It is a matter of the platform (scheduler, network or shared storage), not of the code",
    "either": "It may be the workload or the node; a control decides",
}
_LEAD = 2
"""Sentences of a long text that are said at once."""


@dataclass(frozen=True)
class About:
    """The entry that an answer is about, and what the conversation knows of it."""

    entry: str
    body: Mapping[str, Any]
    question: str
    finding: Finding | None = None
    other: str | None = None
    ticks: Mapping[str, Tick] = field(default_factory=dict)

    def at(self, section: str) -> str:
        """The citation of a section of the entry."""
        return f"{self.entry}#{section}"

    def nearest_first(self, key: str, *parts: str) -> list[tuple[int, Any]]:
        """The items of a list with their numbers, those first that share words with the question."""
        items = list(enumerate(self.body.get(key, []), start=1))
        texts = {number: " ".join(str(item.get(part) or "") for part in parts) for number, item in items}
        weights = Weights.of(texts.values())
        words = content(self.question)
        score = {number: round(weights.covered(words, content(text)), 1) for number, text in texts.items()}
        return sorted(items, key=lambda item: (-score[item[0]], item[0]))


Section = Callable[[Draft, About], None]


def confirm(draft: Draft, about: About, most: int = 2) -> None:
    """The next checks that are not done yet, each with its command and what to expect."""
    shown = 0
    for number, check in about.nearest_first("check", "step", "command"):
        place = about.at(f"check-{number}")
        if place in about.ticks or shown == most:
            continue
        shown += draft.say(f"{ended(check['step'])} Expect: {check['expect']}", place)
        draft.command(check.get("command"), place)
    done = [place for place in about.ticks if place.startswith(f"{about.entry}#")]
    if done and not shown:
        for place in done:
            draft.say(f"Done: it {about.ticks[place].says}", place)


def fix(draft: Draft, about: About, most: int = 2) -> None:
    """The cure, step by step; a class or wrapper says what narrows it."""
    for number, step in about.nearest_first("fix", "step", "command", "why")[:most]:
        place = about.at(f"fix-{number}")
        draft.say(f"{ended(step['step'])} {capital(step['why'])}", place)
        draft.command(step.get("command"), place)
    if not about.body.get("fix"):
        narrow(draft, about)


def fixed(draft: Draft, about: About) -> None:
    """The exit criterion."""
    verify = about.body.get("verify")
    if verify:
        draft.say(f"It is fixed when: {verify['expect']}", about.at("verify"))
        draft.command(verify.get("command"), about.at("verify"))


def why(draft: Draft, about: About) -> None:
    """The reasons of the verdict, then the mechanism."""
    if about.finding is not None and about.finding.evidence:
        draft.quote(about.finding.evidence[0])
        if about.finding.because:
            draft.say(about.finding.because, f"verdict#{about.finding.id}")
    part(draft, about, "mechanism", most=3)


def prevent(draft: Draft, about: About) -> None:
    """What keeps it from coming back."""
    for number, text in enumerate(about.body.get("prevent", [])[:3], start=1):
        draft.say(text, about.at(f"prevent-{number}"))


def owner(draft: Draft, about: About) -> None:
    """Whose it is, and when it becomes somebody else's."""
    draft.say(f"{SCOPE[about.body['scope']]}", about.at("scope"))
    draft.say(f"{RESTART[about.body['restart']]}", about.at("restart"))
    part(draft, about, "escalate", most=_LEAD)


def restart(draft: Draft, about: About) -> None:
    """Whether to restart, and what happens if one only retries."""
    draft.say(f"{RESTART[about.body['restart']]}", about.at("restart"))
    compare = about.body.get("compare")
    if compare:
        draft.say(f"Without the fix: {compare['without_fix']} With it: {compare['with_fix']}", about.at("compare"))
    if about.body["restart"] != "safe":
        fix(draft, about, most=1)


def resume(draft: Draft, about: About) -> None:
    """What to resume from."""
    if about.body.get("recovery"):
        draft.say(about.body["recovery"], about.at("recovery-1"))


def hardware(draft: Draft, about: About) -> None:
    """Code or hardware: the scope, and the control that decides."""
    draft.say(SCOPE[about.body["scope"]], about.at("scope"))
    decision = about.body.get("decision")
    if decision:
        control = f"To be sure: {decision['control']}"
        node, workload = decision["follows_node"], decision["follows_workload"]
        draft.say(f"{ended(control)} If it stays with the node: {node} If it goes with the job: {workload}",
                  about.at("decision"))  # fmt: skip


def escalate(draft: Draft, about: About) -> None:
    """When to stop trying, whom to call, what to hand over."""
    part(draft, about, "escalate", most=4)


def what_is(draft: Draft, about: About) -> None:
    """The quick answer."""
    draft.say(f"{about.body['title']}: {about.body['summary']}", about.at("summary-1"))
    if about.finding is not None and about.finding.evidence:
        draft.quote(about.finding.evidence[0])


def compare(draft: Draft, about: About) -> None:
    """What tells the entry from another, or from everything it is taken for."""
    material = draft.material
    if about.other is None or not material.knows(about.other):
        look_alikes(draft, about)
        return
    other = material.body(about.other)
    for one, two in ((about.body, other), (other, about.body)):
        for number, item in enumerate(one.get("confused_with", []), start=1):
            if item["id"] == two["id"]:
                draft.say(
                    f"{one['title']} against {two['title']}: {item['tell']}", f"{one['id']}#confused_with-{number}"
                )
    for one, two in ((about.body, other), (other, about.body)):
        if two["id"] in one.get("causes", []):
            draft.say(f"{one['title']} brings about {two['title']}", f"{one['id']}#causes")
    for body in (about.body, other):
        lead = " ".join(sentences(body["summary"])[:_LEAD])
        draft.say(f"{body['title']}: {lead}", f"{body['id']}#summary-1")


def look_alikes(draft: Draft, about: About) -> None:
    """What it is taken for and what tells the two apart; then causes and reading."""
    heads = draft.material.catalogue.heads
    for number, item in enumerate(about.body.get("confused_with", [])[:3], start=1):
        name = heads[item["id"]].title if item["id"] in heads else item["id"]
        draft.say(f"{name} ({item['id']}): {item['tell']}", about.at(f"confused_with-{number}"))
    for key, words in (("causes", "It brings about"), ("related", "Worth reading next")):
        known = [name for name in about.body.get(key, []) if name in heads][:4]
        if known:
            listed = "; ".join(f"{heads[name].title} ({name})" for name in known)
            draft.say(f"{words}: {listed}", about.at(key))


def narrow(draft: Draft, about: About) -> None:
    """What narrows a class, or where a wrapper's cause was written."""
    texts = about.body.get("narrows", [])[:3]
    if texts:
        places = [about.at(f"narrows-{number}") for number in range(1, len(texts) + 1)]
        draft.say(f"What narrows it: {'; '.join(texts)}", *places)


def no_cause(draft: Draft, about: About) -> None:
    """That a class or wrapper is no cause by itself; for failures nothing."""
    words = {
        "class": "names a class of errors and is no cause by itself",
        "wrapper": "only reports another error and is no cause by itself",
    }
    if about.body["kind"] in words:
        draft.say(f"{about.body['title']} {words[about.body['kind']]}", about.at("kind"))


def part(draft: Draft, about: About, key: str, most: int) -> None:
    """The first sentences of a text, and among the rest the one nearest to the question."""
    text = about.body.get(key)
    if not text:
        return
    pieces = sentences(text)
    chosen = set(range(min(most, len(pieces))))
    words = content(about.question)
    if len(pieces) > most and words:
        weights = Weights.of(pieces)
        best = max(range(len(pieces)), key=lambda at: (weights.covered(words, content(pieces[at])), -at))
        if weights.covered(words, content(pieces[best])) >= 0.4:
            chosen.add(best)
    draft.say(" ".join(pieces[at] for at in sorted(chosen)), about.at(f"{key}-1"))


def ended(text: str) -> str:
    """A step as a sentence."""
    text = text.strip()
    return text if text[-1:] in ".!?" else f"{text}."


SECTIONS: Final[Mapping[Intent, Section]] = {
    "confirm": confirm,
    "fix": fix,
    "fixed": fixed,
    "why": why,
    "prevent": prevent,
    "owner": owner,
    "restart": restart,
    "resume": resume,
    "hardware": hardware,
    "escalate": escalate,
    "what-is": what_is,
    "compare": compare,
    "else": look_alikes,
}
"""Wishes that an entry answers; the others are answered by the verdict."""


def answers(body: Mapping[str, Any], intent: Intent) -> bool:
    """Whether an entry has something to say to a wish."""
    needed = {
        "confirm": "check", "fixed": "verify", "prevent": "prevent", "resume": "recovery", "escalate": "escalate",
        "else": "confused_with", "compare": "confused_with", "why": "mechanism",
    }  # fmt: skip
    if intent == "fix":
        return bool(body.get("fix") or body.get("narrows"))
    if intent == "hardware":
        return body["scope"] != "either" or bool(body.get("decision"))
    return intent in SECTIONS and (intent not in needed or bool(body.get(needed[intent])))
