"""Start-up is kept by what is *not* imported. Each statement runs in an interpreter of its own.

The contracts in pyproject.toml say who may import whom; only a fresh process shows what a command
really pulls in, deferred imports included.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "bm25s", "faiss", "onnxruntime", "textual", "torch", "sentence_transformers", "tiktoken")
NOT_FOR_HELP = ("pydantic", "rich", "hyperscan", *HEAVY)

# A fault that one literal decides, in a log that is otherwise calm.
LOG = """\
2026-11-30 12:41:50 INFO step 2290 loss 2.113
2026-11-30 12:41:58 ERROR TPU Inter-Chip Interconnect ICI link error mesh coordinate link state DOWN
2026-11-30 12:41:59 INFO shutting down
"""

UNKNOWN = """\
Traceback (most recent call last):
  File "train.py", line 12, in <module>
    main()
QuuxError: the frobnicator of tray 3 is ajar
"""
ROOT = Path(__file__).resolve().parent.parent

COMMAND = """
import json, sys
from assistant.cli.main import main
sys.argv = ["firstfault", *sys.argv[1:]]
code = 0
try:
    main()
except SystemExit as stop:
    code = stop.code or 0
sys.stdout.flush()
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def run(code: str, *arguments: str) -> tuple[int, set[str], str]:
    """Exit code, loaded modules and stdout of a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    status, modules = json.loads(done.stderr.strip().splitlines()[-1])
    return status, set(modules), done.stdout


def loaded(banned: tuple[str, ...], modules: set[str]) -> list[str]:
    return [name for name in banned if name in modules]


@pytest.mark.parametrize("arguments", [("--help",), ("-h",)], ids=" ".join)
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    status, modules, out = run(COMMAND, *arguments)
    assert status == 0
    assert "firstfault" in out
    assert loaded(NOT_FOR_HELP, modules) == []


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_diagnosis_that_literals_decide_loads_no_retrieval(form: str, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(LOG, encoding="utf-8")
    status, modules, out = run(COMMAND, "diagnose", str(log), "--format", form)
    assert status == 0
    assert "tpu-ici-link-error" in out or "ICI link error" in out
    assert loaded(HEAVY, modules) == []


@pytest.mark.parametrize("semantic", ["auto", "always", "never"])
def test_nor_does_the_switch_for_looking_by_meaning(semantic: str, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(LOG, encoding="utf-8")
    status, modules, _ = run(COMMAND, "diagnose", str(log), "--semantic", semantic)
    assert status == 0
    assert loaded((*HEAVY, "tokenizers"), modules) == []


def test_what_nothing_explains_loads_no_retrieval_where_no_index_lies(tmp_path: Path) -> None:
    if (ROOT / "index" / "release").exists():
        pytest.skip("an index to ship was built here")
    log = tmp_path / "job.log"
    log.write_text(UNKNOWN, encoding="utf-8")
    status, modules, out = run(COMMAND, "diagnose", str(log))
    assert status == 0
    assert out.startswith("UNEXPLAINED")
    assert loaded((*HEAVY, "tokenizers"), modules) == []


def test_that_diagnosis_is_identified(tmp_path: Path) -> None:
    """Without this, a program that gives up early would pass the test above."""
    log = tmp_path / "job.log"
    log.write_text(LOG, encoding="utf-8")
    _, _, out = run(COMMAND, "diagnose", str(log), "--format", "json")
    verdict = json.loads(out)
    assert verdict["status"] == "identified"
    assert verdict["initiating"]["entry"]["id"] == "tpu-ici-link-error"


@pytest.mark.parametrize("package", ["corpus", "index", "assistant"])
def test_a_package_root_costs_nothing(package: str) -> None:
    code = f"import json, sys, {package}; print(json.dumps([0, list(sys.modules)]), file=sys.stderr)"
    _, modules, _ = run(code)
    assert loaded((*NOT_FOR_HELP, "click"), modules) == []
