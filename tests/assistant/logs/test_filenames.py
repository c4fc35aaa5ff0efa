"""Which known host a file name holds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs.filenames import SHORTEST_HOST, _HostNames


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
