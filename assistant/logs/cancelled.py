"""Slurm's line about a job or step that it ended: `*** STEP 88123.0 ON node011 CANCELLED AT ... DUE TO TIME LIMIT ***`.

Printed by slurmstepd (`src/slurmd/slurmstepd/req.c` of SchedMD/slurm), in the local time of its host
and without a zone.
"""

from __future__ import annotations

from dataclasses import dataclass

from corpus.late import late
from corpus.timestamp import Stamp, read_stamp

_LINE = late(r"\*\*\* (JOB|STEP) (\d{1,12})?\S* ON \S+ CANCELLED AT (\S+)( \*\*\*)?")


@dataclass(frozen=True, slots=True)
class Cancelled:
    """What the line says."""

    is_step: bool
    """False where the whole job was ended."""
    job: str
    """Number of the job; empty where it is redacted."""
    at: Stamp | None
    """When it was ended; None where that cannot be read."""
    has_reason: bool


def read_cancelled(text: str) -> Cancelled | None:
    """Read such a line; None for any other."""
    if "CANCELLED AT" not in text:
        return None
    found = _LINE.search(text)
    if found is None:
        return None
    what, job, at, end = found.groups()
    stamped = read_stamp(at)
    return Cancelled(what == "STEP", job or "", stamped.stamp if stamped is not None else None, end is None)
