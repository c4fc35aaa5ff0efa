"""C508 and C510: commands parse in bash, and those of checks change nothing."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from corpus.lints.base import Finding, KeyPath, Knowledge, at, corpus_rule
from corpus.lints.fields import commands
from corpus.model import Entry, Family
from corpus.reader import SourceFile

AnyFile = SourceFile[Entry] | SourceFile[Family]
Placed = tuple[AnyFile, KeyPath, str]

_VALUE = re.compile(r"<[a-z][a-z0-9_-]*>")
_CHANGES = re.compile(
    r"(?:^|[;&|(]\s*|\bsudo\s+|\bxargs\s+(?:-\S+\s+)*|--command='?|\s--\s+)"
    r"(?:rm|reboot|shutdown|poweroff|halt|kill|pkill|killall|mkfs\S*|dd|rmmod|modprobe\s+-r|mv|chmod|chown"
    r"|scontrol\s+update|scontrol\s+requeue|scancel|systemctl\s+(?:restart|stop|start|disable)"
    r"|kubectl\s+(?:delete|drain|cordon|apply|patch|edit|scale|rollout\s+restart)"
    r"|nvidia-smi\s+(?:-i\s+\S+\s+)?(?:-r|--gpu-reset|-pl|-lgc|-rgc|-pm|-e|-mig)\b"
    r"|pip\s+install|apt(?:-get)?\s+install|docker\s+(?:rm|kill|stop|restart)|gcloud\s+\S+.*\s(?:delete|reset)\b)"
    r"(?=\s|$|;|')"
)


def _all_commands(knowledge: Knowledge) -> list[Placed]:
    files: tuple[AnyFile, ...] = (*knowledge.files.family_files, *knowledge.files.entry_files)
    return [(file, where, text) for file in files for where, text in commands(file.value)]


def runnable(command: str) -> str:
    """A command with `<value>` filled in, as a person would type it."""
    return _VALUE.sub("value", command)


@corpus_rule(
    "C508",
    "command does not parse",
    why="people paste commands into a root shell.",
    mend="balance quotes and brackets; values of the user's log are written <pci>, others in capitals.",
)
def commands_parse(knowledge: Knowledge) -> Iterator[Finding]:
    """Quotes are balanced, and bash accepts the syntax where it is there to ask."""
    bash = shutil.which("bash") if knowledge.bash else None
    placed = _all_commands(knowledge)
    texts = list(dict.fromkeys(runnable(text) for _, _, text in placed))
    broken = {text: said for text in texts if (said := _unbalanced(text))}
    if bash is not None:
        # bash knows comments and here-documents, which shlex does not, so it has the last word.
        asked = {text: _ask_bash(bash, [text]) for text in broken}
        broken = {text: said for text, said in asked.items() if said}
        broken.update(_search_broken(bash, [text for text in texts if text not in asked]))
    for file, where, text in placed:
        problem = broken.get(runnable(text))
        if problem:
            yield at(file, where, f"{problem} in `{text}`")


def _unbalanced(text: str) -> str:
    try:
        shlex.split(text)
    except ValueError as error:
        return str(error).rstrip(".")
    return ""


def _ask_bash(bash: str, texts: Sequence[str]) -> str:
    """What `bash -n` says of the commands, one after another, or an empty string."""
    script = "\n".join(texts) + "\n"
    done = subprocess.run([bash, "-n"], input=script, capture_output=True, text=True, check=False)
    said = re.sub(r"^.*?line \d+: ", "", done.stderr.strip().splitlines()[0]) if done.stderr.strip() else ""
    return said or ("" if done.returncode == 0 else f"exit code {done.returncode}")


def _search_broken(bash: str, texts: list[str]) -> dict[str, str]:
    """The commands that bash refuses: all in one process, and by halves when that fails."""
    if not texts:
        return {}
    said = _ask_bash(bash, texts)
    if not said:
        return {}
    if len(texts) == 1:
        return {texts[0]: said}
    middle = len(texts) // 2
    return _search_broken(bash, texts[:middle]) | _search_broken(bash, texts[middle:])


@corpus_rule(
    "C510",
    "command of a check changes something",
    why="a check is run while the evidence is still there; it must not destroy it.",
    mend="read instead, or move the step to [[fix]].",
)
def checks_only_read(knowledge: Knowledge) -> Iterator[Finding]:
    """Commands of checks and of what to collect are read-only, as far as a word tells."""
    for file, where, text in _all_commands(knowledge):
        found = _CHANGES.search(text)
        if where[0] in {"check", "collect"} and found is not None:
            yield at(file, where, f"`{found.group().strip(' ;&|(')}` in `{text}` is not read-only.")
