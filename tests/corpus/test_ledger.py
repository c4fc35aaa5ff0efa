"""What became of each researched failure mode: `corpus/LEDGER.tsv` against the corpus."""

from __future__ import annotations

import csv

import pytest

from corpus.catalogue import Catalogue, bundled_dir

BECAME = frozenset({"entry", "merged", "dropped"})


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    with (bundled_dir() / "LEDGER.tsv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_row_is_told_once_and_whole(rows: list[dict[str, str]]) -> None:
    assert rows
    assert len({row["row"] for row in rows}) == len(rows)
    assert {row["became"] for row in rows} <= BECAME
    assert not [row for row in rows if None in row.values() or not row["id"]]


def test_what_a_row_became_is_an_entry(rows: list[dict[str, str]]) -> None:
    heads = Catalogue.load().heads
    lost = [row["row"] for row in rows if row["became"] != "dropped" and row["entry"] not in heads]
    assert lost == []


def test_what_was_dropped_has_a_reason(rows: list[dict[str, str]]) -> None:
    assert not [
        row["row"] for row in rows if row["became"] == "dropped" and (row["entry"] != "-" or len(row["reason"]) < 8)
    ]
