"""Every form of timestamp that launchers, trainers and kernels print."""

from __future__ import annotations

import pytest

from corpus.timestamp import read_inside, read_stamp

NOON = 1_796_040_000.0  # 2026-11-30 12:00:00 UTC


@pytest.mark.parametrize(
    ("text", "kind", "seconds", "zoned"),
    [
        ("2026-11-30T12:00:00Z x", "absolute", NOON, True),
        ("2026-11-30 12:00:00,250 - INFO", "absolute", NOON + 0.25, False),
        ("[2026-11-30 12:00:00] host", "absolute", NOON, False),
        ("2026-11-30T14:00:00.500+02:00 node-b", "absolute", NOON + 0.5, True),
        ("2026-11-30T07:00:00-0500 x", "absolute", NOON, True),
        ("2026/11/30 12:00:00 Starting", "absolute", NOON, False),
        ("[11/30/26 12:00:00] INFO", "absolute", NOON, False),
        ("11/30/2026 12:00:00 x", "absolute", NOON, False),
        ("[Mon Nov 30 12:00:00 2026] NVRM", "absolute", NOON, False),
        ("I20261130 12:00:00 step", "absolute", NOON, False),
        ("2026-Nov-30 12:00:00.5  NRT", "absolute", NOON + 0.5, False),
        ("Mon, 30 Nov 2026 13:00:00 +0100", "absolute", NOON, True),
        ("1796040000.125 epoch", "absolute", NOON + 0.125, True),
        ("E1130 12:00:00.5 77 a.cc:1]", "yearless", 975_585_600.5, False),
        ("[W810 23:02:42.4 TCPStore.cpp:125]", "yearless", 965_948_562.4, False),
        ("Nov 30 12:00:00 node-b kernel:", "yearless", 975_585_600.0, False),
        ("11-30 12:00:00 [core.py:1]", "yearless", 975_585_600.0, False),
        ("[482113.640021] NVRM", "monotonic", 482_113.640021, False),
        ("[   14.220871] NVRM", "monotonic", 14.220871, False),
        ("12:00:00 | step", "clock", 43_200.0, False),
        ("[12:00:00] step", "clock", 43_200.0, False),
    ],
)
def test_forms(text: str, kind: str, seconds: float, zoned: bool) -> None:
    found = read_stamp(text)
    assert found is not None
    assert found.stamp.kind == kind
    assert found.stamp.seconds == pytest.approx(seconds)
    assert found.stamp.zoned is zoned


@pytest.mark.parametrize(
    "text",
    [
        "2026-13-30 12:00:00",
        "2026-02-30 12:00:00",
        "E1330 12:00:00 x",
        "25:00:00 x",
        "step 12",
        "",
        "12:00",
        "[12.5] x",
        "v2026-11-30",
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert read_stamp(text) is None


@pytest.mark.parametrize(
    ("text", "level"),
    [("E1130 12:00:00.5 7 a.cc:1]", "E"), ("[W810 23:02:42.4 T.cpp:1]", "W"), ("2026-11-30 12:00:00 x", "")],
)
def test_glog_level(text: str, level: str) -> None:
    found = read_stamp(text)
    assert found is not None and found.level == level


def test_leap_day_without_year_is_a_date() -> None:
    assert read_stamp("Feb 29 10:00:00 host x:") is not None


@pytest.mark.parametrize(
    "text",
    [
        "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T12:00:00 DUE TO TIME LIMIT ***",
        "      Finished:     Mon, 30 Nov 2026 12:00:00 +0000",
        '        finishedAt: "2026-11-30T12:00:00Z"',
        'level=error ts=2026-11-30T12:00:00Z msg="x"',
        "  time      : 2026-11-30_12:00:00",
        '*** Aborted at 1796040000 (unix time) try "date -d @1796040000" ***',
        "*** SIGSEGV received at time=1796040000 on cpu 5 ***",
    ],
)
def test_times_inside_a_message(text: str) -> None:
    stamp = read_inside(text)
    assert stamp is not None
    assert (stamp.seconds, stamp.kind) == (NOON, "absolute")


@pytest.mark.parametrize(
    "text",
    [
        "the checkpoint of 2026-11-30T12:00:00 is the last one",
        "certificate expires AT once",
        "loss 2.1 at 12:00:00",
        "from time=2026-11-30T12:00:00Z to time=2026-11-30T13:00:00Z",
        "Aborted at 1796040000",
    ],
)
def test_what_is_no_time_of_the_message(text: str) -> None:
    assert read_inside(text) is None
