"""`firstfault related ID`: the neighbours of an entry, as a small tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from assistant.cli.common import color_option, complete_id, corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue

DEPTH = 3
"""How far a causal chain is followed."""


@verb("related")
@click.argument("entry", metavar="ID", shell_complete=complete_id)
@corpus_option
@color_option
def command(entry: str, **flags: object) -> None:
    """Show what an entry causes, what causes it, what to read next and what looks like it."""
    settings = settings_from(**flags)
    console = Console()
    catalogue = load_catalogue(settings)
    head = catalogue.resolve(entry)
    encoding = (getattr(console.stdout, "encoding", None) or "ascii").lower()
    tree = Tree(console.width(settings.width or None), unicode="utf" in encoding)
    tree.add(0, last=[], text=f"{head.id}  {head.title}")
    groups = [
        ("causes", _causes(catalogue, head.id, downwards=True)),
        ("caused by", _causes(catalogue, head.id, downwards=False)),
        ("related", [(0, _name(catalogue, key), "") for key in head.related]),
        ("confused with", _look_alikes(catalogue, head.id)),
    ]
    present = [(label, rows) for label, rows in groups if rows]
    for number, (label, rows) in enumerate(present):
        tree.branch(label, rows, last=number == len(present) - 1)
    if not present:
        tree.add(1, last=[True], text="no neighbours")
    console.result("\n".join(tree.rows))


Row = tuple[int, str, str]
"""Depth below the branch, name, and a sentence that explains it."""


def _name(catalogue: Catalogue, key: str) -> str:
    head = catalogue.heads.get(key)
    return f"{key}  {head.title}" if head else key


def _causes(catalogue: Catalogue, entry: str, *, downwards: bool) -> list[Row]:
    """The chain of effects (or of causes) of an entry; the corpus keeps it free of cycles, overlays may not."""
    rows: list[Row] = []
    seen = {entry}

    def walk(key: str, depth: int) -> None:
        head = catalogue.heads.get(key)
        below = head.causes if head else ()
        above = tuple(sorted(other.id for other in catalogue.heads.values() if key in other.causes))
        for neighbour in below if downwards else above:
            again = neighbour in seen
            rows.append((depth, _name(catalogue, neighbour) + (" (above)" if again else ""), ""))
            if not again and depth + 1 < DEPTH:
                seen.add(neighbour)
                walk(neighbour, depth + 1)

    walk(entry, 0)
    return rows


def _look_alikes(catalogue: Catalogue, entry: str) -> list[Row]:
    """Entries that are taken for this one, with what tells them apart, from either side."""
    tells = {item["id"]: item["tell"] for item in catalogue.body(entry).get("confused_with", [])}
    for head in catalogue.heads.values():
        if entry in head.confused_with and head.id not in tells:
            found = catalogue.body(head.id).get("confused_with", [])
            tells[head.id] = next((item["tell"] for item in found if item["id"] == entry), "")
    return [(0, _name(catalogue, key), tell) for key, tell in tells.items()]


class Tree:
    """Rows with branches drawn at their left."""

    def __init__(self, width: int, *, unicode: bool) -> None:
        self.rows: list[str] = []
        self._width = width
        self._tee, self._end, self._bar = ("├─ ", "└─ ", "│  ") if unicode else ("|- ", "`- ", "|  ")

    def add(self, depth: int, *, last: Sequence[bool], text: str, note: str = "") -> None:
        """A row at a depth; `last` says for each ancestor and the row whether it is the last of its branch."""
        from assistant.console import escape
        from assistant.reports._page import FEWEST, cells, fold, wrap

        bars = "".join("   " if done else self._bar for done in last[: depth - 1]) if depth else ""
        start = bars + ((self._end if last[depth - 1] else self._tee) if depth else "")
        shown = escape(text)
        room = max(FEWEST, self._width - len(start))
        first, *rest = [shown] if cells(shown) <= room else fold(shown, room - 2, whole_words=True)
        self.rows.append(start + first)
        hang = bars + ("   " if depth and last[depth - 1] else self._bar if depth else "")
        self.rows.extend(f"{hang}  {row}" for row in rest)
        room = max(FEWEST, self._width - len(hang) - 2)
        self.rows.extend(f"{hang}  {row}" for row in wrap(escape(note), room))

    def branch(self, label: str, rows: Sequence[Row], *, last: bool) -> None:
        """A labelled branch with its rows."""
        self.add(1, last=[last], text=label)
        path = [last]
        for index, (depth, name, note) in enumerate(rows):
            following = next((row[0] for row in rows[index + 1 :] if row[0] <= depth), -1)
            path = [*path[: depth + 1], following != depth]
            self.add(depth + 2, last=path, text=name, note=note)
