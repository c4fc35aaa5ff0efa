"""Which known host a file name holds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs.filenames import SHORTEST_HOST, _HostNames
from assistant.logs.layout import find_places
from corpus.record import read_records


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("node-1.log", "node-1"),
        ("node-12.log", "node-12"),
        ("logs/node-12/rank0.log", "node-12"),
        ("node-123.log", None),
        ("xnode-1.log", None),
        ("job_node-1_rank3.out", "node-1"),
        ("gpu07.log", "gpu07.cluster.local"),
        ("a1.log", None),  # too short to mean anything
        ("node-1-node-12.log", "node-12"),  # the longer name tells more
    ],
)
def test_a_host_stands_alone_in_a_name(name: str, expected: str | None) -> None:
    assert _HostNames({"node-1", "node-12", "gpu07.cluster.local", "a1"}).in_name(name) == expected


@given(st.sets(st.text("ab1-_.", min_size=1, max_size=6), max_size=6), st.text("ab1-_./", max_size=24))
def test_it_is_what_a_pattern_for_each_host_finds(hosts: set[str], name: str) -> None:
    def holds(host: str) -> bool:
        short = re.escape(host.split(".")[0])
        beside = "[A-Za-z0-9]"
        return len(host.split(".")[0]) > SHORTEST_HOST and bool(re.search(f"(?<!{beside}){short}(?!{beside})", name))

    ordered = sorted(hosts, key=lambda host: (-len(host), host))
    assert _HostNames(hosts).in_name(name) == next(filter(holds, ordered), None)


def ranks_of(lines: dict[str, str]) -> list[int | None]:
    """Of each file the rank of its last line, which itself says none."""
    paths = list(lines)
    records = [[*read_records(text.encode(), 1), *read_records(b"last words", 2)] for text in lines.values()]
    places = find_places(paths, records)
    return [places.rank_of(index, mine[-1]) for index, mine in enumerate(records)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # each node counts anew: the number of the name is the rank of nobody
        ({f"node-{node}/rank_{local}.log": "x" for node in "ab" for local in (0, 1)}, [None] * 4),
        ({f"alpha{node}/rank_{local}.log": "world_size=4" for node in "xy" for local in (0, 1)}, [None] * 4),
        # lines of two others of that node say how far they count on
        (
            {"node-b/rank_0.log": "[rank4]: x", "node-b/rank_1.log": "[rank5]: x", "node-b/rank_2.log": "x"},
            [4, 5, 6],
        ),
        ({"node-b/rank_0.log": "[rank4]: x", "node-b/rank_1.log": "x"}, [4, None]),
        # ranks of the job stay: each in one place only, or beside lines that say the same
        ({"n0/rank_0.log": "x", "n0/rank_1.log": "x", "n1/rank_2.log": "x", "n1/rank_3.log": "x"}, [0, 1, 2, 3]),
        ({"out/rank_0.log": "x", "err/rank_0.log": "x", "out/rank_1.log": "x"}, [0, 0, 1]),
        ({"logs/rank_0.log": "[rank0]: x", "logs/rank_1.log": "x"}, [0, 1]),
    ],
    ids=["nodes", "world", "shifted", "one-of-them", "global", "streams", "said"],
)
def test_ranks_that_each_node_counts_anew_are_no_ranks_of_the_job(
    lines: dict[str, str], expected: list[int | None]
) -> None:
    assert ranks_of(lines) == expected


@pytest.mark.parametrize(
    ("texts", "ranks"),
    [
        (["[rank0]: a", "[rank1]: a", "a", "[rank3]: a"], {0: 0, 1: 1, 2: 2, 3: 3}),
        (["[rank0]: a", "a", "a", "a"], {}),
        (["[rank0]: a", "[rank3]: a", "a", "[rank1]: a"], {}),
    ],
    ids=["row", "too-few", "another-number"],
)
def test_a_row_of_numbers_that_some_lines_give_as_ranks(texts: list[str], ranks: dict[int, int]) -> None:
    """Slurm writes `slurm-%j.%t.out`: the number has no name, and a task may never print its rank."""
    paths = [f"logs/slurm-88.{number}.out" for number in range(len(texts))]
    places = find_places(paths, [read_records(text.encode(), 1) for text in texts])
    assert places.source_rank == ranks


@pytest.mark.parametrize(
    ("line", "world"),
    [("process 3 / 8", 8), ("process 3 / 8 batches", None), ("3 / 8", None), ("process: 3/8 files", None)],
)
def test_a_count_of_things_is_no_world(line: str, world: int | None) -> None:
    places = find_places(["train.log"], [read_records(line.encode(), 1)])
    assert (places.world_size, places.source_rank) == (None, {0: 3} if world else {})
