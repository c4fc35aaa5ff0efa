"""Facts about the run that the report lists: ranks, hosts, steps, times, versions, attempts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assistant.diagnosis.events import Event
from assistant.diagnosis.groups import Ordered
from assistant.diagnosis.names import names_of
from assistant.diagnosis.progress import Progress
from assistant.diagnosis.reading import Run
from assistant.diagnosis.skew import Skew, is_certain
from assistant.diagnosis.window import kernel_sources, ranks_seen
from assistant.logs.clock import RunClock
from assistant.logs.layout import Places
from assistant.verdict import Attempt, Phase, RunInfo, SourceInfo
from corpus.late import late

_VERSIONS = (
    ("torch", late(r"\b(?:torch|pytorch|PyTorch)(?: version| ver)?[ :=]{1,3}v?(\d+\.\d+\.\d+(?:[+.\w]*\w)?)")),
    ("nccl", late(r"\bNCCL version[ :=]{0,2} ?v?(\d+\.\d+\.\d+)")),
    ("cuda", late(r"\b(?:CUDA|cuda)(?: Version| version| runtime)?[ :=]{1,3}v?(\d{1,2}\.\d{1,2})(?![\d.]*\.\d)")),
    ("driver", late(r"\b(?:Driver Version|NVIDIA driver version|NVRM version: NVIDIA UNIX \S+ Kernel Module)[ :]{1,3}\s*(\d{3}\.\d{2,3}(?:\.\d{2})?)")),
    ("vllm", late(r"\b(?:vLLM|vllm)(?: API server| engine)? (?:version|\(v)[ :]?v?(\d+\.\d+\.\d+(?:[.\w+]*\w)?)")),
    ("jax", late(r"\bjax(?: version)?[ :=]{1,3}v?(\d+\.\d+\.\d+)")),
    ("deepspeed", late(r"DeepSpeed info: version=(\d+\.\d+\.\d+)")),
    ("transformers", late(r"\b[Tt]ransformers(?: version)?[ :=]{1,3}v?(\d+\.\d+\.\d+)")),
    ("python", late(r"\bPython(?: version)?[ :=]{1,2}(3\.\d+\.\d+)")),
)  # fmt: skip
_NAMES_A_PART = late(r"[Vv]ersion|(?:torch|jax|NCCL|CUDA|cuda|ransformers|Python)[ :=]{1,3}v?\d")
_PHASES: tuple[tuple[Phase, re.Pattern[str]], ...] = (
    ("teardown", late(r"destroy_process_group|shutting down|Shutting down|shutdown barrier", re.I)),
    (
        "save",
        late(
            r"\bsav(?:ing|ed?) (?:model |the )?(?:checkpoint|state)|checkpoint.{0,30}\bsav|torch\.save|save_checkpoint",
            re.I,
        ),
    ),
    ("evaluate", late(r"\b(?:evaluat|validat)(?:ing|ion)\b", re.I)),
    ("compile", late(r"\bcompil(?:e|ing|ation)\b|ninja|nvcc", re.I)),
    (
        "rendezvous",
        late(r"rendezvous|init_process_group|TCPStore|initializ\w+ process group|Init torch distributed", re.I),
    ),
    (
        "load",
        late(
            r"\bload(?:ing|ed)?\b.{0,40}(?:checkpoint|weights|model|dataset|shard|engine)|from_pretrained|deserializ",
            re.I,
        ),
    ),
    ("import", late(r"ImportError|ModuleNotFoundError|undefined symbol|cannot open shared object")),
)


def run_info(
    run: Run,
    places: Places,
    clock: RunClock,
    progress: Progress,
    events: Sequence[Event],
    ordered: Ordered,
    skews: Mapping[str, Skew],
) -> RunInfo:
    """Collect the facts; fields that rest on decoded samples are named in `sampled`."""
    kernel = kernel_sources(run)
    job = [index for index in range(len(run.sources)) if index not in kernel] or list(range(len(run.sources)))
    span = clock.span(job)
    ranks = ranks_seen(run, places, events)
    whole = all(source.whole for source in run.sources)
    differ = {host: known for host, known in sorted(skews.items()) if is_certain(known)}
    attempts = sorted({event.attempt for event in events if not event.unrelated} | {1})
    return RunInfo(
        world_size=places.world_size,
        ranks_seen=tuple(sorted(ranks)),
        hosts=tuple(sorted(places.hosts | set(places.source_host.values()))),
        attempts=tuple(Attempt(n=number) for number in attempts),
        last_step=progress.last_step,
        phase=_phase(progress, ordered),
        completed=bool(progress.done or progress.reached_total)
        and ordered.initiating is None
        and not ordered.downstream,
        first_time=span[0].iso() if span else None,
        last_time=span[1].iso() if span else None,
        versions=_versions(run),
        skew_s={host: round(known.ahead_s, 1) for host, known in differ.items()},
        skew_error_s={host: round(known.error_s, 1) for host, known in differ.items()},
        names=names_of(run, places),
        sampled=() if whole else ("last_step", "ranks_seen", "hosts", "versions"),
    )


def _phase(progress: Progress, ordered: Ordered) -> Phase | None:
    first = ordered.initiating
    if first is not None:
        episode = first.first.episode
        texts = [first.first.record.message]
        if episode is not None:
            texts += [record.message for record in episode.lines]
        joined = "\n".join(texts)
        for phase, pattern in _PHASES:
            if pattern.search(joined):
                return phase
    return "step" if progress.marks else None


def _versions(run: Run) -> dict[str, str]:
    versions: dict[str, str] = {}
    for records in run.records:
        for record in records[:2000]:
            text = record.text
            if len(text) > 1000 or _NAMES_A_PART.search(text) is None:
                continue
            for name, pattern in _VERSIONS:
                if name not in versions:
                    found = pattern.search(text)
                    if found is not None:
                        versions[name] = found.group(1)
    return versions


def source_infos(run: Run, places: Places) -> tuple[SourceInfo, ...]:
    """Every input, also those that could not be read."""
    read = [
        SourceInfo(
            path=source.path, bytes=source.scan.bytes, lines=source.scan.lines,
            rank=places.source_rank.get(index), host=places.source_host.get(index),
            encoding=source.encoding, problems=tuple(source.problems),
        )
        for index, source in enumerate(run.sources)
    ]  # fmt: skip
    return (*read, *(SourceInfo(path=item.path, problems=(item.reason,)) for item in run.unread))
