"""The seam between the screens and the conversation.

The screens know the Protocol only. `ChatConversation` fills it with
`assistant.chat`; tests fill it with a conversation of a few sentences.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

if TYPE_CHECKING:
    from assistant.chat.contract import Answer
    from assistant.chat.conversation import Conversation as Talk
    from assistant.tui.case import Step
    from assistant.verdict import Diagnosis
    from corpus.catalogue import Catalogue

Counted = Callable[[int, int], None]
"""Called with things done and things to do."""
Kind = Literal["log", "output", "question"]

_PRINTS_LOGS: Final = re.compile(r"\b(dmesg|journalctl|kubectl|crictl|docker|podman|grep|tail|cat|less|zgrep)\b")
STARTERS: Final = (
    "How do I confirm it?",
    "How do I fix it?",
    "Is it my code or the machine?",
    "Which checkpoint may I resume from?",
)
STARTERS_WITHOUT_CAUSE: Final = ("What happened?", "What should I collect before a restart?", "Show me the lines.")


class Conversation(Protocol):
    """Answers questions about one verdict after the other; may be called from any thread."""

    def prepare(self, progress: Counted) -> None:
        """Make ready what takes long, such as the index; an exception out of `progress` cancels it."""

    def begin(self, diagnosis: Diagnosis) -> None:
        """Talk about this verdict from now on."""

    def kind_of(self, text: str) -> Kind:
        """What a paste is."""

    def ask(self, question: str, *, entry: str | None) -> Answer:
        """Answer a question; `entry` is the one on the screen."""

    def judge(self, output: str, *, entry: str | None) -> Answer:
        """Judge command output by the checks of the entry on the screen."""

    def search(self, text: str, most: int) -> Sequence[str]:
        """Ids of the entries that answer best."""

    def ticks(self) -> Mapping[str, tuple[str, str]]:
        """Checks that output has decided: `entry#check-2` -> (confirms or clears, the deciding line)."""


def starters(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Questions to begin with."""
    return STARTERS if diagnosis.initiating is not None else STARTERS_WITHOUT_CAUSE


def is_for_check(kind: Kind, check: Step | None) -> bool:
    """Whether a paste is meant for the open check: output is, a log only where the check's command prints logs."""
    if kind == "output":
        return True
    return kind == "log" and check is not None and _PRINTS_LOGS.search(check.command) is not None


class ChatConversation:
    """The conversation of `assistant.chat`."""

    def __init__(
        self,
        catalogue: Catalogue,
        index_folder: Path | None = None,
        *,
        keeps: bool = True,
        overlays: Sequence[Path] | None = None,
    ) -> None:
        """Take the knowledge, where its index lies or shall be built, and whether the session is kept.

        With `overlays`, the directories layered over the corpus, a process of its own builds the index, which goes
        on when the screen is left; without, a thread does.
        """
        from assistant.chat.conversation import Conversation as Talk

        self._talk: Talk = Talk(catalogue)
        self._catalogue = catalogue
        self._folder = index_folder
        self._keeps = keeps
        self._overlays = overlays
        # Answers and the index come from threads; the session is one.
        self._lock = threading.Lock()

    def prepare(self, progress: Counted) -> None:
        """Have the index built where it is missing or stale, then search with it."""
        if self._folder is None:
            return
        from assistant.chat.conversation import Conversation as Talk
        from assistant.retrieval import open_retriever, up_to_date

        found = up_to_date(self._catalogue, self._folder)
        if found is None and self._overlays is not None and self._build_apart(self._folder, self._overlays, progress):
            found = open_retriever(self._catalogue, folder=self._folder, no_build=True)
        if found is None:
            found = open_retriever(self._catalogue, folder=self._folder, progress=progress)
        with self._lock:
            self._talk = Talk(self._catalogue, self._talk.session, found)

    def _build_apart(self, folder: Path, overlays: Sequence[Path], progress: Counted) -> bool:
        """Have another process build the index, and wait for it; False where that is not possible.

        Raises RetrievalError with the reason for which it came to nothing.
        """
        from assistant.building import failure, running, start, wait
        from index.errors import RetrievalError

        reason = failure(folder, self._catalogue.digest)
        if not reason:
            if running(folder) is None and not start(folder, overlays):
                return False
            wait(folder, progress)
            reason = failure(folder, self._catalogue.digest)
        if reason:
            raise RetrievalError(reason)
        return True

    def begin(self, diagnosis: Diagnosis) -> None:
        """Start a session, and keep it for `firstfault ask`."""
        from assistant.chat.session import start

        with self._lock:
            self._talk.session = start(diagnosis)
            self._keep()

    def kind_of(self, text: str) -> Kind:
        """Told by its shape."""
        from assistant.chat.checks import kind_of

        return kind_of(text)

    def ask(self, question: str, *, entry: str | None) -> Answer:
        """Answer with what is on the screen in focus."""
        with self._lock:
            self._focus(entry)
            answer = self._talk.ask(question)
            self._keep()
            return answer

    def judge(self, output: str, *, entry: str | None) -> Answer:
        """Judge with what is on the screen in focus."""
        with self._lock:
            self._focus(entry)
            answer = self._talk.paste(output)
            self._keep()
            return answer

    def search(self, text: str, most: int) -> Sequence[str]:
        """By the index once it is there, by words before."""
        with self._lock:
            search = self._talk.search
        found = (hit.entry for hit in search.search(text, k=most))
        return tuple(dict.fromkeys(entry for entry in found if not entry.startswith("family:")))

    def ticks(self) -> Mapping[str, tuple[str, str]]:
        """From the session."""
        return {key: (tick.says, tick.line) for key, tick in self._talk.session.ticks.items()}

    def _focus(self, entry: str | None) -> None:
        session = self._talk.session
        if entry is not None and self._talk.material.knows(entry) and session.focus[:1] != (entry,):
            rest = tuple(other for other in session.focus if other != entry)
            self._talk.session = replace(session, focus=(entry, *rest)[:8])

    def _keep(self) -> None:
        if not self._keeps:
            return
        from assistant.chat.session import save

        with contextlib.suppress(OSError):  # no room for it: the conversation goes on, `ask` starts anew
            save(self._talk.session)
