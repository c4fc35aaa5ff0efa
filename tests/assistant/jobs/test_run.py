"""`firstfault run -- CMD`: the job's output, status and signals are its own; the diagnosis comes after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assistant.jobs.runner import prune

FAULT = "2026-11-30 12:41:58 ERROR TPU Inter-Chip Interconnect ICI link error mesh coordinate link state DOWN"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How to start the program, its state in a folder of the test."""
    monkeypatch.setenv("FIRSTFAULT_STATE_DIR", str(tmp_path / "state"))
    return [sys.executable, "-m", "assistant", "run"]


def run(command: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *words], capture_output=True, text=True, encoding="utf-8", timeout=60)


def test_streams_stay_apart_and_the_status_is_the_jobs(command: list[str], tmp_path: Path) -> None:
    ended = run(command, "--", "sh", "-c", f"echo out; echo '{FAULT}' >&2; exit 7")
    assert ended.returncode == 7
    assert ended.stdout == "out\n"
    assert ended.stderr.startswith(FAULT)
    assert "tpu-ici-link-error" in ended.stderr
    assert "the job ended with status 7" in ended.stderr
    logs = list((tmp_path / "state" / "runs").glob("run-*.log"))
    assert sorted(logs[0].read_text(encoding="utf-8").splitlines()) == sorted(["out", FAULT])
    kept = json.loads((tmp_path / "state" / "session.json").read_text(encoding="utf-8"))
    assert kept["focus"] == ["tpu-ici-link-error"]


def test_the_verdict_can_be_the_status(command: list[str]) -> None:
    assert run(command, "--exit-code", "--", "sh", "-c", f"echo '{FAULT}'; exit 7").returncode == 10
    assert run(command, "--exit-code", "--", "sh", "-c", f"echo '{FAULT}'").returncode == 10
    # A verdict of health makes no failed job a good one.
    assert run(command, "--exit-code", "--", "sh", "-c", "echo Training completed; exit 7").returncode == 7
    assert run(command, "--exit-code", "--", "echo", "Training completed").returncode == 0
    # A failed job that printed nothing is inconclusive; and `--exit-code` behind the command is the command's.
    assert run(command, "--exit-code", "--", "sh", "-c", "exit 3").returncode == 11
    assert run(command, "--", "sh", "-c", "exit 4", "--exit-code").returncode == 4


@pytest.mark.parametrize(("end", "said"), [("exit 5", "status 5 is its own"), ("kill -9 $$", "SIGKILL ended it")])
def test_an_output_without_a_fault_is_no_good_end(command: list[str], end: str, said: str) -> None:
    ended = run(command, "--", "sh", "-c", f"echo Training completed; {end}")
    assert "its output names no fault, but the job did not end well" in ended.stderr
    assert said in ended.stderr


def test_a_job_that_ends_well_gets_one_line(command: list[str]) -> None:
    ended = run(command, "--", "true")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert len(ended.stderr.splitlines()) == 1


def test_options_of_the_job_are_its_own(command: list[str]) -> None:
    assert run(command, "echo", "--format", "-h").stdout == "--format -h\n"


def test_places_can_be_chosen(command: list[str], tmp_path: Path) -> None:
    log, report = tmp_path / "kept.log", tmp_path / "report.json"
    ended = run(command, "--log", str(log), "--report", str(report), "--format", "json", "--", "echo", FAULT)
    assert ended.returncode == 0
    assert json.loads(report.read_text(encoding="utf-8"))["status"] == "identified"
    assert log.read_text(encoding="utf-8") == f"{FAULT}\n"


@pytest.mark.parametrize(
    ("script", "status"), [("kill -9 $$", 137), ("kill -TERM $$", 143), ("exit 0", 0), ("exit 255", 255)]
)
def test_status_as_a_shell_has_it(command: list[str], script: str, status: int) -> None:
    assert run(command, "--", "sh", "-c", script).returncode == status


def test_a_command_that_is_not_there(command: list[str], tmp_path: Path) -> None:
    ended = run(command, "--", "no-such-command-anywhere")
    assert ended.returncode == 127
    assert "cannot be started" in ended.stderr
    assert list((tmp_path / "state" / "runs").iterdir()) == []


def test_a_file_that_cannot_be_run(command: list[str], tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x", encoding="utf-8")
    assert run(command, "--", str(plain)).returncode == 126


def test_signals_reach_the_job(command: list[str], tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'echo saved; exit 3' TERM; touch {ready}; while :; do sleep 0.05; done"
    job = subprocess.Popen([*command, "--", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    job.send_signal(signal.SIGTERM)
    out, _ = job.communicate(timeout=30)
    assert (job.returncode, out) == (3, b"saved\n")


def test_a_daemon_that_keeps_the_pipe_does_not_hold_us(command: list[str]) -> None:
    started = time.monotonic()
    ended = run(command, "--", "sh", "-c", "sleep 30 & echo done")
    assert ended.stdout == "done\n"
    assert time.monotonic() - started < 20


def test_a_reader_that_leaves_does_not_stop_the_job(command: list[str], tmp_path: Path) -> None:
    log = tmp_path / "kept.log"
    script = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo end"
    job = subprocess.Popen(
        [*command, "--log", str(log), "--", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert job.stdout is not None
    job.stdout.readline()
    job.stdout.close()
    assert job.wait(timeout=30) == 0
    assert log.read_text(encoding="utf-8").endswith("end\n")


def test_only_the_last_few_logs_are_kept(tmp_path: Path) -> None:
    for number in range(6):
        path = tmp_path / f"run-{number}.log"
        path.write_text("x", encoding="utf-8")
        os.utime(path, (number, number))
    (tmp_path / "other.txt").write_text("x", encoding="utf-8")
    prune(tmp_path, keep=3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.txt", "run-4.log", "run-5.log"]


@pytest.fixture
def unwritable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A state directory that nobody can make, root included: its parent is a file."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    place = tmp_path / "file" / "state"
    monkeypatch.setenv("FIRSTFAULT_STATE_DIR", str(place))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return place


def test_a_job_runs_where_nothing_can_be_kept(command: list[str], unwritable: Path) -> None:
    ended = run(command, "--", "sh", "-c", f"echo '{FAULT}'; exit 7")
    assert ended.returncode == 7
    assert "tpu-ici-link-error" in ended.stderr
    assert f"the diagnosis was not kept ({unwritable}: Not a directory)" in ended.stderr
    assert "FIRSTFAULT_STATE_DIR" in ended.stderr
    kept = ended.stderr.rstrip().rpartition("kept in ")[2]
    assert Path(kept).read_text(encoding="utf-8") == f"{FAULT}\n"


def test_a_log_that_cannot_be_written_is_said_before_the_job_starts(command: list[str], unwritable: Path) -> None:
    ended = run(command, "--log", str(unwritable / "x.log"), "--", "echo", "started")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "was not started" in ended.stderr
    assert "--log" in ended.stderr


@pytest.mark.parametrize(
    ("options", "job", "status"),
    [((), "false", 1), (("--exit-code",), "false", 11), (("--exit-code",), "true", 0), ((), "true", 0)],
)
def test_a_job_that_prints_nothing_is_inconclusive_where_it_failed(
    command: list[str], options: tuple[str, ...], job: str, status: int
) -> None:
    ended = run(command, *options, "--", job)
    assert ended.returncode == status
    assert "printed nothing" in ended.stderr
