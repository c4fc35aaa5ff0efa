"""What is wrong with a corpus file, said in the words of TOML and of the schema.

C001 not readable · C002 no TOML · C003 unknown key · C004 missing key ·
C005 wrong type · C006 value not allowed
"""

from __future__ import annotations

import datetime
import difflib
import re
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from corpus.errors import Problem
from corpus.toml_lines import LineIndex

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")
_SYNTAX = (
    ("Unescaped '\\' in a string", "a backslash in \"...\" starts an escape; put the text between '''"),
    (
        "Illegal character",
        'a control character stands raw in the text; write it as \\u001b, \\r or \\t between """',
    ),
    ("Cannot overwrite a value", "this key stands twice in its table"),
    ("Cannot declare", "this table stands twice; write [[name]] for one of several"),
    ("Expected newline or end of document", "something stands after the end of the value"),
    ("Invalid value", "the value is none that TOML knows; text needs quotes"),
    ("Unclosed array", "the array is not closed with ]"),
    ("Invalid initial character for a key part", "a key is expected here"),
    ("Expected '=' after a key", "a key is followed by ="),
    ("Invalid statement", "this is no `key = value` and no [table]"),
    ("Unterminated string", "the string is not closed"),
    ("Expected", "the string is not closed"),
)


def syntax_problem(path: str, text: str, error: tomllib.TOMLDecodeError) -> Problem:
    """One sentence for a text that is no TOML."""
    message = str(error)
    found = _AT.search(message)
    line = int(found.group(1)) if found and found.group(1) else max(1, len(text.splitlines()))
    said = _AT.sub("", message)
    plain = next((words for start, words in _SYNTAX if said.startswith(start)), "")
    odd = [quote for quote in ("'''", '"""') if text.count(quote) % 2]
    hint = f" The file has an odd number of {odd[0]}: a text above is not closed." if odd else ""
    return Problem(path, line, "C002", f"no TOML: {plain} ({said}).{hint}" if plain else f"no TOML: {said}.{hint}")


def validation_problems(
    path: str,
    lines: LineIndex,
    model: type[BaseModel],
    data: Mapping[str, Any],
    error: ValidationError,
) -> list[Problem]:
    """All problems that the schema found in one file."""
    problems: dict[tuple[Path, str], Problem] = {}
    for detail in error.errors(include_url=False):
        where, inner = _resolve(model, data, detail)
        code, message = _say(detail, where, model, inner)
        problems.setdefault((where, code), Problem(path, lines.line(where), code, message))
    return sorted(problems.values())


def _resolve(root: type[BaseModel], data: object, detail: ErrorDetails) -> tuple[Path, type[BaseModel]]:
    """The path of a problem without pydantic's union tags, and the model that holds its last key."""
    where: list[str | int] = []
    value: object = data
    model = root
    holder = root
    for step in detail["loc"]:
        is_missing = detail["type"] == "missing" and step == detail["loc"][-1]
        if isinstance(step, str) and not is_missing and not (isinstance(value, dict) and step in value):
            continue
        if isinstance(step, int) and isinstance(value, dict):
            continue  # a single table where a list of tables is allowed
        where.append(step)
        if isinstance(step, str):
            holder = model
            model = _inner_model(model, step) or model
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else None
    return tuple(where), holder


def _inner_model(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    for name, field in model.model_fields.items():
        if key == (field.alias or name):
            return _first_model(field.annotation)
    return None


def _first_model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in get_args(annotation):
        found = _first_model(argument)
        if found is not None:
            return found
    return None


def known_keys(model: type[BaseModel]) -> list[str]:
    """The keys that a table of this model may have, in their order."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _say(detail: ErrorDetails, where: Path, root: type[BaseModel], holder: type[BaseModel]) -> tuple[str, str]:
    kind = detail["type"]
    name = _dotted(where)
    if kind == "extra_forbidden":
        return "C003", _unknown_key(where, root, holder)
    if kind == "missing":
        return "C004", f"key `{where[-1]}` is missing in {_table(where[:-1])}."
    if kind == "literal_error":
        return "C006", _not_allowed(name, detail)
    if kind == "value_error":
        reason = str(detail.get("ctx", {}).get("error", detail["msg"]))
        return "C006", f"{_table(where)}: {reason}."
    if kind in _TYPES:
        return "C005", f"`{name}` is {toml_type(detail['input'])}; it must be {_TYPES[kind]}."
    if kind == "string_pattern_mismatch":
        pattern = detail.get("ctx", {}).get("pattern", "")
        meaning = _PATTERNS.get(str(pattern), f"must match {pattern}")
        return "C006", f"`{name}` is `{detail['input']}`; it {meaning}."
    if kind == "string_too_short":
        return "C006", f"`{name}` is empty; write a real sentence or leave the key out."
    reason = detail["msg"].removeprefix("Input should ").removeprefix("String should ")
    return "C006", f"`{name}` is `{detail['input']}`; it should {reason}."


_TYPES = {
    "string_type": "a string",
    "int_type": "an integer",
    "bool_type": "true or false",
    "tuple_type": "an array",
    "date_type": "a date such as 2026-11-30, without quotes",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "int_from_float": "an integer",
}
_PATTERNS = {
    r"^[a-z][a-z0-9]*(-[a-z0-9]+){0,8}$": "must be lower-case words joined by hyphens",
    r"^[a-z0-9]+(-[a-z0-9]+)*$": "must be lower-case words joined by hyphens",
    r"^[0-9a-f]{40}$": "must be a full commit, 40 hexadecimal digits",
    r"^https?://\S+$": "must be an address that starts with http:// or https://",
}


def toml_type(value: object) -> str:
    """The kind of a value in TOML's own words."""
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "a boolean"),
        (int, "an integer"),
        (float, "a float"),
        (str, "a string"),
        (datetime.datetime, "a date with a time"),
        (datetime.date, "a date"),
        (datetime.time, "a time"),
        ((list, tuple), "an array"),
        (dict, "a table"),
    )
    return next((name for types, name in names if isinstance(value, types)), "something else")


def _unknown_key(where: Path, root: type[BaseModel], holder: type[BaseModel]) -> str:
    key = str(where[-1])
    table = where[:-1]
    known = known_keys(holder)
    if table and key in known_keys(root):
        return (
            f"unknown key `{key}` in {_table(table)}; it is a key of the file itself: move it above the first [table]."
        )
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    advice = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}."
    return f"unknown key `{key}` in {_table(table)}; {advice}"


def _not_allowed(name: str, detail: ErrorDetails) -> str:
    expected = str(detail.get("ctx", {}).get("expected", ""))
    choices = re.findall(r"'([^']*)'", expected) or [expected]
    value = detail["input"]
    if not isinstance(value, str):
        return f"`{name}` is {toml_type(value)} `{value}`; allowed: {', '.join(choices)}."
    near = difflib.get_close_matches(value, choices, n=1)
    advice = f" Did you mean `{near[0]}`?" if near else ""
    return f"`{name}` is `{value}`; allowed: {', '.join(choices)}.{advice}"


def _dotted(where: Path) -> str:
    text = ""
    for step in where:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _table(where: Path) -> str:
    """A table in the form in which the file writes it, with its number if there are several."""
    if not where:
        return "the file"
    if isinstance(where[-1], int):
        return f"[[{'.'.join(str(step) for step in where if isinstance(step, str))}]] number {where[-1] + 1}"
    return f"[{'.'.join(str(step) for step in where if isinstance(step, str))}]"
