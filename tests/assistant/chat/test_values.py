"""The user's values in quoted text: filled where the log says them, visible as <...> where it does not."""

from __future__ import annotations

from collections.abc import Callable

from assistant.chat.conversation import Conversation
from assistant.chat.draft import Draft
from assistant.chat.material import Material
from assistant.chat.values import conversation_values
from assistant.verdict import Diagnosis


def test_values_of_the_finding_and_of_the_run(stories: dict[str, Diagnosis]) -> None:
    diagnosis = stories["xid-79"]
    values = conversation_values(diagnosis.initiating, diagnosis)
    assert values["pci"] == "0000:8a:00"
    assert values["host"] == "node-b"
    assert values["world_size"] == "8"
    assert "rank" not in values
    assert "step" not in values  # the last step rests on a sample


def test_a_run_of_several_hosts_names_none(stories: dict[str, Diagnosis]) -> None:
    diagnosis = stories["xid-79"]
    assert "host" not in conversation_values(None, diagnosis)
    assert conversation_values(None, stories["healthy"])["host"] == "node-a"


def test_another_findings_value_is_never_taken(stories: dict[str, Diagnosis]) -> None:
    diagnosis = stories["xid-79"]
    assert "pci" not in conversation_values(diagnosis.finding("f2"), diagnosis)


def test_answers_carry_the_values(talk_about: Callable[[str], Conversation]) -> None:
    answer = talk_about("xid-79").ask("How do I fix it?")
    assert "reason='Xid 79 on 0000:8a:00'" in answer.answer
    assert "nodename=node-b" in answer.answer


def test_each_entrys_text_is_about_its_own_finding(talk_about: Callable[[str], Conversation]) -> None:
    """Rank 5 lost its GPU, the others waited: a comparison must not say that rank 5 waited."""
    talk = talk_about("xid-79")
    answer = talk.ask("what is the difference between f1 and f2?")
    assert "GPU 0000:8a:00" in answer.answer
    assert "number 918233" in answer.answer
    assert "Rank 5 waited" not in answer.answer


def test_unknown_values_stay_visible(talk_of: Callable[[str], Conversation]) -> None:
    assert "<pci>" in talk_of("xid-79-gpu-fell-off-bus").ask("what is it?").answer


def test_a_value_that_a_shell_would_obey_stays_out_of_commands(material: Material) -> None:
    draft = Draft(material, values={"host": "node; rm -rf /"}, entry="cuda-oom")
    draft.say("Drain <host>.", "cuda-oom#fix-1")
    draft.command("drain <host>", "cuda-oom#fix-1")
    assert [line.text for line in draft.lines] == ["Drain node; rm -rf /.", "drain <host>"]
