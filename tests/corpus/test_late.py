"""Patterns that are compiled at their first use behave as if they had been compiled at once."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import assistant
import corpus
from corpus.late import _Late, late

MODULES = [
    name
    for package in (assistant, corpus)
    for _, name, is_package in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not is_package and not name.endswith("__main__") and ".tui" not in name
]


def test_answers_like_a_compiled_pattern() -> None:
    pattern = late(r"rank(\d+)", re.I)
    found = pattern.search("on Rank7")
    assert found is not None
    assert found.group(1) == "7"
    assert pattern.sub("#", "rank1 rank2") == "# #"
    assert pattern.pattern == r"rank(\d+)"


def test_is_compiled_once_and_only_when_it_is_asked() -> None:
    broken = late("(")
    with pytest.raises(re.error):
        broken.search("text")
    pattern = late("a")
    assert "search" not in vars(pattern)
    pattern.match("a")
    assert "search" in vars(pattern)


def test_has_nothing_else() -> None:
    with pytest.raises(AttributeError):
        getattr(late("a"), "nothing")  # noqa: B009 (the name must be asked at run time)


@pytest.mark.parametrize("name", MODULES)
def test_every_late_pattern_compiles(name: str) -> None:
    module = importlib.import_module(name)
    for value in vars(module).values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            for part in one if isinstance(one, tuple) else (one,):
                if isinstance(part, _Late):
                    assert re.compile(part.pattern, part.flags & ~re.U)  # type: ignore[arg-type, operator]
