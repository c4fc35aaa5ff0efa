#!/usr/bin/env python3
"""Measures the verdicts: on case files (`cases FILE.jsonl`) and on the bundled incidents (`incidents`).

    scripts/evaluate.py cases tests/evaluation/open.jsonl --require line=20 --require negatives=5
    scripts/evaluate.py incidents --require all

A case is a JSON object with `id`, `log`, `expect_signature` (the literal of the deciding line), `cause_in_log`,
`negative` and `initiator` {rank, host}. Everything runs in this process, on the bundled corpus.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from assistant.diagnosis import pipeline  # noqa: E402
from assistant.verdict import Diagnosis, Line  # noqa: E402
from corpus.catalogue import Catalogue  # noqa: E402

MEASURES = {
    "line": "the deciding line is right (positives whose cause is in the log)",
    "entry": "... and an entry covers it",
    "failure": "... and it is an entry of a failure",
    "elsewhere": "cause not in the log, and not called identified",
    "negatives": "negatives without a first fault",
    "rank": "rank of the first fault right, where the case names one",
    "host": "host of the first fault right, where the case names one",
    "quotes": "every quoted line stands in the input",
}


@dataclass
class Outcome:
    """What came out for one case: a measure is True, False, or absent where it does not apply."""

    name: str
    status: str
    first: str
    place: str
    measures: dict[str, bool] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def diagnose(paths: Sequence[Path | str], catalogue: Catalogue) -> Diagnosis:
    """Run the diagnosis as the command does, without its talk."""
    return pipeline.diagnose([str(path) for path in paths], catalogue=catalogue, options=pipeline.Options())


def quoted_lines(value: object) -> Iterator[Line]:
    """Every LINE of a verdict, wherever it stands."""
    if isinstance(value, Line):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from quoted_lines(item)
    elif hasattr(value, "model_fields_set"):
        for item in vars(value).values():
            yield from quoted_lines(item)


def false_quotes(diagnosis: Diagnosis, text: str) -> list[Line]:
    """Quoted lines that are not the line of that number in the input."""
    lines = text.split("\n")
    return [
        quote
        for quote in quoted_lines(diagnosis)
        if not (0 < quote.line <= len(lines)) or lines[quote.line - 1].rstrip("\r") != quote.text.rstrip("\r")
    ]


def judge(case: dict[str, Any], diagnosis: Diagnosis) -> Outcome:
    """Hold a verdict against its case."""
    finding = diagnosis.initiating
    line = finding.evidence[0] if finding and finding.evidence else None
    entry = finding.entry if finding else None
    name = (entry.id if entry else "observed") if finding else "-"
    outcome = Outcome(case["id"], diagnosis.status, name, line.place.split("/")[-1] if line else "-")
    measures = outcome.measures
    if case["negative"]:
        measures["negatives"] = finding is None
    elif not case["cause_in_log"]:
        measures["elsewhere"] = diagnosis.status != "identified"
    else:
        is_right = line is not None and case["expect_signature"] in line.text
        measures["line"] = is_right
        measures["entry"] = is_right and entry is not None
        measures["failure"] = is_right and entry is not None and entry.kind == "failure"
        _judge_place(case.get("initiator") or {}, diagnosis, measures)
        if not is_right:
            outcome.notes += [f"expected {case['expect_signature']}", f"got      {line.text if line else '-'}"]
    if case["negative"] and finding is not None:
        outcome.notes.append(f"blamed   {line.text if line else '-'}")
    false = false_quotes(diagnosis, case["log"])
    measures["quotes"] = not false
    outcome.notes += [f"quote not in the input: {quote.place} {quote.text[:120]}" for quote in false[:3]]
    return outcome


def _judge_place(initiator: dict[str, Any], diagnosis: Diagnosis, measures: dict[str, bool]) -> None:
    finding = diagnosis.initiating
    if initiator.get("rank") is not None:
        measures["rank"] = finding is not None and finding.ranks == (initiator["rank"],)
    if initiator.get("host") is not None:
        measures["host"] = finding is not None and initiator["host"] in finding.hosts


def run_cases(path: Path, catalogue: Catalogue) -> list[Outcome]:
    """Diagnose every case of a file, each from a file of its own."""
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="firstfault-cases-") as folder:
        for row in path.read_text(encoding="utf-8").splitlines():
            if row.strip():
                case = json.loads(row)
                log = Path(folder) / f"{case['id']}.log"
                log.write_bytes(case["log"].encode())
                outcomes.append(judge(case, diagnose([log], catalogue)))
    return outcomes


def run_incidents(folder: Path, catalogue: Catalogue) -> list[Outcome]:
    """Diagnose every bundled incident and hold it against its expected verdict."""
    outcomes = []
    for path in sorted(folder.glob("*.toml")):
        expected = tomllib.loads(path.read_text(encoding="utf-8"))
        with contextlib.chdir(folder):
            diagnosis = diagnose(expected["sources"], catalogue)
        finding = diagnosis.initiating
        line = finding.evidence[0] if finding and finding.evidence else None
        name = (finding.entry.id if finding.entry else "observed") if finding else "-"
        notes = list(_differences(expected, diagnosis))
        outcomes.append(
            Outcome(path.stem, diagnosis.status, name, line.place if line else "-", {"passed": not notes}, notes)
        )
    return outcomes


def _differences(expected: dict[str, Any], diagnosis: Diagnosis) -> Iterator[str]:
    """Each point in which a verdict differs from the expected one; what the file leaves out is not compared."""
    finding = diagnosis.initiating
    entry = finding.entry.id if finding and finding.entry else None
    text = finding.evidence[0].text if finding and finding.evidence else ""
    single = [
        ("status", expected["status"], diagnosis.status, expected["status"] == diagnosis.status),
        ("initiating", expected.get("initiating"), entry, expected.get("initiating") == entry),
        ("line", expected.get("line"), text, expected.get("line", "") in text),
        ("rank", expected.get("rank"), finding and finding.ranks,
         "rank" not in expected or (finding is not None and finding.ranks == (expected["rank"],))),
        ("host", expected.get("host"), finding and finding.hosts,
         "host" not in expected or (finding is not None and expected["host"] in finding.hosts)),
    ]  # fmt: skip
    yield from (f"{key}: expected {want!r}, got {got!r}" for key, want, got, is_same in single if not is_same)
    for role in ("downstream", "unrelated"):
        found = [item.entry.id for item in diagnosis.all_findings() if item.role == role and item.entry]
        missing = sorted(set(expected.get(role, ())) - set(found))
        if missing:
            yield f"{role}: {', '.join(missing)} missing, got {', '.join(found) or 'none'}"
    missing_ranks = set(expected.get("suspects", ())) - {item.rank for item in diagnosis.suspects}
    if missing_ranks:
        yield f"suspects: ranks {sorted(missing_ranks)} missing"


def totals(outcomes: Iterable[Outcome]) -> dict[str, tuple[int, int]]:
    """Of each measure, how often it holds and how often it applies."""
    found: dict[str, tuple[int, int]] = {}
    for outcome in outcomes:
        for name, holds in outcome.measures.items():
            good, all_ = found.get(name, (0, 0))
            found[name] = (good + holds, all_ + 1)
    return found


def print_table(outcomes: Sequence[Outcome], *, notes: bool) -> None:
    """One row a case; measures that fail are named, and shown with what was expected."""
    width = max((len(outcome.name) for outcome in outcomes), default=4)
    first = max((len(outcome.first) for outcome in outcomes), default=4)
    for outcome in outcomes:
        failed = " ".join(name for name, holds in outcome.measures.items() if not holds)
        mark = "ok" if not failed else f"NOT {failed}"
        print(f"{outcome.name:<{width}}  {outcome.status:<12}  {outcome.first:<{first}}  {outcome.place:<20}  {mark}")
        for note in outcome.notes if notes else ():
            print(f"{'':<{width}}    {note[:300]}")


def print_totals(found: dict[str, tuple[int, int]]) -> None:
    """The totals, each with its meaning."""
    print()
    for name, (good, all_) in found.items():
        print(f"{name:<10} {good:>4} of {all_:<4}  {MEASURES.get(name, '')}")


def unmet(found: dict[str, tuple[int, int]], required: Sequence[str]) -> list[str]:
    """Thresholds that are not reached: `name=N` at least N, `name=all` or `all` without exception."""
    failures = []
    for text in required:
        name, _, wanted = text.rpartition("=")
        for key in [name] if name else list(found):
            good, all_ = found.get(key, (0, 0))
            least = all_ if wanted == "all" else int(wanted)
            if good < least:
                failures.append(f"{key}: {good} of {all_}, required {wanted}")
    return failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and fail where a required threshold is not reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    cases = verbs.add_parser("cases", help="a JSON-lines file of cases")
    cases.add_argument("file", type=Path)
    incidents = verbs.add_parser("incidents", help="corpus/incidents against their expected verdicts")
    incidents.add_argument("--folder", type=Path, default=ROOT / "corpus" / "incidents")
    for verb in (cases, incidents):
        verb.add_argument("--require", action="append", default=[], metavar="MEASURE=N|all")
        verb.add_argument("--quiet", action="store_true", help="only rows, no notes on failures")
    options = parser.parse_args(arguments)
    catalogue = Catalogue.load()
    if options.verb == "cases":
        outcomes = run_cases(options.file, catalogue)
    else:
        outcomes = run_incidents(options.folder, catalogue)
    found = totals(outcomes)
    print_table(outcomes, notes=not options.quiet)
    print_totals(found)
    failures = unmet(found, options.require)
    for failure in failures:
        print(f"below the bar: {failure}", file=sys.stderr)
    return 1 if failures or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
