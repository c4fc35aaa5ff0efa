"""Errors of the knowledge layer; the roots of every error a person can cause.

FirstfaultError            one sentence plus what to type next; carries an exit code
├── CorpusError            the knowledge cannot be used (exit 4)
│   ├── EntryFileError     one or more problems in entry files, each with file and line
│   └── UnknownEntryError  no entry has that id; names the nearest one (exit 2)
└── SignatureError         a signature or a condition does not parse (exit 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class FirstfaultError(Exception):
    """An error to be shown to a person as one sentence, without a traceback."""

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class CorpusError(FirstfaultError):
    """The corpus is missing, broken or not readable."""

    exit_code = 4


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong in one file, as `file:line: code message`."""

    path: str
    line: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.code} {self.message}"


class EntryFileError(CorpusError):
    """All problems of the entry files that could not be read, at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = sorted(problems)
        count = len(self.problems)
        listing = "\n".join(str(problem) for problem in self.problems)
        super().__init__(
            f"{count} problem{'s' if count != 1 else ''} in the corpus:\n{listing}\n",
            "Mend the file, then run `python -m corpus lint`.",
        )


class UnknownEntryError(CorpusError):
    """No entry has this id or alias."""

    exit_code = 2


class SignatureError(CorpusError):
    """A signature or condition text that the language does not allow."""
