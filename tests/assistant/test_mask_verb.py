"""`firstfault mask`: line by line, keys of many lines, long lines, pipes, what cannot be read."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assistant.cli.mask import MAX_LINE, masked
from assistant.masking import Masker

LOG = b"""\
/home/jdoe/run.sh on 10.0.0.7
HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACDx
-----END OPENSSH PRIVATE KEY-----
step 3 of /home/jdoe/run.sh
"""
MASKED = """\
/home/user-1/run.sh on ip-1
HF_TOKEN=[secret]
-----BEGIN OPENSSH PRIVATE KEY-----[secret]-----END OPENSSH PRIVATE KEY-----
step 3 of /home/user-1/run.sh
"""


def test_a_file(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_bytes(LOG)
    ended = firstfault("mask", str(log))
    assert (ended.code, ended.out) == (0, MASKED)
    assert ended.err == "firstfault: masked secret: 2, ip: 1, user: 1; read it before you share it.\n"
    assert firstfault("mask", "-q", str(log)).err == ""


def test_a_pipe_and_named_hosts(firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"node-b \xff is lost"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert firstfault("mask", "--host", "node-b").out == "host-1 \ufffd is lost"


def test_a_key_that_never_ends_takes_the_rest() -> None:
    assert "".join(masked(LOG.splitlines(keepends=True)[:5], Masker())).endswith("PRIVATE KEY-----[secret]")


def test_what_of_a_line_cannot_be_looked_at_is_left_out(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_bytes(b"x" * (MAX_LINE - 1) + b" password=hunter22\nnext\n")
    out = firstfault("mask", str(log)).out
    assert out.endswith(" ... (cut)\nnext\n")
    assert "hunter22" not in out


def test_a_file_that_is_not_there(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    ended = firstfault("mask", str(tmp_path / "no.log"))
    assert (ended.code, ended.out) == (2, "")
    assert "no such file or directory" in ended.err


@pytest.mark.parametrize(
    "pack", [lambda text: text.encode("utf-16"), lambda text: gzip.compress(text.encode())], ids=["utf-16", "gz"]
)
def test_what_a_diagnosis_can_read_is_masked(firstfault: Callable[..., Any], tmp_path: Path, pack: Any) -> None:
    (tmp_path / "job.log").write_bytes(pack(LOG.decode()))
    assert firstfault("mask", "-q", str(tmp_path / "job.log")).out == MASKED


def test_a_damaged_log_is_masked_as_far_as_it_goes_and_said(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "job.log.gz").write_bytes(gzip.compress(LOG * 2000)[:-20])
    ended = firstfault("mask", str(tmp_path / "job.log.gz"))
    assert (ended.code, ended.out.startswith(MASKED)) == (5, True)
    assert "ends early or is damaged" in ended.err


def test_hosts_and_users_of_a_cluster(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(
        "lost contact with cn17\n"
        "Nov 30 12:41:58 cn17 kernel: out of memory\n"
        "srun: error: node-c17: task 2: Out Of Memory\n"
        "slurmstepd: error: *** STEP 88123.0 ON node-c17 CANCELLED AT 2026-11-30T10:00:00 ***\n"
        "reading /scratch/alice/data and /scratch/data\n"
    )
    out = firstfault("mask", "-q", str(tmp_path / "job.log")).out
    assert not [name for name in ("cn17", "node-c17", "alice") if name in out]
    assert "task 2: Out Of Memory" in out and "/scratch/data" in out
