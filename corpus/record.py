"""From the bytes of a line to records: what was printed, by whom, and when.

A record is one log line with its prefix taken off and kept as identity (time,
rank, host, pid, container, task, GPU, level). ANSI escapes, carriage-return
redraws, JSON lines, container and rank prefixes and rich boxes must not hide a
literal, so matching runs on `Record.text`; what is shown is `Record.raw`.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, replace

from corpus.timestamp import Stamp, groups_beside, read_stamp

TEXT_CAP = 65_536
"""Characters of a line that are looked at; the rest of a longer line is not matched."""
EPOCHS = (1e9, 4.1e9)
"""Seconds since 1970 that a log can be from: 2001 to 2099; a thousand times that is milliseconds."""
MAX_REDRAWS = 200
"""Redraws of one line that become records; the middle of a longer run of a progress bar is dropped."""
MAX_PREFIXES = 12
"""How many prefixes are taken off one line; launchers stack three or four."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record; `text` is the clean whole line, `message` what is left without prefixes."""

    number: int
    raw: str
    text: str
    message: str
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    container: str | None = None
    task: int | None = None
    gpu: int | None = None
    level: str | None = None
    program: str | None = None
    time: Stamp | None = None
    indent: int = 0
    """Blanks between the prefix and the message: tells frames from exceptions."""

    @property
    def stream(self) -> tuple[int | str | None, ...]:
        """Who printed it, as far as the prefix says: lines of one stream belong together.

        A process that a launcher names (Ray actor, vLLM worker) is a stream of
        its own, whatever rank or time only some of its lines carry.
        """
        if self.pid is not None and self.program is not None:
            return (self.program, self.pid, self.container)
        return (self.rank, self.local_rank, self.pid, self.task, self.container)


_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)?|[@-Z\\-_]|[()][A-Z0-9])")
_BOX_LINE = re.compile(r"^[ \t]*[│┃║] ?(.*?)[ \t]*[│┃║]?[ \t]*$")

_LEVELS = {
    "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL", "V": "DEBUG",
    "WARN": "WARNING", "CRITICAL": "FATAL", "SEVERE": "ERROR", "ERR": "ERROR", "TRACE": "DEBUG",
}  # fmt: skip

