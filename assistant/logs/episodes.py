"""Episodes: contiguous error blocks, folded to the line that decides them.

A traceback with its exception chain is one episode and its first exception in
time is the decisive one; wrappers that only carry another process's exception
("See root cause above", RayTaskError, ChildFailedError tables) are marked, so
that the carried exception decides. Lines of interleaved streams (ranks, pids,
containers) are told apart before anything is folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from corpus.record import Record

EpisodeKind = Literal["exception", "teardown", "fatal", "error", "warning"]

TRACEBACK = "Traceback (most recent call last)"
MAX_TRACEBACK = 400
"""Records of one traceback; a longer one is cut, its exception may then be missed."""

FRAME_INDENT = 2
"""Blanks before a message from which on a logged line is a frame of some traceback."""
LAST_ERROR_DISTANCE = 6
"""Lines between PyTorch's exception and the `Last error:` that belongs to it."""
HEADLINE_DISTANCE = 2
"""So many lines below a logged error, a traceback is what the line announced."""

_CHAIN = re.compile(
    r"During handling of the above exception|The above exception was the direct cause|The following exception"
)
_EXCEPTION = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|Fault|Timeout|Killed|Abort|Died|Expired|NotFound|Unavailable|Iteration|Empty|Full|Refused|Warning|Cancelled|Denied|Interrupted|Failed)(?:\((?P<inner>[\w.]{1,80})\))?)(?::(?: |$)(?P<message>.*)|$)"
)
_LOOSE_EXCEPTION = re.compile(
    r"^(?P<type>(?:[a-z_]\w*\.)+[A-Z]\w{2,60}|[A-Z]\w*[a-z]\w*)(?P<inner>)(?:: (?P<message>.*)|$)"
)
_CARRIERS = frozenset(
    {
        "RayTaskError", "ChildFailedError", "EngineDeadError", "AsyncEngineDeadError", "ProcessRaisedException",
        "ProcessExitedException", "CalledProcessError", "RayActorError", "ActorDiedError", "BrokenProcessPool",
        "TrainingFailedError", "HTTPException", "MPEngineError", "SubprocessError", "RemoteTraceback", "ExceptionGroup",
    }
)  # fmt: skip
_TEARDOWN = frozenset(
    {"KeyboardInterrupt", "SystemExit", "CancelledError", "GeneratorExit", "SignalException", "SignalError"}
)
_CARRIED = re.compile(
    r"[Ss]ee (?:the )?root cause above|see stack trace for root cause|Background loop has errored"
    r"|[Nn]inja build failed|Error building extension|returned non-zero exit status|failed with the following command"
    r"|Caught \w+ in (?:DataLoader worker|replica|pin memory)|look up to see its traceback|PTXAS error: Internal Triton"
)
_FATAL = re.compile(
    r"^terminate called|Check failed:|\(core dumped\)|^Segmentation fault(?! handler)|^Fatal Python error|^panic: |^Aborted\b|^fatal error|^FATAL[: ]|^fatal: |^(?:nvcc|ptxas) fatal"
    r"|^thread '[^']{0,80}'(?: \(\d{1,9}\))? panicked at |^Exception in thread \""
)
_ERROR = re.compile(
    r"^(?:[\w./\-]{1,60}: )?(?:[Ee]rror|ERROR|[Ff]atal)\b(?:\[[\w-]+\])?\s?: |^(?:Error|Fatal) [a-z]|^(?:[\w./\-]{1,60}: ){1,3}.*(?:: command not found|: Permission denied|: No such file or directory)$|: error: |^CMake Error|^docker: Error response from daemon: |^ImportError|error while loading shared libraries|^Killed$|\bKilled\b.{0,120}$"
)
_ADVICE = re.compile(
    r"^(?:Consider|Please|For debugging|Compile with|To enable|To turn off|If you|Hint|Note|You can|See |Try )|may be caused by|can be caused by|error_file:|^\s*time\s+:|If reserved memory is"
)
_HEADLINE = re.compile(
    r"[Ee]xception|[Uu]ncaught|[Tt]raceback|[Ee]rror (?:in|while|when|executing|occurred)|failed(?: to start)?[.!:]?$|[Cc]rash"
)
_RELAYED = re.compile(
    r"\b(?:INFO|DEBUG)\b[\s\-:|\]]{1,6}(?:\[(?:rank|default|task)[ :]?\d|\(\w{1,40} pid=|\[\d{1,5},\d{1,5}\]<std)"
)
_ROOT_ERRORS = re.compile(r"\d{1,6} (?:root error\(s\) found|successful operations|derived errors ignored)\.")
"""TensorFlow lists the errors of several devices in one message, not all of its lines indented (`core/common_runtime`)."""
_IGNORED = "Exception ignored in"
"""CPython prints it for exceptions in finalizers, which cannot end a program."""
# A line of no loud level without any of these pieces is no error block; most lines end here.
_SUSPICIOUS = re.compile(
    r"rror|ERROR|xception|atal|FATAL|panic|illed|[Aa]bort|core dumped|egmentation|NCCL WARN|denied|No such file|not found"
    r"|[A-Z]\w*(?:Interrupt|Exit|Failure|Fault|Timeout|Died|Expired|NotFound|Unavailable|Iteration|Empty|Full|Refused"
    r"|Cancelled|Denied|Failed)|terminate called|Check failed"
)
_LOUD_LEVELS = frozenset({"ERROR", "FATAL"})
_QUIET_LEVELS = frozenset({"INFO", "DEBUG"})


