"""The job window: which events belong to this job.

A kernel or platform event outside the time of the job's own sources is
unrelated; one that cannot be placed in time is a suspect, never identified.
Process ids tell another job's kill on a shared node from ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from assistant.diagnosis.collectives import timeout_seconds
from assistant.diagnosis.events import Event, Tier, pci_address
from assistant.diagnosis.progress import Progress, is_weak
from assistant.diagnosis.reading import Run
from assistant.diagnosis.zones import zone_shift
from assistant.logs.clock import DAY, Moment, RunClock
from assistant.logs.layout import Places, is_kernel_name
from corpus.late import late
from corpus.record import Record

GRACE_S = 120.0
"""A node event this long before the first or after the last record of a job is still its own."""
KERNEL_SHARE = 0.6
"""A source most of whose records the kernel wrote is a kernel log."""


def kernel_sources(run: Run) -> set[int]:
    """Sources that a kernel wrote (dmesg, journal), as opposed to the job."""
    found = set()
    for index, source in enumerate(run.sources):
        sample = source.records[:400]
        by_kernel = sum(record.program == "kernel" or "NVRM:" in record.text for record in sample)
        named = is_kernel_name(source.path)
        if sample and (by_kernel / len(sample) >= KERNEL_SHARE or (named and by_kernel > 0) or named):
            found.add(index)
    return found


def read_pods_spoken_of(events: Sequence[Event]) -> None:
    """Note the pod of each event of the platform that names one."""
    for event in events:
        if event.head is not None and event.head.family == "scheduler-platform":
            found = _POD.search(event.record.text)
            if found is not None:
                event.pod = next(name for name in found.groups() if name)


def mark_unrelated(run: Run, events: Sequence[Event], places: Places, clock: RunClock, progress: Progress) -> None:
    """Set aside node events that are not this job's, or that cannot be placed in time."""
    kernel = kernel_sources(run)
    job = [index for index in range(len(run.sources)) if index not in kernel]
    if not job:
        return
    cluster = platform_sources(run)
    own = [index for index in job if index not in cluster]
    if own and cluster:
        mark_other_objects(run, events, own)
        _mark_other_nodes(events, cluster, places, run, own)
    span = _job_span(run, clock, job)
    ended = _completed_at(events, progress, clock, kernel)
    ranks = ranks_seen(run, places, events) if places.rank_of_bus else set()
    are_all_named = cache(lambda: _names_every_process(run, events, places))
    for event in events:
        if not (event.source in kernel or (event.kernel and span is not None)):
            continue
        foreign = _foreign_pid(event, places)
        if foreign and not are_all_named():
            event.unplaced, foreign = f"{foreign}, and they do not name all of them", ""
        foreign = foreign or _foreign_command(run, event, job)
        stranger = "" if foreign else _foreign_gpu(event, places, ranks)
        following = _seconds_to_error(event, events, job) if stranger and not places.world_said else None
        if following is not None:
            event.unplaced = (
                f"{stranger}, but these may not be all of the job's, and {_length(following)} later it met an error"
            )
        foreign = foreign or ("" if event.unplaced else stranger)
        if (
            ended is not None
            and event.moment is not None
            and (gap := ended.before(event.moment)) is not None
            and gap > 0
        ):
            event.unrelated = f"{_length(gap)} after the job had completed"
            continue
        if span is None or event.moment is None or event.moment.axis != span[0].axis:
            if event.source not in kernel or (not foreign and _tells_of_kill(event, places)):
                continue
            event.unplaced = "its time cannot be compared with the job's"
            if foreign:
                event.unrelated = foreign
            continue
        early = span[0].seconds - event.moment.seconds
        late = event.moment.seconds - span[1].seconds
        shift = _other_zone(run, event, events, job) if max(early, late) > GRACE_S and not foreign else None
        if shift is not None:
            event.unplaced = (
                f"one log names its time zone and the other does not; {abs(shift) / 3600:g} hours"
                f" {'later' if shift > 0 else 'earlier'} it would be just before an error of the job"
            )
        elif early > GRACE_S:
            event.unrelated = f"{_length(early)} before the first record of the job"
        elif late > GRACE_S:
            event.unrelated = f"{_length(late)} after the last record of the job"
        elif foreign:
            event.unrelated = foreign


