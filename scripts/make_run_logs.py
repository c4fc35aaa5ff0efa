#!/usr/bin/env python3
"""Write the logs of one failed run of many ranks, seeded, with the truth beside them.

    make_run_logs.py ranks  OUT_DIR    512 ranks in one file, lines interleaved
    make_run_logs.py late   OUT_DIR    the rank that failed first wrote last: its buffer was flushed at the end
    make_run_logs.py skew   OUT_DIR    a file a host, whose clocks differ by up to two minutes

One rank runs out of GPU memory; ten minutes later the others report a collective that timed out.
`truth.json` holds the rank, the host and the line of the first fault.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

KINDS = ("ranks", "late", "skew")
PER_HOST = 8
START = datetime(2026, 11, 29, 22, 0, 0)
STEP = timedelta(seconds=2)
TIMEOUT = timedelta(minutes=10)
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {gpu} has a total capacity of "
    "79.15 GiB of which 1.25 GiB is free."
)
WATCHDOG = (
    "[rank{rank}]:[E1129 {clock}.000000000 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, "
    "Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
)


@dataclass(frozen=True)
class Truth:
    """What a diagnosis has to find."""

    rank: int
    host: str | None
    source: str
    line: int
    """1-based."""


@dataclass(frozen=True)
class _Said:
    time: datetime
    rank: int
    text: str


def host_of(rank: int) -> str:
    """Eight ranks a host."""
    return f"node-{rank // PER_HOST:03d}"


def make_run(kind: str, folder: Path, *, ranks: int = 512, steps: int = 40, seed: int = 7) -> Truth:
    """Write the logs of one kind into a folder; returns where the first fault stands."""
    chance = random.Random(f"{seed}-{kind}-{ranks}")
    culprit = chance.randrange(ranks)
    said = _story(chance, culprit, ranks, steps)
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "skew":
        truth = _write_hosts(folder, said, culprit, ranks, chance)
    else:
        if kind == "late":
            said = [item for item in said if item.rank != culprit] + [item for item in said if item.rank == culprit]
        lines = [item.text for item in said]
        (folder / "job.log").write_text("\n".join([*lines, ""]), encoding="utf-8")
        truth = Truth(culprit, None, "job.log", _line_of(lines, culprit))
    (folder / "truth.json").write_text(json.dumps(asdict(truth), indent=2) + "\n", encoding="utf-8")
    return truth


def _story(chance: random.Random, culprit: int, ranks: int, steps: int) -> list[_Said]:
    said = []
    for step in range(1, steps + 1):
        for rank in chance.sample(range(ranks), ranks):
            time = START + step * STEP + timedelta(milliseconds=chance.randrange(900))
            said.append(_Said(time, rank, _line(time, rank, f"step {step} loss {8 / step + chance.random() / 10:.4f}")))
    failed = START + (steps + 1) * STEP
    said.append(_Said(failed, culprit, _line(failed, culprit, OOM.format(gpu=culprit % PER_HOST))))
    for rank in chance.sample(range(ranks), ranks):
        if rank != culprit:
            time = failed + TIMEOUT + timedelta(milliseconds=chance.randrange(5_000))
            said.append(_Said(time, rank, WATCHDOG.format(rank=rank, clock=f"{time:%H:%M:%S}", seq=steps * 10 + 3)))
    return said


def _line(time: datetime, rank: int, text: str) -> str:
    return f"[rank{rank}]: {time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03d} {text}"


def _line_of(lines: list[str], culprit: int) -> int:
    return next(at for at, line in enumerate(lines, 1) if f"[rank{culprit}]" in line and "OutOfMemory" in line)


def _write_hosts(folder: Path, said: list[_Said], culprit: int, ranks: int, chance: random.Random) -> Truth:
    """One file a host; every clock but the first host's is wrong by up to two minutes."""
    line = 0
    for first in range(0, ranks, PER_HOST):
        off = timedelta(seconds=chance.randrange(-120, 121) if first else 0)
        lines = [_shifted(item, off) for item in said if first <= item.rank < first + PER_HOST]
        (folder / f"{host_of(first)}.log").write_text("\n".join([*lines, ""]), encoding="utf-8")
        if host_of(first) == host_of(culprit):
            line = _line_of(lines, culprit)
    return Truth(culprit, host_of(culprit), f"{host_of(culprit)}.log", line)


def _shifted(item: _Said, off: timedelta) -> str:
    wrong = item.time + off
    return item.text.replace(f"{item.time:%H:%M:%S}", f"{wrong:%H:%M:%S}", 1)


def main() -> None:
    """Write one run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("out", type=Path)
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    truth = make_run(options.kind, options.out, ranks=options.ranks, steps=options.steps, seed=options.seed)
    print(f"{options.out}: rank {truth.rank} failed first, {truth.source}:{truth.line}")


if __name__ == "__main__":
    main()
