"""A new entry: a commented skeleton, filled from a research row where there is one.

The skeleton reads, so that `lint` can explain what is missing; every text that
is still to be written starts with TODO, which lint refuses.
"""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

from corpus.errors import CorpusError, FirstfaultError
from corpus.model import FAMILIES

Row = dict[str, Any]


def write_skeleton(root: Path, family: str, entry_id: str, kind: str, row_file: Path | None = None) -> Path:
    """Write entries/<family>/<id>.toml and return its path; raises when it exists or a name is wrong."""
    if family not in FAMILIES and not (root / "families" / f"{family}.toml").exists():
        raise FirstfaultError(f"No family `{family}`.", f"Known: {', '.join(FAMILIES)}.")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+){0,8}", entry_id):
        raise FirstfaultError(
            f"`{entry_id}` is no id.", "Use lower-case words joined by hyphens, such as xid-79-fell-off."
        )
    taken = sorted(root.glob(f"entries/*/{entry_id}.toml"))
    if taken:
        raise FirstfaultError(f"{taken[0]} exists already.")
    path = root / "entries" / family / f"{entry_id}.toml"
    text = render(family, entry_id, kind, _read_row(row_file, entry_id) if row_file else {})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _read_row(path: Path, entry_id: str) -> Row:
    """The row of this id, or the only row of the file."""
    try:
        rows: list[Row] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise CorpusError(f"`{path}` cannot be read as JSON lines: {error}.") from error
    named = [row for row in rows if row.get("id") == entry_id]
    if not named and len(rows) != 1:
        raise FirstfaultError(f"`{path}` has {len(rows)} rows and none with the id `{entry_id}`.")
    return (named or rows)[0]


def render(family: str, entry_id: str, kind: str, row: Row) -> str:
    """The text of a skeleton."""
    parts = [_head(family, entry_id, kind, row)]
    parts += [
        _signature(index, text, row) for index, text in enumerate(row.get("signatures") or ["TODO the line, verbatim"])
    ]
    parts.append(_VERIFY)
    parts += [_confusion(item) for item in row.get("confused_with", ()) if isinstance(item, dict) and item.get("id")]
    parts += [_check(row), _fix(row), _FAQ, _firing_log(row), _QUIET_LOG]
    return "\n".join(parts)


def _head(family: str, entry_id: str, kind: str, row: Row) -> str:
    narrows = 'narrows = ["TODO what narrows it, or where the real cause was written"]\n' if kind != "failure" else ""
    related = [_id(item) for item in row.get("related", ())]
    lines = [
        "schema = 1",
        f"id = {_string(entry_id)}",
        f"title = {_string(row.get('title') or 'TODO what happened, in plain words (CODE 79)')}",
        f"aliases = {_array([row['id']] if row.get('id') not in (None, entry_id) else [])}",
        f"family = {_string(family)}",
        f"component = {_string(row.get('component') or 'TODO the program that prints it')}",
        f"kind = {_string(kind)}",
        _noted('status = "draft"', "verified: every signature has a source and a firing log"),
        _noted('depth = "brief"', "full: all sections (see README.md)"),
        f"reviewed = {datetime.date.today().isoformat()}",
        _noted(f"severity = {_string(row.get('severity') or 'medium')}", "low | medium | high | critical"),
        _noted(f"role = {_string(row.get('role') or 'either')}", "initiating | downstream | either"),
        _noted(f"scope = {_string(row.get('scope') or 'either')}", "workload | node | platform | either"),
        _noted('restart = "after-fix"', "safe | after-fix | other-node | never"),
        f"tags = {_array(row.get('tags') or [])}",
        'asks = [\n  "TODO how a person asks without quoting the string",\n  "TODO another way",\n]',
        'summary = "TODO the quick answer"',
        f"mechanism = {_string(row.get('mechanism') or 'TODO what happened, physically and logically')}",
        _noted("causes = []", "ids of entries that this one brings about"),
        f"related = {_array([link for link in related if link])}",
    ]
    return "\n".join(lines) + "\n" + narrows


def _noted(line: str, comment: str) -> str:
    """A line with a comment in the column where comments stand."""
    return f"{line:<35} # {comment}"


def _signature(index: int, text: str, row: Row) -> str:
    sources = [_source(source) for source in row.get("sources", ())]
    listed = [source for source in sources if source] or ['{ repo = "TODO/TODO", path = "TODO" }']
    return (
        f"[[signature]]\nname = {_string('line' if index == 0 else f'line-{index + 1}')}\n"
        f"text = {_literal(text)}\nsource = [{', '.join(listed)}]\n"
    )


def _source(source: Any) -> str:
    """A source of a row as a TOML table, or nothing for a bare link."""
    if not isinstance(source, dict):
        return ""
    keys = ("repo", "path", "commit") if source.get("repo") and not source.get("artifact") else ("artifact", "path")
    if not source.get(keys[0]):
        return ""
    pairs = [f"{key} = {_string(source[key])}" for key in keys if source.get(key)]
    return "{ " + ", ".join(pairs) + " }"


_VERIFY = """[verify]                            # proof that the fix holds
command = "true"                    # TODO
expect = "TODO the exit criterion"
"""
_FAQ = """[[faq]]
q = "TODO what an on-call engineer asks"
a = "TODO"

[[faq]]
q = "TODO what they ask next"
a = "TODO"
"""
_QUIET_LOG = """[[log]]
name = "quiet"
fires = []
why = "TODO why the nearest neighbour must not fire"
text = '''
TODO
'''
"""


def _confusion(item: Row) -> str:
    return f"[[confused_with]]\nid = {_string(item['id'])}\ntell = {_string(item.get('tell') or 'TODO')}\n"


def _check(row: Row) -> str:
    first = f'[[check]]                           # read-only commands\nstep = {_string(row.get("confirm") or "TODO")}\nexpect = "TODO"\n'
    return first + '\n[[check]]\nstep = "TODO"\nexpect = "TODO"\n'


def _fix(row: Row) -> str:
    return f'[[fix]]\nstep = {_string(row.get("fix") or "TODO")}\nwhy = "TODO"\n'


def _firing_log(row: Row) -> str:
    example = str(row.get("example") or "TODO the line as the software prints it, prefixes included")
    return f'[[log]]\nname = "firing"\nfires = ["line"]\ntext = {_block(example)}\n'


def _id(item: Any) -> str:
    return str(item.get("id") or "") if isinstance(item, dict) else str(item)


def _string(text: object) -> str:
    """A TOML basic string; JSON's escapes are a subset of TOML's."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _array(items: list[Any]) -> str:
    return "[" + ", ".join(_string(item) for item in items) + "]"


def _is_plain(text: str) -> bool:
    return "'''" not in text and not any(ord(char) < 32 and char not in "\n\t" for char in text) and "\x7f" not in text


def _literal(text: str) -> str:
    """Log text verbatim between three quotes, or escaped where that cannot be."""
    return f"'''{text}'''" if _is_plain(text) and not text.endswith("'") else _string(text)


def _block(text: str) -> str:
    return f"'''\n{text.rstrip()}\n'''" if _is_plain(text) else _string(text)
