"""What to fetch next: the log that would decide, and the command that gets it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from assistant.diagnosis.groups import Group, Ordered
from assistant.diagnosis.reading import Run
from assistant.diagnosis.stall import Stall
from assistant.values import fill, fill_command
from assistant.verdict import FetchNext, Suspect, VerdictStatus
from corpus.late import late

_PEER = late(
    r"remote peer ([\w.\-]+)<|from peer ([\w.\-]+)<|remote=\[?([\w.\-]+)\]?:\d+|peer ([\w.\-]+)(?:<\d+>| |$)|(?:peer|error|timeout) \[([\w.\-:]+)\]:\d+"
)
_TOOLS = "kubectl|sacct|scontrol|squeue|dmesg|journalctl|df|free|nvidia-smi|docker|crictl|py-spy|ldd|ray|systemctl|ls|cat|ss|ibstat"
_COMMAND = late(rf"`((?:{_TOOLS}) [^`]{{1,200}})`")
_KERNEL = late(r"\bdmesg\b|\bkernel(?:'s)? (?:log|record)|\bjournal(?:ctl)?\b")
_OF_POD = late(r"\bpod(?:'s)? events\b|\bevents of the pod\b|\bLast State\b")
_PLACE = late(
    rf"`(?:{_TOOLS}) [^`]{{1,200}}`|\bdmesg\b|\bkernel(?:'s)? (?:log|record)|\bjournal(?:ctl)?\b|\bpod(?:'s)? events\b|\bevents of the pod\b"
    r"|\bLast State\b|\b(?:container|server|daemon|worker|agent|own|slurmd|kubelet|driver|plog|error)(?:'s)? (?:own )?(?:logs?|file|stderr|output)\b"
    r"|\blogs? of\b|'s (?:own )?(?:logs?|output|stderr)\b|\w\.(?:log|err|out)\b|(?<![\w`])/(?:var|tmp|proc|sys)/\w|\b(?:BMC|SEL|sacct|coredump)\b|\bcore file"
)
"""A hint that names a log or a command; others say what to look at in the lines that are here, which nobody can fetch."""
_NEEDS_MORE: frozenset[str] = frozenset({"symptom-only", "inconclusive", "unexplained", "classified"})
MAX_ITEMS = 6


def fetch_next(
    run: Run,
    ordered: Ordered,
    status: VerdictStatus,
    suspects: Sequence[Suspect],
    stall: Stall | None = None,
    names: Mapping[str, str] | None = None,
) -> tuple[FetchNext, ...]:
    """Concrete next logs, the most telling first; empty when the verdict needs none.

    `names` are what the logs call the job (`RunInfo.names`); commands are filled with them.
    """
    known = names or {}
    if status not in _NEEDS_MORE and not suspects:
        return ()
    items: list[FetchNext] = []
    for suspect in suspects:
        items += _for_suspect(suspect)
    groups = ([ordered.initiating] if ordered.initiating else []) + ordered.downstream
    if status in _NEEDS_MORE:
        # What narrows a consequence is beside the point once something is known to have come before it.
        open_ones = groups[:1] if ordered.initiating else groups
        items += [item for group in groups for item in _for_peer(run, group)]
        items += [item for group in open_ones for item in _for_entry(run, group, known)]
        items += _for_launcher(run, groups, known)
        if stall is not None and ordered.initiating is None:
            items += _for_stall(stall)
    if status == "inconclusive":
        items.append(_why_it_ended(known))
    unique = {item.what: item for item in reversed(items)}
    return tuple(item for item in items if unique.pop(item.what, None) is not None)[:MAX_ITEMS]


def _for_suspect(suspect: Suspect) -> list[FetchNext]:
    if suspect.rank is None:
        return []
    where = f" on {suspect.host}" if suspect.host else ""
    return [
        FetchNext(
            what=f"output of rank {suspect.rank}{where}",
            # A launcher hands the rank over in the environment, which no list of processes shows.
            command=f"for p in $(grep -slzxE '(RANK|SLURM_PROCID)={suspect.rank}' /proc/[0-9]*/environ | cut -d/ -f3); "
            "do py-spy dump --pid $p; done"
            if suspect.reason != "absent"
            else None,
            why=suspect.because,
        )
    ]


def _for_peer(run: Run, group: Group) -> list[FetchNext]:
    """The logs of a peer that went away first, where a line names it."""
    items = []
    for candidate in group.events[:20]:
        found = _PEER.search(candidate.record.text)
        peer = next((name for name in found.groups() if name), None) if found else None
        peer = peer.removeprefix("::ffff:") if peer is not None else None
        if peer is not None and not any(peer in path for path in run.paths):
            why = f"{run.sources[candidate.source].path}:{candidate.line} says that this peer went away first"
            items.append(FetchNext(what=f"job log of {peer}", command=None, why=why))
            command = f"ssh {shlex.quote(peer if peer.count(':') > 1 else peer.split(':')[0])} dmesg -T | tail -200"
            items.append(
                FetchNext(
                    what=f"kernel log of {peer}", command=command, why="a kill or a GPU fault of that host stands there"
                )
            )
            break
    return items


def _for_entry(run: Run, group: Group, names: Mapping[str, str]) -> list[FetchNext]:
    """What narrows a class or a wrapper."""
    head, event = group.head, group.first
    if head is None or head.kind == "failure":
        return []
    place = f"{run.sources[event.source].path}:{event.line}"
    why = f"{place} ({head.title}) names no cause by itself"
    texts = [fill(text, names) for text in run.catalogue.body(head.id).get("narrows", [])]
    items = [
        FetchNext(what=text, command=command_for(text, names), why=why)
        for text in texts
        if _PLACE.search(text) is not None
    ]
    return items[:2]


def command_for(text: str, names: Mapping[str, str]) -> str | None:
    """The command that gets what a hint names: the one that it quotes, or that of the log that it speaks of."""
    quoted = _COMMAND.search(text)
    if quoted is not None:
        return fill_command(quoted.group(1), dict(names))
    where = f" -n {names['namespace']}" if "namespace" in names else ""
    if _KERNEL.search(text) is not None:
        return "dmesg -T | tail -200"
    if _OF_POD.search(text) is not None:
        return f"kubectl describe pod {names.get('pod', 'POD')}{where}"
    return None


def _for_stall(stall: Stall) -> list[FetchNext]:
    """What tells why a run stood still."""
    return [
        FetchNext(
            what="the stacks of all ranks, the next time it stands still",
            command="py-spy dump --pid PID",
            why=f"the time limit only ended it: {stall}",
        ),
        FetchNext(
            what="the kernel logs of its hosts from the time of the last step on",
            command="dmesg -T | tail -200",
            why="a GPU, a network link or a file system that stopped answering is reported there",
        ),
    ]


def _for_launcher(run: Run, groups: Sequence[Group], names: Mapping[str, str]) -> list[FetchNext]:
    texts = " ".join(event.record.text for group in groups for event in group.events[:10])
    where = f" -n {names['namespace']}" if "namespace" in names else ""
    where += f" -c {names['container']}" if "container" in names else ""
    items = []
    if "ChildFailedError" in texts or "exitcode" in texts:
        items.append(
            FetchNext(
                what="the failing worker's own output",
                command="torchrun --log-dir LOGS --redirects 3 --tee 3 ...",
                why="torchrun's table only repeats exit codes; the error stands in the worker's stderr",
            )
        )
    if "Back-off" in texts or "CrashLoopBackOff" in texts:
        items.append(
            FetchNext(
                what="output of the container's previous run",
                command=f"kubectl logs {names.get('pod', 'POD')}{where} --previous",
                why="the back-off event comes after the container had already died",
            )
        )
    return items


def _why_it_ended(names: Mapping[str, str]) -> FetchNext:
    why = "the log ends without an error and without completion, as after SIGKILL, a lost node or a truncated copy"
    if "namespace" in names or "pod" in names:
        where = f" -n {names['namespace']}" if "namespace" in names else ""
        return FetchNext(
            what="what Kubernetes says of the pod and of the end of its containers",
            command=f"kubectl describe pod {names.get('pod', 'POD')}{where}; kubectl get events{where} --sort-by=.lastTimestamp | tail -50",
            why=why,
        )
    return FetchNext(
        what="the scheduler's and the kernel's record of the end",
        command=f"sacct -j {names.get('jobid', 'JOBID')} -o JobID,State,ExitCode,End; dmesg -T | tail -200",
        why=why,
    )
