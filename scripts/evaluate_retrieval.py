#!/usr/bin/env python3
"""Proof of retrieval: the right entry without any literal, and verification that agrees with the scan.

    scripts/evaluate_retrieval.py [--require] [--misses] [--split dev|test] [--encoder NAME_OR_FOLDER] [--store]

Prints one table, questions by family below it. With --require it exits 1 when a figure is below its bar, or differs
from the stored one (tests/evaluation/retrieval.json, written by --store): words and literals must come out the same,
the encoder's figures within 0.02, for its arithmetic differs from one processor to the next. The literal channel is off
in all of it. "No examples" leaves out the passages of kind `example` and `signature`, which hold the
very text of the logs that are asked: what is left is what an unseen log of that failure would find.

Weights and word lists are set on the questions of split `dev` only; `test` is for reporting.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from assistant.chat.search import covers  # noqa: E402
from corpus.casebook import progress_lines, records_of  # noqa: E402
from corpus.catalogue import Catalogue  # noqa: E402
from corpus.match import Matcher  # noqa: E402
from index.encoder import open_encoder  # noqa: E402
from index.evaluate import Scores, evaluate, misses  # noqa: E402
from index.passages import KINDS  # noqa: E402
from index.retriever import Dense, Retriever  # noqa: E402
from index.scanner import Scanner  # noqa: E402
from index.store import build_store, load_store  # noqa: E402
from index.verify import Verified, verify_candidates  # noqa: E402

UNSEEN = tuple(kind for kind in KINDS if kind not in {"example", "signature"})
RIGHT_AMONG_20, UNFAMILIAR_AT_1, QUESTIONS_AT_1, QUESTIONS_AT_5, REFUSED, FALSELY_REFUSED = (
    0.98,
    0.80,
    0.75,
    0.92,
    0.90,
    0.05,
)
STORED = ROOT / "tests" / "evaluation" / "retrieval.json"
WITHIN = 0.02


@dataclass
class Report:
    """Rows of the table, and what fell below its bar."""

    rows: list[tuple[str, Scores]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    """What is stored; figures that hold exactly end in `, words`."""

    def bar(self, what: str, found: float, wanted: float, *, most: bool = False) -> None:
        """Note a figure that has a bar, the least it may be or the `most`."""
        holds = found <= wanted if most else found >= wanted
        self.lines.append(
            f"{what}: {found:.3f} ({'at most' if most else 'bar'} {wanted:.2f}) {'ok' if holds else 'BELOW'}"
        )
        self.figures[what] = round(found, 4)
        if not holds:
            self.failed.append(what)

    def row(self, name: str, scores: Scores) -> None:
        """A line of the table."""
        self.rows.append((name, scores))
        self.figures |= {f"r@{k} of {name}": round(value, 4) for k, value in scores.recall.items()}

    def against(self, stored: dict[str, float]) -> list[str]:
        """The figures that are not as stored."""
        return [
            f"{name}: {self.figures[name]:.4f}, stored {value:.4f}"
            for name, value in stored.items()
            if name in self.figures and abs(self.figures[name] - value) > (1e-9 if name.endswith(", words") else WITHIN)
        ]

    def print(self) -> None:
        """The table, then the bars."""
        print(f"{'':44} {'n':>4} {'r@1':>6} {'r@5':>6} {'r@20':>6} {'MRR':>6}")
        for name, scores in self.rows:
            recall = scores.recall
            print(f"{name:44} {scores.queries:4} {recall[1]:6.3f} {recall[5]:6.3f} {recall[20]:6.3f} {scores.mrr:6.3f}")
        print(*self.lines, sep="\n")


def main() -> int:
    """Run all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--require", action="store_true", help="exit 1 when a figure is below its bar")
    parser.add_argument("--misses", action="store_true", help="list what was not found")
    parser.add_argument("--split", choices=["dev", "test"], help="only these questions")
    parser.add_argument("--encoder", help="another encoder than the bundled one")
    parser.add_argument("--store", action="store_true", help="write the figures down, to compare with later")
    parser.add_argument("--cache", type=Path, help="file of vectors to reuse between runs")
    options = parser.parse_args()
    catalogue = Catalogue.load(ROOT / "corpus")
    encoder = open_encoder(options.encoder)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="evaluate-retrieval-") as folder:
        cache = options.cache or Path(folder) / "vectors.sqlite3"
        build_store(Path(folder) / "index", catalogue, encoder, cache=cache)
        store = load_store(Path(folder) / "index", catalogue.digest, encoder)
        retriever = Retriever(catalogue, store, encoder=encoder)
        _firing_logs(retriever, report, show=options.misses)
        _unfamiliar(retriever, report, show=options.misses)
        _questions(retriever, report, options.split, show=options.misses)
        _outside(retriever, report, show=options.misses)
    report.print()
    if options.store:
        STORED.write_text(json.dumps(report.figures, indent=1) + "\n", encoding="utf-8")
    changed = report.against(json.loads(STORED.read_text(encoding="utf-8"))) if STORED.is_file() else []
    for line in changed:
        print(f"not as stored: {line}")
    return 1 if options.require and (report.failed or changed) else 0


