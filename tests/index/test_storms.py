"""Storms: whatever short way settles their hits, counts and ranks are those of reading every line."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import worker
from index.blocks import Block, count_lines
from index.scanner import Scanner
from index.shapes import begins_word
from tests.index.scan_helpers import TEXTS, assert_exact, matcher, scan

MATCHER = matcher(
    [
        *TEXTS,
        "Error: {kind:name=Boom|Bang}",
        "npu",
        'lacks the "forward" function',
        "[Errno {code:int=28|122}] {why:name=No|Disk}",
        "Job aborted: Waiting up to {seconds:int} seconds",
        "{name} has been reduced.",
    ]
)
BODIES = [
    "Out of memory",
    "xOut of memory",
    "CUDA error {n} at /data/a.pt",
    "CUDA error {n} at ,",
    "NVRM: Xid (PCI:0000:8{h}:00): 79, pid={n}, GPU has fallen off",
    "NVRM: Xid (PCI:0000:8{h}:00): 31, pid={n}",
    "NVRM: Xid (PCI:0000:8{h}:00): {n}, pid=1",
    "Error: Boom",
    "RuntimeError: Boom",
    "AssertionError: Error: Bang",
    "\\nError: Boom",
    "&ltError: Boom &amp;",
    "npu {n}",
    "input {n}",
    'lacks the "forward" function',
    'lacks the \\"forward\\" function',
    'lacks the \\"forward\\" function and lacks the "forward" function',
    "[Errno 28] No",
    "[Errno 122] Disk",
    "ConnectError: [Errno {n}] No",
    "Job aborted: Waiting up to {n} seconds",
    "Job aborted: Waiting up to soon",
    "layer{n} has been reduced.",
    "signal 9 (killed), signal 9 (killed)",
    "ERROR Traceback",
    "calm",
]
HEADS = ["[rank{r}]: ", "[rank{r}]: 12:00:0{h} ", "2026-11-30 12:00:00 [rank{r}] ", "{r}: ", ""]


def storm(seed: int, lines: int, bodies: Sequence[str], heads: Sequence[str], ends: Sequence[str] = ("\n",)) -> bytes:
    chance = random.Random(seed)
    weights = [1 / (place + 1) for place in range(len(bodies))]
    made = []
    for _ in range(lines):
        values = {"r": chance.choice([0, 1, 7, 12, 63, 4711]), "n": chance.randrange(200), "h": chance.randrange(10)}
        body = chance.choices(bodies, weights)[0]
        made.append((chance.choice(heads) + body).format(**values) + chance.choice(ends))
    return "".join(made).encode()


@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from(BODIES), min_size=1, max_size=8, unique=True),
    st.lists(st.sampled_from(HEADS), min_size=1, max_size=2, unique=True),
    st.sampled_from([("\n",), ("\r\n",), ("\n", "\r\n"), (".\n", "\n")]),
    st.sampled_from([257, 4096, 262_144]),
    st.booleans(),
)
def test_a_storm_is_counted_exactly(
    seed: int, bodies: list[str], heads: list[str], ends: tuple[str, ...], block: int, is_cut: bool
) -> None:
    data = storm(seed, 120, bodies, heads, ends)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "CUT_AFTER", 0 if is_cut else worker.CUT_AFTER)
        patch.setattr(worker, "CALM", 8)
        scanner = Scanner(MATCHER, [b"ERROR", b"Traceback"])
        for _ in range(2):  # the second time all shapes are known
            assert_exact(scan(data, scanner=scanner, block=block), data, MATCHER)


@pytest.mark.parametrize("block", [1000, 65_536])
def test_eight_ranks_that_print_several_faults_by_turns(block: int) -> None:
    data = storm(5, 6_000, BODIES, HEADS[:2]) + b"[rank815]: Out of memory\n" + storm(6, 3_000, BODIES, HEADS[:2])
    result = scan(data, scanner=Scanner(MATCHER, [b"ERROR"]), block=block)
    assert_exact(result, data, MATCHER)
    atom = MATCHER.atom("Out of memory")
    assert atom is not None
    assert 815 in result.tallies[atom].ranks


def test_a_word_in_the_middle_of_longer_ones_is_passed_over_and_hides_no_other() -> None:
    lines = [b"[rank%d]: RuntimeError: Boom %d\n" % (number % 8, number) for number in range(500)]
    lines[400] = b"[rank9]: RuntimeError: Error: Boom\n"
    lines[450] = b"[rank3]: worker said \\nError: Bang\n"
    data = b"".join(lines)
    scanner = Scanner(MATCHER)
    for block in (2048, 262_144):
        assert_exact(scan(data, scanner=scanner, block=block), data, MATCHER)


@pytest.mark.parametrize(
    ("literal", "texts", "is_word"),
    [
        (b"Error:", ["Error: {name}"], True),
        (b"Error:", ["Error: {name}", "Value Error: {name}"], False),
        (b"Error:", ["Error: {name}{?, again?}"], True),
        (b"Out of memory", ["Out of memory"], False),  # its blanks may differ between two places of a line
        (b"[Errno", ["[Errno {int}]"], False),
        (b"\\u0041", ["A"], False),
    ],
)
def test_what_begins_a_word(literal: bytes, texts: list[str], is_word: bool) -> None:
    assert begins_word(literal, texts) is is_word


@given(st.binary(max_size=40_000).map(lambda data: b"\n" + data.replace(b"a", b"\n") + b"\n"), st.booleans())
def test_a_block_numbers_its_lines(raw: bytes, ends_line: bool) -> None:
    block = Block(raw, 7, starts_line=True, ends_line=ends_line)
    places = [place for place, byte in enumerate(block.text) if byte == 10]
    assert [block.number_at(place) for place in places] == list(range(7, 7 + len(places)))
    assert block.lines == count_lines(block.text) - 1 - (not ends_line)


def test_what_is_found_often_is_not_cut() -> None:
    whole = worker.Engine([b"the resource is exhausted", b"the resource is exhausted again"])
    sample = b"the tested and exhausted is " * 100
    assert whole.cut_for(sample).rests[0]
    assert whole.cut_for(sample + b"the resource is exhausted\n" * 3).rests == [b"", b""]
