"""`python -m corpus`: what each verb prints, and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corpus.authoring.cli import CLEAN, FINDINGS, UNREADABLE, USAGE, main

Edit = Callable[[Path, str, str], None]
PUMP = "entries/accelerator-hardware/pump-stalled.toml"
VALVE = "entries/accelerator-hardware/valve-closed.toml"


def run(root: Path, *arguments: str) -> int:
    return main(["--corpus", str(root), *arguments])


def test_lint_of_a_clean_corpus(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(good, "lint") == CLEAN
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == "0 problems in 3 entries.\n"


def test_lint_shows_path_line_code_and_on_demand_the_cure(
    good: Path, edit: Edit, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(good / VALVE, "Open the valve by hand", "Open the valve by hand as needed")
    monkeypatch.chdir(good.parent)
    assert run(good, "lint", "valve-closed", "--explain") == FINDINGS
    out = capsys.readouterr().out
    assert out.startswith(f"corpus/{VALVE}:66: C507 `as needed` is filler.\n")
    assert "\nC507 filler phrase\n  why:  " in out and "\n  mend: " in out


def test_an_unknown_id_names_the_nearest(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("lint", "test", "show"):
        assert run(good, verb, "pump-staled") == USAGE
        assert "Did you mean `pump-stalled`?" in capsys.readouterr().err


def test_an_alias_or_a_file_name_is_an_id_too(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("old-pump-name", "pump-stalled.toml", PUMP):
        assert run(good, "show", name) == CLEAN
        assert 'id = "pump-stalled"' in capsys.readouterr().out
        assert run(good, "lint", name) == CLEAN


def test_a_directory_without_a_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["lint"], ["test"], ["stats"], ["show", "x"], ["lint", "x"], ["diff", str(tmp_path)]):
        assert run(tmp_path, *arguments) == UNREADABLE, arguments
        assert str(tmp_path) in capsys.readouterr().err


def test_a_wrong_verb_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["lnit"])
    assert caught.value.code == USAGE


def test_test_reports_kind_case_and_line(good: Path, edit: Edit, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(good, "test") == CLEAN
    edit(good / VALVE, "relief valve opened at 5.2 bar", "relief valve opened at five bar")
    assert run(good, "test", "valve-closed") == FINDINGS
    out = capsys.readouterr().out
    assert out.startswith("case: valve-closed / relief: does not fire relief\n    relief: ")
    assert "a placeholder of" in out


def test_test_with_a_file_that_cannot_be_read(good: Path, edit: Edit, capsys: pytest.CaptureFixture[str]) -> None:
    edit(good / VALVE, 'title = "Valve', "title = Valve")
    assert run(good, "test") == UNREADABLE
    assert "C002" in capsys.readouterr().out
    assert run(good, "test", "pump-stalled") == CLEAN
    assert run(good, "stats") == UNREADABLE


def test_show_prints_the_file(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(good, "show", "disk-class") == CLEAN
    assert capsys.readouterr().out == (good / "entries/host-os/disk-class.toml").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------ new


def test_new_writes_a_skeleton_that_reads_and_that_lint_explains(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("failure", "class", "wrapper"):
        assert run(good, "new", "host-os", f"fan-{kind}", "--kind", kind) == CLEAN
        assert (good / f"entries/host-os/fan-{kind}.toml").exists()
    capsys.readouterr()
    assert run(good, "lint") == FINDINGS
    found = {line.split()[1] for line in capsys.readouterr().out.splitlines()}
    assert "C512" in found and not any(code.startswith("C0") for code in found)


@pytest.mark.parametrize(
    ("family", "name", "says"),
    [
        ("hostos", "fan", "No family `hostos`."),
        ("host-os", "Fan_stopped", "is no id"),
        ("host-os", "pump-stalled", "exists already"),
    ],
)
def test_new_refuses(family: str, name: str, says: str, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(good, "new", family, name) == USAGE
    assert says in capsys.readouterr().err


ROW = {
    "id": "fan-stopped",
    "title": "Fan stopped (F9)",
    "component": "fand",
    "tags": ["fan"],
    "severity": "high",
    "role": "initiating",
    "scope": "node",
    "signatures": ["fand: fan {n:int} says 'stopped'", "it's \\ raw \u001b[0m"],
    "example": "Nov 12 fand: fan 3 says 'stopped'\n\u001b[31mred\u001b[0m",
    "sources": [{"repo": "acme/fand", "path": "a.c", "commit": "0" * 40}, {"url": "https://example.com"}],
    "mechanism": 'Says "stop".',
    "confirm": "look",
    "fix": "turn",
    "confused_with": [{"id": "pump-stalled", "tell": "no"}],
}


def test_new_from_a_row_keeps_its_facts(good: Path, tmp_path: Path) -> None:
    from corpus.reader import read_entry

    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"id": "other"}) + "\n" + json.dumps(ROW) + "\n", encoding="utf-8")
    assert run(good, "new", "host-os", "fan-stopped", "--from", str(rows)) == CLEAN
    entry = read_entry(good / "entries/host-os/fan-stopped.toml")
    assert (entry.title, entry.status, entry.severity) == ("Fan stopped (F9)", "draft", "high")
    assert [signature.text for signature in entry.signature] == ROW["signatures"]
    assert entry.signature[0].source[0].repo == "acme/fand"
    assert entry.log[0].text.strip() == ROW["example"]
    assert entry.confused_with[0].id == "pump-stalled"


def test_new_from_rows_without_that_id(good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a"}\n{"id": "b"}\n', encoding="utf-8")
    assert run(good, "new", "host-os", "fan-stopped", "--from", str(rows)) == USAGE
    assert "2 rows and none with the id" in capsys.readouterr().err
    rows.write_text("no json\n", encoding="utf-8")
    assert run(good, "new", "host-os", "fan-stopped", "--from", str(rows)) == UNREADABLE


# ------------------------------------------------------------------------------------ generated files


def test_stats_counts(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(good, "stats") == CLEAN
    out = capsys.readouterr().out
    assert "| accelerator-hardware | 2 | 2 | 0 | 0 | 0 | 0 | 1 | 2 | 2 | 2 |" in out
    assert "| **all** | 3 | 2 | 0 | 1 | 0 | 0 | 2 | 3 | 3 | 3 |" in out


@pytest.mark.parametrize("verb", ["stats", "schema"])
def test_check_fails_when_stale_and_write_mends_it(verb: str, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (good / "README.md").write_text("a\n<!-- generated: coverage -->\nold\n<!-- end -->\nb\n", encoding="utf-8")
    assert run(good, verb, "--check") == FINDINGS
    assert f"is stale; run `python -m corpus {verb} --write`" in capsys.readouterr().out
    assert run(good, verb, "--write") == CLEAN
    assert run(good, verb, "--check") == CLEAN
    text = (good / "README.md").read_text(encoding="utf-8")
    assert text.startswith("a\n") and text.endswith("<!-- end -->\nb\n")


def test_the_committed_schema_is_fresh_and_a_schema(corpus_dir: Path) -> None:
    assert main(["schema", "--check"]) == CLEAN
    schema = json.loads((corpus_dir / "schema/entry-1.json").read_text(encoding="utf-8"))
    assert schema["additionalProperties"] is False
    assert {"schema", "id", "signature", "log"} <= schema["properties"].keys()


# ------------------------------------------------------------------------------------ diff


def test_diff_of_revisions(good: Path, edit: Edit, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, "-C", str(good), *arguments], check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    edit(good / VALVE, 'severity = "high"', 'severity = "low"')
    assert run(good, "diff", "HEAD") == CLEAN
    assert capsys.readouterr().out == "minor  valve-closed: severity high -> low\nversion: minor\n"
    assert run(good, "diff", "HEAD", str(good)) == CLEAN
    assert run(good, "diff", "HEAD", "HEAD") == CLEAN
    assert capsys.readouterr().out.endswith("no change\n")
    assert run(good, "diff", "no-such-revision") == USAGE
    assert "neither a directory nor a revision" in capsys.readouterr().err


def test_the_module_runs(good: Path) -> None:
    command = [sys.executable, "-m", "corpus", "--corpus", str(good), "lint"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert (done.returncode, done.stdout, done.stderr) == (CLEAN, "", "0 problems in 3 entries.\n")
