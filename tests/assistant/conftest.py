"""Verdicts built by hand, so that reports and commands are tested without reading a log."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from assistant.verdict import (
    Attempt,
    Candidate,
    CheckStep,
    CollectiveGroup,
    CollectiveRank,
    CorpusInfo,
    Diagnosis,
    EntryRef,
    EvidenceLine,
    FetchNext,
    Finding,
    FixStep,
    Line,
    NearMiss,
    RunInfo,
    SourceInfo,
    Suspect,
    Unexplained,
    VerifyStep,
)

XID_79 = EntryRef(
    id="xid-79-gpu-fell-off-bus",
    title="GPU fell off the PCIe bus (Xid 79)",
    family="accelerator-hardware",
    severity="critical",
    scope="node",
    restart="other-node",
    reviewed="2026-11-30",
)
WATCHDOG = EntryRef(
    id="nccl-watchdog-collective-timeout",
    title="NCCL collective timed out (PyTorch watchdog)",
    family="collectives",
    reviewed="2026-11-30",
)
WRAPPER = EntryRef(
    id="torchrun-child-failed", title="torchrun: a worker failed (ChildFailedError)", family="launch-rendezvous",
    kind="wrapper", severity="medium", reviewed="2026-11-30",
)  # fmt: skip
ICI = EntryRef(
    id="tpu-ici-link-error", title="TPU inter-chip interconnect (ICI) link down", family="interconnect",
    severity="critical", scope="platform", reviewed="2026-11-30",
)  # fmt: skip
CORPUS = CorpusInfo(digest="3f1c" * 16, entries=45)
WATCHDOG_TEXT = (
    "[rank{0}]:[E1128 13:12:11.004 ProcessGroupNCCL.cpp:607] [Rank {0}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=918233, OpType=ALLREDUCE, NumelIn=126257359, NumelOut=126257359, "
    "Timeout(ms)=1800000) ran for 1800072 milliseconds before timing out."
)


def xid_79() -> Diagnosis:
    """A GPU dies on node-b; half an hour later every other rank's watchdog gives up."""
    first = Finding(
        id="f1", role="initiating", strength="verified", entry=XID_79, owner="node",
        because="job.log:31 maps busId 8a000 to rank 5, and rank 5 wrote nothing after 12:41:58.",
        refuted_by="a line of rank 5 after 12:41:58, or a card at 0000:8a:00 that answers `lspci -d 10de: -vv`.",
        onset="2026-11-28T12:41:58", hosts=("node-b",), count=2,
        evidence=(
            EvidenceLine(
                source="dmesg-node-b.log", line=812, host="node-b", time="2026-11-28T12:41:58",
                text="[Fri Nov 28 12:41:58 2026] NVRM: Xid (PCI:0000:8a:00): 79, pid=55182, name=python, "
                "GPU has fallen off the bus.",
                signature="xid-line", captures={"pci": "0000:8a:00", "pid": "55182", "process": "python"},
            ),
            EvidenceLine(
                source="dmesg-node-b.log", line=813, host="node-b", time="2026-11-28T12:41:58",
                text="[Fri Nov 28 12:41:58 2026] NVRM: GPU 0000:8a:00.0: GPU has fallen off the bus.",
                signature="device-line", captures={"pci": "0000:8a:00.0"},
            ),
        ),
        checks=(
            CheckStep(
                step="See whether the card still answers on PCIe.",
                command="lspci -d 10de: -vv | grep -E 'LnkSta|rev ff'",
                expect="One card fewer than installed, or a device whose revision reads ff.",
            ),
            CheckStep(
                step="Compare the cards the driver sees with those in the machine.",
                command="nvidia-smi -L", expect="The UUID of the card at 0000:8a:00 is missing.",
            ),
            CheckStep(step="Read the BMC's event log for power or slot faults.", command="ipmitool sel elist | tail -50",
                      expect="An entry for the slot or a power supply at 12:41."),
            CheckStep(step="Look for earlier link errors on the same slot.", command="dmesg -T | grep -i aer"),
        ),
        fix=(
            FixStep(step="Drain node-b and power-cycle it; a warm reboot often leaves the link down.",
                    command="scontrol update nodename=node-b state=drain reason='Xid 79 0000:8a:00'",
                    why="Only a power cycle resets the card and its slot."),
            FixStep(step="If the same slot reports it again, swap riser, power cable and card one at a time.",
                    why="The three fail alike."),
        ),
        verify=VerifyStep(command="dcgmi diag -r 3", expect="All tests pass, and 24 hours under load bring no Xid."),
    )  # fmt: skip
    second = Finding(
        id="f2", role="downstream", strength="verified", entry=WATCHDOG, owner="unknown",
        explained_by=("f1",), onset="2026-11-28T12:42:11", ranks=(0, 1, 2, 3, 4, 6, 7),
        hosts=("node-a", "node-b"), count=7,
        evidence=(
            EvidenceLine(source="job.log", line=1402, rank=0, host="node-a", time="2026-11-28T13:12:11",
                         text=WATCHDOG_TEXT.format(0), signature="watchdog-line",
                         captures={"seq": "918233", "op": "ALLREDUCE", "limit_ms": "1800000", "ran_ms": "1800072"}),
        ),
    )  # fmt: skip
    third = Finding(
        id="f3", role="downstream", strength="classified", entry=WRAPPER, explained_by=("f2",),
        onset="2026-11-28T13:12:40", hosts=("node-a",), evidence=(
            EvidenceLine(source="job.log", line=1533, host="node-a", time="2026-11-28T13:12:40",
                         text="torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
                         signature="child-failed"),
        ),
    )  # fmt: skip
    unrelated = Finding(
        id="f4", role="unrelated", strength="verified", entry=XID_79, owner="node", hosts=("node-c",),
        because="Nine days before the job began.", onset="2026-11-19T02:10:44",
        evidence=(
            EvidenceLine(source="dmesg-node-c.log", line=17, host="node-c", time="2026-11-19T02:10:44",
                         text="[Thu Nov 19 02:10:44 2026] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",
                         signature="xid-line", captures={"pci": "0000:3b:00"}),
        ),
    )  # fmt: skip
    others = tuple(
        CollectiveRank(rank=rank, op="ALLREDUCE", numel=126257359, enqueued=918233, completed=918232, state="waiting")
        for rank in (0, 1, 2, 3, 4, 6, 7)
    )
    return Diagnosis(
        version="0.1.0", corpus=CORPUS, status="identified", initiating=first,
        findings=(first, second, third, unrelated),
        suspects=(Suspect(rank=5, host="node-b", reason="silent", because="Its last line is job.log:1377, 12:41:57."),),
        run=RunInfo(
            world_size=8, ranks_seen=tuple(range(8)), hosts=("node-a", "node-b"),
            attempts=(Attempt(n=1, initiating="f1"),), last_step=2291, phase="step",
            first_time="2026-11-28T09:00:02", last_time="2026-11-28T13:12:41",
            versions={"torch": "2.5.1", "CUDA": "12.4", "NCCL": "2.21.5", "driver": "550.54.15"},
            skew_s={"node-b": -12.4}, skew_error_s={"node-b": 0.8}, sampled=("last_step",),
        ),
        collectives=(CollectiveGroup(group="0", seq=918233, ranks=(*others, CollectiveRank(rank=5, state="absent"))),),
        sources=(
            SourceInfo(path="job.log", bytes=412_331, lines=1540),
            SourceInfo(path="dmesg-node-b.log", bytes=98_112, lines=830, host="node-b"),
            SourceInfo(path="dmesg-node-c.log", bytes=2_912, lines=24, host="node-c"),
        ),
    )  # fmt: skip


