"""Each code has a bad sample that triggers exactly it: a small damage done to a clean corpus."""

from __future__ import annotations

import shutil
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corpus.authoring.tables import codes
from corpus.errors import Problem
from corpus.lint import all_codes, lint_corpus

BAD = Path(__file__).parent / "bad"
CODES = [code for code, *_ in all_codes()]


def damage(root: Path, sample: dict[str, Any]) -> None:
    """Apply the edits of a sample to a copy of the clean corpus."""
    for edit in sample["edit"]:
        path = root / edit["file"]
        if edit.get("delete"):
            path.unlink()
            continue
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if "append" in edit:
            new = old + edit["append"]
        else:
            assert old.count(edit["find"]) == 1, f"{edit['find']!r} stands {old.count(edit['find'])} times"
            new = old.replace(edit["find"], edit["write"])
        path.write_text(new, encoding=sample.get("encoding", "utf-8"))


def lint(root: Path) -> list[Problem]:
    return list(lint_corpus(root).problems)


def test_the_clean_corpus_is_clean(good: Path) -> None:
    assert lint(good) == []


@pytest.mark.parametrize("code", CODES)
def test_a_bad_sample_triggers_exactly_its_code(code: str, good: Path) -> None:
    sample = tomllib.loads((BAD / f"{code}.toml").read_text(encoding="utf-8"))
    damage(good, sample)
    problems = lint(good)
    assert [problem.code for problem in problems] == [code], "\n".join(map(str, problems))
    (problem,) = problems
    assert sample["says"] in problem.message
    assert Path(problem.path) == good / sample["at"]
    line = (good / sample["at"]).read_text(encoding="utf-8", errors="replace").splitlines()[problem.line - 1]
    assert sample["line"] in line


def test_no_code_is_without_a_sample_and_no_sample_without_a_code() -> None:
    assert sorted(path.stem for path in BAD.glob("*.toml")) == CODES


def test_every_code_says_why_and_how_to_mend() -> None:
    for code, title, why, mend in all_codes():
        assert all(len(text) > 8 for text in (title, why, mend)), code
        assert why.endswith(".") and mend.endswith("."), code
        assert code in codes()


def test_a_waiver_silences_one_finding_of_one_file(good: Path, edit: Callable[[Path, str, str], None]) -> None:
    (good / "waivers.toml").write_text(
        '[[waiver]]\ncode = "C507"\nid = "valve-closed"\nreason = "quoted from the manual"\ndate = 2026-11-30\n',
        encoding="utf-8",
    )
    valve = good / "entries/accelerator-hardware/valve-closed.toml"
    edit(valve, "Open the valve by hand", "Open the valve by hand as needed")
    report = lint_corpus(good)
    assert report.problems == () and report.waived == 1
    pump = good / "entries/accelerator-hardware/pump-stalled.toml"
    edit(pump, "Drain the node and exchange the pump", "Exchange the pump as needed")
    assert [problem.code for problem in lint(good)] == ["C507"]


def test_a_broken_file_does_not_make_links_to_it_dangle(good: Path, edit: Callable[[Path, str, str], None]) -> None:
    edit(good / "entries/accelerator-hardware/valve-closed.toml", 'title = "Valve', "title = Valve")
    assert [problem.code for problem in lint(good)] == ["C002"]


def test_ids_narrow_the_report(good: Path, edit: Callable[[Path, str, str], None]) -> None:
    edit(good / "entries/host-os/disk-class.toml", "Volume refused a write (EVOL)", "Disk class")
    assert [p.code for p in lint_corpus(good, ["disk-class"]).problems] == ["C509"]
    assert lint_corpus(good, ["pump-stalled"]).problems == ()


def test_without_bash_unbalanced_quotes_are_still_found(good: Path, edit: Callable[[Path, str, str], None]) -> None:
    valve = good / "entries/accelerator-hardware/valve-closed.toml"
    edit(valve, '"acmectl valve status"', '"acmectl valve \'status"')
    problems = lint_corpus(good, bash=False).problems
    assert [problem.code for problem in problems] == ["C508"]
    assert "No closing quotation" in problems[0].message


def test_a_comment_or_a_here_document_with_an_apostrophe_is_no_unbalanced_quote(
    good: Path, edit: Callable[[Path, str, str], None]
) -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    valve = good / "entries/accelerator-hardware/valve-closed.toml"
    edit(valve, '"acmectl valve status"', '"acmectl valve status  # the driver\'s view"')
    assert lint(good) == []


@pytest.mark.slow
def test_a_thousand_entries_are_linted_in_seconds(good: Path) -> None:
    """The bound is loose on purpose: it fails on quadratic work, not on a busy machine."""
    source = (good / "entries/host-os/disk-class.toml").read_text(encoding="utf-8")
    for number in range(1000):
        word = f"q{number:04d}zy"
        text = source.replace("disk-class", f"disk-{word}").replace("EVOL", word.upper())
        text = text.replace("volume", f"vol{word}").replace("refused", f"refused-{word}")
        (good / f"entries/host-os/disk-{word}.toml").write_text(text, encoding="utf-8")
    start = time.process_time()
    report = lint_corpus(good, bash=False)
    assert report.entries == 1003
    assert time.process_time() - start < 60


@pytest.mark.parametrize(
    ("context", "code"),
    [
        ('requires = [{ text = "refused write", within = 1 }]', "C211"),
        ('excludes = [{ text = "/raid/", within = 1 }]', None),
        ('excludes = [{ text = "torch_npu", within = 1 }]', None),
    ],
)
def test_a_context_guards_something(
    good: Path, edit: Callable[[Path, str, str], None], context: str, code: str | None
) -> None:
    """A text that is part of the signature's own always stands there; a delimited or long word is no part of others."""
    text = "'''EVOL: volume refused write to {target:path}'''"
    edit(good / "entries/host-os/disk-class.toml", text, f"{text}\n{context}")
    assert [problem.code for problem in lint_corpus(good).problems] == ([code] if code else [])


def test_what_a_context_backs_is_looked_for_by_a_rare_word_all_the_same(
    good: Path, edit: Callable[[Path, str, str], None]
) -> None:
    disk = good / "entries/host-os/disk-class.toml"
    edit(disk, "'''EVOL: volume refused write to {target:path}'''",
         "'''ERROR {code:int}: {target:path}'''\nrequires = [{ text = \"EVOL: volume\", within = 1 }]")  # fmt: skip
    edit(disk, "EVOL: volume refused write to /scratch", "EVOL: volume\nERROR 7: /scratch")
    assert "C204" in [problem.code for problem in lint_corpus(good).problems]


def test_a_broad_class_may_be_made_of_everyday_words(good: Path, edit: Callable[[Path, str, str], None]) -> None:
    """No scan looks for it, so its words cost nothing; what is too short is still too short."""
    disk = good / "entries/host-os/disk-class.toml"
    text = disk.read_text(encoding="utf-8")
    old = tomllib.loads(text)["signature"][0]["text"]
    words = "error while reading the file"
    disk.write_text(text.replace(old, words), encoding="utf-8")
    assert "C203" in {problem.code for problem in lint(good)}
    edit(disk, 'kind = "class"', 'kind = "class"\nbroad = true')
    assert "C203" not in {problem.code for problem in lint(good)}
    disk.write_text(text.replace(old, "error").replace('kind = "class"', 'kind = "class"\nbroad = true'), "utf-8")
    assert "C202" in {problem.code for problem in lint(good)}