def _search(
    retriever: Retriever, kinds: Collection[str] | None = None, dense: Dense = "always"
) -> Callable[[str], list[str]]:
    return lambda text: [
        result.entry for result in retriever.search(text, kinds=kinds, k=20, dense=dense, literal=False)
    ]


def _cases(catalogue: Catalogue) -> Iterator[tuple[str, str, str]]:
    """Entry, name and text of every log that fires."""
    for entry in sorted(catalogue.heads):
        if catalogue.heads[entry].status != "retired":
            for log in catalogue.body(entry).get("log", []):
                if log["fires"]:
                    yield entry, f"{entry} / {log['name']}", log["text"]


def _firing_logs(retriever: Retriever, report: Report, *, show: bool) -> None:
    cases = list(_cases(retriever.catalogue))
    relevant = {name: {entry} for entry, name, _ in cases}
    for label, kinds in (("firing logs", None), ("firing logs, no examples", UNSEEN)):
        search = _search(retriever, kinds)
        rankings = {name: search(text) for _, name, text in cases}
        scores = evaluate(relevant, rankings)
        report.row(label, scores)
        if kinds is None:
            report.bar("right entry among the first 20, literals off", scores.recall[20], RIGHT_AMONG_20)
            _against_scan(retriever.catalogue, cases, rankings, report, show=show)
        if show:
            _list(label, misses(relevant, rankings, 20))


def _against_scan(
    catalogue: Catalogue,
    cases: Sequence[tuple[str, str, str]],
    rankings: dict[str, list[str]],
    report: Report,
    *,
    show: bool,
) -> None:
    """Verification of the candidates must find what the scan finds, line by line."""
    matcher = Matcher.of(catalogue)
    scanner = Scanner(matcher)
    hits = equal = proposed = lost = extra = 0
    for _, name, text in cases:
        records = records_of(text)
        progress = {0: progress_lines(records)}
        scan = scanner.scan(io.BytesIO(text.encode()))
        counts = {atom: tally.count for atom, tally in scan.tallies.items()}
        resolved = matcher.resolve(scan.hits, counts=counts, progress=progress).hits
        wanted = {(hit.entry, hit.signature, hit.record.number) for hit in resolved}
        found = {
            (item.entry, item.signature, item.record.number)
            for item in verify_candidates(records, rankings[name], catalogue, progress=progress)
            if isinstance(item, Verified) and item.tier == "scan" and item.joined == 1
        }
        reachable = {hit for hit in wanted if hit[0] in rankings[name]}
        hits += len(wanted)
        proposed += len(reachable)
        lost += len(reachable - found)
        extra += len(found - wanted)
        equal += reachable == found
        if show and reachable != found:
            print(f"verification differs: {name}: lost {sorted(reachable - found)}, extra {sorted(found - wanted)}")
        if show and wanted - reachable:
            print(f"not proposed: {name}: {sorted({hit[0] for hit in wanted - reachable})}")
    report.lines.append(f"hits of the scan {hits}, of proposed entries {proposed}, lost {lost}, extra {extra}")
    report.bar("logs on which verification gives what the scan gives", equal / max(1, len(cases)), 1.0)


