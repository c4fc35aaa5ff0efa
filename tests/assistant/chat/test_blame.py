"""`was rank 3 the culprit?`: yes, no, perhaps or open, with the line that shows it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assistant.chat.conversation import Conversation
from assistant.chat.material import Material
from assistant.chat.router import route
from assistant.chat.session import start
from assistant.verdict import Diagnosis

Talk = Callable[[str], Conversation]


@pytest.mark.parametrize(
    ("story", "question", "starts", "quotes"),
    [
        ("xid-79", "was node-b the culprit?", "Yes: the first fault was seen on", "dmesg-node-b.log:812"),
        ("xid-79", "is node-B to blame", "Yes: the first fault was seen on", "dmesg-node-b.log:812"),
        ("xid-79", "was rank 0 the culprit?", "No: rank 0 shows a consequence, NCCL collective timed out", "job.log:1402"),
        ("xid-79", "did rank 3 cause it?", "No: rank 3 shows a consequence", "dmesg-node-b.log:812"),
        ("xid-79", "is node17 at fault?", "These logs name no node17. The first fault was on", "dmesg-node-b.log:812"),
        ("xid-79", "is rank 77 guilty?", "Nothing in these logs points to rank 77", "dmesg-node-b.log:812"),
        ("symptom-only", "was rank 2 the one that started it?", "That is open: no first fault stands in these logs", ""),
        ("healthy", "is rank 1 to blame?", "That is open", ""),
    ],
)  # fmt: skip
def test_the_part_somebody_played(talk_about: Talk, story: str, question: str, starts: str, quotes: str) -> None:
    answer = talk_about(story).ask(question)
    assert (answer.intent, answer.confidence) == ("blame", "grounded")
    assert answer.answer.startswith(starts)
    assert quotes == "" or quotes in [citation.id for citation in answer.citations]


def test_who_is_suspected_is_not_called_guilty(talk_about: Talk, stories: dict[str, Diagnosis]) -> None:
    suspect = stories["symptom-only"].suspects[0]
    answer = talk_about("symptom-only").ask(f"is rank {suspect.rank} the culprit?")
    assert answer.answer.startswith(f"Perhaps, it is not proven: rank {suspect.rank} is suspected")
    assert "verdict#suspects-1" in [citation.id for citation in answer.citations]


def test_the_next_rank_needs_no_verb(talk_about: Talk) -> None:
    talk = talk_about("xid-79")
    talk.ask("was rank 3 the culprit?")
    assert talk.ask("and rank 4?").intent == "blame"


def test_the_talk_stays_with_its_entry(talk_about: Talk) -> None:
    talk = talk_about("xid-79")
    talk.ask("was rank 3 the culprit?")
    assert talk.ask("how do I confirm it?").entry == "xid-79-gpu-fell-off-bus"


@pytest.mark.parametrize(
    "question", ["which rank failed first?", "what did rank 3 print?", "why did rank 3 die?", "is it the network?", "was f2 the culprit?"]
)  # fmt: skip
def test_other_questions_accuse_nobody(material: Material, stories: dict[str, Diagnosis], question: str) -> None:
    assert route(question, start(stories["xid-79"]), material).intent != "blame"


def test_without_a_verdict_there_is_nobody_to_blame(talk_of: Talk) -> None:
    assert talk_of("xid-79-gpu-fell-off-bus").ask("was rank 3 the culprit?").intent != "blame"