# Each prefix: one alternative, its groups named p<n>_<field>; tried at the current position.
_PREFIXES = [
    r"\[(?:rank|Rank|RANK)[ _:=]?(?P<a_rank>\d{1,6})\]:?",
    r"\[(?:rank|Rank|RANK)[ _:=]?(?P<a2_rank>\d{1,6})/\d{1,6}\]:?",
    r"\[(?P<v_host>[\w.\-]{2,80})[ :,]{1,2}(?:rank|Rank)[ :=]?(?P<v_rank>\d{1,6})\]:?",
    r"\[(?P<w_host>[\w.\-]{2,80}) (?:agent|launcher|driver|head|main)\]:?",
    r"\[default(?P<b_local>\d{1,4})\]:?",
    r"\[\d{1,6},(?P<c_rank>\d{1,6})\]<std(?:out|err|diag)>:?",
    r"\[task[ :]?(?P<d_task>\d{1,6})\]:?",
    r"(?:rank|Rank|RANK)[ _:=]?(?P<e_rank>\d{1,6})(?:/\d{1,6})?[ ]?[:|](?=[ \[])",
    r"\((?P<f_actor>[\w.<>:\-]{1,80})(?:\[rank=(?P<f2_rank>\d{1,6})\])?,? (?:rank=(?P<f_rank>\d{1,6})[, ]+)?pid=(?P<f_pid>\d{1,10})(?:, ip=(?P<f_host>[\w.\-:]{1,64}))?\)",
    r"\((?:raylet|gcs_server|autoscaler)(?:,? ip=(?P<fa_host>[\w.\-:]{1,64})| \+[\dhms]{1,12})?\)(?=\s)",
    r"\(pid=(?P<g_pid>\d{1,10})(?:, ip=(?P<g_host>[\w.\-:]{1,64}))?\)",
    r"\[pod/(?P<h_container>[\w.\-]{1,253})/[\w.\-]{1,253}\]",
    r"std(?:out|err) [FP](?= |$)",
    r"\[PG (?:ID )?\w{0,16} ?(?:PG )?(?:GUID )?[^\]]{0,64}?Rank (?P<i_rank>\d{1,6})\]:?",
    r"(?P<j_host>[\w.\-]{1,128}):(?P<j_pid>\d{1,10}):\d{1,10} \[(?P<j_gpu>\d{1,3})\](?= )",
    r"(?P<ka_level>DEBUG|INFO|WARNING|WARN|ERROR|FATAL|CRITICAL|TRACE)[ ]{1,5}[\w.\-]{1,60} (?=\d{4}-\d\d-\d\d[ T])",
    r"(?P<k_level>DEBUG|INFO|WARNING|WARN|ERROR|FATAL|CRITICAL|TRACE)(?:[ ]?[:|\-]|\s|\])+(?=\S)",
    r"(?P<kb_level>[IWEFD]) (?P<kb_pid>\d{1,10}) \d{1,10}\] \(\w{1,40}\) [\w./\-]{1,160}\.(?:cc|h):\d{1,6}:(?= )",
    r"\[(?P<l_level>DEBUG|INFO|WARNING|WARN|ERROR|FATAL|CRITICAL|TRACE|debug|info|warning|error)\s?\](?:[ ]?[:|\-])?",
    r"\[(?P<m_src>[\w./\-]{1,160}\.(?:py|cc|cpp|cu|h|c|go|rs)):\d{1,6}(?:[:(][\w.<>]{1,80}\)?)?\]",
    r"(?P<n_src>[\w./\-]{1,160}\.(?:py|cc|cpp|cu|h|c|go|rs)):\d{1,6}\](?: \[(?:Rank|rank) (?P<n_rank>\d{1,6})\])?",
    r"\[(?:RANK|rank|Rank) (?P<o_rank>\d{1,6})\]",
    r"\[(?P<s_level>[IWEF]) (?:[\w./\-]{1,160}:\d{1,6})\](?: \[(?:Rank|rank) (?P<s_rank>\d{1,6})\])?",
    r": (?P<t_level>[IWEF]) (?=[\w./\-]{1,160}:\d{1,6}\])",
    r"(?P<ta_level>[IWEF]) (?=[\w./\-]{1,160}\.(?:cc|cpp|cu|h):\d{1,6}\])",
    r"\[(?P<ub_host>[\w.\-]{1,128}):(?P<ub_pid>\d{1,10}):\d{1,4}\]\s{1,20}[\w.\-]{1,40}\.c:\d{1,6}\s{1,4}UCX\s{1,3}(?P<ub_level>ERROR|WARN|FATAL|INFO|DEBUG)\s{1,3}",
    r"(?P<x_relay>W-\d{1,6}-[\w.\-]{1,80} MODEL_LOG - )",
    r"\d{1,7}:\d{1,7}\s{1,12}(?P<y_level>DEBUG|INFO|WARN|WARNING|ERROR)\s{1,12}(?=\S)",
    r"[A-Za-z_][\w.\-]{0,80} - (?=(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b)",
    r"\[[\w\-]{2,32}\](?=\[(?:DEBUG|INFO|WARNING|ERROR|FATAL)\])",
    r"TP(?P<u_rank>\d{1,4})\](?= )",
    r"(?P<q_pid>\d{1,16}) (?=[\w./\-]{1,160}\.(?:py|cc|cpp|cu|h|c|go|rs):\d{1,6}\])",
    r"\[(?P<r_pid>\d{1,10})\] ",
    r"[|\-:]\s",
]
_PREFIX = re.compile("|".join(f"(?:{pattern})" for pattern in _PREFIXES))
_PREFIX_FIELDS = [[(number, name.partition("_")[2]) for number, name in groups] for groups in groups_beside(_PREFIXES)]
_SRUN_LABEL = re.compile(r"\s{0,4}(\d{1,5}): (?=\S)")
_TASK_BAR = re.compile(r"task[_-]?(\d{1,6}) \| (?=\S)")
_COMPOSE = re.compile(r"([A-Za-z][\w.\-]{0,80}?)(?:-\d{1,3})? {0,24}\| (?=\S)")
_PDSH = re.compile(
    r"((?=[\w\-]{0,60}[\d\-])(?:node|host|worker|gpu|compute|dgx|hgx|ip-|cn|nid|slurm|server|trainer|head|master|rack)[\w\-]{0,60}(?:\.[\w.\-]{1,60})?"
    r"|\d{1,3}(?:\.\d{1,3}){3}): (?=\S)"
)
_SLURMSTEPD = re.compile(r"slurm(?:step)?d-([\w.\-]{1,80}): (?=\S)")
_WRAPPERS = ("stdout F", "stderr F", "stdout P", "stderr P", "[pod/")
"""What a container runtime puts before a line; a launcher's label may follow it."""
_SYSLOG_TAG = re.compile(
    r"(?P<host>[\w.\-]{1,128}) (?P<program>[\w./\-]{1,64}(?:\([\w.\-]{1,32}\))?)(?:\[(?P<pid>\d{1,10})\])?: "
)
_IS_HOST = re.compile(r"[\d.\-]|host|node|gpu|local|server|box|machine")
_DAEMONS = frozenset(
    "kernel systemd sshd sudo su cron CRON slurmd slurmctld slurmstepd kubelet containerd dockerd docker rsyslogd syslogd dbus"
    " dbus-daemon NetworkManager nvidia-persistenced nv-fabricmanager nvidia-fabricmanager systemd-logind systemd-oomd"
    " earlyoom abrtd mcelog rasdaemon smartd chronyd ntpd multipathd iscsid opensm lustre nfsd rpc audit logger python python3"
    " systemd-journald systemd-coredump systemd-networkd systemd-resolved systemd-udevd k3s crio podman munged pbs_mom sge_execd".split()
)
"""Programs whose lines in a system log need no process id to be known as such."""
_KERNEL_TAG = re.compile(r"(?P<host>[\w.\-]{1,128}) kernel: ")
_LABELS = (
    (_SRUN_LABEL, "task"), (_TASK_BAR, "task"), (_COMPOSE, "container"), (_SLURMSTEPD, "host"), (_PDSH, "host"),
)  # fmt: skip
_VLLM_WORKER = re.compile(r"^(?:Vllm)?Worker_TP(\d{1,4})$")
_MESSAGE_KEYS = ("message", "msg", "log", "event", "textPayload", "MESSAGE", "text", "error")
_NESTED_KEYS = ("fields", "record", "payload", "jsonPayload")
_CONTEXT_KEYS = ("extra", "span", "context", "labels")
_PLACE_KEYS = ("rank", "host", "hostname", "node", "pod", "pod_name", "pid")
_TIME_KEYS = ("timestamp", "time", "ts", "@timestamp", "asctime", "datetime", "t")
_STACK_KEYS = ("exc_info", "exception", "stack", "stack_trace", "stacktrace", "traceback")


