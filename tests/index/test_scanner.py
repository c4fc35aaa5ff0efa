from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import worker
from index.blocks import Block
from index.scanner import Scanner, SourceScan
from index.tallies import LateLines
from tests.index.scan_helpers import MATCHER, SCANNER, assert_exact, matcher, scan

PLAIN = b"[rank3]: step 12 loss 0.25\n"


def numbers(result: SourceScan, text: str) -> list[int]:
    atom = MATCHER.atom(text)
    return [hit.record.number for hit in result.hits if hit.atom == atom]


# ---- the scan finds what reading every line finds

HIT = st.sampled_from(
    [
        "Out of memory",
        "xOut of memory",
        "Out of memory and again Out of memory",
        "CUDA error 700 at /data/a.pt",
        "CUDA error 7 at ,",
        "NVRM: Xid (PCI:0000:8a:00): 79, pid=5, GPU has fallen off",
        "NVRM: Xid (PCI:0000:8a:00): 31, pid=551",
        "NVRM: Xid (PCI:0000:8b:00): 78, pid=551",
        "peer node-7 with status=12 opcode=0",
        "peer node-7 with status=13 opcode=0",
        "signal 9 (killed)",
        "signal 11 (killed)",
        'said "no space" again',
        "address 0x7f3a91 is bad",
        "address 0xdead01 is bad",
        "loss is nan at step 77",
        "loss is 1.25 at step 7",
        "shard 3 of 64 failed",
        "shard 13 of 64 (retry 2) failed",
        "exit code -9",
        "exit code 137",
        "exit code 138",
        "tile <q> is gone",
        "Traceback (most recent call last):",
        "",
    ]
)
PREFIX = st.sampled_from(
    [
        "",
        "[rank{n}]: ",
        "{n}: ",
        "2026-11-30 12:00:{n:02d},123 ",
        "2026-11-30 12:00:00,123 [rank{n}] ERROR ",
        "[rank{n}]: {n} ",
        "node-a:{n}:{n} [{n}] NCCL WARN ",
        "\x1b[31m[rank{n}]\x1b[0m: ",
        "old\r[rank{n}]: ",
        "{{",
    ]
)
SUFFIX = st.sampled_from(["", "\r", " ", ".", "1", " 12", "\x1b[0m", "\0", "}", ' "quoted"', " 0x1f"])


@st.composite
def line(draw: st.DrawFn) -> str:
    text = draw(PREFIX).format(n=draw(st.integers(0, 120))) + draw(HIT) + draw(SUFFIX)
    form = draw(st.integers(0, 9))
    if form == 0:
        return json.dumps({"rank": draw(st.integers(0, 9)), "message": text})
    if form == 1:
        return json.dumps({"note": text, "message": "nothing"})
    if form == 2:
        return text.replace("<", "&lt;").replace(">", "&gt;")
    return text


@given(
    st.lists(line(), max_size=60),
    st.booleans(),
    st.sampled_from([64, 257, 4096, 262144]),
    st.sampled_from([None, 7, 1000]),
    st.integers(1, 4),
)
def test_equals_reading_every_line(
    lines: list[str], ends_with_newline: bool, block: int, step: int | None, repeat: int
) -> None:
    data = "\n".join(lines * repeat).encode() + (b"\n" if ends_with_newline else b"")
    assert_exact(scan(data, block=block, step=step), data)


@given(st.lists(line(), max_size=60), st.sampled_from([64, 257, 4096]), st.sampled_from([0, 2, 256]))
def test_cut_literals_find_the_same(lines: list[str], block: int, calm: int) -> None:
    lines += ["Out of memo", "Out of memory", "Out of mem", "Traceback (most", "CUDA error 7 at /x", "signal 9 (kill)"]
    data = "\n".join(lines * 3).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "CUT_AFTER", 0)
        patch.setattr(worker, "CALM", calm)
        assert_exact(scan(data, scanner=Scanner(MATCHER, [b"Traceback (most recent call last)"]), block=block), data)


def test_a_literal_is_cut_where_its_end_is_rare() -> None:
    whole = worker.Engine([b"the resource is exhausted", b"short", b""])
    cut = whole.cut_for(b"the tested and exhausted is " * 100)
    assert b"the resource is exhausted".endswith(cut.rests[0])
    assert cut.rests[0]
    assert cut.rests[1:] == [b"", b""]
    assert whole.rests == []


@given(st.binary(max_size=3000), st.sampled_from([64, 1024]))
def test_takes_any_bytes(data: bytes, block: int) -> None:
    data = data.replace(b"\xff\xfe", b"").replace(b"\xfe\xff", b"").replace(b"\xef\xbb\xbf", b"")
    if data.count(b"\0") > len(data) // 4:
        data = data.replace(b"\0", b"")
    result = scan(data + b"\nOut of memory\n", block=block)
    assert result.lines == data.count(b"\n") + 2
    assert result.bytes == len(data) + 15
    assert numbers(result, "Out of memory")[-1] == result.lines