def _seconds_to_error(event: Event, events: Sequence[Event], job: Sequence[int]) -> float | None:
    """Seconds from a node event to the first error of the job soon after it; None where there is none."""
    gaps = [
        gap
        for other in events
        if other.source in job and not other.kernel and other.tier <= Tier.CONSEQUENCE and not other.quiet
        if event.moment is not None and other.onset is not None
        if (gap := event.moment.before(other.onset)) is not None and 0 <= gap <= GRACE_S
    ]
    return min(gaps, default=None)


def _other_zone(run: Run, event: Event, events: Sequence[Event], job: Sequence[int]) -> float | None:
    """Seconds by which a zone that only one of two logs names may put a node event just before an error of the job."""
    stamp = event.record.time
    if stamp is None or stamp.kind != "absolute" or event.moment is None:
        return None
    for other in events:
        theirs = other.record.time
        is_error = other.source in job and not other.kernel and other.tier <= Tier.CONSEQUENCE and not other.quiet
        if not is_error or theirs is None or theirs.kind != "absolute" or theirs.zoned == stamp.zoned:
            continue
        gap = event.moment.before(other.moment) if other.moment is not None else None
        shift = zone_shift(gap, GRACE_S) if gap is not None else None
        if shift is not None:
            return shift
    return None


_POD = late(r"\bpods?/([\w.\-]+)|\bpod ([a-z0-9][\w.\-]*)_[a-z0-9\-]+\([0-9a-f\-]{4,40}\)|\bpod=\"[\w\-]+/([\w.\-]+)\"")


def mark_other_objects(run: Run, events: Sequence[Event], job: Sequence[int]) -> None:
    """Set aside platform events that name a pod which the job's own sources do not know."""
    texts = [path for path in run.paths] + [
        record.container for index in job for record in run.sources[index].records if record.container is not None
    ]
    has_own_fault = any(event.source in job and _is_own_fault(event) for event in events)
    spoken = [event for event in events if event.pod and event.source not in job]
    ours = {event.pod for event in spoken if any(_is_of(event.pod, text) for text in texts)}
    for event in spoken:
        pod = event.pod
        known = pod in ours
        # What keeps a member of the job away explains only a wait for it, never a fault that the others have themselves.
        if not known and (has_own_fault or not any(is_sibling(pod, text) for text in texts)):
            if ours:
                event.unrelated = event.unrelated or f"it speaks of pod {pod}, another one than the job's"
            event.unplaced = event.unplaced or f"it speaks of pod {pod}, which the job's own logs do not name"


def _is_of(pod: str, text: str) -> bool:
    """Whether a path or the name of a container is of a pod."""
    return len(text) > 3 and (pod in text or text in pod)


def _is_own_fault(event: Event) -> bool:
    """Whether an event of the job's own logs may be where it began."""
    may_begin = event.head is None or event.head.role == "initiating"
    return event.tier <= Tier.EXCEPTION and may_begin and not event.quiet


_INDEXED = late(
    r"^(?P<job>[a-z0-9][a-z0-9.\-]*?)-(?:(?:master|worker|launcher|chief|ps|evaluator|leader|head|node|replica|server)-)?\d{1,5}$"
)
_GENERATED = late(r"^(?P<owner>[a-z0-9][a-z0-9.\-]*?)(?:-[bcdf0-9]{6,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}$")
"""A pod that a Job or a Deployment made: its owner, then letters by chance."""
_FILE_END = late(r"(?:\.(?:log|txt|out|err|json|previous|prev|gz))+$|[._\-](?:previous|prev)$")