def _is_daemon(program: str | None) -> bool:
    return program is None or program.partition("(")[0].rpartition("/")[2] in _DAEMONS


def clean(text: str) -> str:
    """Take off ANSI escapes and the remaining control bytes that hide a literal."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\x00" in text:
        text = text.replace("\x00", "")
    return text


def read_records(raw: bytes, number: int) -> list[Record]:
    """Parse one line (without or with its newline) into records.

    Usually one; several when carriage returns redraw the line or when a JSON
    message holds newlines. All carry the same line number and raw text.
    """
    shown = raw[: TEXT_CAP * 4].decode("utf-8", "replace").rstrip("\r\n")
    text = clean(shown)[:TEXT_CAP]
    if "\r" in text:
        segments = [segment for segment in text.split("\r") if segment.strip()]
        if len(segments) > MAX_REDRAWS:
            segments = segments[: MAX_REDRAWS // 2] + segments[-MAX_REDRAWS // 2 :]
        return [record for segment in segments or [""] for record in _read_text(segment, shown, number)]
    return _read_text(text, shown, number)


def _read_text(text: str, raw: str, number: int) -> list[Record]:
    record = _strip_prefixes(text, raw, number)
    body = record.message
    if body.startswith("{") and body.rstrip().endswith("}"):
        unwrapped = _unwrap_json(body, record)
        if unwrapped:
            return unwrapped
    return [record]


def _unwrap_json(body: str, outer: Record) -> list[Record]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(data, dict):
        return []
    for name in _NESTED_KEYS:
        # Structured loggers (tracing, zap, logstash) put the message one level down.
        if isinstance(data.get(name), dict):
            data = {**data[name], **{key: value for key, value in data.items() if key != name}}
    key = next((key for key in _MESSAGE_KEYS if isinstance(data.get(key), str)), None)
    if key is None:
        return []
    whole = data.get("text")
    if isinstance(whole, str) and len(whole) > len(data[key]) and data[key] in whole:
        key = "text"  # loguru's record holds the bare message, its text the traceback as well
    texts = [data[key]] + [data[name] for name in _STACK_KEYS if isinstance(data.get(name), str)]
    lines = [line for text in texts for line in clean(text).splitlines() if line.strip()] or [""]
    identity = _json_identity(data, outer)
    records = []
    for line in lines:
        inner = _strip_prefixes(line[:TEXT_CAP], outer.raw, outer.number)
        records.append(_merge(identity, inner))
    return records


def _json_identity(data: dict[str, object], outer: Record) -> Record:
    stamp = outer.time
    for key in _TIME_KEYS:
        value = data.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and EPOCHS[0] < value < EPOCHS[1] * 1000:
            stamp = Stamp(float(value) / (1000 if value > EPOCHS[1] else 1), "absolute", zoned=True)
            break
        if isinstance(value, str):
            found = read_stamp(value)
            if found is not None:
                stamp = found.stamp
                break
        if isinstance(value, dict) and isinstance(value.get("repr"), str) and (found := read_stamp(value["repr"])):
            stamp = found.stamp
            break
    level = data.get("level") or data.get("severity") or data.get("levelname")
    if isinstance(level, dict):
        level = level.get("name")
    for name in _CONTEXT_KEYS:
        # What the logger was bound to (loguru) or the span that a line was printed in (tracing).
        context = data.get(name)
        if isinstance(context, dict):
            data = {**{key: value for key, value in context.items() if key in _PLACE_KEYS}, **data}
    host = next((data[key] for key in ("host", "hostname", "node") if isinstance(data.get(key), str)), outer.host)
    pod = next(
        (data[key] for key in ("pod", "pod_name", "container") if isinstance(data.get(key), str)), outer.container
    )
    return replace(
        outer,
        time=stamp,
        level=_level(level) if isinstance(level, str) else outer.level,
        rank=_json_int(data.get("rank"), outer.rank),
        host=host if isinstance(host, str) else outer.host,
        container=pod if isinstance(pod, str) else outer.container,
        pid=_json_int(data.get("pid"), outer.pid),
    )


def _json_int(value: object, default: int | None) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and value.isdigit() and len(value) < 10 else default


def _merge(outer: Record, inner: Record) -> Record:
    """The inner record with what only the outer prefix knew."""
    fields = ("rank", "local_rank", "host", "pid", "container", "task", "gpu", "level", "program", "time")
    missing = {name: getattr(outer, name) for name in fields if getattr(inner, name) is None}
    return replace(inner, **missing)


def _level(word: str) -> str:
    upper = word.upper()
    return _LEVELS.get(upper, upper)


class _Reader:
    """State while the prefixes of one line are taken off."""

    __slots__ = ("fields", "may_be_labelled", "position", "teed", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.teed: int | None = None
        self.may_be_labelled = True
        """Whether a launcher's label may stand here: at the start of a line, or behind a container runtime's prefix."""
        self.fields: dict[str, int | str | Stamp] = {}

    def put(self, name: str, value: int | str | Stamp) -> None:
        """Keep the outermost identity; of levels the innermost, which the program itself printed."""
        if name == "level":
            self.fields[name] = value
        else:
            self.fields.setdefault(name, value)

    def step(self) -> bool:
        text = self.text
        start = self.position
        while start < len(text) and text[start] in " \t":
            start += 1
        return self._stamp(start) or self._prefix(start) or (self.may_be_labelled and self._launcher(start))

    def _stamp(self, start: int) -> bool:
        if start >= len(text := self.text) or text[start] not in "[0123456789IWEFVJFMASONDT":
            return False
        found = read_stamp(text, start)
        if found is None:
            return False
        self.put("time", found.stamp)
        if found.stamp.kind == "monotonic":
            self.put("program", "kernel")
        if found.level:
            self.put("level", _level(found.level))
        self.position = found.end
        self.may_be_labelled = False
        if "program" not in self.fields:
            self._tag(found.end)
        return True

    def _tag(self, end: int) -> None:
        start = end + 1 if self.text[end : end + 1] == " " else end
        found = _KERNEL_TAG.match(self.text, start) or _SYSLOG_TAG.match(self.text, start)
        if found is None or found.group("host") in _LEVELS or found.group("host").isupper():
            return
        groups = found.groupdict()
        if not groups.get("pid") and _IS_HOST.search(groups["host"]) is None and not _is_daemon(groups.get("program")):
            return  # `eval prompt:` is what a program says of its own, after a time
        self.put("host", groups["host"])
        self.put("program", groups.get("program") or "kernel")
        if groups.get("pid"):
            self.put("pid", int(groups["pid"]))
        self.position = found.end()

    def _prefix(self, start: int) -> bool:
        found = _PREFIX.match(self.text, start)
        if found is None:
            return False
        self.may_be_labelled = self.text.startswith(_WRAPPERS, start)
        for group, field in _PREFIX_FIELDS[found.lastindex or 0]:
            value = found[group]
            if value is not None:
                self._keep(field, value)
        if found.lastgroup == "a_rank":
            self._tee(int(found["a_rank"]))
        self.position = found.end()
        return True

    def _tee(self, rank: int) -> None:
        """Of two `[rankN]:`, torchrun's tee put the outer one there with the local rank, and PyTorch the inner one."""
        if self.teed is not None:
            self.fields["local_rank"], self.fields["rank"] = self.teed, rank
        self.teed = rank

    def _keep(self, field: str, value: str) -> None:
        if field in {"rank", "pid", "task", "gpu"}:
            self.put(field, int(value))
        elif field == "local":
            self.put("local_rank", int(value))
        elif field == "actor":
            worker = _VLLM_WORKER.match(value)
            if worker is not None:
                self.put("rank", int(worker.group(1)))
            self.put("program", value)
        elif field == "level":
            self.put("level", _level(value))
        elif field == "relay":
            # The level before it is the relay's choice for stdout and stderr, not the program's.
            self.fields.pop("level", None)
        elif field in {"host", "container"}:
            self.put(field, value)

    def _launcher(self, start: int) -> bool:
        self.may_be_labelled = False
        for pattern, name in _LABELS:
            found = pattern.match(self.text, start if self.position else 0)
            if found is not None:
                value = found.group(1)
                self.put(name, int(value) if name == "task" else value)
                self.position = found.end()
                return True
        return False


def _strip_prefixes(text: str, raw: str, number: int) -> Record:
    if text and ("│" in text or "┃" in text or "║" in text):
        boxed = _BOX_LINE.match(text)
        if boxed is not None:
            text = boxed.group(1)
    if "&" in text and (";" in text):
        text = html.unescape(text)
    reader = _Reader(text)
    for _ in range(MAX_PREFIXES):
        if not reader.step():
            break
    rest = text[reader.position :]
    message = rest.strip()
    indent = len(rest) - len(rest.lstrip()) if message else 0
    return Record(number=number, raw=raw, text=text, message=message, indent=indent, **reader.fields)  # type: ignore[arg-type]
