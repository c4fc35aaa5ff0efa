"""Pasted output: told from questions, judged by the conditions of the entry, ticked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assistant.chat.checks import judge_paste, kind_of, read_paste
from assistant.chat.conversation import Conversation
from assistant.chat.material import Material
from corpus.judging import judge
from corpus.model import Check

XID = "xid-79-gpu-fell-off-bus"
LOST = """\
3b:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev a1)
86:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev ff) (prog-if ff)
\t!!! Unknown header type 7f
"""
LOG = """\
2026-11-30 12:41:50 INFO step 2290 loss 2.113
2026-11-30 12:41:58 ERROR something broke
2026-11-30 12:41:59 INFO shutting down
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("how do I confirm it?", "question"),
        ("is that\nthe card or the slot?", "question"),
        ("nvidia-smi shows seven GPUs instead of eight", "question"),
        ("", "question"),
        (LOST, "output"),
        ("$ free -g\nMem: 10 2 8", "output"),
        ("alloc 31022 | reserved 40120", "output"),
        ("retries: 41", "output"),
        (LOG, "log"),
        ("2026-11-30 12:41:58 ERROR something broke", "log"),
    ],
)
def test_kind(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_every_sample_of_every_check_is_judged_as_its_conditions_say(material: Material) -> None:
    """The samples are output in its true form; whether the conditions are right is for the corpus to test."""
    judged = 0
    for entry in material.catalogue.heads:
        for number, check in enumerate(material.body(entry).get("check", []), start=1):
            for sample in check.get("sample", []):
                found = {item.check: item.says for item in judge_paste(sample["text"], [entry], material)}
                assert found.get(number, "nothing") == judge(Check.model_validate(check), sample["text"]).says
                judged += 1
    assert judged > 100


def test_the_deciding_line_is_named(material: Material) -> None:
    first = judge_paste(LOST, [XID], material)[0]
    assert (first.says, first.entry, first.check, first.line) == ("confirms", XID, 1, 2)
    assert "(rev ff)" in first.text


def test_a_prompt_names_the_command_and_is_not_output(material: Material) -> None:
    typed = "user@node-b:~$ lspci -d 10de: -vv\n" + LOST
    assert read_paste(typed).command == "lspci -d 10de: -vv"
    found = judge_paste(typed, [XID], material)
    assert [(item.check, item.line) for item in found] == [(1, 3)]
    assert judge_paste("$ ipmitool sel elist\n" + LOST, [XID], material)[0].says == "nothing"


def test_a_paste_ticks_the_checklist(talk_about: Callable[[str], Conversation]) -> None:
    talk = talk_about("xid-79")
    answer = talk.say(LOST)
    assert (answer.intent, answer.confidence, answer.entry) == ("paste", "grounded", XID)
    assert answer.answer.startswith("This confirms GPU fell off the PCIe bus")
    assert [citation.id for citation in answer.citations] == [f"{XID}#check-1", "paste:2"]
    assert talk.session.ticks[f"{XID}#check-1"].says == "confirms"
    assert f"{XID}#check-1" not in talk.ask("how do I confirm it?").answer


def test_clearing_is_said(talk_of: Callable[[str], Conversation]) -> None:
    paste = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`\nbye\n"
    answer = talk_of("k8s-probe-failed").paste(paste)
    assert answer.judgements[0].says == "clears"
    assert "clears" in answer.answer


def test_a_paste_that_says_nothing(talk_about: Callable[[str], Conversation]) -> None:
    talk = talk_about("xid-79")
    answer = talk.paste("total 12\ndrwx------ 2 user user 4096 .\n")
    assert answer.confidence == "unknown"
    assert "says nothing" in answer.answer
    assert talk.session.ticks == {}


def test_a_log_is_called_one(talk_about: Callable[[str], Conversation]) -> None:
    assert "firstfault FILE" in talk_about("xid-79").paste(LOG).answer


def test_without_a_finding_there_is_nothing_to_judge_by(talk_about: Callable[[str], Conversation]) -> None:
    assert "no check to judge by" in talk_about("healthy").paste(LOST).answer
