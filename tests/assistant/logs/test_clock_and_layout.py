"""Times are put on one axis where that can be done, places are read where they are written."""

from __future__ import annotations

import math

import pytest

from assistant.logs.clock import build_clock
from assistant.logs.layout import bus_id, find_places, is_kernel_name, world_sizes
from corpus.record import Record, read_records


def source(*lines: str) -> list[Record]:
    return [record for number, line in enumerate(lines, start=1) for record in read_records(line.encode(), number)]


def test_stamps_without_year_take_it_from_the_run() -> None:
    clock = build_clock([source("2026-11-30T12:00:00Z a"), source("[E1130 12:00:05.0 x.cpp:1] b")])
    first, second = clock.at(0, 1), clock.at(1, 1)
    assert first is not None and second is not None
    assert first.before(second) == pytest.approx(5.0)
    assert second.iso() == "2026-11-30T12:00:05.000Z"


def test_new_year_lies_between() -> None:
    clock = build_clock([source("2026-01-01T00:00:10Z a"), source("Dec 31 23:59:50 node-b x: b")])
    first, second = clock.at(0, 1), clock.at(1, 1)
    assert first is not None and second is not None
    assert second.before(first) == pytest.approx(20.0)


def test_a_guessed_year_is_not_shown() -> None:
    moment = build_clock([source("Nov 30 12:00:00 node-b x: b")]).at(0, 1)
    assert moment is not None and moment.iso() is None


def test_time_of_day_passes_midnight() -> None:
    clock = build_clock([source("2026-11-30 23:59:59 a", "00:00:01 b")])
    first, second = clock.at(0, 1), clock.at(0, 2)
    assert first is not None and second is not None
    assert first.before(second) == pytest.approx(2.0)


def test_boot_time_is_not_compared_with_wall_time() -> None:
    clock = build_clock([source("[12.000000] a"), source("2026-11-30T12:00:00Z b")])
    first, second = clock.at(0, 1), clock.at(1, 1)
    assert first is not None and second is not None
    assert first.before(second) is None


def test_lines_without_a_time_inherit() -> None:
    clock = build_clock([source("no time yet", "2026-11-30T12:00:00Z a", "b", "c")])
    assert clock.at(0, 1) is None
    below, stamped = clock.at(0, 4), clock.at(0, 2)
    assert below is not None and stamped is not None
    assert (below.axis, below.seconds) == (stamped.axis, stamped.seconds)


@pytest.mark.parametrize(
    ("lines", "late"),
    [
        (("2026-11-30T12:00:00Z step 1", "Segmentation fault"), math.inf),
        (("2026-11-30T12:00:00Z step 1", "Segmentation fault", "2026-11-30T12:05:00Z step 2"), 300.0),
        (("2026-11-30T12:00:00Z ERROR failed", "Traceback (most recent call last):"), 0.0),
        (("2026-11-30T12:00:00Z step 1", "2026-11-30T12:05:00Z step 2"), 0.0),
    ],
)
def test_an_inherited_time_is_the_earliest(lines: tuple[str, ...], late: float) -> None:
    moment = build_clock([source(*lines)]).at(0, 2)
    assert moment is not None and moment.late == late


def test_times_of_day_pass_midnight() -> None:
    clock = build_clock(
        [source("20:00:00 INFO a", "23:59:52 INFO b", "00:00:07 INFO c", "23:59:59 INFO d"), source("00:00:05 INFO e")]
    )
    moments = [clock.at(0, 2), clock.at(0, 3), clock.at(0, 4), clock.at(1, 1)]
    seconds = [moment.seconds for moment in moments if moment is not None]
    assert seconds == [86392.0, 86407.0, 86399.0, 86405.0]


@pytest.mark.parametrize(
    ("late", "early", "days"),
    [
        (("23:59:57 INFO a", "23:59:59 INFO b"), ("00:00:03 INFO c", "00:00:55 INFO d"), 1),
        (("22:10:00 INFO a", "23:20:00 INFO b"), ("00:00:03 INFO c", "00:00:55 INFO d"), 0),
        (("23:59:57 INFO a", "23:59:59 INFO b"), ("04:00:00 INFO c", "04:10:00 INFO d"), 0),
        (("00:20:00 INFO a", "23:55:00 INFO b"), ("00:09:00 INFO c", "00:19:00 INFO d"), 0),
    ],
)
def test_a_source_that_begins_right_after_midnight_follows_one_that_ends_right_before(
    late: tuple[str, ...], early: tuple[str, ...], days: int
) -> None:
    clock = build_clock([source(*late), source(*early)])
    moment = clock.at(1, 1)
    assert moment is not None and moment.seconds // 86_400 == days


