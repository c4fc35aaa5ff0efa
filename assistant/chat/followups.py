"""What to ask next: only questions that the entry, its family or the verdict can answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from assistant.chat import sections
from assistant.chat.contract import Intent
from assistant.chat.material import Material
from assistant.chat.session import Session

if TYPE_CHECKING:
    from assistant.chat.router import Route

MOST: Final = 3
QUESTIONS: Final[dict[Intent, str]] = {
    "confirm": "How do I confirm it?",
    "fix": "How do I fix it?",
    "fixed": "How do I know that it is fixed?",
    "restart": "May I restart?",
    "resume": "Which checkpoint may I resume from?",
    "prevent": "How do I prevent it?",
    "why": "Why did it happen?",
    "else": "What else looks like this?",
    "escalate": "Whom do I call?",
    "collect": "What should I collect before a restart?",
    "lines": "Show me the lines.",
    "rank": "Which rank was first?",
    "story": "What happened?",
}
_AFTER: Final[dict[Intent, tuple[Intent, ...]]] = {
    "story": ("confirm", "fix", "why"),
    "what-is": ("confirm", "fix", "else"),
    "why": ("confirm", "fix", "prevent"),
    "confirm": ("fix", "restart", "else"),
    "paste": ("confirm", "fix", "fixed"),
    "fix": ("fixed", "restart", "prevent"),
    "fixed": ("prevent", "resume"),
    "restart": ("resume", "fix", "prevent"),
    "resume": ("restart", "prevent"),
    "prevent": ("fixed", "else"),
    "hardware": ("confirm", "fix", "escalate"),
    "owner": ("escalate", "fix", "collect"),
    "escalate": ("collect", "fix"),
    "rank": ("why", "confirm", "lines"),
    "when": ("rank", "why"),
    "lines": ("why", "confirm"),
    "else": ("confirm", "why"),
    "compare": ("confirm", "fix"),
    "collect": ("confirm", "restart"),
    "ignore": ("why", "fix"),
    "value": ("rank", "confirm", "fix"),
}
_USUAL: Final[tuple[Intent, ...]] = ("confirm", "fix", "prevent", "why")
_OF_VERDICT: Final[frozenset[Intent]] = frozenset({"lines", "rank", "story", "collect"})


def follow_ups(
    material: Material, session: Session, entry: str | None, route: Route, cited: Collection[str]
) -> tuple[str, ...]:
    """Two or three next questions: one or two by the course of a talk, the rest from the entry's FAQ."""
    if entry is None or not material.knows(entry):
        return _of_verdict(session, route)
    body = material.body(entry)
    asked = session.asked() | {route.question.strip().lower()}
    following = [*_AFTER.get(route.intent, ()), *_USUAL]
    by_course = [
        QUESTIONS[intent]
        for intent in dict.fromkeys(following)
        if intent != route.intent and _can(body, session, intent) and QUESTIONS[intent].lower() not in asked
    ]
    open_faq = [
        item["q"]
        for number, item in enumerate(body.get("faq", []), start=1)
        if f"{entry}#faq-{number}" not in cited and item["q"].lower() not in asked
    ]
    # Another one each turn, so that a talk walks through the FAQ.
    turn = len(session.turns) % len(open_faq) if open_faq else 0
    return tuple([*by_course[:2], *open_faq[turn : turn + 1], *by_course[2:]][:MOST])


def _can(body: dict[str, object], session: Session, intent: Intent) -> bool:
    if intent in _OF_VERDICT:
        return session.diagnosis is not None
    return sections.answers(body, intent)


def _of_verdict(session: Session, route: Route) -> tuple[str, ...]:
    if session.diagnosis is None:
        return ()
    asked = session.asked() | {route.question.strip().lower()}
    wanted: list[Intent] = ["story"]
    wanted += ["collect"] if session.diagnosis.fetch_next else []
    wanted += ["lines"] if any(True for _ in session.diagnosis.all_findings()) else []
    fitting = [intent for intent in wanted if intent != route.intent and QUESTIONS[intent].lower() not in asked]
    return tuple(QUESTIONS[intent] for intent in fitting)[:MOST]
