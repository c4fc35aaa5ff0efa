"""Four logs on which a reader who trusts the file's order is wrong, in every order of their ranks' lines."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("oom", signature("CUDA out of memory. Tried to allocate {size:size}"), causes=("watchdog",)),
    head("bus", signature("NVRM: Xid (PCI:{pci:pci}): 79,"), causes=("watchdog",)),
    head("watchdog", signature("Watchdog caught collective operation timeout"), role="downstream"),
)
WORLD = 4


def step(rank: int, number: int) -> str:
    return f"[rank{rank}]: 2026-11-30 12:{number:02d}:00 INFO step {number} loss 2.0"


def watchdog(rank: int, done: int = 8) -> str:
    stamp = f"[rank{rank}]:[E1130 12:20:0{rank}.0 a.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    return (
        f"{stamp} Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, "
        f"Timeout(ms)=600000) ran for 600005 milliseconds before timing out. last enqueued work: 9, last completed work: {done}"
    )


STEPS = [step(rank, number) for number in range(1, 10) for rank in range(WORLD)]
OOM = "[rank2]:[E1130 12:09:58.0 a.cpp:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
XID = "2026-11-30T12:09:58 node-b kernel: NVRM: Xid (PCI:0000:8a:00): 79, pid=1, GPU has fallen off the bus."
NOTIFIED = (
    "[rank2]:[E1130 12:20:09.0 a.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a collective"
    " timeout from rank 0. Last enqueued NCCL work: 8, last completed NCCL work: 8."
)
WAITING = [watchdog(rank) for rank in range(WORLD) if rank != 2]
HEAD = ["world size: 4 world_size=4"]
LOGS = {
    "oom": ([*STEPS, *WAITING, OOM], "oom", (2,), []),
    "never-entered": ([*STEPS, *WAITING, NOTIFIED], None, (), [(2, "never-entered")]),
    "absent": ([*(line for line in STEPS if "[rank2]" not in line), *WAITING], None, (), [(2, "absent")]),
    "xid": ([*STEPS, *(watchdog(rank) for rank in range(WORLD)), XID], "bus", (), []),
}


def read(folder: Path, lines: list[str]) -> Diagnosis:
    (folder / "job.log").write_text("\n".join(HEAD + lines) + "\n")
    return diagnose([str(folder / "job.log")], catalogue=CATALOGUE)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", LOGS)
def test_every_order_gives_the_same_first_fault(name: str, seed: int, tmp_path: Path) -> None:
    lines, entry, ranks, suspects = LOGS[name]
    rng = random.Random(seed)
    if seed % 3 == 0:
        rng.shuffle(lines := list(lines))  # every line carries its time
    elif seed % 3 == 1:
        order = rng.sample(range(WORLD), WORLD)
        lines = sorted(
            lines,
            key=lambda line: next((order.index(r) for r in range(WORLD) if f"[rank{r}]" in line), rng.choice([-1, 9])),
        )
    else:
        lines = lines[::-1]
    result = read(tmp_path, lines)
    found = result.initiating
    assert (found.entry.id if found is not None and found.entry is not None else None) == entry, result.status
    assert (found.ranks if found is not None else ()) == ranks
    assert [(suspect.rank, suspect.reason) for suspect in result.suspects] == suspects


def test_a_healthy_control_stays_healthy_in_every_order(tmp_path: Path) -> None:
    for seed in range(6):
        lines = [*STEPS, "[rank0]: 2026-11-30 12:10:00 INFO training finished"]
        random.Random(seed).shuffle(lines)
        result = read(tmp_path, lines)
        assert (result.status, result.initiating) == ("healthy", None)
