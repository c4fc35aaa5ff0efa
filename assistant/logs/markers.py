"""Literals that make a line worth a look although no signature stands on it.

They are given to the scanner beside the signatures. A marker decides nothing:
it only brings the neighbourhood of its line into the part of a log that is
decoded, where episodes, progress and places are read.
"""

from __future__ import annotations

ERROR_MARKERS = (
    b"Traceback (most recent call last)",
    b"Error: ",
    b"Error(",
    b"Exception: ",
    b"ERROR",
    b"FATAL",
    b"CRITICAL",
    b"Fatal ",
    b"fatal: ",
    b"fatal   :",
    b"fatal error",
    b"error: ",
    b"error while",
    b"Error while",
    b"NCCL WARN",
    b"Killed",
    b"core dumped",
    b"Segmentation fault",
    b"terminate called",
    b"Assertion ",
    b"assertion failed",
    b"Check failed",
    b"panic: ",
    b"SIGTERM",
    b"SIGKILL",
    b"SIGSEGV",
    b"exit code",
    b"exitcode",
    b"exited with",
    b"command not found",
    b"Permission denied",
    b"No such file or directory",
    b"failed with ",
    b"CANCELLED",
    b"oom-kill",
    b"out of memory",
    b"Back-off",
)
"""Markers of trouble; case matters, because case-insensitive ones drown in hits."""

RUN_MARKERS = (
    b"cudaDev ",
    b"loss nan",
    b"loss: nan",
    b"loss=nan",
    b"loss: NaN",
    b"loss=NaN",
    b"loss': nan",
    b"world_size",
    b"world size",
    b"nranks",
    b"restart worker group",
    b"Restarting",
    b"requeue",
    b"last enqueued work",
    b"local_rank: ",
    b"(most recent call first)",
    b'): "MainThread"',
    b"CollectiveFingerPrint(",
    b"*** SIG",
    b"Stack trace of the failed collective:",
    b"launched up to operation",
)
"""Markers of facts about the run: places, world size, attempts, numbers, collective state, stacks."""

MARKERS = ERROR_MARKERS + RUN_MARKERS
