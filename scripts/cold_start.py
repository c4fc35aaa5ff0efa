#!/usr/bin/env python3
"""Measure how fast a fresh process answers, and which modules it loads for it.

For --help, list, and diagnose of a log of 200 KB: the best wall milliseconds of
several runs, the number of modules loaded, and the heavy ones among them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAVY = (
    "pydantic", "rich", "click", "hyperscan", "numpy", "faiss", "onnxruntime", "tokenizers", "bm25s",
    "textual", "tiktoken", "torch", "sentence_transformers", "zstandard", "isal", "platformdirs", "asyncio", "ssl",
)  # fmt: skip
LOG_BYTES = 200_000

# Ends like the real program, then tells on stderr's own descriptor what was loaded.
_PROBE = """
import sys, json, os
sys.argv = ["firstfault", *json.loads(sys.argv[1])]
try:
    from assistant.cli.main import main
    status = main()
except SystemExit as end:
    status = end.code
os.write(2, b"\\nMODULES " + json.dumps(sorted(sys.modules)).encode() + b"\\n")
"""


@dataclass(frozen=True)
class Step:
    """One command and the bar it is held against."""

    name: str
    arguments: list[str]
    bar: int | None


def write_log(path: Path) -> None:
    """A training log that ends in a failure which literals decide."""
    calm = "2026-11-30 12:{minute:02d}:{second:02d},000 [rank{rank}] INFO step {step} loss {loss:.4f} lr 1.0e-04\n"
    fault = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.25 GiB is free.\n"
    lines, size, step = [], len(fault), 0
    while size < LOG_BYTES:
        step += 1
        lines.append(calm.format(minute=step // 60 % 60, second=step % 60, rank=step % 8, step=step, loss=9 / step))
        size += len(lines[-1])
    path.write_text("".join(lines) + fault, encoding="utf-8")


def _environment() -> dict[str, str]:
    """The caller's environment, but with byte code kept, as an installed program has it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT)}


def wall_ms(arguments: list[str], runs: int) -> float:
    """The best of several runs of a fresh process, in milliseconds."""
    command = [sys.executable, "-m", "assistant", *arguments]
    environment = _environment()
    best = float("inf")
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        best = min(best, time.perf_counter() - began)
    return best * 1000


def modules(arguments: list[str]) -> list[str]:
    """The modules that a process has loaded when it ends."""
    command = [sys.executable, "-c", _PROBE, json.dumps(arguments)]
    environment = _environment()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    for line in done.stderr.splitlines():
        if line.startswith("MODULES "):
            found: list[str] = json.loads(line.removeprefix("MODULES "))
            return found
    raise SystemExit(f"firstfault {' '.join(arguments)} did not end well:\n{done.stderr}")


def main() -> None:
    """Print one row for each step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="firstfault-start-") as folder:
        log = Path(folder) / "job.log"
        write_log(log)
        steps = [
            Step("--help", ["--help"], 150),
            Step("list", ["list"], None),
            Step("diagnose 200 KB (json)", ["diagnose", "--format", "json", str(log)], 400),
            Step("diagnose 200 KB (text)", ["diagnose", str(log)], 400),
        ]
        print("| step                   |   ms | bar  | modules | heavy ones |")
        print("|------------------------|------|------|---------|------------|")
        for step in steps:
            # The first run compiles the bytecode and the catalogue; it is not what people wait for.
            loaded = modules(step.arguments)
            heavy = [name for name in HEAVY if name in loaded]
            bar = f"{step.bar}" if step.bar else ""
            print(
                f"| {step.name:22} | {wall_ms(step.arguments, options.runs):4.0f} | {bar:4} | {len(loaded):7} | {' '.join(heavy)} |"
            )


if __name__ == "__main__":
    main()
