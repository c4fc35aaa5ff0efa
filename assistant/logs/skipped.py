"""What a directory or an archive holds beside logs: counted by reason, named by example, told once."""

from __future__ import annotations

from typing import Final, Literal

Reason = Literal["name", "binary", "empty"]
_WORDS: Final[dict[Reason, tuple[str, str]]] = {
    "name": ("by its name is no log", "by their names are no logs"),
    "binary": ("is not text", "are not text"),
    "empty": ("is empty", "are empty"),
}
EXAMPLES: Final = 2


class Skipped:
    """Files that were passed over, by the directory or archive that was given; an empty place is the command line."""

    def __init__(self) -> None:
        self._names: dict[str, dict[Reason, list[str]]] = {}

    def add(self, place: str, reason: Reason, name: str) -> None:
        """One file, as it is called below its place."""
        self._names.setdefault(place, {}).setdefault(reason, []).append(name.removeprefix(f"{place}!"))

    def notes(self) -> list[str]:
        """A sentence for each place, without a full stop."""
        return [_note(place, names) for place, names in self._names.items()]

    def told_of(self, place: str) -> str:
        """What is said of one place, without its name; empty when nothing was passed over there."""
        return _note(place, self._names[place]).removeprefix(f"{place}: ") if place in self._names else ""


def _note(place: str, names: dict[Reason, list[str]]) -> str:
    count = sum(map(len, names.values()))
    if not place and count == 1:
        return f"{names['empty'][0]} is empty"
    parts = []
    for reason, (one, more) in _WORDS.items():
        if reason in names:
            number = len(names[reason])
            parts.append(f"{number:,} {one if number == 1 else more} ({_some(names[reason])})")
    files = "1 file was passed over" if count == 1 else f"{count:,} files were passed over"
    return f"{place + ': ' if place else ''}{files}: {', '.join(parts)}"


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:EXAMPLES])
    return f"{shown} and {len(names) - EXAMPLES:,} more" if len(names) > EXAMPLES else shown
