"""What a question is about: the focus moves when something is named, and only then."""

from __future__ import annotations

import dataclasses

import pytest

from assistant.chat.language import is_english
from assistant.chat.material import Material
from assistant.chat.router import route
from assistant.chat.session import Session, Turn, start
from assistant.verdict import Diagnosis

XID = "xid-79-gpu-fell-off-bus"
WATCHDOG = "nccl-watchdog-collective-timeout"
WRAPPER = "torchrun-child-failed"


@pytest.fixture
def session(stories: dict[str, Diagnosis]) -> Session:
    """A talk about a GPU that fell off the bus, with a timeout and a wrapper behind it."""
    return start(stories["xid-79"])


def test_the_first_fault_is_in_focus_at_the_start(session: Session, material: Material) -> None:
    found = route("how do I confirm it?", session, material)
    assert (found.entry, found.named) == (XID, False)
    assert found.entries == (XID, WATCHDOG, WRAPPER)


@pytest.mark.parametrize(
    ("question", "entry"),
    [
        ("how do I confirm f2?", WATCHDOG),
        ("what is F3", WRAPPER),
        (f"tell me about {WATCHDOG}", WATCHDOG),
        ("what is xid-79-fallen-off-bus", XID),
        ("why the nccl watchdog?", WATCHDOG),
        ("what is Xid 119?", "xid-119-gsp-rpc-timeout"),
        ("explain XID 48", "xid-48-double-bit-ecc"),
        ("why did rank 3 die?", WATCHDOG),
        ("CUDA OOM, how do I fix it", "cuda-oom"),
    ],
)
def test_a_name_moves_the_focus(session: Session, material: Material, question: str, entry: str) -> None:
    found = route(question, session, material)
    assert (found.entry, found.named) == (entry, True)


@pytest.mark.parametrize("question", ["and how do I fix it?", "why?", "is that safe", "what about rank 77?"])
def test_pronouns_keep_what_was_spoken_of_last(session: Session, material: Material, question: str) -> None:
    later = session.with_turn(Turn("what is f2?", "...", "what-is", WATCHDOG))
    assert route(question, later, material).entry == WATCHDOG


@pytest.mark.parametrize(
    ("question", "entry", "other"),
    [
        ("what is the difference between f1 and f2?", XID, WATCHDOG),
        ("how does it differ from xid 119", XID, "xid-119-gsp-rpc-timeout"),
        ("is it xid 79 or xid 119?", XID, "xid-119-gsp-rpc-timeout"),
        ("compare f2 with f1", WATCHDOG, XID),
    ],
)
def test_a_comparison_has_two_parties(
    session: Session, material: Material, question: str, entry: str, other: str
) -> None:
    found = route(question, session, material)
    assert (found.intent, found.entry, found.other) == ("compare", entry, other)


@pytest.mark.parametrize("question", ["what is a watchdog timeout?", "what does collective watchdog mean"])
def test_a_term_is_explained_aside(session: Session, material: Material, question: str) -> None:
    found = route(question, session, material)
    assert (found.intent, found.entry, found.aside) == ("what-is", WATCHDOG, True)


@pytest.mark.parametrize(
    "question", ["what is f2?", f"what is {WATCHDOG}", "what is xid 79", "what is a fabric manager?"]
)
def test_what_is_called_by_its_name_becomes_the_subject(session: Session, material: Material, question: str) -> None:
    assert not route(question, session, material).aside


def two_consequences(stories: dict[str, Diagnosis]) -> Session:
    """No first fault, two failures that follow from something unseen."""
    diagnosis = stories["symptom-only"]
    first = diagnosis.findings[0]
    assert first.entry is not None
    entry = first.entry.model_copy(update={"id": "nccl-remote-process-exited", "title": "NCCL lost a peer"})
    second = first.model_copy(update={"id": "f2", "entry": entry})
    return start(diagnosis.model_copy(update={"findings": (first, second)}))


def test_without_a_first_fault_it_may_be_either(stories: dict[str, Diagnosis], material: Material) -> None:
    session = two_consequences(stories)
    assert [finding.id for finding in route("how do I fix it?", session, material).narrow] == ["f1", "f2"]
    assert route("how do I fix f2?", session, material).narrow == ()
    assert route("what happened?", session, material).narrow == ()


@pytest.mark.parametrize("choice", ["f2", "2", "the second one", "Second."])
def test_a_choice_brings_back_the_question(stories: dict[str, Diagnosis], material: Material, choice: str) -> None:
    session = dataclasses.replace(two_consequences(stories), pending="how do I fix it?")
    found = route(choice, session, material)
    assert (found.intent, found.question, found.entry) == ("fix", "how do I fix it?", "nccl-remote-process-exited")


def test_a_choice_that_was_not_offered_asks_for_the_story(session: Session, material: Material) -> None:
    assert route("9", session, material).intent == "story"


def test_entries_that_are_gone_from_the_corpus_are_forgotten(session: Session, material: Material) -> None:
    old = dataclasses.replace(session, focus=("no-such-entry", WATCHDOG))
    assert route("how do I fix it?", old, material).entries == (WATCHDOG,)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how do I confirm it?", True),
        ("NCCL error", True),
        ("was ist das und warum?", False),
        ("pourquoi est-ce que le GPU est perdu", False),
        ("¿por qué se cayó la GPU y cómo lo arreglo?", False),
        ("为什么会超时", False),
        ("почему упал узел?", False),
        ("der Xid 79, was ist zu tun", False),
        ("", True),
    ],
)
def test_language(question: str, expected: bool) -> None:
    assert is_english(question) is expected


def test_identifiers_answer_in_any_language(session: Session, material: Material) -> None:
    found = route("was ist Xid 119 und warum kommt das?", session, material)
    assert (found.english, found.intent, found.entry) == (False, "what-is", "xid-119-gsp-rpc-timeout")