def test_remembered_shapes_tell_the_digits_of_a_text_apart() -> None:
    lines = [b"NVRM: Xid (PCI:0000:8a:00): %d, pid=%d, GPU has fallen off" % (30 + n % 60, n) for n in range(3000)]
    data = b"\n".join(lines)
    assert_exact(scan(data), data)


def test_a_literal_twice_on_a_line_is_one_line() -> None:
    data = b"".join(b"[rank%d]: Out of memory, Out of memory %d\n" % (n % 70, n) for n in range(500))
    assert_exact(scan(data, block=1000), data)


def test_a_literal_hundreds_of_times_on_a_line_is_one_line_and_hides_no_other() -> None:
    crowded = b"[rank3]: " + b"Out of memory, " * 700
    data = b"\n".join([b"[rank1]: Out of memory 1", crowded, b"[rank2]: Out of memory 2", crowded, b""])
    assert_exact(scan(data), data)


# ---- storms


def storm(lines: int, ranks: int) -> bytes:
    return b"".join(
        b"[rank%d]: 2026-11-30 12:00:00,%03d CUDA error %d at /data/%d.pt\n" % (n % ranks, n % 1000, n % 977, n % 13)
        for n in range(lines)
    )


def test_a_rank_that_appears_late_in_a_storm_is_seen() -> None:
    data = storm(20_000, 8) + b"[rank4711]: 2026-11-30 12:00:00,000 CUDA error 1 at /data/1.pt\n" + storm(5_000, 8)
    result = scan(data)
    assert_exact(result, data)
    (tally,) = result.tallies.values()
    assert tally.ranks == {*range(8), 4711}
    assert 20_001 in [hit.record.number for hit in result.hits]


def test_a_storm_keeps_its_first_and_last_hits_only() -> None:
    result = scan(storm(30_000, 4), keep=10, keep_last=5)
    kept = [hit.record.number for hit in result.hits]
    assert kept[:10] == list(range(1, 11))
    assert kept[-5:] == list(range(29_996, 30_001))
    assert len(kept) == 15


def test_rank_is_found_wherever_it_stands() -> None:
    lines = [json.dumps({"time": n, "message": f"CUDA error {n} at /x", "rank": n % 37}) for n in range(2000)]
    lines += [f"2026-11-30 12:00:{n % 60:02d} [rank{n % 41}] Out of memory {n % 41}" for n in range(2000)]
    data = "\n".join(lines).encode()
    assert_exact(scan(data), data)


def test_hashes_do_not_defeat_the_memory() -> None:
    data = b"".join(b"[rank%d]: address 0x%08x is bad\n" % (n % 9, n * 2654435761 % 2**32) for n in range(3000))
    scanner = Scanner(MATCHER)
    assert_exact(scan(data, scanner=scanner), data)
    plans = scanner._local.worker._lookup.plans
    assert sum(len(plan.shapes) for plan in plans.values()) < 400


# ---- blocks, lines, bytes


@pytest.mark.parametrize("offset", range(-3, 4))
def test_nothing_is_lost_at_the_border_of_a_block(offset: int) -> None:
    filler = (PLAIN * 40_000)[: 262_144 + offset - 7]
    filler = filler[: filler.rfind(b"\n") + 1]
    data = filler + b"Out of memory\n" + PLAIN * 3 + b"Out of memory"
    assert_exact(scan(data), data)


def test_ansi_inside_a_literal_does_not_hide_it() -> None:
    data = PLAIN + b"\x1b[31mOut of\x1b[0m memory\n" + b"\x1b]0;title\x07Out of \x1b[1mmem\x1b[0mory\n" + PLAIN
    result = scan(data)
    assert numbers(result, "Out of memory") == [2, 3]
    assert result.windows.get(2) == b"\x1b[31mOut of\x1b[0m memory"


def test_crlf_and_lone_cr() -> None:
    data = b"one\r\nOut of memory\r\n 10%\r 20%\rOut of memory\r\nsignal 9 (killed)\r"
    result = scan(data)
    assert result.lines == 4
    assert numbers(result, "Out of memory") == [2, 3]
    assert numbers(result, "signal 9 (killed)") == [4]


def test_json_escapes() -> None:
    data = json.dumps({"message": 'said "no space" again'}).encode() + b"\n"
    assert numbers(scan(data), 'said "no space" again') == [1]


def test_nul_bytes_are_counted_and_skipped() -> None:
    data = PLAIN + b"\0" * 5000 + b"Out of mem\0ory\n" + PLAIN
    result = scan(data)
    assert result.nul_bytes == 5001
    assert numbers(result, "Out of memory") == [2]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_other_encodings(encoding: str) -> None:
    text = "plain line\n" * 30_000 + "Out of memory: é\n"
    result = scan(text.encode(encoding))
    assert result.lines == 30_001
    assert numbers(result, "Out of memory") == [30_001]
    assert result.windows.get(30_001) == "Out of memory: é".encode()


