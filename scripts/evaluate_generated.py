#!/usr/bin/env python3
"""Score the diagnosis on generated incidents with known truth (scripts/make_incidents.py).

    evaluate_generated.py                      seeds 1 to 5, all kinds, a table
    evaluate_generated.py --seeds 1 --kinds ib_error12,loss_nan
    evaluate_generated.py --require            exit 1 below the bars

What is counted: the deciding line, rank and host where the truth names them, the
suspects, the status, whether a downstream line was blamed, and whether anything
was `identified` where nothing may be.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from assistant.diagnosis.pipeline import diagnose  # noqa: E402
from assistant.verdict import Diagnosis  # noqa: E402
from corpus.catalogue import Catalogue  # noqa: E402
from corpus.errors import FirstfaultError  # noqa: E402

BARS = {"line": 0.95, "rank": 0.95, "host": 0.95, "suspects": 0.7, "unblamed": 1.0, "not identified": 1.0}
"""Shares that `--require` asks for."""


@dataclass
class Score:
    """Right and asked, by what was counted."""

    right: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    def count(self, what: str, good: bool) -> bool:
        """Count one answer and pass it on."""
        self.asked[what] = self.asked.get(what, 0) + 1
        self.right[what] = self.right.get(what, 0) + good
        return good

    def share(self, what: str) -> float:
        """The share of right answers; 1 when nothing was asked."""
        return self.right.get(what, 0) / self.asked[what] if self.asked.get(what) else 1.0

    def add(self, other: Score) -> None:
        """Add another score to this one."""
        for what, number in other.asked.items():
            self.asked[what] = self.asked.get(what, 0) + number
            self.right[what] = self.right.get(what, 0) + other.right.get(what, 0)


def judge(truth: dict[str, Any], verdict: Diagnosis, score: Score) -> list[str]:
    """Score one verdict against its truth; returns what was wrong, in words."""
    first = verdict.initiating
    line = first.evidence[0].text if first is not None else ""
    statuses = truth["status"] if isinstance(truth["status"], list) else [truth["status"]]
    wrong: list[str] = []

    def check(what: str, good: bool, told: object) -> None:
        if not score.count(what, good):
            wrong.append(f"{what}: {told}")

    check("status", verdict.status in statuses, f"{verdict.status}, not {'/'.join(statuses)}")
    if truth["line"]:
        good = any(text in line for text in [truth["line"], *truth.get("line_alt", [])])
        check("line", good, line[:120] or "none")
    else:
        check("not identified", verdict.status != "identified", line[:120])
    if truth.get("rank_checked"):
        ranks = first.ranks if first is not None else ()
        check("rank", truth["rank"] in ranks if truth["rank"] is not None else not ranks, ranks)
    if truth.get("host_checked"):
        hosts = first.hosts if first is not None else ()
        check("host", truth["host"] in hosts, hosts)
    if truth.get("suspects_checked") or truth["suspects"]:
        found = {suspect.rank for suspect in verdict.suspects} - {None}
        check("suspects", found == set(truth["suspects"]), sorted(rank for rank in found if rank is not None))
    if truth["owner"]:
        check("owner", first is not None and first.owner == truth["owner"], first.owner if first else "none")
    check("unblamed", not any(text in line for text in truth["never_blame"]), line[:120])
    return wrong


def run_seed(seed: int, kinds: str | None, catalogue: Catalogue) -> Iterator[tuple[str, Score, list[str]]]:
    """Generate the incidents of one seed and judge each; yields kind, score and what was wrong."""
    with tempfile.TemporaryDirectory(prefix="firstfault-incidents-") as folder:
        command = [sys.executable, str(ROOT / "scripts" / "make_incidents.py"), folder, "--seed", str(seed)]
        subprocess.run(command + (["--kinds", kinds] if kinds else []), check=True, stdout=subprocess.DEVNULL)
        for place in sorted(Path(folder).iterdir()):
            truth = json.loads((place / "truth.json").read_text(encoding="utf-8"))
            score = Score()
            try:
                verdict = diagnose([str(place / name) for name in truth["inputs"]], catalogue=catalogue)
            except FirstfaultError as error:
                score.count("status", False)
                yield place.name, score, [str(error)]
                continue
            yield place.name, score, judge(truth, verdict, score)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the evaluation and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="seeds 1 to N (default 5)")
    parser.add_argument("--kinds", help="only these kinds, separated by commas")
    parser.add_argument("--require", action="store_true", help="exit 1 below the bars")
    options = parser.parse_args(arguments)
    catalogue = Catalogue.load()
    total = Score()
    for seed in range(1, options.seeds + 1):
        for kind, score, wrong in run_seed(seed, options.kinds, catalogue):
            total.add(score)
            if wrong:
                print(f"seed {seed}  {kind:28}  {'; '.join(wrong)}")
    print()
    for what in sorted(total.asked):
        print(f"{what:15} {total.right[what]:4} of {total.asked[what]:4}   {total.share(what):6.1%}")
    short = [what for what, bar in BARS.items() if total.share(what) < bar]
    if short and options.require:
        print(f"below the bar: {', '.join(short)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
