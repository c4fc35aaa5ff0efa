"""`firstfault ask` and `firstfault search`: the default session, pipes, forms."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.chat.contract import Answer, SearchResult
from assistant.chat.session import load
from assistant.verdict import Diagnosis

XID = "xid-79-gpu-fell-off-bus"
LOST = "86:00.0 3D controller: NVIDIA Corporation GA100 (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n"
LOG = """\
2026-11-30 12:41:50 INFO step 2290 loss 2.113
2026-11-30 12:41:58 ERROR TPU Inter-Chip Interconnect ICI link error mesh coordinate link state DOWN
2026-11-30 12:41:59 INFO shutting down
"""


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Puts a text on stdin, as a redirection would."""
    path = tmp_path / "stdin"
    path.touch()
    with path.open(encoding="utf-8") as stdin:

        def pipe(text: str) -> None:
            path.write_text(text, encoding="utf-8")
            monkeypatch.setattr(sys, "stdin", stdin)

        yield pipe


@pytest.fixture
def diagnosed(firstfault: Callable[..., Any], told: Callable[..., None], stories: dict[str, Diagnosis]) -> None:
    """The last diagnosis is that of a GPU which fell off the bus."""
    told(stories["xid-79"])
    firstfault("job.log")


@pytest.mark.usefixtures("diagnosed")
def test_the_last_diagnosis_is_the_default_session(firstfault: Callable[..., Any]) -> None:
    ended = firstfault("ask", "how do I confirm it?")
    assert (ended.code, ended.err) == (0, "")
    assert f"[{XID}#check-1]" in ended.out
    assert "  $ lspci -d 10de: -vv" in ended.out
    assert "\nnext: " in ended.out


@pytest.mark.usefixtures("diagnosed")
def test_words_need_no_quotes_and_the_talk_goes_on(firstfault: Callable[..., Any]) -> None:
    firstfault("ask", "what", "is", "f2?")
    assert "nccl-watchdog-collective-timeout#check-1" in firstfault("ask", "how do I confirm it?").out
    kept = load()
    assert kept is not None
    assert len(kept.turns) == 2


@pytest.mark.usefixtures("diagnosed")
def test_json_is_the_contract(firstfault: Callable[..., Any]) -> None:
    answer = Answer.model_validate_json(firstfault("ask", "may I restart?", "--format", "json").out)
    assert (answer.intent, answer.entry) == ("restart", XID)
    assert answer.citations


@pytest.mark.usefixtures("diagnosed")
@pytest.mark.parametrize("words", [(), ("-",), ("does this confirm it?",), ("does this confirm it?", "-")])
def test_piped_output_is_judged(
    firstfault: Callable[..., Any], piped: Callable[[str], None], words: tuple[str, ...]
) -> None:
    piped(LOST)
    assert firstfault("ask", *words).out.startswith("This confirms GPU fell off the PCIe bus")
    kept = load()
    assert kept is not None
    assert list(kept.ticks) == [f"{XID}#check-1"]


@pytest.mark.usefixtures("diagnosed")
def test_an_empty_pipe_is_no_paste(firstfault: Callable[..., Any], piped: Callable[[str], None]) -> None:
    piped("")
    assert "#check-1" in firstfault("ask", "how do I confirm it?").out


def test_nothing_asked_is_a_usage_error(firstfault: Callable[..., Any]) -> None:
    ended = firstfault("ask")
    assert ended.code == 2
    assert ended.err.startswith("firstfault: Nothing is asked")


