"""How a compiled corpus directory is laid out: written here, looked into by `corpus.compiled`.

The first line says where each section lies. A value is one line of JSON, a
table a line of offsets and then its lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from corpus.atoms import BuiltTable
from corpus.head import aliases_of, head_from
from corpus.wording import BuiltWording

FORM = 6
"""Version of the compiled form; a change makes old caches useless, not wrong."""
WIDTH = 8
"""Hexadecimal digits of an offset."""


def write_form(
    digest: str,
    heads: Sequence[dict[str, Any]],
    bodies: Mapping[str, dict[str, Any]],
    harmless: Sequence[Sequence[Any]],
    literals: Mapping[str, str],
) -> bytes:
    """Lay out a compiled directory; heads are in the order of the ids, in their JSON form."""
    read = [head_from(data) for data in heads]
    numbers = {head.id: number for number, head in enumerate(read)}
    # No scan looks for broad classes.
    table = BuiltTable([head for head in read if head.status != "retired" and not head.broad], literals)
    wording = BuiltWording(read)
    words = sorted(wording.postings)
    keys = sorted(bodies)
    return _layout(
        {"form": FORM, "digest": digest, "key": table.key},
        {
            "ids": [head.id for head in read],
            "aliases": aliases_of(read),
            "broad": [number for number, head in enumerate(read) if head.broad],
            "harmless": harmless,
            "keys": keys,
            "literal_of": literals,
            "words": words,
            "wrappers": sorted(wording.wrappers),
            "weights": [wording.weights(but_wrappers=False), wording.weights(but_wrappers=True)],
        },
        {
            "atoms": [
                [text, table.literals_of(atom), [[numbers[use.head.id], use.place[1]] for use in table.uses_of(atom)]]
                for atom, text in enumerate(table.texts)
            ],
            "literals": [[literal.decode(), *table.atoms_of(index)] for index, literal in enumerate(table.literals)],
            "heads": heads,
            "worded": [[numbers[row.entry], row.signature, *row.words] for row in wording.rows],
            "postings": [wording.postings[word] for word in words],
            "bodies": [bodies[key] for key in keys],
        },
    )


def _layout(first: dict[str, Any], values: Mapping[str, Any], tables: Mapping[str, Iterable[Any]]) -> bytes:
    """The first line, then a line for each value, then for each table a line of offsets and its lines."""
    pieces: list[bytes] = []
    places: dict[str, list[int]] = {}
    position = 0
    for name, value in values.items():
        pieces.append(_line(value))
        places[name] = [position, len(pieces[-1])]
        position += len(pieces[-1])
    for name, rows in tables.items():
        lines = [_line(row) for row in rows]
        offsets = accumulate(map(len, lines), initial=0)
        pieces += [_line("".join([f"{offset:0{WIDTH}x}" for offset in offsets])), *lines]
        places[name] = [position, len(lines)]
        position += sum(map(len, pieces[-len(lines) - 1 :]))
    return _line({**first, "size": position, "places": places}) + b"".join(pieces)


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
