#!/usr/bin/env python3
"""Counts a coverage draw: on how many deciding lines of public reports an entry stands, and of which kind.

    scripts/evaluate_coverage.py tests/evaluation/coverage/draw-1.tsv
    scripts/evaluate_coverage.py tests/evaluation/coverage/*.tsv --missing

How a draw is made, and what its ledger holds, is in scripts/coverage_draw.md.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from corpus.catalogue import Catalogue  # noqa: E402
from corpus.head import Head  # noqa: E402
from corpus.match import Matcher  # noqa: E402
from corpus.record import Record, read_records  # noqa: E402

ORDER = ("failure", "class", "broad", "wrapper")
FRAMES = 2
_EXCEPTION = re.compile(
    r"(?:[A-Za-z_][\w.]*\.)?(?:[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout)|StopIteration)\b(?::|$)"
)
SAYS = frozenset({"cause", "wrapper"})


@dataclass(frozen=True)
class Report:
    """One row of a ledger."""

    url: str
    cell: str
    says: str
    literal: str


@dataclass(frozen=True)
class Counted:
    """A report and the entries on its deciding line, failures first."""

    report: Report
    entries: tuple[tuple[str, str], ...]

    @property
    def kind(self) -> str | None:
        """The best kind of entry on the line."""
        return self.entries[0][1] if self.entries else None

    @property
    def is_covered(self) -> bool:
        """A cause needs an entry that is no wrapper; a line that passes an error on may be one."""
        return self.kind is not None and (self.report.says == "wrapper" or self.kind != "wrapper")


def read_ledger(path: Path) -> list[Report]:
    """The rows of a ledger. Raises ValueError, with its line, for a row that is not as described."""
    reports = []
    with path.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        for number, row in enumerate(rows, start=2):
            if None in row.values() or row.get("says") not in SAYS or not row.get("literal"):
                raise ValueError(f"{path}:{number}: expected url, cell, cause or wrapper, and a literal")
            reports.append(Report(row["url"], row["cell"], row["says"], row["literal"]))
    return reports


def records_of(literal: str) -> list[Record]:
    """The deciding lines as records; an exception stands below the traceback, a panic of Go above the stack, that every log has."""
    lines = [line.strip() for line in literal.replace("\\n", "\n").splitlines()]
    records = [record for at, line in enumerate(lines, FRAMES + 1) for record in read_records(line.encode(), at)]
    if any(_EXCEPTION.match(record.message) for record in records):
        prefix = records[0].text[: len(records[0].text) - len(records[0].message)]
        header = ["Traceback (most recent call last):", '  File "train.py", line 10, in main']
        above = [record for at, line in enumerate(header, 1) for record in read_records((prefix + line).encode(), at)]
        records = above + records
    if any(record.message.startswith("panic: ") for record in records):
        last = records[-1].number
        records += [record for record in read_records(b"goroutine 1 [running]:", last + 2)]
    return records


def count(reports: Sequence[Report], catalogue: Catalogue) -> Iterator[Counted]:
    """Match the deciding line of each report against all entries, drafts left out."""
    heads = {key: head for key, head in catalogue.heads.items() if head.status == "verified"}
    matcher = Matcher(heads.values(), catalogue.literals, with_broad=True)
    for report in reports:
        hits = matcher.resolve(matcher.scan_records(records_of(report.literal))).hits
        found = {(hit.entry, _kind(heads[hit.entry])) for hit in hits}
        yield Counted(report, tuple(sorted(found, key=lambda pair: (ORDER.index(pair[1]), pair[0]))))


def _kind(head: Head) -> str:
    return "broad" if head.broad else head.kind


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of each ledger; the exit status is 2 for a ledger that can't be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ledgers", nargs="+", type=Path, metavar="LEDGER")
    parser.add_argument("--missing", action="store_true", help="list the reports without an entry")
    parser.add_argument("--all", action="store_true", help="list every report with its entries")
    options = parser.parse_args(arguments)
    catalogue = Catalogue.load()
    for path in options.ledgers:
        try:
            counted = list(count(read_ledger(path), catalogue))
        except (OSError, ValueError) as error:
            print(f"evaluate_coverage: {error}", file=sys.stderr)
            return 2
        covered = sum(item.is_covered for item in counted)
        failures = sum(item.kind == "failure" for item in counted)
        broad = sum(item.kind == "broad" for item in counted)
        print(
            f"{path.name}: {len(counted)} reports, entry on {covered}, failure entry on {failures}, "
            f"only the shape known of {broad}"
        )
        for item in counted:
            if options.all or (options.missing and not item.is_covered):
                names = ", ".join(f"{entry} ({kind})" for entry, kind in item.entries) or "-"
                print(f"  {item.report.says:8} {item.report.literal[:150]}\n           {names}  {item.report.url}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
