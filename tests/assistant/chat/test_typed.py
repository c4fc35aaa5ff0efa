"""Questions in haste."""

from __future__ import annotations

import pytest

from assistant.chat.intents import intent_of
from assistant.chat.typed import tidied


@pytest.mark.parametrize(
    ("typed", "meant", "intent"),
    [
        ("wat happened", "what happened", "story"), ("what happen", "what happened", "story"), ("wht happend??", "what happened??", "story"),
        ("whats broken", "what's broken", "story"), ("ok how fix", "how do I fix", "fix"), ("hmm ok, how to fix it pls", "how do I fix it", "fix"), ("y", "why", "why"),
        ("ok cna i restat", "can i restart", "restart"), ("wich ckpt", "which checkpoint", "resume"), ("how confrim it", "how do I confirm it", "confirm"),
        ("thanks. whats the cuase", "what's the cause", "what-is"), ("ist my code then?", "is it my code?", "hardware"),
    ],
)  # fmt: skip
def test_slips_are_put_right(typed: str, meant: str, intent: str) -> None:
    assert tidied(typed) == meant
    assert intent_of(meant) == intent


@pytest.mark.parametrize(
    "question",
    ["How do I confirm it?", "will it happen again?", "what is Y?", "and then?", "why did rank 3 die?", "Was ist Xid 48 und was kann ich tun?", "wat is er gebeurd en wie kan het", "ok", "please", "",
     "how does NCCL fix the ring?", "is `wat` a flag?", "which host?", "should I raise --mem or --mem-per-cpu", "who wrote /home/u/y", "what is r-2 and u@box"],
)  # fmt: skip
def test_what_is_right_stays(question: str) -> None:
    assert tidied(question) == question
