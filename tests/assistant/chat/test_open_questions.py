"""The questions of the bundled cases, and own ones in other words: how much of what must be said is said."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from corpus.catalogue import Catalogue
from tests.scripts import load_script

DEV = Path(__file__).parent / "dev_questions.jsonl"
OPEN = Path(__file__).parents[2] / "evaluation" / "open.jsonl"


@pytest.fixture(scope="module")
def evaluate() -> ModuleType:
    """scripts/evaluate_answers.py as a module."""
    return load_script("evaluate_answers")


# Reached without an index, by word overlap alone: 95 % and 95 % of the words, 90 % of the unknowns.
@pytest.mark.parametrize(("path", "words"), [(OPEN, 0.88), (DEV, 0.85)], ids=["open", "dev"])
def test_share_of_what_must_be_said(evaluate: ModuleType, catalogue: Catalogue, path: Path, words: float) -> None:
    outcomes, left_out = evaluate.ask_all(path, catalogue, Path("none"))
    totals = evaluate.totals(outcomes)
    with_share = {name: f"{good} of {all_}" for name, (good, all_) in totals.items()}
    print(with_share, "left out", left_out)
    good, all_ = totals["words"]
    assert good / all_ >= words, with_share
    good, all_ = totals["unknown"]
    assert good >= 0.8 * all_, with_share
    assert left_out <= 5


@pytest.mark.parametrize(
    ("word", "text", "said"),
    [
        ("no", "Nobody did.", True),
        ("no", "I know.", False),
        ("not", "No.", True),
        ("/dev/shm", "enlarge /DEV/SHM", True),
        ("8", "16 cores", False),
    ],
)
def test_mentions(evaluate: ModuleType, word: str, text: str, said: bool) -> None:
    assert evaluate.mentions(word, text) is said
