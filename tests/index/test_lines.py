from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from index.blocks import Limits
from index.scanner import Scanner, SourceScan
from tests.index.scan_helpers import SCANNER, lines_of, scan


def numbered(lines: int, *hits: int, width: int = 60) -> bytes:
    texts = [f"line {n} ".ljust(width, ".") + (" Out of memory" if n in hits else "") for n in range(1, lines + 1)]
    return "\n".join(texts).encode() + b"\n"


def assert_true_to_source(result: SourceScan, data: bytes) -> None:
    source = lines_of(data)
    for start, stop in result.windows.ranges():
        for number in range(start, stop):
            assert result.windows.get(number) == source[number - 1]


def test_a_small_source_is_kept_whole() -> None:
    data = numbered(3000)
    result = scan(data)
    assert result.windows.ranges() == [(1, 3001)]
    assert_true_to_source(result, data)
    assert [record.number for record in result.windows.records(10, 13)] == [10, 11, 12]


def test_any_stretch_of_a_whole_source_is_found_again() -> None:
    data = b"\n".join(b"line %d\rredrawn" % number if number % 3 else b"" for number in range(1, 3002))
    windows = scan(data).windows
    for start in (1, 2, 500, 1400, 2300, 2490, 2980):
        numbers = [record.number for record in windows.records(start, start + 40)]
        assert sorted(set(numbers)) == list(range(start, min(start + 40, 3002)))
        texts = {record.number: record.raw for record in windows.records(start, start + 40)}
        assert all(text == (f"line {n}\rredrawn" if n % 3 else "") for n, text in texts.items())


def test_a_large_source_keeps_head_tail_and_windows() -> None:
    data = numbered(60_000, 30_000)
    result = scan(data)
    assert_true_to_source(result, data)
    windows = result.windows
    for number in (1, 300, 29_960, 30_000, 30_059, 59_401, 60_000):
        assert windows.get(number) is not None, number
    assert windows.get(20_000) is None
    assert windows.get(60_001) is None
    assert windows.get(0) is None
    for start, stop in ((1, 40), (580, 640), (29_900, 30_100), (59_990, 60_001), (5, 5)):
        assert windows.span(start, stop) == [windows.get(number) or b"" for number in range(start, stop)]


@given(
    st.lists(st.integers(1, 2000), max_size=8),
    st.sampled_from([200, 1000, 5000, 40_000]),
    st.sampled_from([0, 2000]),
)
def test_windows_across_blocks(hits: list[int], block: int, whole: int) -> None:
    data = numbered(2000, *hits)
    result = scan(data, block=block, whole=whole, head=5, tail=7, before=4, after=6)
    assert_true_to_source(result, data)
    # The first few hits have their neighbourhood whole, as far as one block before them reaches.
    lines_in_block = max(1, block // 75 - 1)
    for hit in sorted(set(hits))[:4]:
        wanted = range(max(1, hit - min(4, lines_in_block)), min(2001, hit + 6))
        assert all(result.windows.get(number) is not None for number in wanted), (hit, result.windows.ranges())
    assert all(result.windows.get(number) is not None for number in range(1, 6))
    assert result.windows.get(2000) is not None


def test_memory_of_a_source_is_bounded() -> None:
    data = b"".join(b"[rank%d]: %d Out of memory %s\n" % (n % 64, n, b"x" * 400) for n in range(20_000))
    result = scan(data, memory=1 << 20)
    assert result.windows.size < 3 << 20


def test_many_sources_share_the_memory() -> None:
    scanner = Scanner(SCANNER._matcher)
    data = numbered(5000, 2500)
    limits = {"total": 1 << 20}
    kept = [scan(data, scanner=scanner, **limits).windows.size for _ in range(20)]
    assert kept[0] == len(data)
    assert kept[-1] < len(data) // 10
    last = scan(data, scanner=scanner, **limits).windows
    assert last.get(2500) is not None
    assert last.get(5000) is not None


def test_ansi_lines_are_kept_as_they_are() -> None:
    text = [f"\x1b[3{n % 8}mline {n}\x1b[0m" for n in range(30_000)]
    text[20_000] = "\x1b[31mOut of \x1b[1mmemory\x1b[0m"
    data = "\n".join(text).encode() + b"\n"
    result = scan(data)
    assert_true_to_source(result, data)
    assert result.windows.get(20_001) == text[20_000].encode()
    assert result.windows.get(19_990) == text[19_989].encode()


def test_defaults_are_what_the_budget_allows() -> None:
    assert Limits().memory == 16 << 20
