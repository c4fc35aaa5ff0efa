"""The package root names what others may use, and loads nothing before it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import corpus


def test_every_public_name_resolves() -> None:
    assert corpus.__all__ == sorted(corpus.__all__)
    for name in corpus.__all__:
        assert getattr(corpus, name).__name__ == name
    assert set(corpus.__all__) <= set(dir(corpus))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        corpus.nonsense  # noqa: B018


def test_matching_needs_no_schema() -> None:
    """A diagnosis matches without pydantic; only reading entry files needs it."""
    code = "import sys, corpus.match, corpus.record; sys.exit('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0
