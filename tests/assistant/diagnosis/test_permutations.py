"""Four logs on which a reader who trusts the file's order is wrong, in every order of their ranks' lines."""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from corpus.catalogue import Catalogue
from corpus.record import read_records
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


ROOT = Path(__file__).parents[3]
WHOLE_LOGS = (
    "storm_before_cause", "adv_oom_later_in_file", "adv_never_entered", "adv_rank_absent", "adv_xid79_later_in_file",
)  # fmt: skip
_EXCEPTION = re.compile(r"[\w.]+(?:Error|Exception)\b")


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    yield


@lru_cache(maxsize=1)
def bundled() -> Catalogue:
    return Catalogue.load(ROOT / "corpus")


def blocks(lines: list[str]) -> list[list[str]]:
    """Lines with the bare ones below them, and tracebacks of a rank down to their exception."""
    found: list[list[str]] = []
    owner: int | None = None
    in_traceback = False
    for line in lines:
        record = read_records(line.encode(), 1)[0]
        goes_on = record.time is None and (record.rank is None or (in_traceback and record.rank == owner))
        if found and goes_on:
            found[-1].append(line)
        else:
            found.append([line])
        if "Traceback (most recent" in line:
            owner, in_traceback = record.rank, True
        elif record.rank == owner and record.indent == 0 and _EXCEPTION.match(record.message):
            in_traceback = False
    return found


@lru_cache(maxsize=8)
def incident(name: str) -> Any:
    kinds = importlib.import_module("incident_kinds")
    built = kinds.Inc(name, 1)
    kinds.KINDS[name][0](built)
    return built


@pytest.mark.parametrize("order", ["shuffled", "reversed", "by rank"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", WHOLE_LOGS)
def test_whole_logs_with_tracebacks_in_every_order(name: str, seed: int, order: str, tmp_path: Path) -> None:
    built = incident(name)
    rng = random.Random(f"{name}{seed}")
    ranks = rng.sample(range(64), 64)
    for path, data in built.files.items():
        found = blocks(data.decode().splitlines())
        if order == "shuffled":
            rng.shuffle(found)
        elif order == "reversed":
            found.reverse()
        else:
            found.sort(key=lambda block: ranks[read_records(block[0].encode(), 1)[0].rank or 0])
        (tmp_path / path).write_text("\n".join(line for block in found for line in block) + "\n")
    result = diagnose([str(tmp_path)], catalogue=bundled())
    truth, first = built.truth, result.initiating
    expected = truth["status"] if isinstance(truth["status"], list) else [truth["status"]]
    assert result.status in expected
    assert (first is not None) == (truth["line"] is not None)
    if first is not None:
        assert truth["line"] in first.evidence[0].text
        assert first.ranks == (truth["rank"],)
    assert [suspect.rank for suspect in result.suspects] == truth["suspects"]


STEPS_BELOW = "\n".join(f"2026-11-30 12:0{minute}:00 INFO step {minute * 10} loss 2.0" for minute in range(1, 9))
RANK_2 = "[rank2]: Traceback (most recent call last):\n[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


@pytest.mark.parametrize(
    ("log", "status"),
    [
        # At a seam of two logs the traceback may belong to either: nobody knows that the steps came after it.
        (f"2026-11-30 12:09:00 INFO saving\n{RANK_2}\n{STEPS_BELOW}", "identified"),
        (f"{RANK_2}\n{STEPS_BELOW}\n2026-11-30 11:59:00 INFO started", "identified"),
        # In a log in order, steps below it were made after it.
        (f"2026-11-30 12:00:00 INFO started\n{RANK_2}\n{STEPS_BELOW}", "healthy"),
        # So they were within one part of a log that was put together of two.
        (f"2026-11-30 12:09:00 INFO saving\n2026-11-30 12:00:00 INFO started\n{RANK_2}\n{STEPS_BELOW}", "healthy"),
    ],
)
def test_an_unstamped_fault_at_a_seam_is_not_survived(log: str, status: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(log + "\n")
    assert diagnose([str(tmp_path / "job.log")], catalogue=CATALOGUE).status == status
