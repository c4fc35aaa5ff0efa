"""Forms of a verdict: text for people, JSON for programs, Markdown for a post-mortem."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assistant.verdict import Diagnosis
    from corpus.catalogue import Catalogue

FORMATS = ("text", "json", "markdown")


def render(form: str, diagnosis: Diagnosis, catalogue: Catalogue | None = None, **options: Any) -> str:
    """The diagnosis in one of `FORMATS`; the module of a form is imported only here."""
    module = importlib.import_module(f"assistant.reports.{form}")
    text: str = module.render(diagnosis, catalogue, **options)
    return text
