"""Output kept on disk within bounds: the first part and the last part.

What a job prints first says how it was started, what it prints last says how it
ended. The tail is two files that take turns, so nothing is ever copied while
the job runs.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import BinaryIO, Final

HEAD: Final = 32 << 20
TAIL: Final = 64 << 20


class KeptOutput:
    """A file that takes any amount and keeps a bounded one."""

    def __init__(self, path: Path, head: int = HEAD, tail: int = TAIL) -> None:
        """Open the file; only its owner may read it."""
        self.path = path
        self.left_out = 0
        """Bytes that were dropped between head and tail; known after `close`."""
        self._head_room = head
        self._half = max(1, tail // 2)
        self._head = _open(path)
        self._tail: BinaryIO | None = None
        self._in_tail = 0
        self._turns = 0
        self._dropped = 0

    def write(self, data: bytes) -> None:
        """Keep some output."""
        if self._tail is None:
            part, data = data[: self._head_room], data[self._head_room :]
            self._head.write(part)
            self._head_room -= len(part)
            if not data:
                return
            self._head.flush()
        self._to_tail(data)

    def _to_tail(self, data: bytes) -> None:
        while data:
            if self._tail is None or self._in_tail >= self._half:
                self._turn()
            assert self._tail is not None
            part, data = data[: self._half - self._in_tail], data[self._half - self._in_tail :]
            self._tail.write(part)
            self._in_tail += len(part)

    def _turn(self) -> None:
        """Go on in the other tail file; what stood in it is dropped."""
        if self._tail is not None:
            self._tail.close()
        place = self._part(self._turns % 2)
        with contextlib.suppress(FileNotFoundError):
            self._dropped += place.stat().st_size
        self._tail = _open(place)
        self._in_tail = 0
        self._turns += 1

    def _part(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.tail{number}")

    def close(self) -> None:
        """Join head and tail; a line says where something is missing."""
        if self._tail is not None:
            self._tail.close()
            order = [self._turns % 2, (self._turns + 1) % 2]
            parts = [self._part(number) for number in order if self._part(number).exists()]
            self._join(parts)
        self._head.close()

    def _join(self, parts: list[Path]) -> None:
        if self._dropped:
            self._head.write(b"\n")
        cut = bool(self._dropped)
        for place in parts:
            with place.open("rb") as part:
                if cut:
                    # The first line of the tail lost its beginning: half a line would be misread.
                    self._dropped += len(part.readline())
                    self._head.write(f"[{self._dropped} bytes of output were not kept here]\n".encode())
                    cut = False
                while chunk := part.read(1 << 20):
                    self._head.write(chunk)
            place.unlink()
        self.left_out = self._dropped


def _open(path: Path) -> BinaryIO:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)
    return os.fdopen(handle, "wb")