NCCL = "node-b:100:200 [5] NCCL INFO comm 0x1 rank 13 nranks 16 cudaDev 5 busId 8a000 - Init COMPLETE"


@pytest.mark.parametrize(
    ("line", "world"),
    [
        ("torchrun: world_size=16", 16),
        ("not equal to micro_batch_per_gpu * gradient_acc_step * world_size 256 != 8 * 4 * 4", None),
        ("world size 12 is not divisible by tensor parallel size 8", None),
    ],
)
def test_a_number_in_a_calculation_is_no_world_size(line: str, world: int | None) -> None:
    assert find_places(["job.log"], [source(line)]).world_size == world
    assert world_sizes(line) == ([world] if world is not None else [])


def test_nccl_maps_pci_addresses_to_ranks() -> None:
    places = find_places(["job.log"], [source(NCCL)])
    assert places.world_size == 16
    assert places.rank_of_pci("node-b", "0000:8a:00") == 13
    assert places.rank_of_pci("node-a", "0000:8a:00") is None
    assert places.rank_of(0, source("node-b:100:201 [5] NCCL WARN x")[0]) == 13


@pytest.mark.parametrize(
    ("address", "expected"), [("0000:8a:00.0", "8a000"), ("0000:8A:00", "8a000"), ("00000000:0B:00.0", "b000")]
)
def test_bus_id(address: str, expected: str) -> None:
    assert bus_id(address) == expected


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("run/attempt_0/3/stderr.log", 3),
        ("logs/rank_12.log", 12),
        ("worker-2.out", 2),
        ("train.log", None),
        ("rank3/out.txt", 3),
    ],
)
def test_ranks_in_file_names(path: str, rank: int | None) -> None:
    assert find_places([path], [[]]).source_rank.get(0) == rank


def test_a_kernel_log_names_its_host() -> None:
    places = find_places(["dmesg-node-b.log", "train.log"], [[], source("node-b:1:2 [0] NCCL INFO x")])
    assert places.source_host[0] == "node-b"


def test_the_failure_table_maps_pids() -> None:
    table = source("  host      : node-b", "  rank      : 6 (local_rank: 2)", "  exitcode  : -9 (pid: 4011)")
    places = find_places(["a.log"], [table])
    assert places.rank_of_pid[4011] == 6
    assert places.host_of_rank[6] == "node-b"


def test_conflicting_ranks_are_reported() -> None:
    places = find_places(["rank3.log"], [source("[rank5]: hello")])
    assert len(places.conflicts) == 1


@pytest.mark.parametrize(
    ("path", "kernel"), [("dmesg.txt", True), ("a/kern.log", True), ("journal-node-b.txt", True), ("train.log", False)]
)
def test_kernel_names(path: str, kernel: bool) -> None:
    assert is_kernel_name(path) is kernel


def test_a_kernel_log_is_anchored_by_a_line_that_another_log_has_with_both_times() -> None:
    syslog = source("2026-11-30T12:00:00+00:00 node-b kernel: [ 5000.123456] NVRM: Xid (PCI:0000:8a:00): 79")
    ring = source("[ 4990.000000] eth0: link up", "[ 5000.123456] NVRM: Xid (PCI:0000:8a:00): 79")
    clock = build_clock([ring, syslog])
    first, second = clock.at(0, 1), clock.at(0, 2)
    assert first is not None and second is not None
    assert (second.iso(), first.before(second)) == ("2026-11-30T12:00:00.000Z", pytest.approx(10.123456))


def test_a_kernel_log_of_another_boot_stays_on_its_own_axis() -> None:
    syslog = source("2026-11-30T12:00:00+00:00 node-b kernel: [ 5000.123456] NVRM: Xid (PCI:0000:8a:00): 79")
    moment = build_clock([source("[ 5000.123457] NVRM: Xid (PCI:0000:8a:00): 79"), syslog]).at(0, 1)
    assert moment is not None and moment.axis == "boot:0"


def test_a_line_without_a_stamp_is_not_older_than_its_own_rank() -> None:
    lines = (
        "[rank1]: 2026-11-30 12:00:50 a",
        "[rank2]: 2026-11-30 12:00:10 lags",
        "[rank1]: no stamp",
        "[rank3]: no stamp",
    )
    clock = build_clock([source(*lines)])
    seconds = [moment.iso() for line in (3, 4) if (moment := clock.at(0, line)) is not None]
    assert seconds == ["2026-11-30T12:00:50.000Z", "2026-11-30T12:00:10.000Z"]
