"""harmless.toml: read, compiled, layered, and each line tried on what the software really printed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus.casebook import run_all, run_harmless
from corpus.catalogue import Catalogue, compile_corpus, corpus_digest
from corpus.errors import EntryFileError
from corpus.model import HarmlessLine
from corpus.reader import read_corpus, read_harmless
from corpus.signature import Pattern

Edit = Callable[[Path, str, str], None]
CORPUS = Path(__file__).parents[2] / "corpus"
LINES = read_harmless(CORPUS / "harmless.toml").line


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.text[:50])
def test_a_line_matches_its_sample(line: HarmlessLine) -> None:
    assert list(run_harmless([line])) == []


def test_most_lines_have_a_sample() -> None:
    assert len(LINES) >= 80
    assert sum(line.sample is not None for line in LINES) >= len(LINES) * 0.9


def test_the_file_is_part_of_the_corpus(good: Path) -> None:
    lines = read_corpus(good).harmless
    assert [line.within for line in lines] == [20, 5, 20]
    assert lines[1].unless == "frames exported from the preview"
    assert lines[2].allows == ("disk-class",)
    (good / "harmless.toml").unlink()
    assert read_corpus(good).harmless == ()
    assert Catalogue.load(good).harmless == ()


def test_the_catalogue_carries_what_a_diagnosis_needs(good: Path) -> None:
    heads = Catalogue.load(good).harmless
    assert [(head.text[:12], head.within) for head in heads] == [
        ("acmectl: col", 20),
        ("ERROR acme.p", 5),
        ("EVOL: volume", 20),
    ]
    assert heads[1].unless == "frames exported from the preview"
    assert heads[0].why.startswith("The console")


def test_a_change_is_seen_by_digest_cache_and_compiled_form(good: Path, tmp_path: Path, edit: Edit) -> None:
    cache = tmp_path / "cache"
    before, compiled = corpus_digest(good), compile_corpus(good)
    assert Catalogue.load(good, cache_dir=cache).harmless == Catalogue.load(good, cache_dir=cache).harmless
    edit(good / "harmless.toml", "The console has no palette", "This console has no palette at all")
    assert corpus_digest(good) != before and compile_corpus(good) != compiled
    assert Catalogue.load(good, cache_dir=cache).harmless[0].why.startswith("This console")


def test_an_overlay_adds_lines_and_replaces_those_of_the_same_text(good: Path, tmp_path: Path) -> None:
    overlay = tmp_path / "mine"
    overlay.mkdir()
    shutil.copy(good / "harmless.toml", overlay)
    path = overlay / "harmless.toml"
    text = path.read_text(encoding="utf-8").replace("/scratch/step_{step:int}.pt", "/var/cache/thumbnails")
    path.write_text(text.replace("The console", "Our console"), encoding="utf-8")
    heads = Catalogue.load(good, overlays=[overlay]).harmless
    assert [head.why[:9] for head in heads] == ["Our conso", "The previ", "A preview", "A preview"]


def test_problems_have_their_line(good: Path, edit: Edit) -> None:
    path = good / "harmless.toml"
    edit(path, 'why = "The preview', 'reason = "The preview')
    edit(path, 'allows = ["disk-class"]', 'allows = "disk-class"')
    with pytest.raises(EntryFileError) as caught:
        read_harmless(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [(lines[p.line - 1][:10], p.code) for p in caught.value.problems] == [
        ("[[line]]", "C004"),
        ('reason = "', "C003"),
        ('allows = "', "C005"),
    ]


def test_within_without_unless_and_a_missing_source_are_refused(good: Path, edit: Edit) -> None:
    path = good / "harmless.toml"
    edit(path, 'unless = "frames exported from the preview"\n', "")
    edit(path, 'source = { artifact = "pypi:acme-palette==1.2.0", path = "acme/preview.py" }', "source = []")
    with pytest.raises(EntryFileError) as caught:
        read_harmless(path)
    said = " ".join(problem.message for problem in caught.value.problems)
    assert "`within` is the distance of `unless`" in said and "at least one source" in said


def test_a_sample_that_does_not_match_fails_the_corpus_test(good: Path, edit: Edit) -> None:
    assert list(run_all(read_corpus(good), ["harmless"])) == []
    edit(good / "harmless.toml", 'sample = "acmectl: colour profile', 'sample = "acmectl: color profile')
    ((kind, failure),) = run_all(read_corpus(good), ["harmless"])
    assert kind == "harmless" and "does not match its sample (as printed)" in failure.problem


def test_an_exception_that_stands_on_the_line_itself_fails_the_corpus_test(good: Path, edit: Edit) -> None:
    edit(
        good / "harmless.toml",
        'unless = "frames',
        'sample = "ERROR acme.palette: cannot dither at depth 3"\nunless = "frames',
    )
    assert list(run_all(read_corpus(good), ["harmless"])) == []
    edit(good / "harmless.toml", 'unless = "frames exported from the preview"', 'unless = "cannot dither at depth"')
    ((_, failure),) = run_all(read_corpus(good), ["harmless"])
    assert "`unless` stands on the sample itself" in failure.problem


def test_no_line_is_printed_by_a_run_that_an_incident_blames() -> None:
    """The line that an incident expects as the first fault is never called noise."""
    for incident in read_corpus(CORPUS).incidents:
        if incident.line is not None:
            assert [line.text for line in LINES if Pattern(line.text).search(incident.line)] == [], incident.title