def test_another_log(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(LOG, encoding="utf-8")
    answer = Answer.model_validate_json(firstfault("ask", "what happened?", "--log", str(log), "--format", "json").out)
    assert answer.entry == "tpu-ici-link-error"
    assert "tpu-ici-link-error" in firstfault("ask", "how do I fix it?").out


def test_an_entry_by_an_old_name(firstfault: Callable[..., Any]) -> None:
    assert f"[{XID}#fix-1]" in firstfault("ask", "how do I fix it?", "--entry", "xid-79-fallen-off-bus").out


def test_an_unknown_entry_names_the_nearest(firstfault: Callable[..., Any]) -> None:
    ended = firstfault("ask", "what?", "--entry", "xid-79-gpu-fell-of-bus")
    assert (ended.code, ended.out) == (2, "")
    assert f"Did you mean `{XID}`?" in ended.err


def test_without_a_diagnosis_it_says_so(firstfault: Callable[..., Any]) -> None:
    assert "No diagnosis is kept" in firstfault("ask", "how do I confirm it?").out


def test_a_broken_session(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "session.json").write_text("{", encoding="utf-8")
    ended = firstfault("ask", "why?")
    assert ended.code == 2
    assert "Diagnose a log again" in ended.err
    assert firstfault("ask", "why?", "--entry", XID).code == 0


def test_the_session_can_be_switched_off(
    firstfault: Callable[..., Any],
    told: Callable[..., None],
    stories: dict[str, Diagnosis],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FIRSTFAULT_SESSION", "no")
    told(stories["xid-79"])
    firstfault("job.log")
    firstfault("ask", "what is Xid 79?")
    assert load() is None


def test_log_text_is_escaped(
    firstfault: Callable[..., Any], told: Callable[..., None], stories: dict[str, Diagnosis]
) -> None:
    told(stories["unexplained"])
    firstfault("job.log")
    shown = firstfault("ask", "show me the lines").out
    assert "\x1b" not in shown
    assert "\\x1b[31m" in shown


def test_a_pipe_then_a_question(tmp_path: Path) -> None:
    """The way of the README, in processes of their own."""
    start = [sys.executable, "-m", "assistant"]
    subprocess.run(start, input=LOG.encode(), check=True, capture_output=True)
    asked = subprocess.run(
        [*start, "ask", "how do I confirm it?"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
    )
    assert asked.returncode == 0, asked.stderr
    assert "tpu-ici-link-error#check-1" in asked.stdout


def test_a_question_loads_no_retrieval(tmp_path: Path) -> None:
    code = (
        "import sys; from assistant.cli.main import main; main(['ask', 'what is Xid 79?']);"
        "heavy = {'numpy', 'faiss', 'onnxruntime', 'bm25s', 'hyperscan', 'rich', 'textual'} & set(sys.modules);"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL, encoding="utf-8"
    )
    assert done.stderr.strip() == "[]"


# --------------------------------------------------------------------------------------------- search


def test_search(firstfault: Callable[..., Any]) -> None:
    ended = firstfault("search", "GPU has fallen off the bus")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{XID}  GPU fell off the PCIe bus (Xid 79)\n")


def test_search_json_is_the_contract(firstfault: Callable[..., Any]) -> None:
    text = firstfault("search", "GPU has fallen off the bus", "-n", "3", "--format", "json").out
    found = SearchResult.model_validate_json(text)
    assert found.covered
    assert len(found.results) == 3
    assert json.loads(text)["results"][0]["entry"]["id"] == XID
    assert found.results[0].passage.id.startswith(f"{XID}#")


@pytest.mark.parametrize("text", ["sourdough bread altitude yeast", "qwertyuiop"])
def test_search_says_when_nothing_answers(firstfault: Callable[..., Any], text: str) -> None:
    assert firstfault("search", text).out.startswith("Nothing in the corpus answers this")
    assert not SearchResult.model_validate_json(firstfault("search", text, "--format", "json").out).covered


def test_search_reads_stdin(firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"GPU has fallen off the bus\n"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert firstfault("search", "-", "-n", "1").out.startswith(XID)


def test_search_by_meaning_needs_an_index(firstfault: Callable[..., Any], fresh_home: Path) -> None:
    ended = firstfault("search", "--semantic", "--no-build", "GPU has fallen off the bus")
    assert (ended.code, ended.out) == (4, "")
    assert "Type `firstfault index build`." in ended.err


def test_an_empty_search_is_a_usage_error(firstfault: Callable[..., Any]) -> None:
    ended = firstfault("search")
    assert ended.code == 2
    assert ended.err.startswith("firstfault: Nothing to search for")
