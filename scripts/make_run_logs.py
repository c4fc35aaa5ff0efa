#!/usr/bin/env python3
"""Write the logs of one failed run of many ranks, seeded, with the truth beside them.

    make_run_logs.py interleaved OUT_DIR    512 ranks in one file, lines interleaved
    make_run_logs.py late        OUT_DIR    the rank that failed first wrote last: its buffer was flushed at the end
    make_run_logs.py skewed      OUT_DIR    a file a host, whose clocks differ by up to two minutes

One rank runs out of GPU memory; ten minutes later the others report a collective that timed out. Where clocks differ,
a second rank runs out of memory 15 seconds after the first, on a host whose clock shows that it was before: only the
steps that all hosts print tell how far the clocks are apart.
`truth.json` holds the rank, the host and the line of the first fault.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

KINDS = ("interleaved", "late", "skewed")
PER_HOST = 8
START = datetime(2026, 11, 29, 22, 0, 0)
STEP = timedelta(seconds=2)
TIMEOUT = timedelta(minutes=10)
APART = timedelta(seconds=15)
"""Between two ranks that run out of memory."""
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {gpu} has a total capacity of "
    "79.15 GiB of which 1.25 GiB is free."
)
WATCHDOG = (
    "[rank{rank}]:[E{day} {clock}.000000000 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, "
    "Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
)


@dataclass(frozen=True)
class Truth:
    """What a diagnosis has to find."""

    rank: int
    host: str
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
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "skewed":
        second = chance.choice([rank for rank in range(ranks) if host_of(rank) != host_of(culprit)])
        said = _story(chance, [culprit, second], ranks, steps)
        truth = _write_hosts(folder, said, culprit, _clocks(seed, ranks, culprit, second))
    else:
        truth = _write_one(folder, _story(chance, [culprit], ranks, steps), culprit, is_late=kind == "late")
    (folder / "truth.json").write_text(json.dumps(asdict(truth), indent=2) + "\n", encoding="utf-8")
    return truth


def steps_for(size: int, ranks: int) -> int:
    """How many steps make up about so many bytes."""
    line = len(_line(START, ranks // 2, "step 1000 loss 0.0500")) + 1
    return max(1, (size - ranks * len(WATCHDOG)) // (ranks * line))


def _clocks(seed: int, ranks: int, culprit: int, second: int) -> dict[str, timedelta]:
    """How far ahead the clock of each host is: up to two minutes, and wrong about which of two ranks failed first."""
    chance = random.Random(f"{seed}-{ranks}-clocks")
    ahead = {host_of(rank): timedelta(seconds=chance.randrange(-120, 121)) for rank in range(0, ranks, PER_HOST)}
    ahead[host_of(culprit)] = timedelta(seconds=chance.randrange(20, 121))
    ahead[host_of(second)] = timedelta(seconds=chance.randrange(-120, -19))
    return ahead


def _story(chance: random.Random, failing: list[int], ranks: int, steps: int) -> Iterator[_Said]:
    for rank in range(ranks):
        yield _Said(
            START, rank, _line(START, rank, f"INFO rank {rank} of world size {ranks} runs on host={host_of(rank)}")
        )
    for step in range(1, steps + 1):
        for rank in chance.sample(range(ranks), ranks):
            time = START + step * STEP + timedelta(milliseconds=chance.randrange(900))
            yield _Said(time, rank, _line(time, rank, f"step {step} loss {8 / step + chance.random() / 10:.4f}"))
    failed = START + (steps + 1) * STEP
    for at, rank in enumerate(failing):
        yield _Said(failed + at * APART, rank, _line(failed + at * APART, rank, OOM.format(gpu=rank % PER_HOST)))
    for rank in chance.sample(range(ranks), ranks):
        if rank not in failing:
            time = failed + TIMEOUT + timedelta(milliseconds=chance.randrange(5_000))
            yield _Said(
                time, rank, WATCHDOG.format(rank=rank, day=f"{time:%m%d}", clock=f"{time:%H:%M:%S}", seq=steps * 10 + 3)
            )


def _line(time: datetime, rank: int, text: str) -> str:
    return f"[rank{rank}]: {time:%Y-%m-%d %H:%M:%S},{time.microsecond // 1000:03d} {text}"


def _is_fault(item: _Said, culprit: int) -> bool:
    return item.rank == culprit and "OutOfMemory" in item.text


def _write_one(folder: Path, said: Iterable[_Said], culprit: int, *, is_late: bool) -> Truth:
    """All ranks in one file; what a late rank said stands at its end."""
    held: list[_Said] = []
    fault = lines = 0
    with (folder / "job.log").open("w", encoding="utf-8") as file:
        for item in said:
            if is_late and item.rank == culprit:
                held.append(item)
                continue
            lines += 1
            fault = lines if _is_fault(item, culprit) else fault
            file.write(f"{item.text}\n")
        file.writelines([f"{item.text}\n" for item in held])
    if held:
        fault = lines + 1 + next(at for at, item in enumerate(held) if _is_fault(item, culprit))
    return Truth(culprit, host_of(culprit), "job.log", fault)


def _write_hosts(folder: Path, said: Iterable[_Said], culprit: int, ahead: Mapping[str, timedelta]) -> Truth:
    """One file a host, by its own clock."""
    lines: dict[str, list[str]] = {host: [] for host in ahead}
    fault = 0
    for item in said:
        host = host_of(item.rank)
        lines[host].append(_shifted(item, ahead[host]))
        fault = len(lines[host]) if _is_fault(item, culprit) else fault
    for host, mine in lines.items():
        (folder / f"{host}.log").write_text("\n".join([*mine, ""]), encoding="utf-8")
    return Truth(culprit, host_of(culprit), f"{host_of(culprit)}.log", fault)


def _shifted(item: _Said, off: timedelta) -> str:
    wrong = item.time + off
    text = item.text.replace(f"{item.time:%H:%M:%S}", f"{wrong:%H:%M:%S}", 1)
    return text.replace(f"{item.time:%Y-%m-%d}", f"{wrong:%Y-%m-%d}", 1).replace(
        f"[E{item.time:%m%d}", f"[E{wrong:%m%d}", 1
    )


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
