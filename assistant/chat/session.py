"""A conversation as data: the verdict it is about, what is in focus, what was said, which checks are done.

The last diagnosis is the default session, so that `firstfault ask` can speak of
it. The file holds log lines: only its owner may read it. Nothing in it depends
on a clock, so two conversations can be compared.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assistant.settings import state_dir
from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from assistant.verdict import Diagnosis

FORM: Final = "firstfault.session/1"
MAX_TURNS: Final = 50
"""Older turns are forgotten; a conversation needs the last few."""
MAX_TEXT: Final = 4_000
"""Characters kept of a question or an answer."""
MAX_BYTES: Final = 4 << 20
"""A verdict on thousands of ranks is thinned until its session fits."""
KEPT_EVIDENCE: Final = 3


class SessionError(FirstfaultError):
    """The kept session cannot be read."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and what was answered."""

    question: str
    answer: str
    intent: str
    entry: str | None = None
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    """A check that was done, with the line that decided."""

    says: str
    line: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation; every step gives a new one."""

    diagnosis: Diagnosis | None = None
    focus: tuple[str, ...] = ()
    """Entries under discussion, the present one first."""
    turns: tuple[Turn, ...] = ()
    ticks: dict[str, Tick] = field(default_factory=dict)
    """By the check's citation, `entry#check-2`."""
    pending: str = ""
    """A question that waits for the choice between two findings."""

    def with_turn(self, turn: Turn, *, pending: str = "") -> Session:
        """The session after a turn; its entry comes into focus."""
        kept = dataclasses.replace(turn, question=turn.question[:MAX_TEXT], answer=turn.answer[:MAX_TEXT])
        focus = self.focus
        if turn.entry is not None:
            focus = (turn.entry, *(entry for entry in focus if entry != turn.entry))[:8]
        return dataclasses.replace(self, turns=(*self.turns, kept)[-MAX_TURNS:], focus=focus, pending=pending)

    def with_tick(self, citation: str, tick: Tick) -> Session:
        """The session with one more check done."""
        return dataclasses.replace(self, ticks={**self.ticks, citation: tick})

    def asked(self) -> frozenset[str]:
        """Questions that were asked already, in lower case."""
        return frozenset(turn.question.strip().lower() for turn in self.turns)


def default_path() -> Path:
    """Where the default session lies."""
    return state_dir() / "session.json"


def to_json(session: Session) -> str:
    """The kept form; the verdict without its timings, and thinned where it is too large."""
    diagnosis = session.diagnosis
    for thin in (None, _without_tables, _first_lines_only, _first_finding_only):
        if thin is not None and diagnosis is not None:
            diagnosis = thin(diagnosis)
        text = _text(session, diagnosis)
        if len(text.encode()) <= MAX_BYTES:
            return text
    return _text(session, None)


def _text(session: Session, diagnosis: Diagnosis | None) -> str:
    data = {
        "schema": FORM,
        "focus": session.focus,
        "pending": session.pending,
        "ticks": {key: [tick.says, tick.line] for key, tick in session.ticks.items()},
        "turns": [dataclasses.asdict(turn) for turn in session.turns],
    }
    verdict = "null"
    if diagnosis is not None:
        verdict = diagnosis.model_copy(update={"timings_ms": {}}).model_dump_json(by_alias=True)
    # The verdict is JSON already; reading it to write it again would double the cost of every diagnosis.
    return f'{json.dumps(data, ensure_ascii=False)[:-1]}, "diagnosis": {verdict}}}\n'


def _without_tables(diagnosis: Diagnosis) -> Diagnosis:
    return diagnosis.model_copy(update={"collectives": (), "near_misses": diagnosis.near_misses[:3]})


def _first_lines_only(diagnosis: Diagnosis) -> Diagnosis:
    def thin(items: Any) -> Any:
        return tuple(item.model_copy(update={"evidence": item.evidence[:KEPT_EVIDENCE]}) for item in items)

    update: dict[str, Any] = {
        "findings": thin(diagnosis.findings[:60]),
        "independent": thin(diagnosis.independent[:20]),
        "sources": diagnosis.sources[:200],
        "unexplained": diagnosis.unexplained[:5],
    }
    return diagnosis.model_copy(update=update)


def _first_finding_only(diagnosis: Diagnosis) -> Diagnosis:
    update: dict[str, Any] = {"findings": diagnosis.findings[:1], "independent": (), "sources": (), "unexplained": ()}
    return diagnosis.model_copy(update=update)


def from_json(text: str) -> Session:
    """Read the kept form; raises SessionError for anything else."""
    from pydantic import ValidationError

    from assistant.verdict import Diagnosis

    try:
        data = json.loads(text)
        if data["schema"] != FORM:
            raise ValueError(f"its form is {data['schema']!r}")
        verdict = data["diagnosis"]
        return Session(
            diagnosis=None if verdict is None else Diagnosis.model_validate(verdict),
            focus=tuple(data["focus"]),
            turns=tuple(Turn(**{**turn, "citations": tuple(turn["citations"])}) for turn in data["turns"]),
            ticks={key: Tick(*value) for key, value in data["ticks"].items()},
            pending=data["pending"],
        )
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise SessionError(
            f"The kept session cannot be read ({type(error).__name__}).", "Diagnose a log again, or name it with --log."
        ) from error


def save(session: Session, path: Path | None = None) -> Path:
    """Write a session so that only its owner can read it, whole or not at all; raises OSError."""
    place = path or default_path()
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp gives mode 600 from the start: no moment in which others can read the lines.
    handle, name = tempfile.mkstemp(prefix=".session-", dir=place.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(to_json(session))
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return place


def load(path: Path | None = None) -> Session | None:
    """The kept session, None where there is none; raises SessionError for a broken one."""
    place = path or default_path()
    try:
        return from_json(place.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SessionError(f"The kept session in {place} cannot be read.", "Diagnose a log again.") from error


def remember(diagnosis: Diagnosis) -> str:
    """Make a verdict the default session; where that cannot be, no reason to fail, but a sentence that says so."""
    try:
        save(start(diagnosis))
    except OSError as error:
        return (
            f"the diagnosis was not kept ({default_path().parent}: {error.strerror or error}), so `firstfault ask` will "
            "not find it; set FIRSTFAULT_STATE_DIR to a directory you can write, or FIRSTFAULT_SESSION=false to keep none."
        )
    return ""


def start(diagnosis: Diagnosis) -> Session:
    """A new conversation about a verdict, its first fault in focus."""
    from assistant.chat.findings import in_focus

    return Session(diagnosis=diagnosis, focus=in_focus(diagnosis))
