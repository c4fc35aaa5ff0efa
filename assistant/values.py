"""The reader's own values in an entry's prose: `<pci>`, `<host>`, `<rank>` become what the log says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from assistant.verdict import Diagnosis, EvidenceLine, Finding

_NAME: Final = re.compile(r"<([a-z][a-z0-9_]*)>")
_SAFE: Final = re.compile(r"(?!-)[\w./:@%+=,\-]{1,200}", re.ASCII)
"""What may stand in a command without quotes; a log could bind anything, and people paste commands."""
_REDACTED: Final = re.compile(r"[xX*.]{3,}|[\[<].*[\]>]")


_KUBECTL: Final = re.compile(r"(?<![\w/.-])kubectl( (?:[^|;&\n'\"`)]|'[^'\n]*'|\"[^\"\n]*\")*)")
"""One call of kubectl, to the end of its part of a shell line."""
_NAMESPACE_TOLD: Final = re.compile(r" (?:-n|-A|--namespace|--all-namespaces|--context)\b|<namespace>")
_OF_CLUSTER: Final = re.compile(
    r"^ (?:-|(?:config|version|cluster-info|api-resources|api-versions|auth|certificate|cordon|uncordon|drain|taint|plugin|apply|create"
    r"|explain|kustomize)\b|debug node/|(?:get|describe|delete|label|annotate|top|edit|patch|wait)(?: --?\S+)* "
    r"(?:nodes?|no|pv|persistentvolumes?|sc|storageclass(?:es)?|ns|namespaces?|crds?|customresourcedefinitions?|clusterpolic(?:y|ies)"
    r"|priorityclass(?:es)?|pc|runtimeclass(?:es)?|volumeattachments?|csinodes?|csidrivers?|clusterroles?\w*|deviceclass(?:es)?"
    r"|resourceslices?|(?:mutating|validating)webhook\w*|clusterqueues?|resourceflavors?|--raw)(?:[/. ]|$))"
)
"""Calls of kubectl that take no namespace, and those that write what a file of their own names."""


_ON_THE_LINE: Final = {
    "pci": re.compile(
        r"(?<![\w.])(?<![0-9a-fA-F]:)(?:0[0-9a-fA-F]{3}|0{4}[0-9a-fA-F]{4}):[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?(?![\w:])"
    ),
    "pid": re.compile(r"\bpid[= ](\d{2,10})\b|^[\w.\-]{1,128}:(\d{2,10}):\d{2,10} \[\d{1,3}\] "),
}
"""Values that are told by their shape, for a deciding line whose signature does not bind them.

No paths: most commands mean the log by `<path>`, and a line may name the program, a module or a socket.
"""
_JOB_ID: Final = re.compile(
    r"\b(?:(?i:slurm_job_?id|job ?id|jobid|stepid)|JOB|STEP|Job|batch job|srun: job)\b[\"']?\s*[=:#]?\s*(\d{2,12})\b"
    r"|\bslurm-(\d{2,12})\.(?:out|err|log)\b"
)
"""A job's number as Slurm, PBS and their tools print it, and as Slurm names its output file."""


def job_ids(diagnosis: Diagnosis) -> dict[str, str]:
    """The numbers of the job that the evidence and the names of the logs give away, each with its place."""
    found: dict[str, str] = {}
    for finding in diagnosis.all_findings():
        if finding.role == "unrelated":
            continue
        for line in finding.evidence:
            for number in _jobs_of(finding, line):
                found.setdefault(number, line.place)
    for source in diagnosis.sources:
        for match in re.finditer(r"\bslurm-(\d{2,12})\.(?:out|err|log)\b", source.path):
            found.setdefault(match[1], "verdict#run")
    return found


def _jobs_of(finding: Finding, line: EvidenceLine) -> list[str]:
    """The job numbers of one line: what a signature bound under a name for it, else what stands there."""
    names = ["jobid", "job_id", "job"]
    if finding.entry is not None and finding.entry.id.startswith("slurm-"):
        names.append("id")  # what Slurm's own messages call by a number is a job, or a step of one
    bound = [line.captures[name].partition(".")[0] for name in names if line.captures.get(name)]
    bound = [value for value in bound if value.isascii() and value.isdigit()]
    return bound or [match[1] or match[2] for match in _JOB_ID.finditer(line.text)]


def values_of(
    finding: Finding, diagnosis: Diagnosis | None = None, *, names: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Values by name: what the deciding line bound first, then the other lines, then rank, host and job.

    What the run is called is also taken from the rest of the diagnosis (or `names`), where that leaves no choice.
    """
    found: dict[str, str] = {}
    for line in finding.evidence:
        for name, value in line.captures.items():
            if value and not _REDACTED.fullmatch(value):
                found.setdefault(name, value)
    for name, pattern in _ON_THE_LINE.items():
        # A line may carry two signatures, and only one of them binds: what stands there once is meant all the same.
        text = finding.evidence[0].text if finding.evidence else ""
        seen = {next((group for group in match.groups() if group), match[0]) for match in pattern.finditer(text)}
        if len(seen) == 1:
            found.setdefault(name, seen.pop())
    if len(finding.ranks) == 1:
        found.setdefault("rank", str(finding.ranks[0]))
    if len(finding.hosts) == 1:
        found.setdefault("host", finding.hosts[0])
    jobs = list(dict.fromkeys(number for line in finding.evidence for number in _jobs_of(finding, line)))
    if not jobs and diagnosis is not None:
        jobs = list(job_ids(diagnosis))
    if len(jobs) == 1:
        found.setdefault("jobid", jobs[0])
    known = dict(names if names is not None else diagnosis.run.names if diagnosis is not None else {})
    if finding.role == "unrelated" or len(jobs) > 1:
        known.pop("jobid", None)
    if finding.hosts:  # this one was elsewhere, or on several
        known.pop("host", None)
        known.pop("node", None)
    for name, value in known.items():
        found.setdefault(name, value)
    if "host" in found or "node" in found:
        found.setdefault("node", found.get("host", ""))
        found.setdefault("host", found["node"])
    return found


def fill(text: str, values: Mapping[str, str]) -> str:
    """Prose with the known values in it; a name without a value stays as it is."""
    return _NAME.sub(lambda found: values.get(found.group(1), found.group()), text)


def fill_command(text: str, values: Mapping[str, str]) -> str:
    """A command with the known values in it, but only those that a shell takes as one plain word."""
    safe = {name: value for name, value in values.items() if _SAFE.fullmatch(value)}
    return _in_namespace(fill(text, safe), safe.get("namespace"))


def _in_namespace(command: str, namespace: str | None) -> str:
    """The command with `-n NAMESPACE` behind each kubectl that asks for something of a namespace and names none."""
    if not namespace or "kubectl" not in command:
        return command

    def named(found: re.Match[str]) -> str:
        is_told = _NAMESPACE_TOLD.search(found[0]) or _OF_CLUSTER.search(found[1])
        return found[0] if is_told else f"kubectl -n {namespace}{found[1]}"

    return _KUBECTL.sub(named, command)
