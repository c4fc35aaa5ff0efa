"""Searches of one or two words."""

from __future__ import annotations

import pytest

from assistant.chat.material import Material
from assistant.chat.naming import called_so
from assistant.chat.search import WordSearch
from assistant.cli.search import find, render
from corpus.catalogue import Catalogue
from tests.heads import catalogue_of, head


def test_the_usual_failure_of_a_name_comes_first() -> None:
    heads = catalogue_of(
        head("rare-oom", title="A rare thing is out of memory"), head("usual-oom", title="Out of memory"),
        head("a", related=("usual-oom",)), head("b", causes=("usual-oom",)), head("log-says-oom", kind="wrapper"),
        head("other", title="Something else"),
    )  # fmt: skip
    assert called_so("OOM", heads) == ["usual-oom", "rare-oom", "log-says-oom"]
    assert called_so("out", heads) == [] or "other" not in called_so("out", heads)
    for query in ("pancakes", "", "the", "oom in the third step of my job", "zoom"):
        assert called_so(query, heads) == []


@pytest.mark.parametrize(("query", "first"), [("oom", "oom"), ("nccl", "nccl"), ("xid 79", "xid-79")])
def test_a_hit_is_never_said_to_be_none(catalogue: Catalogue, query: str, first: str) -> None:
    found = find(query, catalogue, WordSearch(Material(catalogue)), 8, "never")
    assert found.covered and first in found.results[0].entry.id
    assert len(found.results) <= 8 and "Nothing in the corpus" not in render(found, 80)
    assert len({item.entry.id for item in found.results}) == len(found.results)
