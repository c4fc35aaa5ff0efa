"""A matcher over given texts, a scan of given bytes, and the slow truth to hold it against."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Sequence

from corpus.match import Matcher
from corpus.record import read_records
from index.scanner import Limits, Scanner, SourceScan
from index.shapes import rank_of
from tests.heads import head, signature

TEXTS = [
    "Out of memory",
    "CUDA error {code:int} at {path}",
    "NVRM: Xid (PCI:{pci}): 79, {any}GPU has fallen off",
    "NVRM: Xid (PCI:{pci}): 31, pid={pid:int}",
    "peer {host} with status=12 opcode={int}",
    "signal 9 (killed)",
    'said "no space" again',
    "address {addr:hex} is bad",
    "loss is {value:float} at step {step:int}",
    "shard {int} of {int} {? (retry {int}) ?}failed",
    "exit code {code:int=-9|137}",
    "tile <{name}> is gone",
]


def matcher(texts: Sequence[str] = TEXTS) -> Matcher:
    return Matcher([head(f"entry-{number}", signature(text)) for number, text in enumerate(texts)])


MATCHER = matcher()
SCANNER = Scanner(MATCHER, [b"ERROR", b"Traceback"])


class Dribble(io.RawIOBase):
    """A stream that gives a few bytes a read, as a pipe may."""

    def __init__(self, data: bytes, step: int) -> None:
        self._data = io.BytesIO(data)
        self._step = step

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._data.readinto(buffer[: self._step])


def scan(data: bytes, *, scanner: Scanner = SCANNER, step: int | None = None, **limits: int) -> SourceScan:
    stream = io.BytesIO(data) if step is None else Dribble(data, step)
    return scanner.scan(stream, limits=Limits(**limits))  # type: ignore[arg-type]


def lines_of(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def truth(data: bytes, used: Matcher = MATCHER) -> dict[int, tuple[list[int], set[int]]]:
    """For each text the numbers of its lines and the ranks on them, by reading every line."""
    numbers: dict[int, set[int]] = defaultdict(set)
    ranks: dict[int, set[int]] = defaultdict(set)
    for number, line in enumerate(lines_of(data), start=1):
        for hit in used.scan_records(read_records(line, number)):
            numbers[hit.atom].add(number)
            rank = rank_of(hit.record)
            if rank is not None:
                ranks[hit.atom].add(rank)
    return {atom: (sorted(found), ranks[atom]) for atom, found in numbers.items()}


def assert_exact(result: SourceScan, data: bytes, used: Matcher = MATCHER) -> None:
    """Counts, ranks, first and last lines and the kept hits are those of the slow truth."""
    expected = truth(data, used)
    assert {atom: tally.count for atom, tally in result.tallies.items()} == {
        atom: len(numbers) for atom, (numbers, _) in expected.items()
    }
    for atom, (numbers, ranks) in expected.items():
        tally = result.tallies[atom]
        assert (tally.first, tally.last) == (numbers[0], numbers[-1])
        assert tally.ranks == ranks
        kept = {hit.record.number for hit in result.hits if hit.atom == atom}
        assert kept <= set(numbers)
        assert {*numbers[:2], *numbers[-2:]} <= kept
    assert result.lines == len(lines_of(data))
    for hit in result.hits:
        assert result.windows.get(hit.record.number) == lines_of(data)[hit.record.number - 1]
