"""Two prefixes `[rankN]:`: the outer one is the launcher's and local, the inner one PyTorch's and global."""

from __future__ import annotations

import pytest

from assistant.logs.layout import Places, find_places
from corpus.record import Record, read_records


def source(*lines: str) -> list[Record]:
    return [record for number, line in enumerate(lines, start=1) for record in read_records(line.encode(), number)]


def ranks(*lines: str) -> list[int | None]:
    records = source(*lines)
    places: Places = find_places(["job.log"], [records])
    return [places.rank_of(0, record) for record in records]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("[rank4]:[rank12]: RuntimeError: x", "[rank4]:step 1", "[rank0]:step 1"), [12, 12, None]),
        (("[rank4]:[rank4]: RuntimeError: x", "[rank4]:step 1"), [4, 4]),
        (("[rank0]:initialized rank 8 of world size 16 on host b (local_rank 0, pid 7)", "[rank0]:step 1"), [8, 8]),
        (("[rank4]:[rank12]: RuntimeError: x", "[rank4]:[rank4]: RuntimeError: x", "[rank4]:step 1"), [12, 4, None]),
        (("[rank3]:[E1130 10:00:00.0 a.cpp:1] [Rank 3] x",), [3]),
    ],
)
def test_the_inner_prefix_is_global(lines: tuple[str, ...], expected: list[int | None]) -> None:
    assert ranks(*lines) == expected
