"""The bundled corpus, read once, and conversations about verdicts built by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assistant.chat.conversation import Conversation
from assistant.chat.material import Material
from assistant.chat.session import Session, start
from assistant.settings import cache_dir
from assistant.verdict import Diagnosis
from corpus.catalogue import Catalogue


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    """The bundled corpus."""
    return Catalogue.load(cache_dir=cache_dir())


@pytest.fixture(scope="session")
def material(catalogue: Catalogue) -> Material:
    """What may be quoted of it."""
    return Material(catalogue)


@pytest.fixture
def talk_about(catalogue: Catalogue, stories: dict[str, Diagnosis]) -> Callable[[str], Conversation]:
    """A conversation about one of the verdicts built by hand."""
    return lambda story: Conversation(catalogue, start(stories[story]))


@pytest.fixture
def talk_of(catalogue: Catalogue) -> Callable[[str], Conversation]:
    """A conversation about an entry, without a log."""
    return lambda entry: Conversation(catalogue, Session(focus=(entry,)))
