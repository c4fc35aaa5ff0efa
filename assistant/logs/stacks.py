"""Stacks of hung processes as they are found beside logs.

Reads the text forms of py-spy (`Process 12: ...`, `Thread 12 (idle): "MainThread"`),
CPython's faulthandler (`Thread 0x... (most recent call first):`), gdb and pstack
(`Thread 1 (LWP 12):`, `#0  0x... in read ()`), Linux's `/proc/PID/stack`
(`[<0>] rpc_wait_bit_killable+0x24/0xb0`), the signal handlers of glog and abseil
(`*** SIGABRT received ...`, `@ 0x... read()`), PyTorch's own (`SIGABRT(6), PID: 12,
Thread 12:`, `frame #0: read + 0x12 (...)`), and the calls that its watchdog prints
of a collective that timed out (`#0 all_reduce from file.py:2810`). Stacks of
exceptions (`Exception raised from ...`) are of the thread that threw, and are left
out. What stacks mean is decided in `assistant.diagnosis.standing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from corpus.late import late
from corpus.record import Record

MAX_FRAMES = 200
"""Frames kept of one thread; what a process waits in stands at its top, its program at its bottom."""
MAX_THREADS = 4_000
"""Threads read of one source."""

CURRENT = "Current thread"
_PROCESS = late(r"^Process (\d{1,10}): (.*)$")
_ATTACHED = late(r"^(?:Attaching to process|Attaching to program: .{1,300}, process|\[?process) (\d{1,10})\b")
_SPY_THREAD = late(r'^Thread (\d{1,16}|0x[0-9a-fA-F]{1,16}) \((?:idle|active)(?:\+gil)?\)(?:: "(.{0,200})")?$')
_FAULT_THREAD = late(r"^(Current thread|Thread) (0x[0-9a-fA-F]{1,16})(?: \[[^\]]{0,80}\])? \(most recent call first\):")
_GDB_THREAD = late(r"^Thread (\d{1,6}) \((?:Thread 0x[0-9a-fA-F]{1,16} \()?(?:LWP|process) (\d{1,10})\b")
_FAULT_START = late(r"^Timeout \(\d{1,4}:\d{2}:\d{2}(?:\.\d{1,9})?\)!|^Fatal Python error: ")
_SPY_FRAME = late(r"^(\S.{0,300}?) \((\S[^()]{0,400}?)(?::(\d{1,7}))?\)$")
_FAULT_FRAME = late(r'^File "(.{1,400}?)", line (\d{1,7}),? in (\S.{0,200})$')
_GDB_FRAME = late(
    r"^#\d{1,4}\s{1,4}(?:0x[0-9a-fA-F]{1,16} in )?(\S.{0,400}?) ?\(.{0,2000}\)(?: (?:at|from) (\S{1,400}))?$"
)
_KERNEL_FRAME = late(r"^\[<[0-9a-fA-F]{0,16}>\] ([\w.]{1,120})\+0x")
_SIGNALLED = late(
    r"(?:^|[:\]] )\*\*\* SIG[A-Z0-9]{2,8} (?:received at time=\d{1,20}\b|\(@0x[0-9a-fA-F]{1,16}\) received by PID (\d{1,10}) )"
)
_SIGNALLED_THREAD = late(r"^SIG[A-Z0-9]{2,8}\(\d{1,3}\), PID: (\d{1,10}), Thread (\d{1,10}):")
_AT_FRAME = late(
    r"(?:^|[:\]] |PC: )@\s{1,6}0x[0-9a-fA-F]{1,16}(?:\s{1,16}(?:\d{1,12}|\(unknown\)))?\s{1,8}(\S.{0,400})$"
)
_NUMBERED_FRAME = late(r"^frame #\d{1,4}: (\S.{0,2000}?) \+ 0x[0-9a-fA-F]{1,16} \(0x[0-9a-fA-F]{1,16} in (\S{1,400})\)")
_CALLED = "Stack trace of the failed collective:"
_CALL_FRAME = late(r"^#\d{1,4} (\S.{0,200}?) from (\S.{0,400}?):(\d{1,7})$")
_PROCESS_GROUP = late(r"\[PG (?:ID )?\d{1,15} PG GUID ([\w.\-]{1,40})")
_HANDLING = late(
    r"^(?:\(unknown\)|<unknown function>|__restore_rt|(?:__GI_)?(?:raise|abort|gsignal|__pthread_kill_implementation)\b|c10::FatalSignalHandler::|absl::\S*(?:WriteFailureInfo|AbslFailureSignalHandler)|google::)"
)
"""Frames of the handler that prints a stack, or without a name: none of them says what the program did."""
_RANK_ARGUMENT = late(r"(?:--(local[_-])?rank[= ]|\b(LOCAL_)?RANK=)(\d{1,6})\b")
_HINTS = (
    "Thread ",
    "Process ",
    "Attaching ",
    "Timeout (",
    "File ",
    "#",
    "[<",
    "process ",
    "[process ",
    "Current ",
    "Fatal ",
    "SIG",
    _CALLED,
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; `file` may be a library, and empty for frames of the kernel."""

    name: str
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line is not None else self.file
        return f"{self.name} ({where})" if where else self.name


