"""What the command line hands to the screens, so that they depend on nothing above them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from assistant.tui.conversation import Conversation
    from assistant.verdict import Diagnosis
    from corpus.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Demo:
    """A bundled incident."""

    name: str
    title: str
    folder: Path
    sources: tuple[str, ...]


def no_demos() -> Sequence[Demo]:
    """For callers without bundled incidents."""
    return ()


def no_report(_error: Exception) -> Path | None:
    """For callers that keep no crash reports."""
    return None


def forget(_diagnosis: Diagnosis) -> None:
    """For callers that keep no session."""


@dataclass(frozen=True)
class Services:
    """Everything the screens need from outside."""

    catalogue: Callable[[], Catalogue]
    """Loads the knowledge; called once, in a worker."""
    conversation: Callable[[Catalogue], Conversation]
    """Opens the conversation; called once, in a worker."""
    demos: Callable[[], Sequence[Demo]] = no_demos
    crash: Callable[[Exception], Path | None] = no_report
    """Writes a report about a defect and tells where."""
    version: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys that the settings change, by the id of the action, as `assistant.tui.keys` checked them."""


@dataclass(frozen=True)
class Start:
    """What to open with: nothing, paths, or a pipe that is still being read."""

    paths: tuple[str, ...] = ()
    pipe: BinaryIO | None = field(default=None, compare=False)
