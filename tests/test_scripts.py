"""The two commands of the README, around the .venv: what they make, mend, pass on and say.

Nothing is installed here. A Python that only writes down how it was called stands in for the real
one, so that the shell's part is tested without network and in milliseconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# Answers as Python 3.12, "makes" a venv by copying itself, "installs" by writing the command.
FAKE_PYTHON = """\
#!/bin/sh
echo "$*" >>"$FAKE_CALLS"
case "$*" in
    *"-m venv "*)
        for folder in "$@"; do :; done
        mkdir -p "$folder/bin"
        cp "$0" "$folder/bin/python"
        ;;
    *"-m pip "*)
        [ -z "${FAKE_PIP_FAILS:-}" ] || { echo "ERROR: no such host" >&2; exit 1; }
        [ -z "${FAKE_PIP_KILLED:-}" ] || kill -9 $$
        printf 'PIP_USER=%s PYTHONPATH=%s NO_CACHE=%s\\n' "$PIP_USER" "${PYTHONPATH-none}" "${PIP_NO_CACHE_DIR-none}" >>"$FAKE_CALLS"
        touch "$(dirname "$0")/firstfault"
        chmod +x "$(dirname "$0")/firstfault"
        ;;
    *"sys.version_info"*) echo 3.12.4 ;;
    *"/bin/firstfault"*)
        echo "PYTHONPATH=${PYTHONPATH-none}"
        cat
        exit 7
        ;;
