"""What can be asked for: to load, to read, to answer, to search, to save; each is a job."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from assistant.tui import reading
from assistant.tui.jobs import Job, JobApp, Reporter
from assistant.tui.messages import Answered, Diagnosed, FoundEntries, Loaded, Saved
from assistant.tui.screens.base import BaseScreen
from assistant.tui.services import Demo, Services

if TYPE_CHECKING:
    from assistant.chat.contract import Answer
    from assistant.tui.case import Case
    from assistant.tui.conversation import Conversation
    from corpus.catalogue import Catalogue

Read = Callable[["Catalogue", str, Reporter], "Case"]
WAITED_FOR: Final = ("diagnose", "answer", "save")
"""Groups of jobs that a person waits for: shown, and stopped by Esc."""


class Desk(JobApp):
    """An app that knows how to start every job."""

    def __init__(self, services: Services) -> None:
        super().__init__(services.crash)
        self.services = services
        self.case: Case | None = None
        """The open verdict; what is left on the terminal at the end."""
        self.loaded: Loaded | None = None
        self.index_news = ""
        """How far the index is, while questions are answered by words; empty when nothing is being built."""
        self._waiting: Read | None = None

    def tell_index(self, news: str) -> None:
        """Say on every screen that shows it how far the index is."""
        self.index_news = news
        for screen in self.screen_stack:
            if isinstance(screen, BaseScreen):
                screen.show_index(news)

    @property
    def is_reading(self) -> bool:
        """Whether a log is being read, or will be as soon as the knowledge is there."""
        return self._waiting is not None or "diagnose" in self.jobs

    def shown_job(self) -> Job | None:
        """The job that a person waits for, once it has taken a moment; loading where a log waits for it."""
        return self.running(WAITED_FOR) or (self.running(("load",)) if self._waiting is not None else None)

    def stop_shown(self) -> str:
        """Cancel what a person waits for; what it was, empty where there was nothing."""
        job = self.shown_job()
        if job is None:
            return ""
        if job.group == "load":  # the knowledge is needed whatever is read
            self._waiting = None
            return "reading"
        return job.what if self.cancel_job(job.group) else ""

    def load(self) -> None:
        """Get knowledge and conversation."""
        self.start_job("load", "getting the knowledge ready", self._load)

    def _load(self, _report: Reporter) -> Loaded:
        # Imported here, after the first picture, so that no key waits for it later.
        import assistant.tui.screens.diagnosis  # noqa: F401

        catalogue = self.services.catalogue()
        return Loaded(catalogue, tuple(self.services.demos()), self.services.conversation(catalogue))

    def read(self, body: Read) -> None:
        """Diagnose something; waits until the knowledge is there."""
        if self.loaded is None:
            self._waiting = body
            return
        loaded, version = self.loaded, self.services.version

        def work(report: Reporter) -> Diagnosed:
            case = body(loaded.catalogue, version, report)
            report.check()
            loaded.conversation.begin(case.diagnosis)
            return Diagnosed(case)

        self.start_job("diagnose", "reading", work)

    def read_paths(self, paths: tuple[str, ...]) -> None:
        """Diagnose files and directories."""
        self.read(lambda *given: reading.read_paths(paths, *given))

    def read_pasted(self, text: str) -> None:
        """Diagnose a paste."""
        self.read(lambda *given: reading.read_text(text, *given))

    def read_demo(self, demo: Demo) -> None:
        """Diagnose a bundled incident."""
        self.read(lambda *given: reading.read_demo(demo, *given))

    def talk(self) -> Conversation:
        """The conversation; there is one as soon as there is a verdict."""
        assert self.loaded is not None
        return self.loaded.conversation

    def answer(self, case: Case, ask: Callable[[Conversation], Answer], what: str, *, is_paste: bool = False) -> None:
        """Ask the conversation something about a case."""
        talk = self.talk()
        self.start_job("answer", what, lambda _: Answered(case, ask(talk), dict(talk.ticks()), is_paste))

    def search(self, query: str, most: int) -> None:
        """Search the corpus."""
        talk = self.talk()
        self.start_job("search", "searching", lambda _: FoundEntries(query, tuple(talk.search(query, most))))

    def save(self, case: Case, spoken: tuple[tuple[str, str], ...], path: str) -> None:
        """Write a case to a file."""
        self.start_job("save", "saving", lambda _: Saved(reading.save_case(case, spoken, path)))

    def take_knowledge(self, loaded: Loaded) -> None:
        """The knowledge is there: build the index, and read what waited for it."""
        self.loaded = loaded
        # The corpus is a hundred thousand objects that live as long as the screen; a search for garbage that looks
        # at all of them holds every key for 40 ms.
        gc.freeze()
        self.start_job("index", "building the index", lambda report: loaded.conversation.prepare(report.share))
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self.read(waiting)

    def empty_case(self) -> Case:
        """A case without a verdict, for reading entries."""
        from assistant.tui.case import Case
        from assistant.verdict import Diagnosis

        assert self.loaded is not None
        return Case(Diagnosis(status="inconclusive"), self.loaded.catalogue)
