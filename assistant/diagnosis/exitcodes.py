"""Exit codes and signals, decoded: 137 and -9 both mean that somebody sent SIGKILL.

Signal numbers are those of Linux on x86-64 and aarch64 (signal(7)).
"""

from __future__ import annotations

import re

SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
    9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
}  # fmt: skip

_CODE = re.compile(r"exit(?:ed)?[ _]?(?:with )?(?:exit )?(?:code|status)?\s*[:=]?\s*\(?(-?\d{1,3})\b", re.I)


def signal_of(code: int) -> str | None:
    """The signal that an exit code stands for: negative (Python) or 128+N (shells, containers)."""
    if code < 0:
        return SIGNALS.get(-code)
    return SIGNALS.get(code - 128) if code > 128 else None


def decode_exit(message: str) -> str:
    """A phrase that decodes the exit code of a line, or an empty text."""
    found = _CODE.search(message)
    if found is None:
        return ""
    code = int(found.group(1))
    name = signal_of(code)
    return f"exit code {code} means {name}" if name else ""
