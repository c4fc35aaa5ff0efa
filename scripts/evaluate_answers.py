#!/usr/bin/env python3
"""Measures the answers: how many of the words that an answer must mention it does mention.

    scripts/evaluate_answers.py tests/evaluation/open.jsonl                       questions of the cases
    scripts/evaluate_answers.py tests/assistant/chat/dev_questions.jsonl          own wording, and questions nobody can answer

A row is a case with `log` and `questions`, or a question with `case`, `q` and `must_mention` or `unknown`.
Questions of a case that no entry covers are left out and counted.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from assistant.chat.contract import Answer  # noqa: E402
from assistant.chat.conversation import Conversation  # noqa: E402
from assistant.chat.findings import in_focus  # noqa: E402
from assistant.chat.search import open_search  # noqa: E402
from assistant.chat.session import start  # noqa: E402
from assistant.diagnosis import pipeline  # noqa: E402
from assistant.verdict import Diagnosis  # noqa: E402
from corpus.catalogue import Catalogue  # noqa: E402

CASES = ROOT / "tests" / "evaluation" / "open.jsonl"
NO = re.compile(r"\b(?:no|not|none|nothing|nobody|never)\b", re.IGNORECASE)


@dataclass
class Outcome:
    """What came out for one question."""

    case: str
    question: str
    answer: Answer
    wanted: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    is_unknowable: bool = False

    @property
    def holds(self) -> bool:
        """Whether it says all it must, or admits that it does not know."""
        return self.answer.confidence == "unknown" if self.is_unknowable else not self.missing


def mentions(word: str, text: str) -> bool:
    """Whether a text says a word; `no` and `not` stand for any denial."""
    if word.lower() in {"no", "not"}:
        return NO.search(text) is not None
    return word.lower() in text.lower()


def questions(path: Path) -> list[dict[str, Any]]:
    """All questions of a file, each with its case."""
    found = []
    for row in path.read_text(encoding="utf-8").splitlines():
        data = json.loads(row)
        if "log" in data:
            found += [{"case": data["id"], **question} for question in data.get("questions", [])]
        else:
            found.append(data)
    return found


def diagnoses(catalogue: Catalogue, names: set[str]) -> dict[str, Diagnosis]:
    """The verdicts on the cases of these names."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="firstfault-answers-") as folder:
        for row in CASES.read_text(encoding="utf-8").splitlines():
            case = json.loads(row)
            if case["id"] in names:
                log = Path(folder) / f"{case['id']}.log"
                log.write_bytes(case["log"].encode())
                found[case["id"]] = pipeline.diagnose([str(log)], catalogue=catalogue, options=pipeline.Options())
    return found


def ask_all(path: Path, catalogue: Catalogue, index: Path) -> tuple[list[Outcome], int]:
    """Ask every question of a file anew, and count those whose case no entry covers."""
    rows = questions(path)
    verdicts = diagnoses(catalogue, {row["case"] for row in rows})
    search = open_search(catalogue, index)
    outcomes, left_out = [], 0
    for row in rows:
        diagnosis = verdicts[row["case"]]
        if not in_focus(diagnosis) and diagnosis.status not in {"healthy", "inconclusive"}:
            left_out += 1
            continue
        answer = Conversation(catalogue, start(diagnosis), search).ask(row["q"])
        wanted = row.get("must_mention", [])
        missing = [word for word in wanted if not mentions(word, answer.answer)]
        outcomes.append(Outcome(row["case"], row["q"], answer, wanted, missing, row.get("unknown", False)))
    return outcomes, left_out


def totals(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    """Words mentioned, questions answered in full, and unknowns admitted, each of how many."""
    asked = [outcome for outcome in outcomes if not outcome.is_unknowable]
    unknowable = [outcome for outcome in outcomes if outcome.is_unknowable]
    wanted = sum(len(outcome.wanted) for outcome in asked)
    return {
        "words": (wanted - sum(len(outcome.missing) for outcome in asked), wanted),
        "full": (sum(outcome.holds for outcome in asked), len(asked)),
        "unknown": (sum(outcome.holds for outcome in unknowable), len(unknowable)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, print the table, and fail below a required share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=CASES)
    parser.add_argument("--index", type=Path, default=Path("none"), help="a built index; without one by word overlap")
    parser.add_argument("--require", type=float, default=0.0, metavar="SHARE", help="least share of words")
    parser.add_argument("--answers", action="store_true", help="print every answer, not only those that miss")
    options = parser.parse_args(arguments)
    outcomes, left_out = ask_all(options.file, Catalogue.load(), options.index)
    for outcome in outcomes:
        mark = "ok" if outcome.holds else f"NOT {', '.join(outcome.missing) or outcome.answer.confidence}"
        print(
            f"{outcome.case}  {outcome.answer.intent:<9} {outcome.answer.confidence:<9} {outcome.question[:80]:<80}  {mark}"
        )
        if options.answers or not outcome.holds:
            print("\n".join(f"        {row}" for row in outcome.answer.answer.splitlines()))
    print()
    found = totals(outcomes)
    for name, (good, all_) in found.items():
        if all_:
            print(f"{name:<8} {good:>4} of {all_:<4} {good / all_:.0%}")
    print(f"left out {left_out} (no entry covers the case)")
    good, all_ = found["words"]
    return 1 if all_ and good / all_ < options.require else 0


if __name__ == "__main__":
    sys.exit(main())
