"""The two themes; styles speak only in their variables."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

DARK: Final = Theme(
    name="firstfault-dark",
    primary="#6cb6ff",
    secondary="#9aa7b8",
    accent="#f2b866",
    success="#7ccf8a",
    warning="#e8c268",
    error="#ff7b72",
    foreground="#dfe6ee",
    background="#12161c",
    surface="#171d25",
    panel="#202833",
    dark=True,
)
LIGHT: Final = Theme(
    name="firstfault-light",
    primary="#0a58b0",
    secondary="#57606a",
    accent="#9a5b00",
    success="#1f7a34",
    warning="#8a6100",
    error="#b3261e",
    foreground="#1c2128",
    background="#fbfbfa",
    surface="#f3f4f5",
    panel="#e3e7ec",
    dark=False,
)
