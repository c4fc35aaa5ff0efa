"""The machine that an entry's line names.

Launchers, schedulers and runtimes name the host that they speak of. Other lines
give nodes of a graph, addresses that could not be looked up, or the far end of a
connection under the same name; those are where nothing of the job ran.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from corpus.late import late
from corpus.match import Hit

_NAMES = ("host", "hosts", "node", "ip")
_KINDS = frozenset({"host", "ip"})
_MACHINE = re.compile(r"[A-Za-z][\w.\-]*|\d{1,3}(?:\.\d{1,3}){3}")
_FAR_END = late(
    r"\b(?:connect(?:ion|ing|ed)?|resolv\w{1,4}|look(?:ing)? ?up|dial(?:ing)?|tcp|bind|operation \w{1,40}) (?:to )?[^.;()]{0,40}$",
    re.I,
)
"""What stands before the name of a machine that the printing one wanted something of."""


def named_machine(hit: Hit, texts: Collection[str], known: Collection[str]) -> str | None:
    """The machine that a hit's line says it is about; `texts` are those of its signature, `known` the hosts of the run.

    A list of hosts names none.
    """
    for name in _NAMES:
        capture = hit.captures.get(name)
        if capture is None or capture.redacted or _MACHINE.fullmatch(capture.text) is None:
            continue
        if capture.text in known:
            return capture.text
        if not _is_machine(name, texts) or _FAR_END.search(_before(hit, capture.text)) is not None:
            continue
        return capture.text
    return None


def _before(hit: Hit, value: str) -> str:
    """What stands before a value in the text that the signature matched, and some of what stands before that."""
    return hit.record.text[: hit.end].rpartition(value)[0][-200:]


def _is_machine(name: str, texts: Collection[str]) -> bool:
    """Whether a signature takes a value for a machine: only `hosts` may be of any kind, because lists are."""
    kinds = {found.group(1) for text in texts for found in re.finditer(rf"\{{{name}:(\w+)", text)}
    return name == "hosts" or bool(kinds & _KINDS)
