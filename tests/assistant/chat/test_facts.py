"""Questions about values of the log, and that what was just said is not said again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assistant.chat.conversation import Conversation
from assistant.chat.session import Session
from assistant.verdict import Diagnosis, EntryRef, EvidenceLine, Finding, RunInfo, SourceInfo
from corpus.catalogue import Catalogue

XID = "xid-79-gpu-fell-off-bus"
RUN = RunInfo(
    world_size=16, ranks_seen=(0, 1), hosts=("n1", "n2"), last_step=2291, phase="step",
    first_time="2026-11-28T10:00:00", last_time="2026-11-28T13:12:11",
    versions={"torch": "2.4.0", "nccl": "2.20.5", "driver": "550.54"},
)  # fmt: skip


@pytest.fixture
def talk(catalogue: Catalogue) -> Conversation:
    line = EvidenceLine(
        source="dmesg.log", line=812, text="NVRM: Xid (PCI:0000:8a:00): 79, pid=55182", signature="xid-line",
        captures={"pci": "0000:8a:00", "pid": "55182", "exitcode": "-6", "limit_ms": "600000"},
    )  # fmt: skip
    entry = EntryRef(
        id=XID, title="GPU fell off the PCIe bus (Xid 79)", family="accelerator-hardware", reviewed="2026-11-30"
    )
    lead = Finding(
        id="f1", role="initiating", strength="verified", entry=entry, owner="node", hosts=("n1",), evidence=(line,)
    )
    end = EvidenceLine(
        source="slurm-4711.out", line=9, text="slurmstepd: error: *** JOB 4711 ON n1 CANCELLED AT 13:12 ***"
    )
    last = Finding(id="f2", role="downstream", strength="observed", explained_by=("f1",), evidence=(end,))
    diagnosis = Diagnosis(
        status="identified",
        initiating=lead,
        findings=(lead, last),
        run=RUN,
        sources=(SourceInfo(path="slurm-4711.out"),),
    )
    return Conversation(catalogue, Session(diagnosis=diagnosis, focus=(XID,)))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what is my job id", "Job 4711. [slurm-4711.out:9]"),
        ("what's the job id?", "Job 4711."),
        ("Which job number was it?", "Job 4711."),
        ("which torch version is it?", "These logs name torch 2.4.0. [verdict#run]"),
        ("what version of NCCL?", "These logs name nccl 2.20.5."),
        ("which versions?", "These logs name torch 2.4.0, nccl 2.20.5, driver 550.54."),
        ("which JAX version?", "These logs do not say; the versions they name: torch 2.4.0"),
        ("what was the last step?", "The last step in these logs is 2291"),
        ("at which step did it die?", "The last step in these logs is 2291"),
        ("how far did the training get?", "The last step in these logs is 2291"),
        ("how many ranks are there?", "16 ranks (2 seen) on 2 hosts; hosts: n1 and n2."),
        ("what is the world size", "16 ranks"),
        ("how long did the job run?", "These logs span 3.2 h, from 10:00:00 to 13:12:11."),
        ("how many attempts were there?", "1 attempt."),
        ("in which phase was it?", "The run was in the phase `step`."),
        ("what is the PCI address?", "PCI address 0000:8a:00. [dmesg.log:812]"),
        ("what is the pid", "Pid 55182."),
        ("which exit code was it?", "Exit code -6."),
        ("what was the timeout?", "Timeout 600000."),
    ],
)
def test_a_value_of_the_log_is_named_with_its_place(talk: Conversation, question: str, answer: str) -> None:
    found = talk.ask(question)
    assert found.answer.startswith(answer)
    assert (found.intent, found.confidence) == ("value", "grounded")
    assert found.citations


@pytest.mark.parametrize(
    "question",
    [
        "which checkpoint may I resume from?", "how do I requeue the job id?", "which driver version fixes it?",
        "how many ranks failed?", "which rank was first?", "what is a PCI address reset?", "what is Xid 79?",
        "what should I do with the step size?", "why is the world size 16?", "is the job id wrong?", "why did the job end?", "which host?", "what happened?",
    ],
)  # fmt: skip
def test_other_questions_go_their_way(talk: Conversation, question: str) -> None:
    assert talk.ask(question).intent != "value"


def test_a_job_id_that_is_not_there_is_said(talk_about: Callable[[str], Conversation]) -> None:
    found = talk_about("xid-79").ask("what is my job id?")
    assert found.answer == "These logs name no job id."
    assert found.confidence == "unknown"


def test_what_was_just_said_is_not_said_again_to_another_wish(talk: Conversation) -> None:
    first = talk.ask("may I restart?")
    second = talk.ask("which checkpoint may I resume from?")
    third = talk.ask("can I resume on the same node?")
    for before, after in ((first, second), (second, third)):
        leads = {place for line in after.lines[:1] for place in line.citations}
        behind = {citation.id for citation in after.citations} - leads
        assert before.intent == after.intent or not behind & {citation.id for citation in before.citations}
    # The same question again gets the same answer.
    again = talk.ask("can I resume on the same node?")
    assert again.answer == third.answer


def test_without_a_first_fault_the_suspect_comes_first(talk_about: Callable[[str], Conversation]) -> None:
    assert talk_about("symptom-only").ask("which rank was first?").answer.startswith("Suspect: ")