def is_sibling(pod: str, known: str) -> bool:
    """Whether two pods (or the file of one) are members of one job: its worker 0 beside its master, or one that took another's place."""
    if pod == known:
        return True
    name = _FILE_END.sub("", known.replace("!", "/").rsplit("/", 1)[-1])
    mine, other = _INDEXED.match(pod), _INDEXED.match(name)
    if mine is not None and other is not None:
        return mine.group("job") == other.group("job")
    made, also = _GENERATED.match(pod), _GENERATED.match(name)
    return made is not None and also is not None and made.group("owner") == also.group("owner")


def platform_sources(run: Run) -> set[int]:
    """Sources that list events of a whole cluster (kubectl get events, sinfo, slurmctld), beside a job's own."""
    found = set()
    for index, source in enumerate(run.sources):
        head = [record.text for record in source.records[:3]]
        if any(_CLUSTER_TABLE.search(text) for text in head) or _CLUSTER_FILE.search(source.path):
            found.add(index)
    return found


_CLUSTER_TABLE = late(
    r"^LAST SEEN\s+TYPE\s+REASON|^NAMESPACE\s+LAST SEEN|^REASON\s+USER\s+TIMESTAMP|^PARTITION\s+AVAIL|^\s*JobID\s+JobName"
)
_CLUSTER_FILE = late(r"(?:^|/)(?:events|slurmctld|sinfo|sacct|squeue)[\w.\-]*$")


def _job_span(run: Run, clock: RunClock, job: Sequence[int]) -> tuple[Moment, Moment] | None:
    """First and last moment that the job's own lines tell of, kernel lines in its sources left out.

    A timeout tells that its rank ran since it began to wait, which is all that a log's tail may show of the time before.
    """
    moments = [
        told
        for index in job
        for record in run.sources[index].records
        if record.time is not None and record.program != "kernel" and "NVRM:" not in record.text
        if (moment := clock.at(index, record.number)) is not None
        for told in _told_of(moment, record)
    ]
    if not moments:
        return None
    wall = [moment for moment in moments if moment.axis == "wall"] or moments
    mine = [moment for moment in wall if moment.axis == wall[0].axis]
    return min(mine, key=lambda m: m.seconds), max(mine, key=lambda m: m.seconds)


def _told_of(moment: Moment, record: Record) -> tuple[Moment, ...]:
    """The moment of a line and, of a timeout, the one at which its wait began."""
    waited = timeout_seconds(record.text) if "ran for " in record.text else 0.0
    return (moment, replace(moment, seconds=moment.seconds - waited)) if 0 < waited <= DAY else (moment,)


def _mark_other_nodes(events: Sequence[Event], cluster: set[int], places: Places, run: Run, own: Sequence[int]) -> None:
    """Set aside node events of a cluster's tables whose node the job's own sources do not name."""
    hosts = {
        host
        for host in places.hosts
        if any(host in record.text for index in own for record in run.sources[index].records)
    }
    for event in events:
        if (
            event.source in cluster
            and event.head is not None
            and event.tier <= Tier.CLASS
            and not _POD.search(event.record.text)
        ):
            known = event.host is not None and event.host in hosts
            named = any(host in event.record.text for host in hosts)
            if not known and not named:
                event.unplaced = (
                    event.unplaced or "it speaks of the cluster, and nothing ties it to the nodes of this job"
                )


def _completed_at(events: Sequence[Event], progress: Progress, clock: RunClock, kernel: set[int]) -> Moment | None:
    """When the job said that it had completed, if nothing of its own failed after that."""
    own = [event for event in events if event.source not in kernel and not event.quiet and event.tier <= Tier.EXCEPTION]
    found = [(source, record) for source, record in last_words(progress.done, own) if source not in kernel]
    moments = [moment for source, record in found if (moment := clock.at(source, record.number)) is not None]
    return max(moments, key=lambda moment: moment.seconds, default=None)


_JOB_COMMANDS = late(
    r"python|pt_|torch|ray|vllm|train|megatron|deepspeed|mpi|srun|slurm|java|node|nccl|cuda|jax|triton", re.I
)


