"""The worked example of corpus/README.md is a real entry, and its tables are fresh."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from corpus.authoring.tables import refresh
from corpus.casebook import run_all
from corpus.lint import all_codes, lint_corpus
from corpus.model import Family
from corpus.placeholders import KINDS
from corpus.reader import SourceFile, read_corpus, read_entry


def example(corpus_dir: Path) -> str:
    found = re.search(
        r"<!-- example -->\n```toml\n(.*?)```", (corpus_dir / "README.md").read_text(encoding="utf-8"), re.S
    )
    assert found is not None
    return found.group(1)


def test_the_example_is_read_linted_and_run(corpus_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "corpus/entries/host-os/disk-journal-frozen.toml"
    path.parent.mkdir(parents=True)
    shutil.copytree(corpus_dir / "families", tmp_path / "corpus/families")
    path.write_text(example(corpus_dir), encoding="utf-8")
    assert read_entry(path).status == "verified"
    assert lint_corpus(tmp_path / "corpus").problems == ()
    assert list(run_all(read_corpus(tmp_path / "corpus"))) == []


def test_the_written_part_fits_two_screens(corpus_dir: Path) -> None:
    text = (corpus_dir / "README.md").read_text(encoding="utf-8")
    written = re.sub(r"<!-- generated: \w+ -->.*?<!-- end -->", "", text, flags=re.S).replace(example(corpus_dir), "")
    assert len(written.splitlines()) <= 80


def test_tables_are_fresh_and_complete(corpus_dir: Path) -> None:
    path, text = refresh(read_corpus(corpus_dir))
    assert path.read_text(encoding="utf-8") == text, "run `python -m corpus stats --write`"
    assert all(f"| `{{{kind}}}` |" in text for kind in KINDS)
    assert all(f"| {code} |" in text for code, *_ in all_codes())


def test_commands_of_the_readme_are_verbs(corpus_dir: Path) -> None:
    from corpus.authoring.cli import _parser

    text = (corpus_dir / "README.md").read_text(encoding="utf-8")
    verbs = set(re.findall(r"python -m corpus (\w+)", text))
    assert {"new", "lint", "test", "stats", "diff"} <= verbs
    help_text = _parser().format_help()
    assert all(verb in help_text for verb in verbs)


def test_a_source_file_knows_its_name(corpus_dir: Path) -> None:
    files = read_corpus(corpus_dir)
    first: SourceFile[Family] = files.family_files[0]
    assert first.name == first.value.id