@dataclass(slots=True)
class Thread:
    """One thread, its innermost frame first."""

    record: Record
    name: str = ""
    is_main: bool = False
    frames: list[Frame] = field(default_factory=list)


@dataclass(slots=True)
class ProcessStack:
    """The threads of one process at one time."""

    source: int
    record: Record
    """The first line of the dump."""
    pid: int | None = None
    rank: int | None = None
    """As its command line says; a prefix or a file name is looked up by the caller."""
    local_rank: int | None = None
    group: str | None = None
    """The process group of the collective whose call it is; None where it is no such call."""
    threads: list[Thread] = field(default_factory=list)

    @property
    def main(self) -> Thread | None:
        """The thread that runs the program."""
        with_frames = [thread for thread in self.threads if thread.frames]
        for thread in with_frames:
            if thread.is_main:
                return thread
        # faulthandler names no thread; the one that began with the script is the main one.
        script = [thread for thread in with_frames if any(frame.name == "<module>" for frame in thread.frames)]
        return script[-1] if script else with_frames[-1] if with_frames else None


def read_stacks(sources: Sequence[Iterable[Record]]) -> list[ProcessStack]:
    """All process dumps of all sources that hold at least one frame."""
    found: list[ProcessStack] = []
    for index, records in enumerate(sources):
        readers: dict[tuple[object, ...], _Reader] = {}
        groups: dict[tuple[object, ...], str] = {}
        threads = 0
        opened: tuple[object, ...] | None = None
        for record in records:
            stream: tuple[object, ...] = (record.host, *record.stream)
            if record.time is not None or record.level is not None or any(part is not None for part in stream):
                opened = stream if _CALLED in record.message or "*** SIG" in record.message else None
            elif opened is not None:
                stream = opened  # written with the line above, which alone has a prefix
            reader = readers.get(stream)
            if reader is None:
                if not record.message.startswith(_HINTS) and "*** SIG" not in record.message:
                    _note_group(groups, stream, record)
                    continue
                reader = readers[stream] = _Reader(index)
            _note_group(groups, stream, record)
            reader.group = groups.get(stream)
            threads += reader.read(record)
            if threads > MAX_THREADS:
                break
        for reader in readers.values():
            found += [dump for dump in reader.dumps if dump.main is not None]
    return found


def _note_group(groups: dict[tuple[object, ...], str], stream: tuple[object, ...], record: Record) -> None:
    """The process group that the watchdog of a stream last spoke of; the lines that follow name none."""
    if "PG GUID" in record.text and (found := _PROCESS_GROUP.search(record.text)) is not None:
        groups[stream] = found.group(1)


