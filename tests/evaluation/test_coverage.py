"""Counting a coverage draw: which entries stand on the deciding lines of public reports."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.heads import catalogue_of, context, head, signature
from tests.scripts import load_script

ROOT = Path(__file__).resolve().parents[2]
LEDGERS = sorted((ROOT / "tests" / "evaluation" / "coverage").glob("*.tsv"))


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    return load_script("evaluate_coverage")


CATALOGUE = catalogue_of(
    head("oom", signature("CUDA out of memory. Tried to allocate {size:size}")),
    head("errno", signature("No space left on device"), kind="class"),
    head("failed", signature("ChildFailedError"), kind="wrapper", role="downstream"),
    head("rule", signature("{exc:name}: {what:any} must be {rule:name}"), kind="class", broad=True),
    head(
        "go", signature("panic: {what:name}", requires=(context("goroutine {n:int} [", 9),)), kind="class", broad=True
    ),
    head("sketch", signature("a thing nobody has proven"), status="draft"),
)


@pytest.mark.parametrize(
    ("says", "literal", "kind", "covered"),
    [
        ("cause", "[rank3]: CUDA out of memory. Tried to allocate 2.00 GiB", "failure", True),
        ("cause", "OSError: No space left on device", "class", True),
        ("cause", "torch.elastic.ChildFailedError: x", "wrapper", False),
        ("wrapper", "torch.elastic.ChildFailedError: x", "wrapper", True),
        ("cause", "first line\\nOSError: No space left on device", "class", True),
        ("cause", "a thing nobody has proven", None, False),
        ("cause", "ValueError: top_k must be positive", "broad", True),
        ("cause", "panic: send on closed channel", "broad", True),
        ("cause", "nothing known", None, False),
    ],
)
def test_what_covers_a_report(
    coverage: ModuleType, says: str, literal: str, kind: str | None, *, covered: bool
) -> None:
    (counted,) = coverage.count([coverage.Report("u", "c", says, literal)], CATALOGUE)
    assert (counted.kind, counted.is_covered) == (kind, covered)


def test_a_broken_ledger_is_named_with_its_line(coverage: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "draw.tsv").write_text("url\tcell\tsays\tliteral\nu\tc\tmaybe\tx\n")
    with pytest.raises(ValueError, match=r"draw\.tsv:2"):
        coverage.read_ledger(tmp_path / "draw.tsv")


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.name)
def test_the_ledgers_are_as_described_and_share_no_report(coverage: ModuleType, path: Path) -> None:
    urls = [report.url for report in coverage.read_ledger(path)]
    others = [report.url for other in LEDGERS if other != path for report in coverage.read_ledger(other)]
    assert len(urls) == len(set(urls)) and not set(urls) & set(others)
    assert all(url.startswith("https://") for url in urls)
