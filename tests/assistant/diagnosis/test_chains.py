"""In one chain of exceptions a verified failure says what a class of errors before it meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("http-401", signature("HTTPError: 401 Client Error"), kind="class"),
    head("gated", signature("You are trying to access a gated repo"), scope="workload", related=("http-401",)),
    head("illegal", signature("CUDA error 700 at"), kind="class"),
    head("status", signature("XlaRuntimeError: INTERNAL"), kind="class", role="either"),
    head("folder", signature("Parent directory {folder:path} does not exist"), scope="workload", related=("illegal",)),
    head("oom", signature("CUDA out of memory. Tried to allocate {size:size}"), scope="workload"),
)
REFUSED = "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://host/config.json"
GATED = "OSError: You are trying to access a gated repo."
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
ILLEGAL = "RuntimeError: CUDA error 700 at k.cu:12: an illegal memory access was encountered"
STATUS = "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: stream executor failed on device"
FOLDER = "RuntimeError: Parent directory /ckpt/run1 does not exist."
FROM = "\n\nThe above exception was the direct cause of the following exception:\n\n"
DURING = "\n\nDuring handling of the above exception, another exception occurred:\n\n"


def raised(error: str) -> str:
    return f'Traceback (most recent call last):\n  File "/workspace/train.py", line 10, in main\n    load()\n{error}'


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (raised(REFUSED) + FROM + raised(GATED), ("identified", "gated")),
        (raised(REFUSED) + DURING + raised(GATED), ("identified", "gated")),
        # A save that failed while an error was handled does not say what that one meant.
        (raised(ILLEGAL) + DURING + raised(FOLDER), ("classified", "illegal")),
        (raised(STATUS) + DURING + raised(FOLDER), ("classified", "status")),
        (raised(REFUSED) + DURING + raised(FOLDER), ("classified", "http-401")),
        (raised(ILLEGAL) + FROM + raised(FOLDER), ("identified", "folder")),
        # Of two failures the first in time is the cause.
        (raised(OOM) + DURING + raised(GATED), ("identified", "oom")),
        # Two tracebacks that no chain ties together.
        (raised(REFUSED) + "\nnext model\n" + raised(GATED), ("classified", "http-401")),
        (raised(REFUSED), ("classified", "http-401")),
    ],
)
def test_a_chain_is_called_by_the_failure_that_it_ends_in(log: str, expected: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(log + "\n")
    result = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    assert result.initiating is not None and result.initiating.entry is not None
    assert (result.status, result.initiating.entry.id) == expected
