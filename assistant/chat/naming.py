"""Searches of a word or two: the entries that are called so, those first that other entries point to most.

`oom` or `nccl` says too little for likeness of meaning, and stands in hundreds of
passages. Who types it wants the failures with that name, the usual ones first;
how often other entries link to one tells the usual ones from the rare.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from assistant.chat.search import Hit, WordHit
from assistant.chat.words import plain
from index.passages import Passage
from index.tokens import STOP_WORDS

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue

MOST_WORDS: Final = 2
_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "oom": ("out of memory",),
    "hang": ("timed out", "timeout", "stuck", "deadlock", "never returns"),
    "hangs": ("timed out", "timeout", "stuck", "deadlock"),
    "hung": ("timed out", "timeout", "stuck", "deadlock", "hang"),
    "stuck": ("hang", "deadlock", "timed out"),
    "timeout": ("timed out",),
    "segfault": ("segmentation fault", "sigsegv"),
    "nan": ("not finite", "nonfinite"),
    "killed": ("sigkill",),
    "preempted": ("preemption",),
}
"""Names under which titles have the same thing."""
_LINKS: Final = 0.12
"""What each doubling of the links to an entry counts, against 1 for a word in its name."""


def called_so(query: str, catalogue: Catalogue) -> list[str]:
    """The entries whose id, title or alias holds every word of a short query, the usual ones first; else none."""
    words = [word for word in plain(query).split() if word not in STOP_WORDS]
    if not 0 < len(words) <= MOST_WORDS or len(query) > 60:
        return []
    links = _links(catalogue)
    found: list[tuple[float, str]] = []
    for head in catalogue.heads.values():
        if head.status == "retired":
            continue
        strict = f" {plain(head.id)} {plain(head.title)} "
        names = f"{strict}{' '.join(map(plain, head.aliases))} "
        share = [_stands(word, strict, names) for word in words]
        if all(share):
            kind = {"failure": 0.2, "class": 0.1}.get(head.kind, 0.0)
            found.append((sum(share) / len(share) + kind + _LINKS * math.log2(1 + links[head.id]), head.id))
    return [entry for _, entry in sorted(found, key=lambda item: (-item[0], item[1]))]


def _stands(word: str, strict: str, names: str) -> float:
    if any(f" {form} " in strict for form in (word, *_ALSO.get(word, ()))):
        return 1.0
    return 0.5 if f" {word} " in names else 0.0


def _links(catalogue: Catalogue) -> Counter[str]:
    """How many entries point to each one."""
    count: Counter[str] = Counter()
    for head in catalogue.heads.values():
        count.update({*head.causes, *head.related, *head.confused_with})
    return count


def named_first(hits: Sequence[Hit], query: str, catalogue: Catalogue, limit: int) -> list[Hit]:
    """The hits of a search, behind the entries that are called as a short query says."""
    names = called_so(query, catalogue)[:limit]
    found = {hit.entry: hit for hit in hits}
    top = max((hit.score for hit in hits), default=1.0)
    leading: list[Hit] = []
    for rank, entry in enumerate(names, start=1):
        known = found.get(entry)
        passage = known.passage if known is not None else Passage(entry, "title", 1, catalogue.heads[entry].title)
        channels = {**(known.channels if known is not None else {}), "name": rank}
        leading.append(WordHit(entry, passage, top, channels))
    return [*leading, *(hit for hit in hits if hit.entry not in names)][:limit]
