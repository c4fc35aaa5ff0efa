"""Parts below the screens: sheets, paths, saving, the seam to the conversation, the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content

from assistant.tui.case import Case, Step
from assistant.tui.conversation import ChatConversation, is_for_check
from assistant.tui.jobs import Job, Reporter
from assistant.tui.pages import welcome
from assistant.tui.reading import SaveError, matching_paths, read_text, save_case
from assistant.tui.screens.browse import joined
from assistant.tui.screens.diagnosis import section_of
from assistant.tui.sheet import MAX_TEXT, Sheet, link, plain
from assistant.verdict import Diagnosis, Suspect
from corpus.catalogue import Catalogue
from tests.tui.driver import INCIDENT, OUTPUT, XID

PASTED = (INCIDENT / "dmesg-node-b.log").read_text(encoding="utf-8")


def case_of(text: str, catalogue: Catalogue) -> Case:
    return read_text(text, catalogue, "0", Reporter(lambda _: None, Job("diagnose", 1, "reading"), lambda: False))


# ---- sheets


@pytest.mark.parametrize("width", [1, 12, 20, 40, 63, 64, 120])
def test_rows_never_get_wider_than_they_may(width: int) -> None:
    sheet = Sheet().add("word " * 20, lead="because  ", indent=4).command("x" * 50 + "\nsecond", indent=7)
    sheet.log("file.log:1", "y" * 100)
    least = max(width, 24)
    assert max(line.cell_length for line in sheet.laid_out(width).split("\n")) <= least
    assert sheet.get_height({}, width) == len(sheet.laid_out(width).split("\n"))


def test_log_text_is_shown_not_obeyed() -> None:
    shown = plain("[bold]x[/bold] \x1b[31m\u202e\x07")
    assert shown.plain == "[bold]x[/bold] \\x1b[31m\\u202e\\x07"
    assert shown.spans == []


def test_an_endless_line_is_cut_before_it_is_wrapped() -> None:
    assert len(plain("a" * 10_000_000)) < MAX_TEXT + 20


def test_a_link_survives_wrapping() -> None:
    sheet = Sheet().add(Content.assemble("a " * 30, link("[there]", "screen.cite('0')")))
    spans = [span for line in sheet.laid_out(20).split("\n") for span in line.spans]
    assert any("@click" in str(getattr(span.style, "meta", "")) for span in spans)


# ---- cases


def test_a_case_without_lines_at_hand_shows_the_line_itself(catalogue: Catalogue) -> None:
    case = case_of(PASTED, catalogue)
    line = case.findings()[0].evidence[0]
    assert len(case.lines_around(line)) > 5
    case.outcome = None
    assert case.lines_around(line) == [(line.line, line.text)]


def test_a_walk_never_leads_to_an_entry_that_is_not_there(catalogue: Catalogue) -> None:
    case = Case(Diagnosis(status="inconclusive"), catalogue)
    for entry in catalogue.heads:
        for _, found in case.dossier(entry=entry).neighbours():
            assert all(item.entry in catalogue.heads for item in found)


def test_values_of_the_log_are_in_checks_and_fixes(catalogue: Catalogue) -> None:
    dossier = case_of(PASTED, catalogue).dossier(finding="f1")
    assert "0000:8a:00" in dossier.checks()[0].expect
    assert any(step.is_family for step in dossier.checks())
    assert dossier.fixes()[0].command


def test_a_finding_without_entry_has_a_dossier(catalogue: Catalogue) -> None:
    text = "\n".join(["Traceback (most recent call last):", '  File "a.py", line 1, in <module>', "OddError: no idea"])
    case = case_of(text, catalogue)
    first = case.findings()[0]
    assert first.entry is None
    dossier = case.dossier(finding=first.id)
    assert dossier.checks() == [] and dossier.neighbours() == [] and dossier.faq() == []


@pytest.mark.parametrize(
    ("cited", "tab"),
    [
        ("check-2", "checks"),
        ("faq-1", "faq"),
        ("confused_with-1", "related"),
        ("summary", "overview"),
        ("fix-3", "fix"),
    ],
)
def test_citations_have_a_tab(cited: str, tab: str) -> None:
    assert section_of(cited) == tab


# ---- paths and files


def test_paths_are_matched_as_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("", encoding="utf-8")
    (tmp_path / ".hidden").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert matching_paths("") == ("logs/",)
    assert matching_paths("lo") == ("logs/",)
    assert matching_paths("logs/") == ("logs/a.log",)
    assert matching_paths(".h") == (".hidden",)
    assert matching_paths("nowhere/x") == ()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert matching_paths("~/lo") == ("~/logs/",)


def test_what_was_said_is_fenced(tmp_path: Path, catalogue: Catalogue) -> None:
    case = case_of(PASTED, catalogue)
    path = save_case(case, [("you", "a ``` b\x1b"), ("firstfault", "yes")], str(tmp_path / "x.md"))
    text = Path(path).read_text(encoding="utf-8")
    assert "````text\na ``` b\\x1b\n````" in text
    with pytest.raises(SaveError, match="could not be written"):
        save_case(case, [], str(tmp_path / "no" / "x.md"))


# ---- the conversation of the program


def test_the_real_conversation_answers_judges_and_searches(catalogue: Catalogue) -> None:
    talk = ChatConversation(catalogue, None, keeps=False)
    talk.prepare(lambda _done, _total: None)
    talk.begin(case_of(PASTED, catalogue).diagnosis)
    answer = talk.ask("How do I confirm it?", entry=XID)
    assert "lspci" in answer.answer
    assert talk.kind_of(OUTPUT) == "output"
    assert talk.kind_of(PASTED) == "log"
    judged = talk.judge(OUTPUT, entry=XID)
    assert judged.judgements[0].says == "confirms"
    assert talk.ticks()[f"{XID}#check-1"][0] == "confirms"
    assert "nvlink-error" in talk.search("nvlink link down", 5)


@pytest.mark.parametrize(
    ("kind", "command", "wanted"),
    [
        ("output", "", True),
        ("log", "dmesg -T | grep Xid", True),
        ("log", "nvidia-smi -q", False),
        ("question", "dmesg", False),
    ],
)
def test_what_a_paste_is_meant_for(kind: Any, command: str, wanted: bool) -> None:
    assert is_for_check(kind, Step("x#check-1", 1, "Look.", command)) is wanted
    assert is_for_check("log", None) is False


# ---- the command line


def test_without_a_terminal_it_is_said_what_to_do_instead(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "assistant", "tui"], capture_output=True, text=True, cwd=root, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "needs a terminal" in done.stderr


def test_without_textual_it_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from assistant.cli import tui

    monkeypatch.setitem(sys.modules, "textual", None)
    for name in [name for name in sys.modules if name.startswith(("textual.", "assistant.tui"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(tui, "is_terminal", lambda _: True)
    with pytest.raises(tui.NoScreenError, match="package textual, which is not installed"):
        tui._interface()


def test_without_a_first_fault_a_conversation_opens_with_the_suspect(catalogue: Catalogue) -> None:
    suspect = Suspect(rank=3, reason="never-entered", because="It enqueued nothing after 28470.")
    told = welcome(Case(Diagnosis(status="symptom-only", suspects=(suspect,)), catalogue)).plain
    assert "suspect  rank 3: never entered\nIt enqueued nothing after 28470." in told


@pytest.mark.parametrize(
    ("words", "index", "expected"),
    [
        (("a-npu-oom", "cuda-oom"), ("cuda-oom", "host-oom", "a-npu-oom"), ("cuda-oom", "a-npu-oom", "host-oom")),
        (("xid-79",), (), ("xid-79",)),
        ((), ("cuda-oom",), ("cuda-oom",)),
    ],
)
def test_what_words_and_index_found_comes_in_the_order_of_the_index(
    words: tuple[str, ...], index: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert joined(words, index) == expected
