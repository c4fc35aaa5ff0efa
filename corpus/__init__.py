"""The knowledge: entries, signatures, records, and the rules that keep them honest.

Public names are resolved when they are first used, because the schema alone
costs more to import than a whole `firstfault --help` may take.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "Catalogue": "corpus.catalogue",
    "CorpusError": "corpus.errors",
    "CorpusFiles": "corpus.reader",
    "Entry": "corpus.model",
    "EntryFileError": "corpus.errors",
    "FirstfaultError": "corpus.errors",
    "Family": "corpus.model",
    "Incident": "corpus.model",
    "Matcher": "corpus.match",
    "Problem": "corpus.errors",
    "SignatureError": "corpus.errors",
    "UnknownEntryError": "corpus.errors",
    "lint_corpus": "corpus.lint",
    "read_corpus": "corpus.reader",
    "read_entry": "corpus.reader",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import the module of a public name at its first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'corpus' has no attribute '{name}'")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return sorted({*globals(), *_HOMES})
