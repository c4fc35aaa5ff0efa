"""Where a key or a table of a TOML text stands: the second look that `tomllib` does not offer.

`tomllib` gives values without positions. `LineIndex` walks the text once more,
skips over strings (log excerpts are full of `[[brackets]]` and `key = value`),
and remembers the line of every table, key and array element.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Path = tuple[str | int, ...]

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|\#[^\n]*"
    r"|\n|[\[\]{}=,]"
    r"|[^\s\[\]{}=,\"'#]+",
    re.S,
)
_HEADER = re.compile(r"[ \t]*(\[\[?)[ \t]*([^\[\]\n]+?)[ \t]*\]")
_KEY_PART = re.compile(r'"([^"\n]*)"|\'([^\'\n]*)\'|([A-Za-z0-9_-]+)')


def _key_parts(text: str) -> tuple[str, ...]:
    return tuple(next(part for part in found if part) for found in _KEY_PART.findall(text) if any(found))


class LineIndex:
    """Lines of the tables, keys and array elements of one TOML text."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {(): 1}
        self._counts: dict[Path, int] = {}
        self._prefix: Path = ()
        self._walk(text)

    def line(self, path: Sequence[str | int]) -> int:
        """The 1-based line of a path, or of the nearest table around it."""
        here = tuple(path)
        while here not in self._lines:
            here = here[:-1]
        return self._lines[here]

    def has(self, path: Sequence[str | int]) -> bool:
        """Tell whether the text itself has a line for exactly this path."""
        return tuple(path) in self._lines

    def _walk(self, text: str) -> None:
        position, line = 0, 1
        while position < len(text):
            header = _HEADER.match(text, position)
            if header is not None:
                self._open_table(header.group(2), header.group(1) == "[[", line)
                position = _line_end(text, header.end())
                line += 1
                continue
            end, crossed = self._read_statement(text, position, line)
            position, line = end, line + crossed

    def _open_table(self, name: str, is_array: bool, line: int) -> None:
        path: Path = ()
        parts = _key_parts(name)
        for index, part in enumerate(parts):
            path = (*path, part)
            is_last = index + 1 == len(parts)
            if is_last and is_array:
                self._counts[path] = self._counts.get(path, -1) + 1
                self._lines.setdefault(path, line)
                path = (*path, self._counts[path])
            elif not is_last and path in self._counts:
                path = (*path, self._counts[path])
        self._lines.setdefault(path, line)
        self._prefix = path

    def _read_statement(self, text: str, start: int, line: int) -> tuple[int, int]:
        """Read `key = value` up to its end of line; returns the new position and lines crossed."""
        depth, crossed, item = 0, 0, 0
        key: Path | None = None
        before = ""
        awaits_item = False
        for found in _TOKEN.finditer(text, start):
            token = found.group()
            if token == "\n":
                crossed += 1
                if depth <= 0:
                    return found.end(), crossed
            elif token == "=" and key is None:
                key = (*self._prefix, *_key_parts(before))
                self._lines.setdefault(key, line + crossed)
            elif key is None:
                before += token
            else:
                if awaits_item and depth == 1 and token[0] not in "],#":
                    self._lines.setdefault((*key, item), line + crossed)
                    awaits_item = False
                depth += (token in "[{") - (token in "]}")
                if depth == 1 and token == "[":
                    awaits_item = True
                elif depth == 1 and token == ",":
                    item, awaits_item = item + 1, True
                crossed += token.count("\n")
        return len(text), crossed


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1
