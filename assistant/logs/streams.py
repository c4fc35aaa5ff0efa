"""An open source, and what is known of it before it is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from assistant.logs.decompress import Expanded, Input, failures


@dataclass(frozen=True, slots=True)
class Unread:
    """An input that was not read, and why."""

    path: str
    reason: str


class SourceStream:
    """An open source; `problems` and `encoding` are complete once it was read."""

    def __init__(self, stream: Input, closer: Callable[[], None], encoding: str, expanded: list[Expanded]) -> None:
        self._stream = stream
        self._closer = closer
        self._expanded = expanded
        self._problems: list[str] = []
        self.encoding = encoding

    @property
    def problems(self) -> list[str]:
        """What was wrong with the source, in sentences."""
        return [problem for layer in self._expanded for problem in layer.problems] + self._problems

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer; a source that fails while it is read ends there."""
        try:
            return self._stream.readinto(buffer) or 0
        except failures() as error:
            if isinstance(error, OSError) and not self._expanded and not self._problems:
                self._problems.append(f"reading stopped: {error.strerror or error}")
            elif not self.problems:
                self._problems.append(f"reading stopped: {error}")
            return 0

    def close(self) -> None:
        """Close the file below."""
        self._closer()

    def __enter__(self) -> SourceStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class Source:
    """One input to be read."""

    path: str
    """As shown: as given; below a given directory relative to it; `archive!member`."""
    opener: Callable[[], SourceStream] = field(repr=False)
    size_hint: int | None = None
    """Bytes that reading will give, where they are known."""
    compressed: bool = False
    encoding: str = "utf-8"
    is_dump: bool = False
    """True for a flight-recorder dump, which has no lines."""

    def open(self) -> SourceStream:
        """Open it. Raises OSError when it vanished or may not be read."""
        return self.opener()
