"""The yardstick itself, and the bars that the bundled cases and incidents must reach."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from assistant import reports
from assistant.verdict import Diagnosis, EntryRef, EvidenceLine, Finding, Line, NearMiss, SourceInfo, Suspect
from tests.scripts import load_script

CASES = Path(__file__).parent / "open.jsonl"


@pytest.fixture(scope="module")
def evaluate() -> ModuleType:
    """scripts/evaluate.py as a module."""
    return load_script("evaluate")


LOG = "start\nboom: device lost\nend\r\n"
ENTRY = EntryRef(id="device-lost", title="Device lost", family="driver-runtime")


def case(**changes: Any) -> dict[str, Any]:
    plain = {
        "id": "c1", "log": LOG, "expect_signature": "device lost", "cause_in_log": True, "negative": False,
        "initiator": {"rank": 3, "host": "node-b"},
    }  # fmt: skip
    return {**plain, **changes}


def verdict(*, entry: EntryRef | None = ENTRY, text: str = "boom: device lost", number: int = 2) -> Diagnosis:
    finding = Finding(
        id="f1", role="initiating", strength="verified", entry=entry, ranks=(3,), hosts=("node-b",),
        evidence=(EvidenceLine(source="c1.log", line=number, text=text),),
    )  # fmt: skip
    return Diagnosis(status="identified", initiating=finding, findings=(finding,), sources=(SourceInfo(path="c1.log"),))


NOTHING = Diagnosis(status="inconclusive")


def test_a_right_verdict_holds_in_every_measure(evaluate: ModuleType) -> None:
    outcome = evaluate.judge(case(), verdict())
    assert outcome.measures == dict.fromkeys(["line", "entry", "failure", "rank", "host", "quotes"], True)
    assert outcome.notes == []


def test_a_class_entry_and_an_observed_line_count_less(evaluate: ModuleType) -> None:
    by_class = evaluate.judge(case(), verdict(entry=ENTRY.model_copy(update={"kind": "class"}))).measures
    assert (by_class["line"], by_class["entry"], by_class["failure"]) == (True, True, False)
    observed = evaluate.judge(case(), verdict(entry=None)).measures
    assert (observed["line"], observed["entry"], observed["failure"]) == (True, False, False)


def test_a_wrong_line_is_shown_with_the_right_one(evaluate: ModuleType) -> None:
    outcome = evaluate.judge(case(), verdict(text="end", number=3))
    assert not outcome.measures["line"]
    assert outcome.measures["quotes"]
    assert outcome.notes == ["expected device lost", "got      end"]


def test_no_verdict_at_all_is_wrong(evaluate: ModuleType) -> None:
    measures = evaluate.judge(case(), NOTHING).measures
    assert not any(measures[name] for name in ("line", "entry", "failure", "rank", "host"))


def test_negatives_and_causes_elsewhere(evaluate: ModuleType) -> None:
    assert evaluate.judge(case(negative=True), NOTHING).measures["negatives"]
    blamed = evaluate.judge(case(negative=True), verdict())
    assert not blamed.measures["negatives"]
    assert blamed.notes == ["blamed   boom: device lost"]
    assert not evaluate.judge(case(cause_in_log=False), verdict()).measures["elsewhere"]
    assert evaluate.judge(case(cause_in_log=False), NOTHING).measures["elsewhere"]


@pytest.mark.parametrize(("text", "number"), [("boom", 2), ("boom: device lost", 1), ("boom: device lost", 99)])
def test_a_quote_that_is_not_in_the_input_is_found(evaluate: ModuleType, text: str, number: int) -> None:
    assert not evaluate.judge(case(), verdict(text=text, number=number)).measures["quotes"]


def test_quotes_are_found_wherever_they_stand(evaluate: ModuleType) -> None:
    line = Line(source="c1.log", line=1, text="start")
    miss = NearMiss(entry=ENTRY, line=line, signature="x", reason="y")
    diagnosis = verdict().model_copy(update={"near_misses": (miss,), "suspects": (Suspect(reason="busy"),)})
    assert [quote.text for quote in evaluate.quoted_lines(diagnosis)].count("start") == 1


def test_thresholds(evaluate: ModuleType) -> None:
    found = {"line": (20, 26), "negatives": (5, 5)}
    assert evaluate.unmet(found, ["line=20", "negatives=all"]) == []
    assert evaluate.unmet(found, ["line=21"]) == ["line: 20 of 26, required 21"]
    assert evaluate.unmet(found, ["all"]) == ["line: 20 of 26, required all"]
    assert evaluate.unmet(found, ["rank=1"]) == ["rank: 0 of 0, required 1"]


def test_the_open_cases_reach_their_bar(evaluate: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    bars = ["line=20", "entry=16", "failure=10", "elsewhere=all", "negatives=all", "quotes=all"]
    code = evaluate.main(["cases", str(CASES), *(word for bar in bars for word in ("--require", bar))])
    shown = capsys.readouterr()
    assert code == 0, shown.out + shown.err


def test_every_verdict_can_be_shown(evaluate: ModuleType, tmp_path: Path) -> None:
    catalogue = evaluate.Catalogue.load()
    for row in CASES.read_text(encoding="utf-8").splitlines():
        found = json.loads(row)
        path = tmp_path / f"{found['id']}.log"
        path.write_bytes(found["log"].encode())
        diagnosis = evaluate.diagnose([path], catalogue)
        for width in (80, 140):
            rows = reports.render("text", diagnosis, catalogue, width=width).splitlines()
            assert [row for row in rows if len(row) > width and "$ " not in row and str(tmp_path) not in row] == []
            assert all(row.isprintable() for row in rows)
        assert Diagnosis.model_validate_json(reports.render("json", diagnosis)) == diagnosis
        assert reports.render("markdown", diagnosis, catalogue).startswith("# Post-mortem")


def test_the_incidents_come_out_as_expected(evaluate: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    code = evaluate.main(["incidents", "--require", "all"])
    shown = capsys.readouterr()
    assert code == 0, shown.out + shown.err