@dataclass(slots=True)
class Episode:
    """An error block of one stream; `decisive` is the record that names the error."""

    kind: EpisodeKind
    first: int
    last: int
    decisive: Record
    error_type: str = ""
    carrier: bool = False
    """True when the block only carries or wraps another process's error."""
    lines: list[Record] = field(default_factory=list)

    @property
    def stream(self) -> tuple[int | str | None, ...]:
        """The stream that printed the block."""
        return self.decisive.stream


def find_episodes(records: Sequence[Record]) -> list[Episode]:
    """All episodes of one source, in order of their first line."""
    streams: dict[tuple[object, ...], list[Record]] = {}
    opened: tuple[object, ...] | None = None
    for record in records:
        bare = record.time is None and record.level is None and not any(record.stream)
        if not bare:
            opened = record.stream if TRACEBACK in record.message else None
        # A logger stamps only the first line of a traceback; the bare lines below belong to it.
        streams.setdefault(opened if bare and opened is not None else record.stream, []).append(record)
    episodes = [episode for stream in streams.values() for episode in _of_stream(stream)]
    episodes.sort(key=lambda episode: (episode.first, episode.decisive.number))
    _prefer_nccl_warnings(episodes)
    for stream in streams.values():
        _prefer_last_error(episodes, stream)
    return _without_headlines(episodes)


def _prefer_last_error(episodes: Sequence[Episode], stream: Sequence[Record]) -> None:
    """PyTorch quotes NCCL's own message below `Last error:`; that line says what went wrong."""
    for position, record in enumerate(stream):
        if record.message != "Last error:" or position + 1 >= len(stream):
            continue
        quoted = stream[position + 1]
        for episode in episodes:
            near = 0 < record.number - episode.decisive.number <= LAST_ERROR_DISTANCE
            if near and quoted.message and episode.stream == record.stream and "NCCL error" in episode.decisive.message:
                episode.lines += [record, quoted]
                episode.decisive = quoted
                episode.last = max(episode.last, quoted.number)


def _without_headlines(episodes: Sequence[Episode]) -> list[Episode]:
    """Drop logged lines such as `unhandled exception` that only announce the block below them."""
    kept = []
    for index, episode in enumerate(episodes):
        following = episodes[index + 1] if index + 1 < len(episodes) else None
        announces = (
            episode.kind == "error"
            and _HEADLINE.search(episode.decisive.message) is not None
            and following is not None
            and (len(following.lines) > 1 or (following.kind == "exception" and following.stream == episode.stream))
            and following.first <= episode.last + HEADLINE_DISTANCE
        )
        if not announces:
            kept.append(episode)
    return kept


def _prefer_nccl_warnings(episodes: Sequence[Episode]) -> None:
    """NCCL prints the cause as WARN lines; the exception that follows only carries its last error."""
    warnings = [episode for episode in episodes if " NCCL WARN " in episode.decisive.text]
    if not warnings:
        return
    for episode in episodes:
        is_nccl = episode.error_type == "DistBackendError" or "NCCL error" in episode.decisive.message
        if episode.kind == "exception" and is_nccl and warnings[0].first < episode.first:
            episode.carrier = True
            warnings[0].kind = "fatal"


def _of_stream(records: Sequence[Record]) -> Iterable[Episode]:
    position = 0
    while position < len(records):
        record = records[position]
        if TRACEBACK in record.message:
            episode, position = _traceback(records, position)
            if episode is not None:
                position = _skip_message(records, position, episode)
                yield episode
            continue
        single = _single(record)
        if single is not None and position and records[position - 1].message.startswith(_IGNORED):
            single.kind = "warning"
        if single is not None:
            yield single
        position += 1


def _skip_message(records: Sequence[Record], position: int, episode: Episode) -> int:
    """Skip the further lines of an exception's message, which a logger prints with the same stamp."""
    last = records[position - 1]
    if last.level is None or last.time is None:
        return position
    while position < len(records) and (records[position].level, records[position].time) == (last.level, last.time):
        message = records[position].message
        if TRACEBACK in message or _FATAL.search(message) or read_exception(records[position]) is not None:
            break
        episode.lines.append(records[position])
        episode.last = records[position].number
        position += 1
    return position


