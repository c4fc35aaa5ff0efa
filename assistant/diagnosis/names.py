"""What the logs call the job: its number, pod, namespace, container and node, where only one of each is named.

Commands that an entry or the verdict proposes are filled with these. Two
different names for one thing are no name: then the reader has to choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from assistant.diagnosis.reading import Run
from assistant.logs.layout import Places
from corpus.late import late
from corpus.record import Record

ONE_NODE: Final = 8
"""Ranks up to which a run whose logs name one host is taken to have been on that host."""
_POD: Final = r"[a-z0-9](?:[a-z0-9.\-]{0,250}[a-z0-9])?"
_LABEL: Final = r"[a-z0-9](?:[a-z0-9\-]{0,61}[a-z0-9])?"
_IN_LINES: Final = tuple(
    (piece, late(pattern))
    for piece, pattern in (
        ("SLURM_JOB", r"\bSLURM_JOB_?ID[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<jobid>\d{2,12})\b"),
        ("*** ", r"\*\*\* (?:JOB|STEP) (?P<jobid>\d{2,12})(?:\.\S+)? ON "),
        ("Submitted batch job", r"Submitted batch job (?P<jobid>\d{2,12})\b"),
        ("Granted job", r"Granted job allocation (?P<jobid>\d{2,12})\b"),
        ("srun: job", r"srun: job (?P<jobid>\d{2,12})\b"),
        ("JobId=", r"\bJobId=(?P<jobid>\d{2,12})\b"),
        ("StepId=", r"\bStepId=(?P<jobid>\d{2,12})(?:\.\w+)?\b"),
        ('pod="', rf"\bpod=\"(?P<namespace>{_LABEL})/(?P<pod>{_POD})\""),
        ("pod ", rf"\bpod (?P<pod>{_POD})_(?P<namespace>{_LABEL})\([0-9a-f\-]{{4,40}}\)"),
        ("pod=", rf"\bpod=\"?(?P<pod>{_POD})_(?P<namespace>{_LABEL})\([0-9a-f\-]{{4,40}}\)"),
        ("[pod/", rf"\[pod/(?P<pod>{_POD})/(?P<container>{_LABEL})\]"),
        ("pod/", rf"(?<![\w/\[])pod/(?P<pod>{_POD})(?=[\s,;:\"']|$)"),
        ("pods/", rf"(?<![\w/\[])pods/(?P<pod>{_POD})(?=[\s,;:\"']|$)"),
        ('"pod', rf"\"pod(?:_name)?\": ?\"(?P<pod>{_POD})\""),
        ('"namespace', rf"\"namespace(?:_name)?\": ?\"(?P<namespace>{_LABEL})\""),
        ('container="', rf"\bcontainer=\"(?P<container>{_LABEL})\""),
        ('containerName="', rf"\bcontainerName=\"(?P<container>{_LABEL})\""),
        ("failed container", rf"\brestarting failed container[ =](?P<container>{_LABEL})\b"),
    )
)
"""How lines name things, each with a piece that such a line holds: to look for that first is ten times cheaper."""
_HINTS: Final = ("SLURM", "*** ", "job ", "Id=", "pod", "container", "namespace")
"""And a line without any of these holds none of the pieces."""
_IN_PATHS: Final = late(r"(?:^|/)slurm-(?P<jobid>\d{2,12}(?:_\d{1,6})?)\.(?:out|err|log)\b")
_DESCRIBED: Final = late(r"^(?:Node|QoS Class|Service Account):\s")
_FACT: Final = late(r"^(Name|Namespace|Node):\s+([\w.\-]{1,253})(?:/\S*)?$")
_SECTION: Final = late(r"^([\w\-]{1,63}):$")
_OF_OBJECT: Final = late(r"^(name|namespace|nodeName): \"?([\w.\-]{1,253})\"?$")


def names_of(run: Run, places: Places) -> dict[str, str]:
    """Names by kind (`jobid`, `pod`, `namespace`, `container`, `node`, `host`), each the only one of its kind."""
    found: dict[str, dict[str, None]] = {}
    for path in run.paths:
        _take(found, _IN_PATHS.finditer(path))
    for records in run.records:
        for record in records:
            if len(record.text) <= 2000 and any(map(record.text.__contains__, _HINTS)):
                for piece, pattern in _IN_LINES:
                    if piece in record.text:
                        _take(found, pattern.finditer(record.text))
        for kind, name in (*_described(records), *_object(records)):
            found.setdefault(kind, {})[name] = None
    hosts = places.hosts | set(places.source_host.values())
    if len(hosts) == 1 and (places.world_size or 1) <= ONE_NODE:
        found.setdefault("host", {})[next(iter(hosts))] = None
    names = {kind: next(iter(them)) for kind, them in sorted(found.items()) if len(them) == 1}
    if "pod" in found and "pod" not in names:
        names.pop("container", None)  # of which of the pods nobody knows
    return names


def _take(found: dict[str, dict[str, None]], matches: Iterable[re.Match[str]]) -> None:
    for match in matches:
        for kind, name in match.groupdict().items():
            if name:
                found.setdefault(kind, {})[name] = None


def _described(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Pod, namespace, node and containers of a `kubectl describe pod`."""
    if not any(_DESCRIBED.match(record.message) for record in records):
        return []
    named: list[tuple[str, str]] = []
    section = ""
    for record, below in pairwise([*records, None]):
        assert record is not None
        if record.indent == 0 and record.message:
            section = record.message
        fact = _FACT.match(record.message) if record.indent == 0 else None
        if fact is not None and fact[1] == "Name" and (below is None or not below.message.startswith("Namespace:")):
            continue  # the name of something else
        if fact is not None and fact[2] not in {"none", "default-scheduler"}:
            named.append(({"Name": "pod", "Namespace": "namespace", "Node": "node"}[fact[1]], fact[2]))
        container = _SECTION.match(record.message) if section == "Containers:" and record.indent == 2 else None
        if container is not None:
            named.append(("container", container[1]))
    return named


def _object(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Pod, namespace and node of a `kubectl get pod -o yaml`."""
    if not any(record.message == "kind: Pod" and record.indent == 0 for record in records):
        return []
    named = []
    for record in records:
        fact = _OF_OBJECT.match(record.message) if record.indent == 2 else None
        if fact is not None:
            named.append(({"name": "pod", "namespace": "namespace", "nodeName": "node"}[fact[1]], fact[2]))
    return named
