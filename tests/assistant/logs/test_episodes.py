"""Error blocks fold to the line that decides them."""

from __future__ import annotations

import pytest

from assistant.logs.episodes import Episode, find_episodes
from corpus.record import Record, read_records


def records(text: str) -> list[Record]:
    lines = text.strip("\n").split("\n")
    return [record for number, line in enumerate(lines, start=1) for record in read_records(line.encode(), number)]


def decisive(text: str) -> list[tuple[str, str]]:
    return [(episode.kind, episode.decisive.message) for episode in find_episodes(records(text))]


SIMPLE = """
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    main()
KeyError: 'image'
"""

CHAIN = """
Traceback (most recent call last):
  File "a.py", line 3, in load
    open(path)
FileNotFoundError: [Errno 2] No such file or directory: 'x.json'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "b.py", line 9, in main
    load()
RuntimeError: could not load the configuration
"""

INTERLEAVED = """
[rank0]: Traceback (most recent call last):
[rank1]: Traceback (most recent call last):
[rank0]:   File "t.py", line 1, in f
[rank1]:   File "t.py", line 1, in f
[rank1]:     g()
[rank0]:     g()
[rank1]: ValueError: one
[rank0]: ValueError: zero
"""

RAY = """
(main pid=7) ray.exceptions.RayTaskError(ValueError): ray::Worker.init() (pid=9, ip=10.0.0.4)
(main pid=7)   File "w.py", line 3, in init
(main pid=7) ValueError: The memory capacity is unbalanced.
"""

ENGINE = """
Traceback (most recent call last):
  File "core.py", line 1, in run
    x()
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SIMPLE, [("exception", "KeyError: 'image'")]),
        (CHAIN, [("exception", "FileNotFoundError: [Errno 2] No such file or directory: 'x.json'")]),
        (INTERLEAVED, [("exception", "ValueError: zero"), ("exception", "ValueError: one")]),
        ("ValueError: bare exception", [("exception", "ValueError: bare exception")]),
        (
            "terminate called after throwing an instance of 'c10::Error'",
            [("fatal", "terminate called after throwing an instance of 'c10::Error'")],
        ),
        ("INFO:root:ValueError: is only told about", []),
        ("UserWarning: something is deprecated", []),
        ("Consider setting ERROR: level", []),
        (
            "Traceback (most recent call last):\n  File 'x', line 1\nKeyboardInterrupt",
            [("teardown", "KeyboardInterrupt")],
        ),
    ],
)
def test_decisive_lines(text: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(decisive(text)) == sorted(expected)


def one(text: str) -> Episode:
    episodes = find_episodes(records(text))
    assert len(episodes) == 1
    return episodes[0]


def test_wrapper_exceptions_are_carriers() -> None:
    assert one(ENGINE).carrier


def test_the_carried_exception_decides_in_ray_output() -> None:
    exceptions = [e for e in find_episodes(records(RAY)) if not e.carrier]
    assert [e.decisive.message for e in exceptions] == ["ValueError: The memory capacity is unbalanced."]


def test_a_nccl_warning_decides_over_the_exception_that_repeats_it() -> None:
    text = """
node-a:1:2 [0] misc/socket.cc:1 NCCL WARN Call to connect returned No route to host
torch.distributed.DistBackendError: NCCL error in: x.cpp:94, unhandled system error
"""
    first, second = find_episodes(records(text))
    assert (first.kind, second.carrier) == ("fatal", True)


def test_an_endless_traceback_is_bounded() -> None:
    text = "Traceback (most recent call last):\n" + '  File "x.py", line 1, in f\n' * 5_000
    assert find_episodes(records(text))


def test_a_relayed_traceback_is_as_loud_as_it_was_before_the_relay() -> None:
    stamp = "2025-10-30 02:14:12,311 - trainer - INFO - [rank0]: "
    text = [
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in f',
        "    assert meta is not None",
        "           ^^^^",
        "AssertionError",
    ]
    (found,) = find_episodes(records("\n".join(stamp + line for line in text)))
    assert (found.kind, found.decisive.message) == ("exception", "assert meta is not None")


def test_what_a_logger_tells_at_info_stays_quiet() -> None:
    stamp = "(Worker pid=7) INFO 08-10 23:02:36 [a.py:8] "
    text = ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "ValueError: no"]
    (found,) = find_episodes(records("\n".join(stamp + line for line in text)))
    assert found.kind == "warning"
