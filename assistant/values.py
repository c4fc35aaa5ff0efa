"""The reader's own values in an entry's prose: `<pci>`, `<host>`, `<rank>` become what the log says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from assistant.verdict import Finding

_NAME: Final = re.compile(r"<([a-z][a-z0-9_]*)>")
_SAFE: Final = re.compile(r"(?!-)[\w./:@%+=,\-]{1,200}", re.ASCII)
"""What may stand in a command without quotes; a log could bind anything, and people paste commands."""
_REDACTED: Final = re.compile(r"[xX*.]{3,}|[\[<].*[\]>]")


def values_of(finding: Finding) -> dict[str, str]:
    """Values by name: what the deciding line bound first, then the other lines, then rank and host."""
    found: dict[str, str] = {}
    for line in finding.evidence:
        for name, value in line.captures.items():
            if value and not _REDACTED.fullmatch(value):
                found.setdefault(name, value)
    if len(finding.ranks) == 1:
        found.setdefault("rank", str(finding.ranks[0]))
    if len(finding.hosts) == 1:
        found.setdefault("host", finding.hosts[0])
    if "host" in found:
        found.setdefault("node", found["host"])
    return found


def fill(text: str, values: Mapping[str, str]) -> str:
    """Prose with the known values in it; a name without a value stays as it is."""
    return _NAME.sub(lambda found: values.get(found.group(1), found.group()), text)


def fill_command(text: str, values: Mapping[str, str]) -> str:
    """A command with the known values in it, but only those that a shell takes as one plain word."""
    return fill(text, {name: value for name, value in values.items() if _SAFE.fullmatch(value)})
