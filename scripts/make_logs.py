#!/usr/bin/env python3
"""Write the logs that the scanner is measured on: seeded, so that every run reads the same bytes.

    make_logs.py base  OUT.log --size 1GiB    0.1 % of the lines hold one of 40 signatures
    make_logs.py storm OUT.log --size 1GiB    30 %: a few faults that every rank repeats
    make_logs.py many  OUT_DIR --size 1GiB    files of 512 KiB, one a rank
    make_logs.py interleaved OUT_DIR          one run of 512 ranks with a known first fault (scripts/make_run_logs.py);
    make_logs.py late        OUT_DIR          so is this, whose first fault stands last,
    make_logs.py skewed      OUT_DIR          and this, a file a host, by clocks that differ

The signatures are those of the bundled corpus, or of `--texts FILE` (one a line).
Numbers and addresses are new in every line; names, hosts and paths come from a
few for each placeholder, as in the log of one run.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from make_run_logs import KINDS as RUNS
from make_run_logs import make_run, steps_for

from corpus.signature import parse

MIB = 1024 * 1024
FILE_BYTES = 512 * 1024
HIT_SHARE = {"base": 0.001, "storm": 0.3, "many": 0.001}
SIGNATURES = {"base": 40, "storm": 24, "many": 40}
"""How many signatures one log holds; a few of them make up most of a storm."""
FEW = 6
"""Different words that a placeholder without digits takes in one log."""
RANKS = 64
RUN_RANKS = 512
"""Ranks of a run with a known first fault; each of them reports one fault."""
BATCH = 4096

_WORDS = ("ALLREDUCE", "worker", "default", "mlx5_0", "c10d", "engine", "cuda", "shard", "loader", "fsdp")
_FILL: dict[str, Callable[[random.Random], str]] = {
    "int": lambda r: str(r.randrange(10 ** r.randrange(1, 7))),
    "hex": lambda r: f"0x{r.getrandbits(48):012x}",
    "float": lambda r: f"{r.random() * 100:.4f}",
    "size": lambda r: f"{r.random() * 80:.2f} GiB",
    "path": lambda r: f"/data/run{r.randrange(100)}/{r.choice(_WORDS)}.pt",
    "host": lambda r: f"node-{r.randrange(256)}",
    "ip": lambda r: f"10.{r.randrange(256)}.{r.randrange(256)}.{r.randrange(256)}",
    "pci": lambda r: f"0000:{r.randrange(256):02x}:00.0",
    "dtype": lambda r: r.choice(("torch.float32", "torch.bfloat16", "Half")),
    "shape": lambda r: f"[{r.randrange(1, 4096)}, {r.randrange(1, 4096)}]",
    "name": lambda r: r.choice(_WORDS),
    "duration": lambda r: f"{r.randrange(10**6)} ms",
    "any": lambda r: " ".join(r.choice(_WORDS) for _ in range(r.randrange(1, 4))),
}
NUMERIC = frozenset({"int", "hex", "float", "size", "duration", "shape", "ip"})
_CALM = (
    "iteration {a:>8d}/ 1907348 | consumed samples: {b:>12d} | elapsed time per iteration (ms): {x:.1f} | "
    "learning rate: {y:.3E} | lm loss: {y:.6E} | grad norm: {y:.3f} | number of skipped iterations: 0",
    "step={a} loss={y:.4f} lr={y:.2e} tokens_per_sec={b} mfu={x:.1f}% peak_mem={x:.2f}GiB",
    "INFO trainer.loop: epoch {c} batch {a} data_time {y:.3f} batch_time {x:.3f} queue {c}",
    "NCCL INFO Channel {c:02d}/0 : {c}[{c}] -> {c}[{c}] via P2P/CUMEM/read",
    "DEBUG loader: shard {a} offset {b} prefetched {c} documents in {x:.1f} ms from /data/corpus/part-{a:05d}.bin",
    "INFO checkpoint: wrote shard {c} of 64 ({b} bytes) for step {a} in {x:.2f} s",
)


@dataclass(frozen=True)
class Made:
    """What was written: how much, and how many lines hold a signature."""

    path: Path
    size: int
    lines: int
    hit_lines: int
    files: int = 1


class LogMaker:
    """Makes lines of one kind of log, with a random generator of its own."""

    def __init__(self, kind: str, texts: list[str], seed: int) -> None:
        self._random = random.Random(f"{seed}-{kind}")
        self._share = HIT_SHARE[kind]
        chosen = self._random.sample(texts, min(SIGNATURES[kind], len(texts)))
        self._weights = [1.0 if kind != "storm" else 1.0 / (place + 1) for place in range(len(chosen))]
        self._parts = [parse(text)[0] for text in chosen]
        self._words: dict[tuple[int, int], list[str]] = {}
        self._seconds = 0.0
        self.lines = 0
        self.hit_lines = 0

    def batches(self) -> Iterator[bytes]:
        """Yield batches of whole lines, for ever."""
        while True:
            lines = [self._line() for _ in range(BATCH)]
            self.lines += BATCH
            yield "".join(lines).encode()

    def _line(self) -> str:
        chance = self._random
        self._seconds += chance.random() * 0.02
        whole = int(self._seconds)
        hours, minutes = whole // 3600 % 24, whole // 60 % 60
        stamp = f"2026-11-{1 + whole // 86400 % 30:02d} {hours:02d}:{minutes:02d}:{whole % 60:02d}"
        if chance.random() < self._share:
            self.hit_lines += 1
            body = self._hit()
        else:
            a, b, c = chance.randrange(1_907_348), chance.randrange(10**9), chance.randrange(RANKS)
            body = _CALM[chance.randrange(len(_CALM))].format(a=a, b=b, c=c, x=chance.random() * 500, y=chance.random())
        return f"[rank{chance.randrange(RANKS)}]: {stamp},{int(self._seconds * 1000) % 1000:03d} {body}\n"

    def _hit(self) -> str:
        (number,) = self._random.choices(range(len(self._parts)), self._weights)
        pieces = [
            part.literal or self._value((number, place), part.kind, part.choices)
            for place, part in enumerate(self._parts[number])
        ]
        return "".join(pieces).replace("\n", " ")

    def _value(self, place: tuple[int, int], kind: str, choices: tuple[str, ...]) -> str:
        if choices:
            return self._random.choice(choices)
        if kind in NUMERIC:
            return _FILL[kind](self._random)
        if place not in self._words:
            self._words[place] = [_FILL[kind](self._random) for _ in range(FEW)]
        return self._random.choice(self._words[place])


def make_file(kind: str, path: Path, size: int, texts: list[str], seed: int = 7) -> Made:
    """Write one log of about `size` bytes (whole lines)."""
    maker = LogMaker(kind, texts, seed)
    written = 0
    with path.open("wb") as file:
        for batch in maker.batches():
            written += file.write(batch)
            if written >= size:
                break
    return Made(path, written, maker.lines, maker.hit_lines)


def make_many(directory: Path, size: int, texts: list[str], seed: int = 7) -> Made:
    """Write as many files of 512 KiB as make up `size`."""
    directory.mkdir(parents=True, exist_ok=True)
    maker = LogMaker("many", texts, seed)
    batches = maker.batches()
    rest = b""
    files = max(1, size // FILE_BYTES)
    for number in range(files):
        while len(rest) < FILE_BYTES:
            rest += next(batches)
        end = rest.rfind(b"\n", 0, FILE_BYTES) + 1
        (directory / f"rank-{number:05d}.log").write_bytes(rest[:end])
        rest = rest[end:]
    return Made(directory, files * FILE_BYTES, maker.lines, maker.hit_lines, files)


def make_run_of_size(kind: str, directory: Path, size: int, seed: int = 7) -> Made:
    """Write one failed run of about so many bytes."""
    make_run(kind, directory, ranks=RUN_RANKS, steps=steps_for(size, RUN_RANKS), seed=seed)
    (directory / "truth.json").rename(directory.with_name(f"{directory.name}-truth.json"))
    logs = list(directory.glob("*.log"))
    lines = sum(path.read_bytes().count(b"\n") for path in logs)
    return Made(directory, sum(path.stat().st_size for path in logs), lines, RUN_RANKS, len(logs))


def corpus_texts() -> list[str]:
    """The texts of all signatures that the scan looks for."""
    from corpus.catalogue import Catalogue

    heads = Catalogue.load().heads.values()
    scanned = (
        signature for head in heads if not head.broad for signature in head.signatures if signature.tier == "scan"
    )
    return sorted({text for signature in scanned for text in signature.texts[:1]})


def read_size(text: str) -> int:
    """Read `512KiB`, `64MiB`, `1GiB` or a number of bytes."""
    for unit, factor in (("KiB", 1024), ("MiB", MIB), ("GiB", 1024 * MIB)):
        if text.endswith(unit):
            return int(float(text[: -len(unit)]) * factor)
    return int(text)


def main() -> None:
    """Write one log."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=[*HIT_SHARE, *RUNS])
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", type=read_size, default="64MiB")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--texts", type=Path, help="signature texts, one a line, instead of the bundled corpus")
    options = parser.parse_args()
    texts = []
    if options.kind not in RUNS:
        texts = options.texts.read_text("utf-8").splitlines() if options.texts else corpus_texts()
    if options.kind in RUNS:
        made = make_run_of_size(options.kind, options.out, options.size, options.seed)
    elif options.kind == "many":
        made = make_many(options.out, options.size, texts, options.seed)
    else:
        made = make_file(options.kind, options.out, options.size, texts, options.seed)
    print(f"{made.path}: {made.size:,} bytes, {made.lines:,} lines, {made.hit_lines:,} of them with a signature")


if __name__ == "__main__":
    main()
