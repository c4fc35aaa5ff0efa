"""Where hung ranks stand: which wait in a collective, and which never came to it.

The stacks of a job that hangs differ in one place. Ranks that wait for the
others show a collective at the top; the one that the others wait for sits in a
data loader, a file system, a compiler, a CUDA call or its own code. It is a
suspect and no more: why it sits there the stack does not say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.logs.layout import Places
from assistant.logs.stacks import Frame, ProcessStack
from assistant.verdict import Suspect, SuspectReason
from corpus.late import late

Standing = Literal[
    "collective", "store", "loader", "file-system", "checkpoint", "cuda", "compile", "gil", "sleep", "lock", "own-code"
]
WAITING: frozenset[str] = frozenset({"collective", "store"})
MAX_SUSPECTS = 16

_COLLECTIVE = late(
    r"distributed_c10d|c10d_logger|_functional_collectives|deepspeed/comm/|p2p_communication|\bc10d::|ProcessGroup(?:NCCL|Gloo|XCCL|HCCL|UCC|MPI)"
    r"|\b(?:p?nccl|rccl)[A-Z]\w+|\bHccl[A-Z]\w+|\bP?MPI_[A-Z]\w+|libnccl|librccl|libhccl|mpi4py|horovod/|multihost_utils|gloo::"
    r"|^(?:all_?reduce|all_?gather(?:_\w+)?|reduce_?scatter(?:_\w+)?|all_?to_?all(?:_\w+)?|barrier|broadcast|monitored_barrier|batch_isend_irecv|irecv|isend) \("
)
_KINDS: tuple[tuple[Standing, re.Pattern[str]], ...] = (
    ("checkpoint", late(r"torch/serialization|distributed/checkpoint|(?:save|load)_checkpoint|safetensors|orbax/|dist_checkpointing")),
    ("store", late(r"TCPStore|FileStore|_store_based_barrier|rendezvous|libc10d::store|PrefixStore")),
    ("collective", _COLLECTIVE),
    ("loader", late(
        r"torch/utils/data|_next_data|_try_get_data|webdataset|pyarrow|parquet|datasets/|litdata|streaming/base|nvidia/dali|"
        r"grain/|data_?loader|/data/\w+\.py|^data/|__getitem__"
    )),
    ("file-system", late(
        r"genericpath|posixpath|\bpathlib|shutil|fsspec|<frozen (?:os|posixpath|genericpath)|s3fs|gcsfs|zipfile|tarfile"
        r"|\b(?:__)?(?:GI_)?_{0,3}(?:libc_)?(?:p?read(?:64|v)?|p?write(?:64|v)?|open(?:at)?(?:64)?|fstat(?:at)?(?:64)?|l?stat(?:64)?|getdents(?:64)?|fsync|rename|unlink)(?:_nocancel)?(?: \(|$)"
        r"|\b(?:__)?[lf]?xstat(?:64)? |\bnewfstatat|\bnfs\d?_\w+|\brpc_wait_bit|\bll_\w+|lustre|\bcl_\w+_wait|ptlrpc|\bfuse_\w+|cxiWait|gpfs|ceph_|\bvfs_\w+|wait_on_page_bit|folio_wait"
        r"|^(?:exists|isfile|isdir|listdir|scandir|read_bytes|read_text|makedirs) \("
    )),
    ("cuda", late(
        r"torch/cuda/__init__|\bcu(?:da)?(?:Stream|Device|Event|Ctx)Synchronize|\bcu(?:da)?Mem(?:cpy|Alloc|Free)\w*|libcuda\.so|libcudart|hip(?:Stream|Device)Synchronize"
    )),
    ("compile", late(r"torch/_inductor|torch/_dynamo|triton/(?:compiler|runtime)|cpp_extension|jax/_src/compiler|XlaCompile")),
)  # fmt: skip
_WEAK: tuple[tuple[Standing, re.Pattern[str]], ...] = (
    ("gil", late(r"\btake_gil\b|PyEval_(?:Restore|Acquire)Thread|PyGILState_Ensure")),
    ("sleep", late(r"\b(?:clock_|hrtimer_)?(?:nano|u)?sleep\b")),
    ("lock", late(r"threading\.py|queue\.py|selectors\.py|multiprocessing/|\bfutex|pthread_cond|sem_wait|\bpoll\b|epoll_wait|subprocess\.py")),
)  # fmt: skip
_IN_WORDS: dict[str, str] = {
    "collective": "a collective",
    "store": "a wait on the store",
    "loader": "a data loader",
    "file-system": "a file-system call",
    "checkpoint": "a checkpoint",
    "cuda": "a CUDA call",
    "compile": "a compiler",
    "gil": "a wait for the GIL",
    "sleep": "a sleep",
    "lock": "a wait for a lock, a queue or another process",
    "own-code": "its own code",
}
_LIBRARY = late(r"site-packages|dist-packages|/lib/python|^torch/|^<frozen|\.so\b|^deepspeed/|^megatron/|^/usr/lib")


@dataclass(frozen=True, slots=True)
class Stood:
    """Where one rank stood when its stack was taken."""

    rank: int | None
    host: str | None
    kind: Standing
    frame: Frame
    caller: Frame | None
    """The first frame below it that is the program's own."""
    place: str
    process: str
    group: str | None = None
    """The process group of a call that the watchdog printed; calls are compared within one."""