def _traceback(records: Sequence[Record], start: int) -> tuple[Episode | None, int]:
    """Fold a traceback and the chain that follows it; returns the position behind it."""
    block: list[Record] = []
    exceptions: list[tuple[Record, str, bool]] = []
    position = start
    while position < len(records) and len(block) < MAX_TRACEBACK:
        if TRACEBACK in records[position].message:
            found, position = _one_traceback(records, position, block)
            exceptions += found
            continue
        following = _chain_ahead(records, position)
        if following is None:
            break
        block += records[position:following]
        position = following
    if not block:
        return None, start + 1
    chosen = _decisive(exceptions)
    if chosen is None:
        # Cut off before its exception: something was raised, but nothing says what.
        return Episode("error", block[0].number, block[-1].number, block[-1], "", False, block), position
    record, error_type, carrier = chosen
    if record.message == "AssertionError":
        record = _statement_above(block, record)
    kind: EpisodeKind = "teardown" if error_type in _TEARDOWN else "exception"
    ignored = start > 0 and records[start - 1].message.startswith(_IGNORED)
    # A launcher that relays its workers' output stamps each line with its own level, before the worker's prefix.
    relayed = _RELAYED.search(block[0].text) is not None
    if ignored or (record.level in _QUIET_LEVELS and not relayed) or block[0].level == "WARNING":
        kind = "warning"
    return Episode(kind, block[0].number, block[-1].number, record, error_type, carrier, block), position


def _statement_above(block: Sequence[Record], bare: Record) -> Record:
    """The statement of a bare assert, which says nothing by itself; carets may stand between."""
    for record in reversed(block[: block.index(bare)]):
        if record.message.startswith("assert "):
            return record
        if record.message.strip("^~ "):
            break
    return bare


def _chain_ahead(records: Sequence[Record], position: int) -> int | None:
    """Where the next traceback of a chain starts, if the records here announce one."""
    for ahead in range(position, min(position + 6, len(records))):
        if _CHAIN.search(records[ahead].message):
            for start in range(ahead, min(ahead + 4, len(records))):
                if TRACEBACK in records[start].message:
                    return start
    return None


def _one_traceback(
    records: Sequence[Record], start: int, block: list[Record]
) -> tuple[list[tuple[Record, str, bool]], int]:
    """Read frames and the exceptions of one traceback (Ray prints frames after its carrier)."""
    base = records[start].indent
    block.append(records[start])
    found: list[tuple[Record, str, bool]] = []
    position = start + 1
    while position < len(records) and len(block) < MAX_TRACEBACK:
        record = records[position]
        if TRACEBACK in record.message or _CHAIN.search(record.message):
            break
        exception = read_exception(record, loose=record.indent <= base and not found)
        if exception is not None and record.indent <= base + 2:
            found.append((record, *exception))
        elif found and not _continues(record, base):
            break
        block.append(record)
        position += 1
    return found, position


def _continues(record: Record, base: int) -> bool:
    return (
        record.indent > base
        or record.message.startswith(("File ", "ray::", "+ ", "|", "The actor", "^"))
        or not record.message
        or _ROOT_ERRORS.match(record.message) is not None
    )


def read_exception(record: Record, *, loose: bool = False) -> tuple[str, bool] | None:
    """The last part of an exception's type and whether it only carries another one."""
    found = _EXCEPTION.match(record.message)
    if found is None and loose and not record.message.startswith(("File ", "raise ")):
        found = _LOOSE_EXCEPTION.match(record.message)
    if found is None:
        return None
    name = found.group("type").split("(")[0].rsplit(".", 1)[-1]
    if name.endswith("Warning"):
        return None
    carrier = name in _CARRIERS or _CARRIED.search(record.message) is not None
    return name, carrier


def _decisive(exceptions: list[tuple[Record, str, bool]]) -> tuple[Record, str, bool] | None:
    own = [item for item in exceptions if not item[2]]
    plain = [item for item in own if item[1] not in _TEARDOWN]
    for group in (plain, own, exceptions):
        if group:
            return group[0]
    return None


def _single(record: Record) -> Episode | None:
    """A block of one line: a fatal message, an exception without its traceback, an error line."""
    message = record.message
    if record.level not in _LOUD_LEVELS and _SUSPICIOUS.search(message) is None:
        return None
    if not message or _ADVICE.search(message):
        return None
    exception = read_exception(record)
    if exception is not None and record.level not in _QUIET_LEVELS:
        name, carrier = exception
        kind: EpisodeKind = "teardown" if name in _TEARDOWN else "exception"
        if record.level == "WARNING":
            kind = "warning"
        return Episode(kind, record.number, record.number, record, name, carrier, [record])
    if record.level in _QUIET_LEVELS:
        return None
    if record.level == "FATAL" or _FATAL.search(message):
        return Episode("fatal", record.number, record.number, record, "", False, [record])
    is_frame = record.indent > FRAME_INDENT or message.startswith('File "')
    if (record.level == "ERROR" and not is_frame) or _ERROR.search(message) or " NCCL WARN " in record.text:
        carrier = _CARRIED.search(message) is not None
        return Episode("error", record.number, record.number, record, "", carrier, [record])
    return None