def symptom_only() -> Diagnosis:
    """Only the watchdogs are there; the rank that never came has no log."""
    consequence = Finding(
        id="f1", role="downstream", strength="verified", entry=WATCHDOG, ranks=(0, 1, 2, 3, 4, 6, 7), count=7,
        because="A watchdog reports that a peer did not come; it never says why.",
        onset="2026-11-28T12:42:11",
        evidence=(
            EvidenceLine(source="<stdin>", line=402, rank=0, time="2026-11-28T13:12:11", text=WATCHDOG_TEXT.format(0),
                         signature="watchdog-line", captures={"seq": "918233"}),
        ),
        checks=(CheckStep(step="Dump the stacks of the rank that did not come.", command="py-spy dump --pid <pid>",
                          expect="A frame outside of NCCL."),),
    )  # fmt: skip
    return Diagnosis(
        version="0.1.0", corpus=CORPUS, status="symptom-only", findings=(consequence,),
        suspects=(
            Suspect(rank=5, reason="absent", because="Ranks 0-7 are expected; no line of rank 5 is in these logs."),
            Suspect(host="node-b", reason="unplaced-event", because="dmesg-node-b.log:3 has an Xid without a time."),
        ),
        fetch_next=(
            FetchNext(what="the log of rank 5", command="cat torchelastic_*/attempt_0/5/stderr.log",
                      why="It is the only rank that did not enter the collective."),
            FetchNext(what="the kernel log of the node that ran rank 5", command="ssh node-b dmesg -T",
                      why="A lost GPU leaves nothing in the job's own log."),
        ),
        run=RunInfo(world_size=8, ranks_seen=(0, 1, 2, 3, 4, 6, 7), phase="step", last_step=2291),
        sources=(SourceInfo(path="<stdin>", bytes=812, lines=409),),
    )  # fmt: skip