esac
"""
BROKEN_PYTHON = "#!/bin/sh\necho 'version manager: command not found' >&2\nexit 127\n"
TOOLS = ("sh", "cat", "cksum", "cp", "cut", "chmod", "date", "dirname", "grep")
TOOLS += ("mkdir", "readlink", "rm", "sleep", "tail", "touch")


@dataclass
class Checkout:
    """A copy of the scripts in a folder with a blank, and a PATH that holds only what it is given."""

    folder: Path
    path: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def venv(self) -> Path:
        return self.folder / ".venv"

    def calls(self) -> str:
        log = self.folder.parent / "calls"
        return log.read_text(encoding="utf-8") if log.exists() else ""

    def forget_calls(self) -> None:
        (self.folder.parent / "calls").unlink(missing_ok=True)

    def python(self, name: str, text: str = FAKE_PYTHON) -> None:
        (self.path / name).write_text(text, encoding="utf-8")
        (self.path / name).chmod(0o755)

    def run(
        self, *arguments: str, stdin: str = "", script: str = "firstfault", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "scripts" / script), *arguments],
            input=stdin,
            cwd="/",
            env=self.environment | environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Checkout:
    folder = tmp_path / "a check out"
    (folder / "scripts").mkdir(parents=True)
    for name in ("firstfault", "test", "_bootstrap.sh"):
        shutil.copy2(root / "scripts" / name, folder / "scripts" / name)
    (folder / "pyproject.toml").write_text("[project]\nname = 'firstfault'\n", encoding="utf-8")
    path = tmp_path / "bin"
    path.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (path / tool).symlink_to(found)
    environment = {"PATH": str(path), "HOME": str(tmp_path), "FAKE_CALLS": str(tmp_path / "calls")}
    made = Checkout(folder, path, environment)
    made.python("python3.12")
    return made


def test_first_use_makes_the_venv_and_says_so(checkout: Checkout) -> None:
    done = checkout.run("demo")
    assert done.returncode == 7
    assert "first use: making .venv with Python 3.12.4" in done.stderr
    assert "ready after" in done.stderr
    assert (checkout.venv / ".stamp-run").is_file()
    assert not (checkout.venv / ".setting-up").exists()
    assert not (checkout.folder / ".venv.lock").exists()


def test_later_uses_are_silent_and_install_nothing(checkout: Checkout) -> None:
    checkout.run()
    checkout.forget_calls()
    done = checkout.run("demo")
    assert done.stderr == ""
    assert "-m pip" not in checkout.calls()


def test_arguments_stdin_and_status_pass_through(checkout: Checkout) -> None:
    done = checkout.run("a b", "*", stdin="line 1\nline 2\n")
    assert done.stdout.endswith("line 1\nline 2\n")
    assert done.returncode == 7
    assert f"-I {checkout.venv}/bin/firstfault a b *" in checkout.calls()


def test_the_callers_python_settings_reach_the_job_but_not_the_installation(
    checkout: Checkout,
) -> None:
    done = checkout.run(PYTHONPATH="/cluster/python3.8", PIP_USER="1", PIP_TARGET="/elsewhere")
    assert "PIP_USER=0 PYTHONPATH=none" in checkout.calls()
    assert "PYTHONPATH=/cluster/python3.8" in done.stdout


@pytest.mark.parametrize("home", [None, "", "pyproject.toml/home"])
def test_without_a_usable_home_no_cache_is_used(checkout: Checkout, home: str | None) -> None:
    del checkout.environment["HOME"]
    done = checkout.run(**({} if home is None else {"HOME": home and str(checkout.folder / home)}))
    assert done.returncode == 7
    assert "NO_CACHE=1" in checkout.calls()


def test_with_a_home_the_cache_is_used(checkout: Checkout) -> None:
    checkout.run()
    assert "NO_CACHE=none" in checkout.calls()


def test_a_changed_pyproject_installs_again(checkout: Checkout) -> None:
    checkout.run()
    (checkout.folder / "pyproject.toml").write_text("[project]\nname = 'other'\n", encoding="utf-8")
    checkout.forget_calls()
    done = checkout.run()
    assert "updating .venv" in done.stderr
    assert "-m pip" in checkout.calls()
    assert "-m venv" not in checkout.calls()
    assert checkout.run().stderr == ""


def test_a_moved_folder_installs_again(checkout: Checkout) -> None:
    checkout.run()
    checkout.folder = checkout.folder.rename(checkout.folder.with_name("moved"))
    assert "updating .venv" in checkout.run().stderr


def test_an_interrupted_installation_is_built_anew(checkout: Checkout) -> None:
    checkout.run(FAKE_PIP_KILLED="1")
    assert (checkout.venv / ".setting-up").exists()
    (checkout.venv / "half-installed").touch()
    done = checkout.run()
    assert "did not finish; building it anew" in done.stderr
    assert done.returncode == 7
    assert not (checkout.venv / "half-installed").exists()


def test_a_venv_whose_python_is_gone_is_built_anew(checkout: Checkout) -> None:
    checkout.run()
    (checkout.venv / "bin" / "python").unlink()
    done = checkout.run()
    assert "building it anew" in done.stderr
    assert done.returncode == 7


def test_a_failed_installation_is_one_sentence_and_the_next_try_goes_on(checkout: Checkout) -> None:
    done = checkout.run(FAKE_PIP_FAILS="1")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "installing failed: ERROR: no such host" in done.stderr
    assert not (checkout.folder / ".venv.lock").exists()
    assert checkout.run().returncode == 7


def test_the_lock_of_a_dead_process_is_taken_over(checkout: Checkout) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    (checkout.folder / ".venv.lock").mkdir()
    (checkout.folder / ".venv.lock" / "pid").write_text(f"{gone.pid}\n", encoding="utf-8")
    assert checkout.run().returncode == 7


def test_two_at_once_install_once(checkout: Checkout) -> None:
    command = [str(checkout.folder / "scripts" / "firstfault")]
    both = [
        subprocess.Popen(
            command,
            env=checkout.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    assert [process.wait(timeout=60) for process in both] == [7, 7]
    assert checkout.calls().count("-m venv") == 1


def test_it_works_through_a_link(checkout: Checkout, tmp_path: Path) -> None:
    link = tmp_path / "ff"
    link.symlink_to(Path("a check out") / "scripts" / "firstfault")
    done = subprocess.run([str(link)], env=checkout.environment, input="", capture_output=True, text=True)
    assert done.returncode == 7, done.stderr


def test_without_python_it_says_what_to_do(checkout: Checkout) -> None:
    (checkout.path / "python3.12").unlink()
    done = checkout.run()
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "FIRSTFAULT_PYTHON=" in done.stderr


def test_a_stub_on_path_is_passed_over(checkout: Checkout) -> None:
    checkout.python("python3.13", BROKEN_PYTHON)
    assert checkout.run().returncode == 7


def test_a_python_without_venv_is_named(checkout: Checkout) -> None:
    checkout.python("python3.12", '#!/bin/sh\ncase "$*" in *version_info*) echo 3.12.4 ;; *) exit 1 ;; esac\n')
    done = checkout.run()
    assert done.returncode == 1
    assert "python3.12 lacks the venv module" in done.stderr


def test_a_named_python_is_used_or_refused(checkout: Checkout) -> None:
    (checkout.path / "python3.12").rename(checkout.path / "my python")
    named = str(checkout.path / "my python")
    assert checkout.run(FIRSTFAULT_PYTHON=named + "x").returncode == 1
    assert checkout.run(FIRSTFAULT_PYTHON=named).returncode == 7


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_one_sentence(checkout: Checkout) -> None:
    checkout.folder.chmod(0o555)
    done = checkout.run()
    checkout.folder.chmod(0o755)
    assert done.returncode == 1
    assert "cannot write to" in done.stderr


def test_the_extra_for_encoders_comes_after_torch_and_once(checkout: Checkout) -> None:
    done = checkout.run("--encoders", "--fast", "-k", "one", script="test")
    assert done.returncode == 0, done.stderr
    calls = checkout.calls()
    assert calls.index("--group dev") < calls.index("torch==2.13.0") < calls.index(".[encoders]")
    assert "-m pytest -n 2 -k one" in calls
    checkout.forget_calls()
    # Whoever has the extra needs nothing more for the rest.
    for script, arguments in (("test", ("--fast", "--encoders")), ("test", ("--fast",)), ("firstfault", ())):
        checkout.run(*arguments, script=script)
    assert "-m pip" not in checkout.calls()


def test_without_the_option_no_torch_is_installed(checkout: Checkout) -> None:
    checkout.run("--fast", script="test")
    assert "torch" not in checkout.calls()
