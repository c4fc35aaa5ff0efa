"""Prefixes, wrappings and encodings must not hide a literal, and are kept as identity."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.record import read_records

BOOM = "RuntimeError: CUDA error: device-side assert triggered"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"[rank3]: {BOOM}", {"rank": 3}),
        (
            f"[rank3]:[E612 10:02:17.331 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 3] {BOOM}",
            {"rank": 3, "level": "ERROR"},
        ),
        (f"[default0]:{BOOM}", {"local_rank": 0}),
        (f"[1,7]<stderr>: {BOOM}", {"rank": 7}),
        (f"(raylet) [2026-08-05 15:21:29,851 E 9751 9751] (raylet) a.cc:3084: {BOOM}", {"level": "ERROR"}),
        (f"(raylet, ip=10.0.0.7) {BOOM}", {"host": "10.0.0.7"}),
        (f"ERROR flwr 2026-08-05 15:21:31,004 | {BOOM}", {"level": "ERROR"}),
        (f"[task 118] {BOOM}", {"task": 118}),
        (f"12: {BOOM}", {"task": 12}),
        (f"(Worker_TP12 pid=114) ERROR 08-10 23:02:36 [a.py:8] {BOOM}", {"rank": 12, "pid": 114, "level": "ERROR"}),
        (f"(RayWorkerWrapper pid=88, ip=10.0.0.7) {BOOM}", {"pid": 88, "host": "10.0.0.7"}),
        (f"2026-11-30T12:00:00.1Z stderr F [rank1]: {BOOM}", {"rank": 1}),
        (f"[pod/train-worker-1/pytorch] {BOOM}", {"container": "train-worker-1"}),
        (f"Nov 30 12:41:58 node-b kernel: [  812.500000] {BOOM}", {"host": "node-b", "program": "kernel"}),
        (f"Nov 30 12:41:58 node-b slurmd[22]: {BOOM}", {"host": "node-b", "pid": 22, "program": "slurmd"}),
        (f"[482113.640021] {BOOM}", {"program": "kernel"}),
        (f"gpu-r01:33210:33322 [4] {BOOM}", {"host": "gpu-r01", "pid": 33210, "gpu": 4}),
        (f"node12: {BOOM}", {"host": "node12"}),
        (f"[2026-11-30 12:00:00,123] [ERROR] [engine.py:12:step] [Rank 5] {BOOM}", {"level": "ERROR"}),
        (f"worker-0-1  | {BOOM}", {"container": "worker-0"}),
        (f"10.20.31.14: [rank3]: {BOOM}", {"host": "10.20.31.14", "rank": 3}),
        (f"[1,1]<stderr>:E tensorflow/stream_executor/cuda/cuda_driver.cc:806] {BOOM}", {"rank": 1, "level": "ERROR"}),
        (
            f"[1665612209.408366] [nodeb-71:20358:0]       mm_posix.c:194  UCX  ERROR {BOOM}",
            {"host": "nodeb-71", "pid": 20358, "level": "ERROR"},
        ),
    ],
)
def test_prefixes_become_identity(line: str, expected: dict[str, object]) -> None:
    (record,) = read_records(line.encode(), 5)
    assert record.message == BOOM
    assert record.number == 5
    assert {name: getattr(record, name) for name in expected} == expected


@pytest.mark.parametrize(
    "raw",
    [
        f"\x1b[31m{BOOM[:20]}\x1b[1m{BOOM[20:]}\x1b[0m".encode(),
        f"  3%|3 | 1/30\r  6%|6 | 2/30\r{BOOM}".encode(),
        f"{BOOM}\r\n".encode(),
        b"\xff\xfe\xfa" + BOOM.encode(),
        json.dumps({"level": "error", "msg": BOOM}).encode(),
        json.dumps({"log": f"{BOOM}\n", "stream": "stderr"}).encode(),
        f"│ {BOOM}                 │".encode(),
        BOOM.encode().replace(b"Error", b"Er\x00ror"),
    ],
    ids=["ansi", "redraw", "crlf", "bad-utf8", "json", "docker-json", "box", "nul"],
)
def test_wrapping_does_not_hide_the_text(raw: bytes) -> None:
    assert any(BOOM in record.text for record in read_records(raw, 1))


def test_json_identity_and_stack_lines() -> None:
    data = {
        "time": "2026-11-30T12:00:00Z",
        "severity": "error",
        "rank": 4,
        "host": "node-b",
        "message": "boom\nsecond",
        "stack": "a\nb",
    }
    records = read_records(json.dumps(data).encode(), 9)
    assert [record.message for record in records] == ["boom", "second", "a", "b"]
    assert {(record.rank, record.host, record.level, record.number) for record in records} == {
        (4, "node-b", "ERROR", 9)
    }


def test_loguru_and_tracing_say_where_below_the_message() -> None:
    text = "2026-11-30 12:00:00.000 | ERROR    | __main__:fit:1 - failed\nTraceback (most recent call last):\nKeyError: 'x'\n"
    loguru = {"text": text, "record": {"message": "failed", "extra": {"rank": 3}, "level": {"name": "ERROR"}}}
    records = read_records(json.dumps(loguru).encode(), 1)
    assert [record.message for record in records][1:] == ["Traceback (most recent call last):", "KeyError: 'x'"]
    assert {(record.rank, record.level) for record in records} == {(3, "ERROR")}
    tracing = {"fields": {"message": "boom"}, "span": {"rank": 1, "name": "shard-manager"}}
    assert [(r.message, r.rank) for r in read_records(json.dumps(tracing).encode(), 1)] == [("boom", 1)]


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: x",
        "slurmstepd: error: *** STEP 1.0",
        "srun: error: node01: task 0",
        "bash: line 3: foo: command not found",
        "python3: can't open file",
        "loss: 3.2",
        "{not json}",
    ],
)
def test_ordinary_text_is_not_taken_for_a_prefix(line: str) -> None:
    (record,) = read_records(line.encode(), 1)
    assert record.message == line
    assert record.rank is None and record.host is None and record.task is None


@given(st.binary(max_size=300))
def test_any_bytes_are_records(raw: bytes) -> None:
    for record in read_records(raw, 1):
        assert record.number == 1
        assert record.message in record.text or not record.message


def test_depth_of_nested_json_is_no_crash() -> None:
    raw = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
    assert read_records(raw[:200_000], 1)


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("2026-11-30 09:00:00 eval prompt: 'what is up?'", None),
        ("Nov 30 09:00:00 eval prompt: 'what is up?'", None),
        ("2026-11-30T09:00:00Z model answer: 42", None),
        ("2026-11-30 09:00:00 step loss: 2.0", None),
        ("Nov 30 09:00:00 worker7 trainer: started", "worker7"),
        ("Nov 30 09:00:00 athena trainer[77]: started", "athena"),
        ("Nov 30 09:00:00 athena slurmd: launch task", "athena"),
        ("Nov 30 09:00:00 athena systemd-oomd: killed", "athena"),
        ("Nov 30 09:00:00 athena kernel: Xid", "athena"),
    ],
)
def test_two_words_before_a_colon_are_host_and_program_only_where_they_look_like_it(
    line: str, host: str | None
) -> None:
    (record,) = read_records(line.encode(), 1)
    assert record.host == host
    assert record.message.endswith(line[-3:])