def unexplained() -> Diagnosis:
    """A traceback that no entry covers, with a control sequence in the log and a near miss."""
    text = "TypeError: unsupported operand \x1b[31m[bold]type[/bold]\x1b[0m(s) for +: \x07'NoneType' and 'int'"
    first = Finding(
        id="f1", role="initiating", strength="observed", because="The traceback stands before every other error.",
        evidence=(EvidenceLine(source="run/rank_3.log", line=41, rank=3, text=text),), ranks=(3,),
        refuted_by="an earlier error of another rank in a log that is not here.",
    )  # fmt: skip
    excerpt = tuple(
        Line(source="run/rank_3.log", line=number, text=line, rank=3)
        for number, line in enumerate(
            [
                "Traceback (most recent call last):",
                '  File "/app/train.py", line 88, in step',
                "    total = previous + count",
                text,
            ],
            start=38,
        )
    )
    near = Line(
        source="run/rank_0.log",
        line=7,
        text="TPU Inter-Chip Interconnect ICI link error mesh coordinate link state UP",
    )
    return Diagnosis(
        version="0.1.0", corpus=CORPUS, status="unexplained", initiating=first, findings=(first,),
        unexplained=(
            Unexplained(excerpt=excerpt, candidates=(
                Candidate(entry=ICI, score=0.21, channels={"lexical": 1}, matched=("`link error`",),
                          missing=("`link state DOWN`",), reason=""),
            )),
        ),
        near_misses=(NearMiss(entry=ICI, line=near, signature="spec-wording",
                              reason="the line says `UP` where the entry has `DOWN`"),),
        warnings=("The clocks of rank 0 and rank 3 could not be compared.",),
        sources=(
            SourceInfo(path="run/rank_0.log", bytes=812, lines=9, rank=0),
            SourceInfo(path="run/rank_3.log.gz", bytes=912, lines=41, rank=3, problems=("truncated after line 41",)),
        ),
    )  # fmt: skip


def healthy() -> Diagnosis:
    """A run that finished and got over a hiccup of its file server."""
    return Diagnosis(
        version="0.1.0", corpus=CORPUS, status="healthy",
        run=RunInfo(world_size=8, ranks_seen=tuple(range(8)), hosts=("node-a",), last_step=5000, completed=True,
                    phase="teardown", first_time="2026-11-28T09:00:02", last_time="2026-11-28T13:12:41",
                    versions={"torch": "2.5.1"}),
        sources=(SourceInfo(path="job.log", bytes=412_331, lines=1540),),
    )  # fmt: skip


def inconclusive() -> Diagnosis:
    """A log that just stops."""
    return Diagnosis(
        version="0.1.0", corpus=CORPUS, status="inconclusive",
        fetch_next=(FetchNext(what="the scheduler's account of the job", command="sacct -j JOBID --format=all",
                              why="It says who ended the job, and with which signal."),),
        run=RunInfo(last_step=812, phase="step", first_time="2026-11-28T09:00:02", last_time="2026-11-28T09:31:00"),
        sources=(SourceInfo(path="job.log", bytes=1, lines=1),),
    )  # fmt: skip


STORIES: dict[str, Callable[[], Diagnosis]] = {
    "xid-79": xid_79,
    "symptom-only": symptom_only,
    "unexplained": unexplained,
    "healthy": healthy,
    "inconclusive": inconclusive,
}


@pytest.fixture(params=sorted(STORIES))
def story(request: pytest.FixtureRequest) -> tuple[str, Diagnosis]:
    """Each verdict built by hand, with its name."""
    return request.param, STORIES[request.param]()


@pytest.fixture
def stories() -> dict[str, Diagnosis]:
    """All verdicts built by hand."""
    return {name: build() for name, build in STORIES.items()}


class Golden:
    """An expected output that lies in a file; `UPDATE_GOLDENS=1 pytest` writes it anew, for a look before a commit."""

    folder = Path(__file__).parent / "goldens"

    def check(self, name: str, text: str) -> None:
        """Compare byte by byte."""
        path = self.folder / name
        if os.environ.get("UPDATE_GOLDENS"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        assert text.encode() == path.read_bytes(), f"differs from {path.name}; UPDATE_GOLDENS=1 writes it anew"


@pytest.fixture
def golden() -> Golden:
    """Compares with the files in goldens/."""
    return Golden()


@dataclass(frozen=True)
class Ended:
    """How a run of the program ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def firstfault(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs the program in this process."""
    from assistant.cli.main import main

    def run(*words: str) -> Ended:
        code = main(list(words))
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return run


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[[Diagnosis], None]:
    """Lets the command line report a verdict built by hand instead of reading logs."""
    from assistant.cli import diagnose

    def tell(diagnosis: Diagnosis) -> None:
        def around(source: str, line: int, count: int) -> list[tuple[int, str]]:
            return [(number, f"line {number} of {source}") for number in range(line - count, line + count + 1)]

        monkeypatch.setattr(diagnose, "run", lambda *_: (diagnosis, around))

    return tell


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the developer reaches a test."""
    monkeypatch.setenv("FIRSTFAULT_CONFIG", str(tmp_path / "settings" / "config.toml"))