def test_empty_and_newline_only() -> None:
    assert (scan(b"").lines, scan(b"\n").lines, scan(b"\n\n").lines, scan(b"x").lines) == (0, 1, 2, 1)


# ---- over-long lines


def test_a_long_line_is_cut_and_the_next_is_read() -> None:
    data = b"Out of memory" + b"x" * (3 << 20) + b"signal 9 (killed)\n" + b"signal 9 (killed)\n"
    result = scan(data)
    assert (result.lines, result.long_lines, result.bytes) == (2, 1, len(data))
    assert numbers(result, "Out of memory") == [1]
    assert numbers(result, "signal 9 (killed)") == [2]
    kept = result.windows.get(1)
    assert kept is not None
    assert len(kept) == 1 << 20


def test_a_line_of_just_the_cap_is_whole() -> None:
    data = b"y" * (1 << 20) + b"\nOut of memory\n"
    result = scan(data)
    assert (result.lines, result.long_lines) == (2, 0)
    assert result.windows.get(1) == data[: 1 << 20]


def test_a_progress_bar_of_megabytes_does_not_hide_what_follows_it() -> None:
    bar = b"".join(b"\r%3d%%|####    | %d/90000" % (n // 900, n) for n in range(90_000))
    data = PLAIN + bar + b"\rOut of memory\n" + b"signal 9 (killed)\n"
    result = scan(data)
    assert (result.lines, result.long_lines) == (3, 1)
    assert numbers(result, "Out of memory") == [2]
    assert numbers(result, "signal 9 (killed)") == [3]


def test_a_long_line_at_the_end() -> None:
    assert scan(PLAIN + b"z" * (2 << 20)).lines == 2
    assert scan(PLAIN + b"z\r" * (2 << 20)).lines == 2


# ---- markers, windows, progress, threads


def test_the_lines_of_markers() -> None:
    data = b"ERROR ERROR\n" + PLAIN * 9 + b"ERROR Traceback\n"
    result = scan(data)
    assert result.marker_lines == [[1, 11], [11]]


def test_markers_in_a_storm_keep_first_and_last() -> None:
    result = scan(b"ERROR\n" * 100_000, keep=10, keep_last=5)
    assert result.marker_lines[1] == []
    assert result.marker_lines[0] == [*range(1, 11), *range(99_996, 100_001)]


def test_a_burst_long_ago_holds_no_block() -> None:
    late = LateLines(5)
    block = Block(b"\n" + b"Out of memory\n" * 50, 1, starts_line=True, ends_line=True)
    late.add(block, [14 * number for number in range(9)])
    late.let_go(2)
    block.text = block.raw = b""
    assert late.lines() == [(number, b"Out of memory") for number in range(5, 10)]


def test_bursts_between_calm_blocks_are_exact() -> None:
    burst = b"".join(b"[rank%d]: Out of memory\n" % (number % 7) for number in range(300))
    data = (burst + PLAIN * 3_000) * 6 + PLAIN * 12_000
    assert_exact(scan(data, block=4096), data)


def test_a_marker_may_equal_a_literal() -> None:
    scanner = Scanner(MATCHER, [b"Out of memory"])
    result = scan(b"Out of memory\nOut of memory\n", scanner=scanner)
    assert result.marker_lines == [[1, 2]]
    assert numbers(result, "Out of memory") == [1, 2]


@pytest.mark.parametrize("every", [1, 2, 7, 400, 9_000])
@pytest.mark.parametrize("block", [4096, 65_536, 524_288])
def test_first_and_last_lines_of_a_marker_are_exact(every: int, block: int) -> None:
    count = 20_000
    lines = [b"ERROR ERROR" if number % every == 0 else b"calm" for number in range(1, count + 1)]
    wanted = [number for number in range(1, count + 1) if number % every == 0]
    result = scan(b"\n".join(lines), block=block, keep=5, keep_last=3)
    assert result.marker_lines[0] == sorted({*wanted[:5], *wanted[-3:]})


def test_progress_tells_the_bytes_done() -> None:
    import io

    seen: list[int] = []
    data = PLAIN * 40_000
    SCANNER.scan(io.BytesIO(data), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == len(data)


def test_no_signatures_at_all() -> None:
    result = scan(PLAIN * 3, scanner=Scanner(matcher([])))
    assert (result.lines, result.hits, result.tallies) == (3, [], {})


def test_sources_do_not_leak_into_each_other() -> None:
    first = scan(b"[rank1]: Out of memory\n")
    second = scan(b"[rank2]: Out of memory\n[rank1]: x\n")
    assert [tally.ranks for tally in first.tallies.values()] == [{1}]
    assert [tally.ranks for tally in second.tallies.values()] == [{2}]


def test_two_threads_at_once() -> None:
    data = storm(20_000, 16)
    results: list[SourceScan] = []
    threads = [threading.Thread(target=lambda: results.append(scan(data))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.lines for result in results] == [20_000] * 3
    for result in results:
        assert [tally.count for tally in result.tallies.values()] == [20_000]
