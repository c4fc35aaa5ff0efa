"""What workers tell the screens. A worker ends in exactly one of JobReady, JobFailed and JobCancelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from assistant.chat.contract import Answer
    from assistant.tui.case import Case
    from assistant.tui.conversation import Conversation
    from assistant.tui.services import Demo
    from corpus.catalogue import Catalogue


@dataclass
class JobMessage(Message):
    """News of a job; `number` tells it from an older job of the same group that was cancelled."""

    group: str
    number: int


@dataclass
class JobProgress(JobMessage):
    """How far a job is. Only the newest one counts, so a fast worker cannot flood the queue."""

    text: str

    def can_replace(self, message: Message) -> bool:
        """Take the place of an older one of the same job that was not handled yet."""
        return isinstance(message, JobProgress) and message.group == self.group


@dataclass
class JobReady(JobMessage):
    """The job is done; `result` is what it was started for."""

    result: object


@dataclass
class JobFailed(JobMessage):
    """The job came to nothing, for a reason that a person can read."""

    sentence: str
    error: Exception


@dataclass
class JobCancelled(JobMessage):
    """The job was stopped on demand."""


# ---- results


@dataclass(frozen=True)
class Loaded:
    """The knowledge, and the incidents to try."""

    catalogue: Catalogue
    demos: tuple[Demo, ...]
    conversation: Conversation


@dataclass(frozen=True)
class Diagnosed:
    """A verdict with everything needed to look into it."""

    case: Case


@dataclass(frozen=True)
class Answered:
    """An answer in the conversation about a case."""

    case: Case
    answer: Answer
    ticks: Mapping[str, tuple[str, str]]
    """All checks that output has decided so far."""
    is_paste: bool = False


@dataclass(frozen=True)
class Matches:
    """Paths that begin like what was typed."""

    typed: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class FoundEntries:
    """Ids of the entries that answer a search, best first."""

    query: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Saved:
    """A file that was written."""

    path: str


# ---- wishes of widgets


@dataclass
class Walk(Message):
    """Show this entry."""

    entry: str


@dataclass
class Choose(Message):
    """Show this finding, or the verdict as a whole where it is None."""

    finding: str | None


@dataclass
class Submitted(Message):
    """A line was typed and sent."""

    text: str


@dataclass
class Pasted(Message):
    """Several lines were pasted."""

    text: str


@dataclass
class OpenPaths(Message):
    """These logs shall be diagnosed."""

    paths: tuple[str, ...]
