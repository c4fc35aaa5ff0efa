"""How far clocks of two time zones may differ."""

from __future__ import annotations

from typing import Final

_MINUTES: Final = (*range(60, 901, 60), 210, 270, 330, 345, 390, 525, 570, 630, 765, 825)
ZONES_S: Final = tuple(sorted(60.0 * minutes * sign for minutes in _MINUTES for sign in (1, -1)))
"""Seconds by which one clock may be ahead of another: the offsets in use, and whole hours, both ways."""


def zone_shift(gap: float, within: float) -> float | None:
    """The difference of two zones that brings something to just before something else: `gap` seconds, less the shift, are at most `within`."""
    fits = [zone for zone in ZONES_S if -1.0 <= gap - zone <= within]
    return min(fits, key=lambda zone: abs(gap - zone), default=None)
