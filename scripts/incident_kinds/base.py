"""What every generated incident is made of: stamps, files, and the truth about it."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
import zipfile
import zlib
from datetime import timedelta

KINDS: dict[str, tuple] = {}


ANY_FOUND = ["identified", "classified", "unexplained"]


SYMPTOM = ["symptom-only", "classified"]


BUS = ["1b", "43", "52", "61", "9d", "c3", "d1", "df"]


MON = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


DAY = "Mon Tue Wed Thu Fri Sat Sun".split()


def kind(fn):
    """Register an incident; its docstring says what it proves."""
    KINDS[fn.__name__] = (fn, fn.__doc__)
    return fn


def S(x):
    """Seconds."""
    return timedelta(seconds=x)


# ---------------------------------------------------------------- time forms
def torch_stamp(t, lvl="E"):
    """c10 log stamp: no year, month not padded, nanoseconds."""
    return f"[{lvl}{t.month}{t.day:02d} {t:%H:%M:%S}.{t.microsecond:06d}{(t.microsecond * 7) % 1000:03d}"


def glog(t, lvl="W", pid=1022):
    """Stamp of torch elastic: level, month, day, no year."""
    return f"{lvl}{t:%m%d %H:%M:%S}.{t.microsecond:06d} {pid}"


def iso_ns(t):
    """RFC 3339 with nanoseconds, UTC."""
    return f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06d}{(t.microsecond * 3) % 1000:03d}Z"


def comma(t):
    """Stamp of Python logging."""
    return f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d}"


def plain(t):
    """Date and time to the second."""
    return f"{t:%Y-%m-%d %H:%M:%S}"


def syslog(t):
    """Classic syslog stamp, no year."""
    return f"{MON[t.month - 1]} {t.day:2d} {t:%H:%M:%S}"


def dmesg_T(t):
    """Stamp of `dmesg -T`."""
    return f"[{DAY[t.weekday()]} {MON[t.month - 1]} {t.day:2d} {t:%H:%M:%S} {t.year}]"


def unpack(name, data):
    """Text of one generated file, archives and JSON lines opened."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            return "\n".join(z.read(n).decode() for n in z.namelist())
    if name.endswith(".gz"):
        data = gzip.decompress(data)
    if ".tar" in name:
        with tarfile.open(fileobj=io.BytesIO(data)) as z:
            return "\n".join(z.extractfile(m).read().decode() for m in z.getmembers())
    if name.endswith(".jsonl"):
        return "".join(json.loads(x)["log"] for x in data.decode().splitlines())
    return data.decode(errors="replace")


# ---------------------------------------------------------------- one incident
class Inc:
    """One incident: its files and its truth."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        self.r = random.Random(zlib.crc32(name.encode()) * 1000003 + seed)
        self.files: dict[str, bytes] = {}
        self.truth: dict = {}

    def text(self):
        """Everything written so far, unpacked."""
        return "\n".join(unpack(n, b) for n, b in self.files.items())

    def put(self, path, lines):
        """Add one file below logs/."""
        if isinstance(lines, bytes):
            self.files[path] = lines
        else:
            text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
            self.files[path] = text.encode()

    def say(
        self,
        status,
        line,
        why,
        *,
        source=None,
        rank=None,
        rank_checked=None,
        host=None,
        host_checked=None,
        suspects=(),
        suspects_checked=None,
        owner=None,
        never=(),
        covered=True,
        alt=(),
        independent=(),
    ):
        """Set the ground truth."""
        never = list(never)
        if line:
            never += [
                x
                for x in ("failed (exitcode", "closing signal SIGTERM")
                if x not in line and not any(x in y for y in never)
            ]
            never = [x for x in never if x in self.text()]
        self.truth = {
            "kind": self.name,
            "seed": self.seed,
            "inputs": ["logs"],
            "status": status,
            "line": line,
            "line_alt": list(alt),
            "source": source,
            "rank": rank,
            "rank_checked": rank is not None if rank_checked is None else rank_checked,
            "host": host,
            "host_checked": host is not None if host_checked is None else host_checked,
            "suspects": sorted(suspects),
            "suspects_checked": bool(suspects) if suspects_checked is None else suspects_checked,
            "owner": owner,
            "never_blame": list(never),
            "covered": covered,
            "independent": list(independent),
            "why": why,
        }


# ================================================================ kernel and node logs
XID79 = "GPU has fallen off the bus."
