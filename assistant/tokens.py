"""Counting tokens for a chat model, offline.

The vocabulary lies in `assistant/vocabulary/` under the name by which
tiktoken's cache finds it (assistant/vocabulary/CARD.md). Its hash is checked
before tiktoken sees it, because tiktoken throws a file away that is not what
it expects, and goes to the network for another. Nothing but an excerpt needs
this module.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from corpus.errors import FirstfaultError

ENCODING: Final = "cl100k_base"
FILE: Final = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
SHA256: Final = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_PLACE: Final = "TIKTOKEN_CACHE_DIR"


class VocabularyError(FirstfaultError):
    """Tokens cannot be counted: a package or the vocabulary is missing or damaged."""

    exit_code = 4


def vocabulary_folder() -> Path:
    """Where the vocabulary lies."""
    return Path(__file__).parent / "vocabulary"


def counter() -> Callable[[str], int]:
    """What counts the tokens of a text; raises VocabularyError where that is not possible."""
    path = vocabulary_folder() / FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise VocabularyError(f"`{path}` cannot be read ({error.strerror}).", "Reinstall firstfault.") from error
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise VocabularyError(f"`{path}` is damaged.", "Reinstall firstfault.")
    try:
        import tiktoken
    except ImportError as error:
        raise VocabularyError("the package `tiktoken` is not installed.", "Reinstall firstfault.") from error
    before = os.environ.get(_PLACE)
    os.environ[_PLACE] = str(vocabulary_folder())
    try:
        encoding = tiktoken.get_encoding(ENCODING)
    finally:
        if before is None:
            del os.environ[_PLACE]
        else:
            os.environ[_PLACE] = before

    def count(text: str) -> int:
        # A log may hold any text, `<|endoftext|>` included.
        return len(encoding.encode(text, disallowed_special=()))

    return count