def read_standings(stacks: Sequence[ProcessStack], places: Places, paths: Sequence[str]) -> list[Stood]:
    """The last known standing of each process."""
    found: dict[tuple[object, ...], Stood] = {}
    for stack in stacks:
        main = stack.main
        if main is None:
            continue
        rank = _rank(stack, places)
        host = places.host_of(stack.source, stack.record)
        if host is None and rank is not None:
            host = places.host_of_rank.get(rank)
        kind, frame, caller = standing_of(main.frames)
        process = f"process {stack.pid}" if stack.pid is not None else "a process"
        key: tuple[object, ...] = ("rank", rank) if rank is not None else ("process", host, stack.source, stack.pid)
        if rank is None and stack.pid is None:
            key = (*key, stack.record.number)
        place = f"{paths[stack.source]}:{main.record.number}"
        found[key] = Stood(rank, host, kind, frame, caller, place, process, stack.group)
    ranked = {key: stood for key, stood in found.items() if stood.rank is not None}
    # Beside stacks whose rank is known, those of nobody's are most often the same processes once more.
    return list((ranked if len(ranked) > 1 else found).values())


def _rank(stack: ProcessStack, places: Places) -> int | None:
    if stack.rank is not None:
        return stack.rank
    rank = places.rank_of(stack.source, stack.record)
    if rank is None and stack.pid is not None:
        rank = places.rank_of_pid.get(stack.pid)
        said = places.host_of(stack.source, stack.record)
        known = places.host_of_rank.get(rank) if rank is not None else None
        if said is not None and known is not None and said.split(".")[0] != known.split(".")[0]:
            return None
    if rank is None and stack.local_rank is not None and len(places.hosts) <= 1:
        rank = stack.local_rank
    return rank


def standing_of(frames: Sequence[Frame]) -> tuple[Standing, Frame, Frame | None]:
    """What a stack waits in, the frame that says so, and the program's own frame below it."""
    texts = [str(frame) for frame in frames]
    chosen: tuple[Standing, int] | None = None
    for position, text in enumerate(texts):
        kind = next((kind for kind, pattern in _KINDS if pattern.search(text)), None)
        if kind is not None:
            chosen = (kind, position)
            break
    if chosen is not None and chosen[0] == "cuda" and any(_COLLECTIVE.search(text) for text in texts):
        position = next(index for index, text in enumerate(texts) if _COLLECTIVE.search(text))
        chosen = ("collective", position)  # the kernel that the CUDA call waits for is the collective's
    if chosen is not None and chosen[0] in {"file-system", "lock"}:
        outer = next(
            (
                kind
                for text in texts[chosen[1] :]
                for kind, pattern in _KINDS
                if kind != "file-system" and pattern.search(text)
            ),
            None,
        )
        if outer in {"loader", "checkpoint"}:
            chosen = (outer, chosen[1])
    if chosen is None:
        weak = next(
            ((kind, at) for at, text in enumerate(texts[:6]) for kind, pattern in _WEAK if pattern.search(text)), None
        )
        chosen = weak or ("own-code", 0)
    kind, position = chosen
    caller = next((frame for frame in frames[position + 1 :] if not _LIBRARY.search(frame.file) and frame.file), None)
    return kind, frames[position], caller


def stack_suspects(stood: Sequence[Stood]) -> list[Suspect]:
    """Ranks that stand elsewhere while the others wait for them; empty when the stacks tell nothing apart."""
    waiting = [one for one in stood if one.kind in WAITING]
    elsewhere = [one for one in stood if one.kind not in WAITING]
    if waiting and elsewhere and (len(elsewhere) <= len(waiting) or len(elsewhere) == 1):
        return [_suspect(one, waiting, "busy") for one in elsewhere[:MAX_SUSPECTS]]
    # Pipelines and data-parallel groups wait in calls of their own, rightly.
    if not elsewhere and len(waiting) > 2 and len({one.group for one in waiting}) == 1 and waiting[0].group != "":
        calls = Counter(_call(one) for one in waiting)
        usual, count = calls.most_common(1)[0]
        odd = [one for one in waiting if _call(one) != usual]
        if odd and count > len(odd):
            others = [one for one in waiting if _call(one) == usual]
            return [_suspect(one, others, "other-collective") for one in odd[:MAX_SUSPECTS]]
    return []


def _call(one: Stood) -> tuple[str, str]:
    return one.frame.name, str(one.caller)


def _suspect(one: Stood, waiting: Sequence[Stood], reason: SuspectReason) -> Suspect:
    usual = Counter(other.frame.name for other in waiting).most_common(1)[0][0]
    who = f"{len(waiting)} ranks wait" if len(waiting) > 1 else "another rank waits"
    below = f" below {one.caller}" if one.caller is not None else ""
    rank = "" if one.rank is not None else f"{one.process}: "
    because = f"{rank}{one.place} shows it in {_IN_WORDS[one.kind]}, {one.frame}{below}, while {who} in {usual}"
    return Suspect(rank=one.rank, host=one.host, reason=reason, because=because)
