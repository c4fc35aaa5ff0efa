"""Questions about where it happened: code, host, a rank, what came before and after, how much was free."""

from __future__ import annotations

import pytest

from assistant.chat.conversation import Conversation
from assistant.chat.session import Session, from_json, to_json
from assistant.verdict import CodeFrame, Diagnosis, EntryRef, EvidenceLine, Finding, Line, RunInfo
from corpus.catalogue import Catalogue

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. 1.25 GiB is free. 77.80 GiB memory in use."
)
ENTRY = EntryRef(id="cuda-oom", title="Out of GPU memory", family="memory", reviewed="2026-11-30")


def verdict(*, code: bool = True, hosts: tuple[str, ...] = (), before: bool = True) -> Diagnosis:
    line = EvidenceLine(source="job.log", line=11, text=OOM, rank=1, captures={"free": "1.25 GiB", "want": "2.00 GiB"})
    at = Line(source="job.log", line=7, text='  File "/me/step.py", line 44, in step', rank=1)
    frame = CodeFrame(file="/me/step.py", line=44, function="step", code="out = model(batch)", at=at)
    first = Finding(
        id="f1", role="initiating", strength="verified", entry=ENTRY, owner="workload", ranks=(1,), hosts=hosts,
        evidence=(line,), code=frame if code else None,
        before=(Line(source="job.log", line=3, text="step 2290 loss 2", rank=1),) if before else (),
    )  # fmt: skip
    end = EvidenceLine(source="job.log", line=20, text="RuntimeError: peer left", rank=0)
    last = Finding(id="f2", role="downstream", strength="observed", explained_by=("f1",), ranks=(0,), evidence=(end,))
    run = RunInfo(world_size=3, ranks_seen=(0, 1, 2), last_step=2290, phase="step")
    return Diagnosis(status="identified", initiating=first, findings=(first, last), run=run)


def ask(catalogue: Catalogue, question: str, diagnosis: Diagnosis | None = None) -> str:
    session = from_json(to_json(Session(diagnosis=diagnosis or verdict(), focus=("cuda-oom",))))
    talk = Conversation(catalogue, session)
    answer = talk.ask(question)
    assert answer.citations and talk.session.focus == ("cuda-oom",), answer.answer
    return answer.answer


CODE = "In your code at /me/step.py:44, in step: `out = model(batch)`. [job.log:7]"
HOST = "These logs name no host, node or pod; it was rank 1. [job.log:11]"
BEFORE = "[job.log:3] step 2290 loss 2"


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("which file and line of my code", CODE), ("where in my code did it break", CODE), ("what line of my script?", CODE),
        ("where in the code", CODE), ("which function crashed?", CODE), ("show me the traceback", CODE),
        ("and the host?", HOST), ("which host did it happen on", HOST), ("what node was it on", HOST),
        ("what came before it", BEFORE), ("what happened right before?", BEFORE), ("show me the lines before it", BEFORE),
        ("what did it print just before that", BEFORE), ("what was it doing when it died", "the phase `step`"),
        ("what is rank 1 doing", "Rank 1 showed the first fault"), ("what was rank 0 doing?", "Rank 0 shows a consequence"),
        ("what happened to rank 2", "Rank 2 printed lines"), ("what was rank 7 doing", "No line of these logs is known to be of rank 7"),
        ("what were the other ranks doing?", "Rank 0 shows a consequence"),
        ("and then?", "[job.log:20] RuntimeError: peer left"), ("what happened next", "[job.log:20]"),
        ("how much memory was free", "Free 1.25 GiB, as the line says. [job.log:11]"),
        ("how much did it want?", "Wanted 2.00 GiB"), ("how much memory was in use", "Used 77.80 GiB"),
    ],
)  # fmt: skip
def test_it_is_answered_from_this_run(catalogue: Catalogue, question: str, says: str) -> None:
    assert says in ask(catalogue, question)


def test_what_the_logs_do_not_hold_is_said(catalogue: Catalogue) -> None:
    bare = verdict(code=False, before=False, hosts=("n7",))
    assert "no traceback of f1" in ask(catalogue, "where in my code?", bare)
    assert "Nothing that was read stands before job.log:11" in ask(catalogue, "what came before it?", bare)
    assert "rank 1 on n7" in ask(catalogue, "on which host?", bare)


@pytest.mark.parametrize(
    "question",
    ["is it my code?", "what should I change in my code?", "how much memory should I leave free?", "which rank was first?",
     "what should I do before I restart?", "which node should I drain?", "how do I fix it?"],
)  # fmt: skip
def test_other_wishes_are_left_to_the_entry(catalogue: Catalogue, question: str) -> None:
    answer = Conversation(catalogue, Session(diagnosis=verdict(), focus=("cuda-oom",))).ask(question).answer
    assert not any(text in answer for text in (CODE, HOST, BEFORE, "as the line says"))