def _foreign_command(run: Run, event: Event, job: Sequence[int]) -> str:
    """Why a kill of a program that has nothing to do with training is another one's, if it is."""
    capture = event.hit.captures.get("comm") if event.hit is not None else None
    if capture is None or _JOB_COMMANDS.search(capture.text) is not None:
        return ""
    if any(capture.text in record.text for index in job for record in run.sources[index].records[:400]):
        return ""
    return f"the program {capture.text} is not one that the job's logs name"


def _foreign_pid(event: Event, places: Places) -> str:
    """Why an event that names a process id is another job's, if it is."""
    if event.hit is None or "pid" not in event.hit.captures or not places.pids:
        return ""
    text = event.hit.captures["pid"].text
    if not text.isdigit() or len(text) > 10 or int(text) in places.pids:
        return ""
    command = event.hit.captures.get("comm") or event.hit.captures.get("name")
    named = f" ({command.text})" if command is not None else ""
    return f"process {text}{named} is not one of the job's processes that the logs name"


def _names_every_process(run: Run, events: Sequence[Event], places: Places) -> bool:
    """Whether the logs name the process of every rank that they speak of; a launcher may name itself alone."""
    ranks = ranks_seen(run, places, events)
    known = set(places.rank_of_pid.values())
    return known >= ranks and (places.world_size is None or not ranks or len(known) >= places.world_size)


def _tells_of_kill(event: Event, places: Places) -> bool:
    """Whether the kernel tells of the very kill that a launcher saw: then that, and no time, places it in the job."""
    text = event.hit.captures["pid"].text if event.hit is not None and "pid" in event.hit.captures else ""
    if not text.isdigit() or len(text) > 10 or int(text) not in places.killed:
        return False
    rank = places.rank_of_pid.get(int(text))
    theirs = places.host_of_rank.get(rank) if rank is not None else places.host_of_pid.get(int(text))
    if event.host is not None and theirs is not None and event.host.split(".")[0] != theirs.split(".")[0]:
        return False  # the same number on another host is another process
    event.notes.append(f"the job's own logs say that process {text} was killed, or gone without a word")
    return True


def _foreign_gpu(event: Event, places: Places, ranks: set[int]) -> str:
    """Why an Xid is another job's, if it is: the GPU of every rank is known, and it names none of them.

    The ranks seen count as well: the only communicator in the logs may be a subgroup's.
    """
    is_gpu = event.kernel and "NVRM:" in event.record.text and "SXid" not in event.record.text
    address = pci_address(event) if is_gpu and event.rank is None else ""
    mapped = set(places.rank_of_bus.values())
    if not address or places.world_size is None or len(mapped) < places.world_size or not ranks <= mapped:
        return ""
    if any(known == address for _, known in places.rank_of_bus):
        return ""
    return f"the GPU at PCI address {address} is none of those that the job's own NCCL lines name"


def ranks_seen(run: Run, places: Places, events: Sequence[Event]) -> set[int]:
    """Ranks that anything in the logs names."""
    ranks = {event.rank for event in events if event.rank is not None}
    for source in run.sources:
        for tally in source.scan.tallies.values():
            ranks |= tally.ranks
    for index, records in enumerate(run.records):
        if index in places.source_rank:
            ranks.add(places.source_rank[index])
        for record in records:
            if record.rank is not None and index not in places.teed:
                ranks.add(record.rank)
            elif record.rank is not None or record.gpu is not None or record.task is not None:
                rank = places.rank_of(index, record)
                if rank is not None:
                    ranks.add(rank)
    return ranks


def _length(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def last_words(done: Sequence[tuple[int, Record]], events: Sequence[Event]) -> list[tuple[int, Record]]:
    """Lines of completion that no failed worker or uncaught exception of the same source follows."""
    fatal: dict[int, int] = {}
    for event in events:
        if event.tier in {Tier.FAILURE, Tier.EXCEPTION, Tier.WRAPPER} and not event.quiet and not event.kernel:
            fatal[event.source] = max(fatal.get(event.source, 0), event.line)
    return [
        (source, record)
        for source, record in done
        if record.number > fatal.get(source, 0) and not is_weak(record.message)
    ]
