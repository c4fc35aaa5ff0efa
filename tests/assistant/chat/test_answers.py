"""Answers: where each sentence comes from, how long they are, and when the answer is that nobody knows."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from assistant.chat import sections
from assistant.chat.contract import Answer
from assistant.chat.conversation import Conversation
from assistant.chat.draft import ROWS
from assistant.chat.followups import QUESTIONS
from assistant.chat.material import Material
from assistant.chat.session import Session
from assistant.verdict import Diagnosis
from corpus.catalogue import Catalogue

XID = "xid-79-gpu-fell-off-bus"
WATCHDOG = "nccl-watchdog-collective-timeout"
# Every seventh entry: enough to meet each kind and depth, and the suite stays quick as the corpus grows.
EVERY = 7


def places(answer: Answer) -> list[str]:
    return [citation.id for citation in answer.citations]


def check_shape(answer: Answer, material: Material, diagnosis: Diagnosis | None = None) -> None:
    """Every line that states something names places, and every place is there."""
    for line in answer.lines:
        assert line.citations or line.form == "note", line.text
        for place in line.citations:
            assert material.resolve(place, diagnosis), place
    assert set(places(answer)) == {place for line in answer.lines for place in line.citations}
    if len(answer.lines) > 1:
        assert sum(line.form != "note" for line in answer.lines) <= ROWS


@pytest.mark.parametrize("question", [*QUESTIONS.values(), "what is it?", "is it my code?", "who owns this", "zebras?"])
def test_every_sentence_has_a_place(
    talk_about: Callable[[str], Conversation], stories: dict[str, Diagnosis], question: str
) -> None:
    for story in stories:
        talk = talk_about(story)
        check_shape(talk.ask(question), talk.material, stories[story])


def test_every_entry_answers_what_it_can(catalogue: Catalogue) -> None:
    talk = Conversation(catalogue)
    for entry in sorted(catalogue.heads)[::EVERY]:
        for intent, question in QUESTIONS.items():
            talk.session = Session(focus=(entry,))
            answer = talk.ask(question)
            check_shape(answer, talk.material)
            if sections.answers(talk.material.body(entry), intent):
                assert answer.confidence != "unknown", (entry, question)


def test_follow_ups_can_be_answered(catalogue: Catalogue) -> None:
    talk = Conversation(catalogue)
    for entry in sorted(catalogue.heads)[::EVERY]:
        for question in ("How do I confirm it?", "Why did it happen?", "May I restart?"):
            talk.session = Session(focus=(entry,))
            answer = talk.ask(question)
            assert len(answer.follow_ups) in {2, 3}, (entry, question)
            assert question not in answer.follow_ups
            for follow_up in answer.follow_ups:
                talk.session = Session(focus=(entry,))
                assert talk.ask(follow_up).confidence != "unknown", (entry, follow_up)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How do I confirm it?", f"{XID}#check-1"),
        ("How do I fix it?", f"{XID}#fix-1"),
        ("How do I know that it is fixed?", f"{XID}#verify"),
        ("How do I prevent it?", f"{XID}#prevent-1"),
        ("What else looks like this?", f"{XID}#confused_with-1"),
        ("Whom should I call?", f"{XID}#escalate-1"),
        ("Who owns this?", f"{XID}#scope"),
        ("Was there any warning before the GPU fell off the bus?", f"{XID}#faq-1"),
        ("did the card give any sign beforehand?", f"{XID}#faq-1"),
        ("Show me the lines.", "dmesg-node-b.log:812"),
        ("What happened?", "verdict#f1"),
        ("When did it happen?", "dmesg-node-b.log:812"),
        ("Which rank was first?", "verdict#f1"),
        ("Why did it happen?", "dmesg-node-b.log:812"),
    ],
)
def test_first_place(talk_about: Callable[[str], Conversation], question: str, first: str) -> None:
    answer = talk_about("xid-79").ask(question)
    assert places(answer)[0] == first
    assert answer.confidence == "grounded"
    assert answer.entry == XID


def test_a_restart_is_decided_by_the_fault_that_is_spoken_of(talk_about: Callable[[str], Conversation]) -> None:
    """The timeout behind it may be restarted on the same nodes, the lost card may not."""
    answer = talk_about("xid-79").ask("may I restart on the same nodes?")
    assert places(answer)[0] == f"{XID}#restart"
    assert not any(place.startswith(WATCHDOG) for place in places(answer))


def test_the_lines_of_one_rank(talk_about: Callable[[str], Conversation]) -> None:
    assert places(talk_about("symptom-only").ask("what did rank 0 see?")) == ["<stdin>:402"]


def test_the_text_of_a_faq_is_quoted_in_full(talk_about: Callable[[str], Conversation], material: Material) -> None:
    answer = talk_about("xid-79").ask("What should operations do with this node?")
    assert material.body(XID)["faq"][1]["a"].replace("<pci>", "0000:8a:00") in answer.answer


def test_a_command_stands_on_its_own_row(talk_about: Callable[[str], Conversation]) -> None:
    assert "\n  $ lspci -d 10de: -vv" in talk_about("xid-79").ask("How do I confirm it?").answer


def test_suspects_answer_which_rank(talk_about: Callable[[str], Conversation]) -> None:
    answer = talk_about("symptom-only").ask("which rank failed first?")
    assert "verdict#suspects-1" in places(answer)
    assert "rank 5" in answer.answer


def test_missing_logs_answer_what_to_collect(talk_about: Callable[[str], Conversation]) -> None:
    answer = talk_about("symptom-only").ask("What should I collect before a restart?")
    assert places(answer)[0] == "verdict#fetch_next-1"
    assert "torchelastic_*/attempt_0/5/stderr.log" in answer.answer


def test_a_wrapper_is_no_cause(talk_of: Callable[[str], Conversation]) -> None:
    answer = talk_of("torchrun-child-failed").ask("How do I fix it?")
    assert "no cause by itself" in answer.answer
    assert "torchrun-child-failed#narrows-1" in places(answer)


def test_comparison_quotes_both_tells(talk_about: Callable[[str], Conversation]) -> None:
    answer = talk_about("xid-79").ask("what is the difference to Xid 119?")
    assert {place.rpartition("#")[0] for place in places(answer)} >= {XID, "xid-119-gsp-rpc-timeout"}
    assert answer.entry == XID


@pytest.mark.parametrize("question", ["how do I bake sourdough bread?", "what is the capital of France?"])
def test_the_entry_does_not_say(talk_about: Callable[[str], Conversation], question: str) -> None:
    answer = talk_about("xid-79").ask(question)
    assert answer.confidence == "unknown"
    assert f"The entry {XID} does not say." in answer.answer
    assert answer.follow_ups


def test_another_entry_may_say_and_the_talk_stays(talk_about: Callable[[str], Conversation]) -> None:
    talk = talk_about("xid-79")
    answer = talk.ask("pod was OOMKilled, what is that?")
    assert answer.confidence in {"partial", "grounded"}
    assert any(place.startswith("k8s-oomkilled#") for place in places(answer))


def test_two_consequences_ask_which(talk_about: Callable[[str], Conversation], stories: dict[str, Diagnosis]) -> None:
    talk = talk_about("symptom-only")
    diagnosis = stories["symptom-only"]
    first = diagnosis.findings[0]
    assert first.entry is not None
    other = first.entry.model_copy(update={"id": "nccl-remote-process-exited", "title": "NCCL lost a peer"})
    second = first.model_copy(update={"id": "f2", "entry": other})
    talk = Conversation(talk.material.catalogue, Session(diagnosis.model_copy(update={"findings": (first, second)})))
    asked = talk.ask("how do I fix it?")
    assert (asked.confidence, asked.follow_ups) == ("partial", ("f1", "f2"))
    answered = talk.ask("f2")
    assert (answered.intent, answered.entry) == ("fix", "nccl-remote-process-exited")
    assert talk.ask("and how do I confirm it?").entry == "nccl-remote-process-exited"


def test_a_fault_without_an_entry(talk_about: Callable[[str], Conversation]) -> None:
    answer = talk_about("unexplained").ask("how do I fix it?")
    assert "No entry covers" in answer.answer
    assert {"run/rank_3.log:41", "verdict#candidates-1"} <= set(places(answer))
    assert answer.confidence == "partial"


@pytest.mark.parametrize("question", ["what do I do?", "is my GPU broken?", "which of these lines needs action?"])
def test_a_healthy_run_needs_nothing(talk_about: Callable[[str], Conversation], question: str) -> None:
    answer = talk_about("healthy").ask(question)
    assert answer.answer.startswith("None of these lines needs action.")
    assert places(answer) == ["verdict#status"]


def test_foreign_questions(talk_about: Callable[[str], Conversation]) -> None:
    talk = talk_about("xid-79")
    assert "ask in English" in talk.ask("warum ist das passiert und was kann ich tun?").answer
    named = talk.ask("was ist Xid 119 und warum kommt das?")
    assert "xid-119-gsp-rpc-timeout#summary-1" in places(named)


def test_without_any_diagnosis(catalogue: Catalogue) -> None:
    assert "Name a log with --log" in Conversation(catalogue).ask("how do I confirm it?").answer
    answer = Conversation(catalogue).ask("what is Xid 79?")
    assert answer.entry == XID
    guessed = Conversation(catalogue).ask("CUDA out of memory while nvidia-smi shows free memory")
    assert (guessed.entry, guessed.confidence) == ("cuda-oom", "partial")


def test_turns_are_remembered(talk_about: Callable[[str], Conversation]) -> None:
    talk = talk_about("xid-79")
    talk.ask("what is f2?")
    answer = talk.ask("how do I confirm it?")
    assert answer.entry == WATCHDOG
    assert [turn.intent for turn in talk.session.turns] == ["what-is", "confirm"]
    assert "what is f2?" not in answer.follow_ups


def test_log_text_cannot_look_like_a_place(talk_about: Callable[[str], Conversation]) -> None:
    answer = talk_about("unexplained").ask("show me the lines")
    assert re.search(r"\[run/rank_3.log:41\]", answer.answer)
    assert "[bold]" in answer.answer
    assert places(answer) == ["run/rank_3.log:41"]


def test_a_guess_names_its_entry_and_the_next_ones(catalogue: Catalogue) -> None:
    answer = Conversation(catalogue).ask("collective operation timeout caught by the watchdog of my ranks")
    first = answer.lines[0]
    assert first.form == "note"
    assert first.text.startswith("Nearest entry: NCCL collective timed out")
    assert "If it is not that: " in first.text
    assert answer.confidence != "grounded"
    assert answer.answer.startswith(first.text)


def test_the_talk_goes_on_after_a_term_was_explained(talk_about: Callable[[str], Conversation]) -> None:
    talk = talk_about("xid-79")
    explained = talk.ask("what is a watchdog timeout?")
    assert explained.citations[0].id == "nccl-watchdog-collective-timeout#summary-1"
    assert talk.ask("how do I confirm it?").entry == "xid-79-gpu-fell-off-bus"