class _Reader:
    """Reads the dumps of one stream, line by line."""

    def __init__(self, source: int) -> None:
        self.source = source
        self.dumps: list[ProcessStack] = []
        self.thread: Thread | None = None
        self.is_open = False
        self.has_current = False
        self.group: str | None = None
        self.signal = ""

    def read(self, record: Record) -> int:
        """Take one line; returns 1 when it starts a thread."""
        message = record.message
        if self._starts_dump(record, message):
            return 0
        thread, lwp = self._thread(record, message)
        if thread is not None:
            self._take(record, thread, lwp)
            return 1
        frame = _frame(message)
        if frame is not None and _HANDLING.match(frame.name) is not None:
            return 0
        if frame is not None and self.thread is None and message.startswith(("#0 ", "[<")):
            # A bare backtrace, or /proc/PID/stack, has no line for its thread.
            self._take(record, Thread(record, is_main=True), None)
        if frame is not None and self.thread is not None:
            if message.startswith("#0 ") and self.thread.frames:
                self._take(record, Thread(record), None)
            if len(self.thread.frames) < MAX_FRAMES:
                self.thread.frames.append(frame)
        elif (
            message
            and frame is None
            and not message.startswith(("Python v", "Arguments", "Locals", "<", "frame #", "    @"))
        ):
            self._close(record)
        return 0

    def _starts_dump(self, record: Record, message: str) -> bool:
        process = _PROCESS.match(message)
        attached = process or _ATTACHED.match(message)
        if attached is not None:
            dump = self._new(record, int(attached.group(1)))
            if process is not None:
                _read_command(dump, process.group(2))
            return True
        if _FAULT_START.match(message):
            self._new(record, None)
            return True
        signalled = _SIGNALLED.search(message) if "*** SIG" in message else None
        if signalled is not None:
            if signalled.group().rpartition("*** ")[2] == self.signal and self.is_open:
                self.thread = None  # abseil prints it once more through its logger
                return True
            self._new(record, int(signalled.group(1)) if signalled.group(1) else None)
            self.signal = signalled.group().rpartition("*** ")[2]
            self._take(record, Thread(record, is_main=True), None)
            return True
        if message.startswith(_CALLED):
            self._new(record, None).group = self.group or ""
            self._take(record, Thread(record, is_main=True), None)
            return True
        return False

    def _thread(self, record: Record, message: str) -> tuple[Thread | None, int | None]:
        if message.startswith("SIG") and (signalled := _SIGNALLED_THREAD.match(message)) is not None:
            process, number = int(signalled.group(1)), int(signalled.group(2))
            if not self.is_open or self.dumps[-1].pid != process:
                self._new(record, process)
            return Thread(record, f"Thread {number}", number == process), number
        if not message.startswith(("Thread ", "Current thread ")):
            return None, None
        if (spy := _SPY_THREAD.match(message)) is not None:
            pid = self.dumps[-1].pid if self.dumps and self.is_open else None
            is_main = spy.group(2) == "MainThread" or spy.group(1) == str(pid)
            return Thread(record, spy.group(2) or "", is_main), None
        if (fault := _FAULT_THREAD.match(message)) is not None:
            if fault.group(1) == CURRENT:
                # A process has one current thread: another one is of another process that wrote into the same file.
                if not self.is_open or self.has_current:
                    self._new(record, None)
                self.has_current = True
            return Thread(record, fault.group(2)), None
        if (gdb := _GDB_THREAD.match(message)) is not None:
            return Thread(record, f"Thread {gdb.group(1)}", gdb.group(1) == "1"), int(gdb.group(2))
        return None, None

    def _take(self, record: Record, thread: Thread, lwp: int | None) -> None:
        if not self.is_open:
            self._new(record, None)
        dump = self.dumps[-1]
        if thread.is_main and dump.pid is None and lwp is not None:
            dump.pid = lwp  # the number of a process is that of its first thread
        dump.threads.append(thread)
        self.thread = thread

    def _new(self, record: Record, pid: int | None) -> ProcessStack:
        self.dumps.append(ProcessStack(self.source, record, pid if pid is not None else record.pid))
        self.is_open, self.has_current, self.thread = True, False, None
        return self.dumps[-1]

    def _close(self, record: Record) -> None:
        """A line that belongs to no stack ends the thread; a stamped one ends the dump."""
        self.thread = None
        if record.time is not None or record.level is not None:
            self.is_open = False


def _frame(message: str) -> Frame | None:
    if message.startswith("File "):
        found = _FAULT_FRAME.match(message)
        return Frame(found.group(3), found.group(1), int(found.group(2))) if found else None
    if "@ " in message[:80] and (at := _AT_FRAME.search(message)) is not None:
        return Frame(at.group(1))
    if message.startswith("frame #"):
        found = _NUMBERED_FRAME.match(message[:3000])
        return Frame(found.group(1), found.group(2)) if found else None
    if message.startswith("#") and (called := _CALL_FRAME.match(message)) is not None:
        return Frame(called.group(1), called.group(2), int(called.group(3)))
    if message.startswith("#"):
        found = _GDB_FRAME.match(message[:3000])
        return _gdb_frame(found.group(1), found.group(2)) if found else None
    if message.startswith("[<"):
        found = _KERNEL_FRAME.match(message)
        return Frame(found.group(1)) if found else None
    found = _SPY_FRAME.match(message)
    if found is None or (" " in found.group(1) and "::" not in found.group(1) and not found.group(3)):
        return None
    return Frame(found.group(1), found.group(2), int(found.group(3)) if found.group(3) else None)


def _gdb_frame(name: str, where: str | None) -> Frame:
    file, _, line = (where or "").rpartition(":")
    return Frame(name, file, int(line)) if file and line.isdigit() and len(line) < 8 else Frame(name, where or "")


def _read_command(dump: ProcessStack, command: str) -> None:
    found = _RANK_ARGUMENT.search(command)
    if found is None:
        return
    if found.group(1) or found.group(2):
        dump.local_rank = int(found.group(3))
    else:
        dump.rank = int(found.group(3))