def _unfamiliar(retriever: Retriever, report: Report, *, show: bool) -> None:
    """Excerpts whose decisive words are of another version: found, and never called verified."""
    cases = _lines("unfamiliar.jsonl")
    relevant = {case["text"]: set(case["relevant"]) for case in cases}
    rankings: dict[str, list[str]] = {}
    for label, kinds in (("unfamiliar excerpts, no examples", UNSEEN), ("unfamiliar excerpts", None)):
        search = _search(retriever, kinds)
        rankings = {text: search(text) for text in relevant}
        scores = evaluate(relevant, rankings)
        report.row(label, scores)
        if kinds is None:
            report.bar("unfamiliar excerpts: right entry first", scores.recall[1], UNFAMILIAR_AT_1)
            if show:
                _list(label, misses(relevant, rankings, 1))
    wrong = 0
    for text, right in relevant.items():
        found = verify_candidates(records_of(text), rankings[text], retriever.catalogue)
        heads = retriever.catalogue.heads
        verified = [
            x for x in found if isinstance(x, Verified) and x.entry in right and heads[x.entry].kind == "failure"
        ]
        wrong += bool(verified)
        if show and verified:
            print(f"called verified: {text[:100]!r}: {verified[0].entry} {verified[0].signature}")
    report.bar("unfamiliar excerpts that are not called verified", 1 - wrong / len(relevant), 1.0)


def _questions(retriever: Retriever, report: Report, split: str | None, *, show: bool) -> None:
    """Questions in plain words, by split; by words alone as well, which come out the same everywhere."""
    both, words = _search(retriever), _search(retriever, dense="never")
    for part in ("dev", "test"):
        if split not in {None, part}:
            continue
        cases = [case for case in _lines("questions.jsonl") if case["split"] == part]
        asked = {case["q"]: set(case["relevant"]) for case in cases}
        rankings = {question: both(question) for question in asked}
        scores = evaluate(asked, rankings)
        report.row(f"questions, {part}", scores)
        report.row(f"questions, {part}, words", evaluate(asked, {question: words(question) for question in asked}))
        if part == "test":
            report.bar("test questions: right entry first", scores.recall[1], QUESTIONS_AT_1)
            report.bar("test questions: right entry among the first 5", scores.recall[5], QUESTIONS_AT_5)
        for family in sorted({case["family"] for case in cases}):
            mine = {case["q"]: asked[case["q"]] for case in cases if case["family"] == family}
            report.rows.append((f"    {family}", evaluate(mine, {question: rankings[question] for question in mine})))
        if show:
            _list(f"questions, {part}", misses(asked, rankings, 5))


def _outside(retriever: Retriever, report: Report, *, show: bool) -> None:
    """Questions about anything else must be refused, test questions answered."""
    strange = [case["q"] for case in _lines("outside.jsonl")]
    known = [case["q"] for case in _lines("questions.jsonl") if case["split"] == "test"]
    answered = [text for text in strange if covers(retriever.search(text, k=5, dense="always"))]
    refused = [text for text in known if not covers(retriever.search(text, k=5, dense="always"))]
    report.bar("questions out of scope that are refused", 1 - len(answered) / len(strange), REFUSED)
    report.bar("test questions refused", len(refused) / len(known), FALSELY_REFUSED, most=True)
    if show:
        print(*(f"answered, though out of scope: {text!r}" for text in answered), sep="\n")
        print(*(f"refused: {text!r}" for text in refused), sep="\n")


def _lines(name: str) -> list[dict[str, Any]]:
    text = (ROOT / "tests" / "evaluation" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _list(label: str, missed: Sequence[tuple[str, int | None]]) -> None:
    for query, rank in missed:
        print(f"missed ({label}): rank {rank}: {query[:140]!r}")


if __name__ == "__main__":
    raise SystemExit(main())
