"""Every way to go wrong ends in one sentence on stderr, what to type next, and its own exit status."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assistant.cli import diagnose
from assistant.cli.crash import report_lines, write_report
from assistant.console import OutputError


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--formt", "json", "x"), "No such option '--formt'. Did you mean '--format'? `firstfault diagnose -h`"),
        (("x", "--format", "yaml"), "Invalid value for '--format': 'yaml' is not one of 'text', 'json', 'markdown'."),
        (("x", "--context", "-1"), "Invalid value for '--context'"),
        (("x", "--corpus", "/no/such"), "Directory '/no/such' does not exist. `firstfault diagnose -h`"),
        (("show",), "Missing argument 'ID'. `firstfault show -h` shows the usage."),
        (("show", "tpu-ici-lnk"), "No entry has the id `tpu-ici-lnk`. Did you mean `tpu-ici-link-error`?"),
        (("show", "TPU-ICI-Link-Error"), "Did you mean `tpu-ici-link-error`?"),
        (("show", "tpu_ici_link_error"), "Did you mean `tpu-ici-link-error`?"),
        (("show", "TPU ICI"), "Did you mean `tpu-ici-"),
        (("related", "tpu-ici-lnk"), "Did you mean `tpu-ici-link-error`?"),
        (("show", "tpu-ici-link-error", "-s", "confrm"), "No section is called `confrm`. Did you mean `confirm`?"),
        (("list", "--family", "interconect"), "No family is called `interconect`. Did you mean `interconnect`?"),
        (("list", "--kind", "x"), "'x' is not one of 'failure', 'class', 'wrapper'"),
        (("demo", "no-such-incident"), "No incident is called `no-such-incident`."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_usage_errors(firstfault: Callable[..., Any], words: tuple[str, ...], sentence: str) -> None:
    ended = firstfault(*words)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith("firstfault: ")
    assert sentence in ended.err
    assert len(ended.err.splitlines()) == 1
    assert "Traceback" not in ended.err


def test_a_settings_error_names_the_key(firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(os.environ["FIRSTFAULT_CONFIG"])
    path.parent.mkdir()
    path.write_text('formt = "json"\n', encoding="utf-8")
    ended = firstfault("list")
    assert ended.code == 2
    assert f"{path}:1: unknown key `formt`. Did you mean `format`?" in ended.err


def test_a_missing_file_is_named_and_a_verb_proposed(firstfault: Callable[..., Any]) -> None:
    ended = firstfault("lits")
    assert ended.code == 2
    assert "lits" in ended.err
    assert "Did you mean the verb `list`?" in ended.err


def test_an_option_before_a_verb_is_told_its_place(firstfault: Callable[..., Any]) -> None:
    ended = firstfault("--exit-code", "run", "--", "true")
    assert ended.code == 2
    assert "Options stand behind the verb: `firstfault run --exit-code ...`" in ended.err


@pytest.mark.parametrize(("words", "is_told"), [((), True), (("--quiet",), False)])
def test_a_diagnosis_that_cannot_be_kept_is_given_all_the_same(
    firstfault: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    is_told: bool,
) -> None:
    log = tmp_path / "job.log"
    log.write_text("ValueError: x\n", encoding="utf-8")
    monkeypatch.setenv("FIRSTFAULT_STATE_DIR", str(log / "state"))
    ended = firstfault(str(log), *words)
    assert ended.code == 0
    assert ended.out.startswith("UNEXPLAINED")
    rows = [row for row in ended.err.splitlines() if "was not kept" in row]
    assert len(rows) == is_told
    assert all("`firstfault ask` will not find it; set FIRSTFAULT_STATE_DIR" in row for row in rows)


def test_an_overlay_without_entries_is_a_corpus_error(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    ended = firstfault("list", "--corpus", str(tmp_path))
    assert ended.code == 4
    assert "holds no entries" in ended.err


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (KeyboardInterrupt(), 130, "firstfault: interrupted\n"),
        (OutputError("The result could not be written: full."), 2, "could not be written: full."),
    ],
)
def test_interruptions(
    firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, sentence: str
) -> None:
    monkeypatch.setattr(diagnose, "run", failing(error))
    ended = firstfault("job.log")
    assert ended.code == code
    assert sentence in ended.err


SECRET = "token=hunter2 in the log"


def test_an_internal_error_names_a_report_without_log_text(
    firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FIRSTFAULT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(diagnose, "run", failing(ValueError(SECRET)))
    ended = firstfault("/private/place/job.log", "--format", "json")
    assert ended.code == 70
    assert "Traceback" not in ended.err
    assert SECRET not in ended.err
    (path,) = (tmp_path / "crashes").iterdir()
    assert str(path) in ended.err
    text = path.read_text(encoding="utf-8")
    assert "builtins.ValueError" in text
    assert "assistant/cli/main.py:" in text
    assert "options --format" in text
    assert SECRET not in text
    assert "/private/place" not in text
    assert os.environ["HOME"] not in text


def test_debug_shows_the_traceback(firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_DEBUG", "1")
    monkeypatch.setattr(diagnose, "run", failing(ValueError("x")))
    ended = firstfault("job.log")
    assert ended.code == 70
    assert "Traceback (most recent call last)" in ended.err


def test_the_report_follows_causes() -> None:
    try:
        try:
            raise KeyError("a")
        except KeyError as error:
            raise ValueError("b") from error
    except ValueError as error:
        lines = list(report_lines(error, ["show", "x", "--section=y"]))
    assert "builtins.ValueError" in lines
    assert lines[lines.index("after") + 1] == "builtins.KeyError"
    assert lines[1] == "verb show, options --section, 3 words"


def test_no_writable_place_for_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/proc/nowhere")
    assert write_report(ValueError("x"), []) is None


# ------------------------------------------------------------------------------------------- real processes


def start(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    # A shell starts its background jobs deaf to SIGINT, and whatever they start inherits that.
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(
        [sys.executable, "-m", "assistant", *words], stderr=subprocess.PIPE, preexec_fn=listen, **options
    )


def test_a_reader_that_leaves_is_no_error(root: Path) -> None:
    with start("show", "tpu-ici-link-error", stdout=subprocess.PIPE, cwd=root) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "words", [("list",), ("-h",), ("show", "-h"), ("demo",), ("demo", "--format", "json"), ("doctor",)], ids=" ".join
)
def test_a_full_device_is_a_sentence(words: tuple[str, ...], root: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = start(*words, stdout=full, cwd=root)
        _, errors = process.communicate()
    assert process.returncode == 2
    assert b"The result could not be written: No space left on device" in errors
    assert b"Traceback" not in errors
    assert b"Exception ignored" not in errors


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("progress", ["none", "plain", "tty"])
def test_nobody_to_talk_to_is_no_error(root: Path, progress: str) -> None:
    environment = {**os.environ, "FIRSTFAULT_PROGRESS": progress}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "assistant", "demo"], stdout=subprocess.PIPE, stderr=full, cwd=root, env=environment
        )
    assert done.returncode == 0
    assert done.stdout.startswith(b"IDENTIFIED")


def test_ctrl_c(root: Path) -> None:
    with start("-", stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) as process:
        assert process.stdin is not None
        process.stdin.write(b"step 1 loss 2.0\n" * 100_000)  # far more than a pipe holds: who took it is reading
        process.stdin.flush()
        # The pipe stays open: nothing but the signal can end the program.
        for _ in range(40):
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.5)
                break
        out, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    assert errors.decode().strip().endswith("firstfault: interrupted")
    assert b"Traceback" not in errors


def test_closed_streams_do_no_harm(root: Path) -> None:
    command = f"exec '{sys.executable}' -m assistant"
    done = subprocess.run(["sh", "-c", f"{command} <&-"], capture_output=True, cwd=root)
    assert done.returncode == 2
    assert b"Nothing to read" in done.stderr
    for words in ("-", "excerpt -"):
        done = subprocess.run(["sh", "-c", f"{command} {words} <&-"], capture_output=True, cwd=root)
        assert (done.returncode, b"stdin is closed" in done.stderr) == (2, True)
    done = subprocess.run(["sh", "-c", f"{command} demo >&-"], capture_output=True, cwd=root)
    assert done.returncode == 2
    assert b"stdout is closed" in done.stderr
    done = subprocess.run(["sh", "-c", f"{command} demo 2>&-"], capture_output=True, cwd=root)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "words", [("x" * 300,), ("",), ("--baseline", "", "demo.log"), ("control", "", ""), ("excerpt", "")]
)
def test_a_word_that_can_be_no_path_is_a_sentence(words: tuple[str, ...], tmp_path: Path, root: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    (tmp_path / "demo.log").write_text("step 1 loss 2.0\n")
    done = subprocess.run(
        [sys.executable, "-m", "assistant", *words], capture_output=True, cwd=tmp_path, env=environment, check=False
    )
    assert (done.returncode, b"Traceback" in done.stderr, b"internal error" in done.stderr) == (2, False, False)
    assert done.stderr.startswith(b"firstfault: Nothing could be read")


def test_ctrl_c_while_the_program_is_still_loaded(tmp_path: Path) -> None:
    """Whatever is imported first: the signal may come at any line of it."""
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    code = "import sys; sys.path.insert(0, sys.argv.pop()); from assistant.__main__ import main; sys.exit(main())"
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


@pytest.mark.parametrize(
    "words",
    [("show", "{}"), ("list", "{}"), ("{}",), ("ask", "--entry", "{}", "why?"), ("show", "cuda-oom", "-s", "{}")],
)
def test_no_error_repeats_a_long_argument(firstfault: Callable[..., Any], words: tuple[str, ...]) -> None:
    run = firstfault(*(word.format("x" * 100_000) for word in words))
    assert run.code == 2 and 0 < len(run.err) < 4_500


def test_an_error_repeats_a_long_path_whole(firstfault: Callable[..., Any], tmp_path: Path) -> None:
    path = str(tmp_path / ("run-" * 40) / "job.log")
    assert path in firstfault(path).err
