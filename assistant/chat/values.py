"""The values of the user's log in quoted text, the whole verdict's where one finding alone does not say."""

from __future__ import annotations

from assistant.values import fill, fill_command, job_ids, values_of
from assistant.verdict import Diagnosis, Finding

__all__ = ["conversation_values", "fill", "fill_command"]


def conversation_values(finding: Finding | None, diagnosis: Diagnosis | None) -> dict[str, str]:
    """Values by name: what the finding bound, then facts of the run that leave no choice.

    A value of another finding is never taken: its `<peer>` or `<path>` is another peer or path.
    """
    values = dict(values_of(finding, diagnosis)) if finding is not None else {}
    if diagnosis is None:
        return values
    jobs = list(job_ids(diagnosis))
    if len(jobs) == 1:
        values.setdefault("jobid", jobs[0])
    run = diagnosis.run
    if run.world_size is not None:
        values.setdefault("world", str(run.world_size))
        values.setdefault("world_size", str(run.world_size))
    if run.last_step is not None and "last_step" not in run.sampled:
        values.setdefault("step", str(run.last_step))
    if len(run.hosts) == 1:
        values.setdefault("host", run.hosts[0])
        values.setdefault("node", run.hosts[0])
    return values
