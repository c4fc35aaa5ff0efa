"""The table of intents: what a question wants, from its words alone."""

from __future__ import annotations

import pytest

from assistant.chat.intents import INTENTS, RULES, intent_of

TABLE = {
    "confirm": [
        "How do I confirm it?",
        "how can I be sure about that?",
        "How do I know that it is the card?",
        "what would prove it",
        "How do I check the link?",
        "how do I see which libnccl gets loaded?",
    ],
    "fixed": [
        "How do I know that it is fixed?",
        "did the fix work?",
        "how do I verify the fix",
        "what must hold after the fix",
    ],
    "fix": [
        "How do I fix it?",
        "what do I do now?",
        "What should operations do with this node?",
        "Which environment variable must be set?",
        "what are my options",
        "fastest way to get going again?",
        "is there a workaround",
        "what can I do about the check?",
    ],
    "why": [
        "Why did it happen?",
        "who killed my process?",
        "what caused this",
        "explain the mechanism",
        "root cause?",
    ],
    "prevent": ["How do I prevent it?", "how can we avoid this next time", "Should I set an alert?", "will it happen again?"],
    "collect": [
        "What should I collect before a restart?",
        "which log do I need to find the cause?",
        "what other data do you need?",
        "what should I save before I reboot",
    ],
    "owner": ["Who owns this?", "whose problem is it", "which team is responsible", "who should fix it"],
    "restart": ["May I restart?", "should I retry", "Is it transient?", "does the server recover by itself"],
    "resume": ["Which checkpoint may I resume from?", "how much progress is lost?", "are the results so far valid"],
    "compare": [
        "what is the difference between Xid 79 and Xid 119?",
        "how does it differ from an ECC error",
        "how do I tell this apart from a timeout",
    ],
    "lines": ["Show me the lines.", "which line decides?", "where in the log does it say so", "quote the evidence"],
    "rank": ["Which rank was first?", "which node is the bad one?", "who failed first", "which pod?"],
    "when": ["when did it happen?", "at what time was that", "what time was it"],
    "story": ["What happened?", "what failed on this node?", "give me a summary", "what's wrong?"],
    "what-is": ["What is Xid 79?", "what does error 12 mean?", "what are bonded links"],
    "else": ["What else looks like this?", "what else could it be", "similar failures?", "what does it cause?"],
    "ignore": ["Can I ignore it?", "is that harmless?", "which of these lines needs action?", "do these matter?"],
    "hardware": ["Is it my code?", "is the GPU broken?", "is it an NCCL bug?", "is it hardware"],
    "escalate": ["whom should I call?", "when do I open a ticket", "should I escalate", "replace the card?"],
    "choose": ["f2", "the second one", "2", "first"],
    "unknown": ["will a new driver help?", "do I have to rebuild the image", "hello", ""],
}  # fmt: skip
CASES = [(question, intent) for intent, questions in TABLE.items() for question in questions]


@pytest.mark.parametrize(("question", "intent"), CASES)
def test_intent(question: str, intent: str) -> None:
    assert intent_of(question) == intent


def test_every_intent_has_questions() -> None:
    # What a paste, a value or somebody accused is asked for depends on more than the words: see the router.
    assert set(TABLE) == set(INTENTS) - {"paste", "value", "blame"}
    assert {intent for intent, _ in RULES} == set(INTENTS) - {"paste", "value", "blame", "unknown"}


@pytest.mark.parametrize("question", ["HOW DO I CONFIRM IT", "  how  do\nI confirm it ?", "how do i confirm it"])
def test_case_and_blanks_do_not_matter(question: str) -> None:
    assert intent_of(question) == "confirm"
