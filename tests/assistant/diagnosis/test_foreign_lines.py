"""Lines that a program prints in words of many: an entry about one product says nothing of them without its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from corpus.catalogue import Catalogue

LINES = """
RuntimeError: KV cache is full!
Error: No such command: deploy
ERROR Could not find project alpha in the registry
error: Job dependency problem in the makefile
failed to stat file /data/a.bin: permission denied
ValueError: No steps found in /data/pipeline
ERROR out of retries on exception: timeout contacting the store
ValueError: options a and b should be mutually exclusive.
Error: /out is not empty; /out/a.txt exists.
Error: Job has already finished
ValueError: Cannot find index file in /data/faiss
ERROR Request failed after 3 retries
ERROR: Failed to extract archive: foo.tar.gz
Error: Unable to connect to database
ERROR Required input is missing: image
Failed to validate task build-1
Failed to parse 'abc' as <class 'int'>
ERROR wait_ready timeout exceeded.
ERROR codec not available: 'h265'
ERROR group not found at path '/a/b'
ERROR Rate limit exceeded, please retry later
ERROR No files found matching pattern: /data/*.csv
RuntimeError: Could not find a free port in range 8000-8010
ERROR Server is not ready after 60 seconds
ERROR Uploading checkpoint failed with error: no route
ValueError: The protocol must be HTTP or HTTPS.
ERROR Artifact not found at expected path: /x
""".strip().splitlines()


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue.load()


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_any_program_is_no_products(tmp_path: Path, catalogue: Catalogue, line: str) -> None:
    (tmp_path / "job.log").write_text(f"2026-11-30 09:00:00 INFO step 1 loss 2.0\n{line}\n")
    first = diagnose([str(tmp_path / "job.log")], catalogue=catalogue).initiating
    assert first is None or first.strength != "verified"


def test_the_cause_above_a_server_that_does_not_start_comes_first(tmp_path: Path, catalogue: Catalogue) -> None:
    log = """INFO:     Waiting for application startup.
ERROR:    Traceback (most recent call last):
  File "/w/app.py", line 12, in lifespan
    load()
mypkg.LoadProblem: weights of encoder are not there

ERROR:    Application startup failed. Exiting.
"""
    (tmp_path / "server.log").write_text(log)
    first = diagnose([str(tmp_path / "server.log")], catalogue=catalogue).initiating
    assert first is not None and "LoadProblem" in first.evidence[0].text


@pytest.mark.parametrize(
    "after",
    [
        "RuntimeError: mpirun failed with exit code 1",
        "INFO:     Child process [12] failed to start, stopping the parent process.",
    ],
)
def test_what_only_tells_that_a_process_ended_does_not_come_first(
    tmp_path: Path, catalogue: Catalogue, after: str
) -> None:
    log = f"""Traceback (most recent call last):
  File "/w/train.py", line 88, in <module>
    out = model(x)
mypkg.errors.BadBatchError: batch 12 has 3 images, mask has 4
{after}
"""
    (tmp_path / "job.log").write_text(log)
    first = diagnose([str(tmp_path / "job.log")], catalogue=catalogue).initiating
    assert first is not None and "BadBatchError" in first.evidence[0].text


def test_the_first_error_of_a_compiler_comes_first(tmp_path: Path, catalogue: Catalogue) -> None:
    log = """/w/k.cu(12): error: identifier "foo" is undefined

/w/k.cu(14): error: expected a ";"

2 errors detected in the compilation of "/w/k.cu".
ninja: build stopped: subcommand failed.
"""
    (tmp_path / "build.log").write_text(log)
    first = diagnose([str(tmp_path / "build.log")], catalogue=catalogue).initiating
    assert first is not None and first.evidence[0].line == 1
