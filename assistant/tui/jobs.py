"""Work in threads: one job a group, progress after a moment, and always one end: JobReady, JobFailed or JobCancelled.

A thread never touches a widget; it posts messages. A job that is cancelled is
forgotten at once, so that the screen is free again even where the thread still
waits for a slow disk; whatever it posts later carries an old number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from textual.app import App
from textual.worker import get_current_worker

from assistant.console import describe
from assistant.tui.messages import JobCancelled, JobFailed, JobProgress, JobReady
from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from textual.message import Message

DELAY: Final = 0.3
"""Seconds that a job may take before anything is shown of it."""
PERIOD: Final = 0.1
"""Seconds between two messages about its progress."""


class Stopped(Exception):
    """Raised inside a job's body when the job was cancelled."""


@dataclass
class Job:
    """A piece of work and where it stands."""

    group: str
    number: int
    what: str
    """In words, for the progress line."""
    started: float = field(default_factory=time.monotonic)
    is_stopped: bool = False
    news: str = ""
    """How far it is, as it last told."""


class Reporter:
    """The pipeline's view of a job: called with a source, bytes done and bytes expected, it reports or stops."""

    def __init__(self, post: Callable[[Message], Any], job: Job, cancelled: Callable[[], bool]) -> None:
        self._post = post
        self._job = job
        self._cancelled = cancelled
        self._next = job.started + DELAY
        self._source = ""
        self._begun = job.started

    def __call__(self, source: str, done: int, expected: int | None) -> None:
        """Tell how far it is; raises Stopped when nobody wants it any more."""
        self.check()
        now = time.monotonic()
        if source != self._source:
            self._source, self._begun = source, now
        if now >= self._next:
            self._next = now + PERIOD
            self._send(describe(source, done, expected, now - self._begun))

    def count(self, done: int, total: int) -> None:
        """Tell how many of so many things are done."""
        self.check()
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PERIOD
            self._send(f"{self._job.what} {done:,} of {total:,}" if total else self._job.what)

    def share(self, done: int, total: int) -> None:
        """The same in percent, for where there is little room."""
        self.check()
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PERIOD
            self._send(f"{done * 100 // total} %" if total else "just begun")

    def check(self) -> None:
        """Raise Stopped when the job was cancelled."""
        if self._job.is_stopped or self._cancelled():
            raise Stopped

    def _send(self, text: str) -> None:
        self._post(JobProgress(self._job.group, self._job.number, text))


Body = Callable[[Reporter], object]


class JobApp(App[None]):
    """An app that runs jobs; what they post arrives as `JobProgress`, `JobReady`, `JobFailed` and `JobCancelled`."""

    def __init__(self, crash: Callable[[Exception], Any]) -> None:
        super().__init__()
        self.jobs: dict[str, Job] = {}
        self._crash = crash
        self._numbers = 0

    def start_job(self, group: str, what: str, body: Body) -> Job:
        """Run a body in a thread; an older job of the group is cancelled."""
        self.cancel_job(group)
        self._numbers += 1
        job = Job(group, self._numbers, what)
        self.jobs[group] = job

        def work() -> None:
            worker = get_current_worker()
            self.post_message(self._end_of(job, body, lambda: worker.is_cancelled))

        self.run_worker(work, thread=True, exclusive=True, group=group, description=what, exit_on_error=False)
        return job

    def _end_of(self, job: Job, body: Body, cancelled: Callable[[], bool]) -> Message:
        reporter = Reporter(self.post_message, job, cancelled)
        try:
            result = body(reporter)
            reporter.check()
        except Stopped:
            return JobCancelled(job.group, job.number)
        except FirstfaultError as error:
            return JobFailed(job.group, job.number, str(error), error)
        except Exception as error:  # noqa: BLE001  the border of a thread: nobody above would see it
            path = self._crash(error)
            where = f" A report without any log text is in {path}." if path else ""
            sentence = f"Internal error while {job.what} ({type(error).__name__}).{where}"
            return JobFailed(job.group, job.number, sentence, error)
        return JobReady(job.group, job.number, result)

    def cancel_job(self, group: str) -> bool:
        """Forget the job of a group and stop it as soon as it looks up; whether there was one."""
        job = self.jobs.pop(group, None)
        if job is None:
            return False
        job.is_stopped = True
        return True

    def finish_job(self, group: str, number: int) -> bool:
        """Whether this end is that of the present job of its group, which is over then."""
        job = self.jobs.get(group)
        if job is None or job.number != number:
            return False
        del self.jobs[group]
        return True

    def is_current(self, group: str, number: int) -> bool:
        """Whether news of a job are about the present one."""
        job = self.jobs.get(group)
        return job is not None and job.number == number

    def running(self, groups: Collection[str]) -> Job | None:
        """The job of these groups that has taken long enough to be shown."""
        now = time.monotonic()
        jobs = [job for job in self.jobs.values() if job.group in groups and now - job.started >= DELAY]
        return jobs[-1] if jobs else None
