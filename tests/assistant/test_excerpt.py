"""The decisive excerpt: in budget, masked, with the line that decides; and the tokens it is counted by."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assistant import tokens
from assistant.reports import excerpt
from assistant.tokens import VocabularyError, counter, vocabulary_folder
from assistant.verdict import Diagnosis

INCIDENT = Path(__file__).parent.parent / "tui" / "logs" / "xid79-node-b"


@pytest.fixture(scope="module")
def count() -> Callable[[str], int]:
    return counter()


# ---- tokens


def test_tokens_are_those_of_the_vocabulary(count: Callable[[str], int]) -> None:
    import tiktoken

    assert tiktoken.get_encoding("cl100k_base").encode("hello world") == [15339, 1917]
    assert count("hello world") == 2
    assert count("<|endoftext|> in a log") > 3


def test_the_users_cache_of_tiktoken_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/somewhere")
    counter()
    assert tokens.os.environ["TIKTOKEN_CACHE_DIR"] == "/somewhere"


def test_a_damaged_or_missing_vocabulary_is_an_error_and_no_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, firstfault: Callable[..., Any]
) -> None:
    monkeypatch.setattr(tokens, "vocabulary_folder", lambda: tmp_path)
    with pytest.raises(VocabularyError, match="cannot be read"):
        counter()
    path = tmp_path / tokens.FILE
    shutil.copy(vocabulary_folder() / tokens.FILE, path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(VocabularyError, match="is damaged"):
        counter()
    assert path.exists()
    ended = firstfault("excerpt", str(INCIDENT))
    assert (ended.code, ended.out) == (4, "")
    assert "Reinstall firstfault." in ended.err


# ---- the excerpt


@pytest.mark.parametrize("story", ["xid-79", "unexplained"])
@pytest.mark.parametrize("most", [200, 400, 1000, 4000])
def test_it_keeps_the_budget_and_the_line_that_decides(
    story: str, most: int, stories: dict[str, Diagnosis], count: Callable[[str], int]
) -> None:
    diagnosis = stories[story]

    def around(source: str, line: int, number: int) -> list[tuple[int, str]]:
        return [(at, f"line {at} " + "word " * 300) for at in range(line - number, line + number + 1)]

    text = excerpt.render(diagnosis, None, count=count, max_tokens=most, lines_around=around)
    assert count(text) <= most
    assert text.startswith(f"## {diagnosis.status}: ")
    assert len(re.findall(r"^> ", text, re.M)) == 1


@pytest.mark.parametrize(
    "shape", ["x" * 200_000, "ab1 " * 50_000, "`" * 3_000, "\x1b[31m" * 5_000], ids=["x", "words", "ticks", "escapes"]
)
def test_a_hostile_line_is_cut(shape: str, stories: dict[str, Diagnosis], count: Callable[[str], int]) -> None:
    diagnosis = stories["xid-79"]
    assert diagnosis.initiating is not None
    line = diagnosis.initiating.evidence[0].model_copy(update={"text": shape})
    lead = diagnosis.initiating.model_copy(update={"evidence": (line,)})
    found = diagnosis.model_copy(update={"initiating": lead, "findings": (lead,)})
    text = excerpt.render(found, None, count=count, max_tokens=400)
    assert count(text) <= 400
    assert "\x1b" not in text


def test_every_story_has_an_excerpt(stories: dict[str, Diagnosis], count: Callable[[str], int]) -> None:
    for name, diagnosis in stories.items():
        text = excerpt.render(diagnosis, None, count=count, max_tokens=2_000)
        assert count(text) <= 2_000, name
        assert text.startswith(f"## {diagnosis.status}"), name


def test_hosts_are_masked_in_lines_prose_and_commands(
    stories: dict[str, Diagnosis], count: Callable[[str], int]
) -> None:
    text = excerpt.render(stories["xid-79"], None, count=count, max_tokens=4_000)
    assert "node-b" not in text
    assert "dmesg-host-1.log:812" in text
    assert re.search(r"Masked: 2 hosts\.\n$", text)
    open_ = excerpt.render(stories["xid-79"], None, count=count, max_tokens=4_000, is_masked=False)
    assert "dmesg-node-b.log:812" in open_
    assert "Nothing in it is masked." in open_


# ---- the verb


def test_of_a_log(firstfault: Callable[..., Any], count: Callable[[str], int]) -> None:
    ended = firstfault("excerpt", "--max-tokens", "900", "-C", "3", str(INCIDENT))
    assert ended.code == 0
    assert "GPU has fallen off the bus." in ended.out
    assert "node-b" not in ended.out
    assert count(ended.out) <= 900
    assert f"{count(ended.out):,} tokens; read it before you share it" in ended.err


def test_of_the_last_diagnosis(firstfault: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_STATE_DIR", str(tmp_path))
    ended = firstfault("excerpt")
    assert (ended.code, ended.out) == (2, "")
    assert "Type `firstfault excerpt LOG`." in ended.err
    firstfault(str(INCIDENT))
    assert "GPU has fallen off the bus." in firstfault("excerpt").out


def test_a_budget_too_small_is_a_usage_error(firstfault: Callable[..., Any]) -> None:
    assert firstfault("excerpt", "--max-tokens", "10", str(INCIDENT)).code == 2
