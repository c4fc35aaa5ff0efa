"""Flight-recorder dumps: read as data, whatever the file tries."""

from __future__ import annotations

import json
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest

from assistant.logs.dataonly import NotPlainData, load_plain
from assistant.logs.flightrecorder import looks_like_dump, rank_of_name, read_dump


def dump(seq: int, done: int, *, op: str = "all_reduce", size: int = 8, ranks: str = "[0, 1, 2, 3]") -> dict[str, Any]:
    """A dump as PyTorch 2.5 writes it: two entries, the later one still scheduled unless it is done."""
    entries = [
        {
            "record_id": n, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": n, "p2p_seq_id": 0,
            "op_id": n, "profiling_name": f"nccl:{op}", "time_created_ns": n, "input_sizes": [[size, 2]],
            "state": "completed" if n <= done else "scheduled", "is_p2p": False, "frames": [],
        }
        for n in (seq - 1, seq)
    ]  # fmt: skip
    status = {"0": {"last_enqueued_collective": seq, "last_started_collective": -1, "last_completed_collective": done}}
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}}
    return {"version": "2.5", "pg_config": config, "pg_status": status, "entries": entries}


@pytest.mark.parametrize("form", [2, 4, 5, "json"])
def test_every_form_gives_the_same(form: int | str) -> None:
    value = dump(9, 8)
    data = json.dumps(value).encode() if form == "json" else pickle.dumps(value, int(form))
    assert looks_like_dump(data[:8192])
    found = read_dump(data, "run/nccl_trace_rank_3")
    assert (found.rank, found.version, found.members, found.status) == (3, "2.5", {"0": (0, 1, 2, 3)}, {"0": (9, 8)})
    assert [(work.seq, work.op, work.numel, work.is_done) for work in found.work] == [
        (8, "all_reduce", 16, True),
        (9, "all_reduce", 16, False),
    ]


class Hostile:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("never",))


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps({"version": "2.5", "entries": Hostile()}),
        b"\x80\x02cos\nsystem\n(S'x'\ntR.",
        b"\x80\x02i",
        pickle.dumps(Path("x")),
        b"\x80\x02}r" + struct.pack("<I", 2**32 - 1),
        b"\x80\x02" + b"\x8b" + struct.pack("<i", 2**31 - 1),
        b"\x80\x02X" + struct.pack("<I", 2**32 - 1) + b"short",
        b"\x80\x02(" + b"]" * 10,
        b"\x80\x02}" + b")" + b"\x85" * 5000 + b"Ns.",
        b"\x80\x02h\x05.",
        b"\x80\x02N" + b"\x8a\xff" + b"\xff" * 255 + b".",
        b"\x80\x02a.",
        b"",
    ],
    ids="object global inst path memo-bomb number-bomb text-bomb unfinished deep-key unknown-memo long-number bad-append empty".split(),
)
def test_a_pickle_that_is_more_than_data_is_refused(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotPlainData):
        load_plain(data)
    assert list(tmp_path.iterdir()) == []


def test_an_endless_pickle_ends() -> None:
    with pytest.raises(NotPlainData, match="more than 100 instructions"):
        load_plain(b"\x80\x02" + b"N0" * 1000, max_steps=100)


@pytest.mark.parametrize(
    "value",
    [[], {}, {"entries": 5}, {"entries": [1, {"process_group": 3, "collective_seq_id": "x"}], "pg_config": 1, "pg_status": [2]},
     {"entries": [{"collective_seq_id": 1, "input_sizes": [[{}]]}], "pg_config": {"a": {"ranks": "[9" * 99}}}],
)  # fmt: skip
def test_odd_content_is_survived(value: Any) -> None:
    try:
        found = read_dump(pickle.dumps(value), "x")
    except NotPlainData:
        return
    assert all(isinstance(work.seq, int) for work in found.work)


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("nccl_trace_rank_12", 12), ("a/comm_lib_trace_rank_0", 0), ("_dump_3.json", 3), ("x.tar!tmp/nccl_trace_rank_7", 7),
        ("trace.json", None),
    ],
)  # fmt: skip
def test_the_name_ends_with_the_rank(name: str, rank: int | None) -> None:
    assert rank_of_name(name) == rank
