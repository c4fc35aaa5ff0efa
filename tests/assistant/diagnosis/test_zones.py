"""How far clocks of two time zones may differ: one table for all that ask."""

from __future__ import annotations

import pytest

from assistant.diagnosis.zones import ZONES_S, zone_shift


@pytest.mark.parametrize(
    ("gap", "hours"),
    [
        (7_260.0, 2.0),
        (-7_140.0, -2.0),
        (19_830.0, 5.5),
        (20_700.0, 5.75),
        (5_400.0, None),
        (60.0, None),
        (90_000.0, None),
    ],
)
def test_a_gap_is_a_shift_where_a_zone_makes_it_small(gap: float, hours: float | None) -> None:
    shift = zone_shift(gap, 120.0)
    assert (shift / 3600 if shift is not None else None) == hours


def test_every_shift_is_there_both_ways() -> None:
    assert set(ZONES_S) == {-zone for zone in ZONES_S} and 0.0 not in ZONES_S
