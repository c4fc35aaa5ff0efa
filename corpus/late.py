"""Regular expressions that are compiled when they are first asked.

Compiling is a sixth of the time of a short diagnosis, and most patterns speak of
what few logs hold: a hung collective, a stack, a peer that went away.
"""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer", "pattern", "flags")


class _Late:
    """Stands for a pattern until one of its methods is asked."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._asked = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(*self._asked)
        # From now on the methods are found here, without a detour.
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, at the first use; an error in the pattern shows then (tests/corpus/test_late.py asks all)."""
    return cast("re.Pattern[str]", _Late(pattern, flags))
