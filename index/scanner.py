"""The scan: one pass over a source that finds thousands of literals and counts exactly.

Hyperscan finds the literals in line-aligned blocks (`index.blocks`). Each hit
is looked up by the shape of its line (`index.shapes`, `index.worker`), so that
a line is parsed and matched only when its shape is new or the line is kept.
After each block, counts, ranks and kept lines are brought up to date
(`index.tallies`, `index.lines`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus.match import AtomHit, Matcher
from index.blocks import Limits, Readable
from index.lines import LineStore
from index.tallies import Tally, Track
from index.worker import Engine, Worker

__all__ = ["Limits", "LineStore", "Scanner", "SourceScan", "Tally"]

STRIDE = b"\x01\x02\x03"
"""Occurs in no log. The shortest literal decides the stride of the engine: with three bytes it runs at twice the
speed that it has with the literals alone (two bytes give nine tenths of that)."""


@dataclass(frozen=True, slots=True)
class SourceScan:
    """What one pass over a source found."""

    lines: int
    bytes: int
    long_lines: int
    nul_bytes: int
    tallies: dict[int, Tally]
    hits: list[AtomHit]
    """Of each text the first hits, the last hits, and every hit that brings a new rank; in order of lines."""
    marker_lines: list[list[int]]
    """Numbers of the first lines and of the last lines on which each marker stands."""
    windows: LineStore


class Scanner:
    """Literals compiled once, for any number of sources and threads."""

    def __init__(self, matcher: Matcher, markers: Sequence[bytes] = (), *, cache_dir: Path | None = None) -> None:
        """Compile the literals of the matcher, and markers whose first and last lines are told; kept in `cache_dir`."""
        self._matcher = matcher
        self._extra = [*markers, STRIDE]
        self._markers = len(markers)
        self._engine = Engine(
            matcher.literals, self._extra, key=matcher.table.key if cache_dir is not None else "", cache_dir=cache_dir
        )
        self._local = threading.local()
        self._kept = 0

    def scan(
        self,
        stream: Readable,
        *,
        source: int = 0,
        limits: Limits = Limits(),  # noqa: B008  # frozen
        progress: Callable[[int], None] | None = None,
    ) -> SourceScan:
        """Read the stream to its end; `progress` is called with the bytes done so far."""
        worker: Worker | None = getattr(self._local, "worker", None)
        if worker is None:
            # The engine's scratch space and the shapes belong to one thread.
            worker = self._local.worker = Worker(self._engine, self._matcher, self._extra)
        reader = worker.scan(stream, source, limits, progress, is_frugal=self._kept > limits.total)
        hits = worker.hits()
        windows = worker.store()
        self._kept += windows.size
        marked = [worker.tracks.get(-1 - index) for index in range(self._markers)]
        return SourceScan(
            lines=reader.lines,
            bytes=reader.bytes,
            long_lines=reader.long_lines,
            nul_bytes=reader.nul_bytes,
            tallies={atom: track.tally for atom, track in worker.tracks.items() if atom >= 0},
            hits=hits,
            marker_lines=[_marker_lines(track) for track in marked],
            windows=windows,
        )


def _marker_lines(track: Track | None) -> list[int]:
    if track is None:
        return []
    return sorted({*track.early, *(number for number, _ in track.finish())})
