"""C7xx: nothing in the corpus leads to a real machine, account or person."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from corpus.lints.base import Finding, Knowledge, corpus_rule

_IPV4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d)")
_VERSION_BEFORE = re.compile(
    r"(?:[=@v_-]|\.so\.|\b(?:version|release|driver|runtime|firmware|build|kernel|rocm|ofed|mlnx\w*|cu\w+|nvidia\S*|nccl|lib\S+)"
    r"['\":=]{0,2} ?['\"]?)$",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"(?<![\w.+/:-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.([A-Za-z]{2,12})\b")
_PRIVATE_TLD = {"internal", "local", "localdomain", "svc", "example", "test", "invalid", "lan", "cluster"}
_TOKEN = re.compile(
    r"\bhf_[A-Za-z0-9]{20,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{30,}"
    r"|\bya29\.[\w-]{20,}|\bnvapi-[\w-]{20,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(?:(?:api|API|Api)[_-]?(?:key|KEY|Key)|secret|SECRET|Secret|password|PASSWORD|Password|token|TOKEN|Token)\b"
    r"\s*[=:]\s*['\"]?[A-Za-z0-9+/_-]{24,}"
)
_TOKEN_MARKS = (
    "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "AKIA", "ASIA", "xox", "AIza", "ya29.",
    "nvapi-", "eyJ", "PRIVATE KEY",
)  # fmt: skip
_SECRET_WORD = re.compile(r"[Kk](?:ey|EY)\s*[=:]|(?:ecret|ECRET|assword|ASSWORD|oken|OKEN)\s*[=:]")
_HOME = re.compile(r"(?:/home|/Users|C:\\Users)[/\\]([A-Za-z][\w.-]*)(?=[/\\])")
GENERIC_USERS = frozenset(
    """u usr user users username me you someone ubuntu debian centos rocky ec2-user azureuser opc root admin ops svc service
    runner build builder ci jenkins app web node worker jovyan coder vscode ray slurm mpi mpiuser ml mluser ml-user ai
    dl gpu train trainer training infer inference serve serving llm model research researcher scientist engineer dev
    developer data dataset alice bob carol dave eve student team project shared common nobody default test tester demo
    job jobs batch work workspace conda python torch vllm nvidia rocm tpu""".split()
)
"""Names of accounts that belong to nobody in particular."""


def _files(knowledge: Knowledge) -> Iterator[tuple[Path, str]]:
    files = knowledge.files
    for file in (*files.family_files, *files.entry_files, *files.incident_files):
        yield file.path, file.text
    if files.harmless_file is not None:
        yield files.harmless_file.path, files.harmless_file.text
    beside = sorted((files.root / "incidents").rglob("*"))
    for path in (*files.healthy, *(path for path in beside if path.is_file() and path.suffix != ".toml")):
        yield path, path.read_text(encoding="utf-8", errors="replace")


def _search(
    knowledge: Knowledge,
    pattern: re.Pattern[str],
    say: Callable[[re.Match[str], str], str],
    may_match: Callable[[str], bool] = bool,
) -> Iterator[Finding]:
    """Every line on which `say` finds words for a match of the pattern."""
    texts = knowledge.cached("privacy", lambda: list(_files(knowledge)))
    for path, text in texts:
        if not may_match(text):
            continue
        for found in pattern.finditer(text):
            line_start = text.rfind("\n", 0, found.start()) + 1
            message = say(found, text[line_start : found.start()])
            if message:
                yield Finding(path, text.count("\n", 0, found.start()) + 1, message)


@corpus_rule(
    "C701",
    "public IP address",
    why="it belongs to somebody.",
    mend="write 10.x, 172.16.x, 192.168.x, or a documentation address (192.0.2.x, 198.51.100.x, 203.0.113.x).",
)
def no_public_address(knowledge: Knowledge) -> Iterator[Finding]:
    """Every dotted address is private; version numbers of four parts are none."""
    yield from _search(knowledge, _IPV4, _public_address)


def _public_address(found: re.Match[str], before: str) -> str:
    try:
        address = ipaddress.IPv4Address(found.group())
    except ValueError:
        return ""
    first = int(found.group().split(".")[0])
    is_version = _VERSION_BEFORE.search(before) is not None and first < 30
    # Neither global nor routable to anybody: also the carrier-grade range and 0.0.0.0.
    return "" if is_version or not address.is_global else f"`{address}` is a public address."


@corpus_rule(
    "C702",
    "e-mail address",
    why="it belongs to somebody.",
    mend="leave it out, or write user@example.com.",
)
def no_email(knowledge: Knowledge) -> Iterator[Finding]:
    """No e-mail address but those of the reserved example domains."""
    yield from _search(knowledge, _EMAIL, _email)


def _email(found: re.Match[str], before: str) -> str:
    address = found.group()
    domain = address.split("@")[1].lower()
    is_example = domain.endswith(("example.com", "example.org", "example.net")) or found.group(1) in _PRIVATE_TLD
    is_remote = address.startswith("git@") or found.group(1) in {"service", "py", "so", "sh", "toml", "yaml", "json"}
    return "" if is_example or is_remote else f"`{address}` is an e-mail address."


@corpus_rule(
    "C703",
    "token or key",
    why="a secret in a log is still a secret.",
    mend="write hf_xxxxxxxx or [***].",
)
def no_token(knowledge: Knowledge) -> Iterator[Finding]:
    """Nothing has the form of an access token or a private key."""
    yield from _search(knowledge, _TOKEN, _token, _may_hold_token)


def _may_hold_token(text: str) -> bool:
    """A quick look that saves the slow pattern on nearly every file."""
    return any(mark in text for mark in _TOKEN_MARKS) or _SECRET_WORD.search(text) is not None


def _token(found: re.Match[str], before: str) -> str:
    text = found.group()
    value = re.split(r"[=:_]\s*['\"]?", text)[-1]
    is_masked = len(set(value.lower())) < 4
    return "" if is_masked else f"`{text[:10]}...` has the form of a secret."


@corpus_rule(
    "C704",
    "home directory of a person",
    why="a name in a path is a name.",
    mend="write /home/user, /home/ubuntu, or a path outside /home.",
)
def no_home(knowledge: Knowledge) -> Iterator[Finding]:
    """Home directories are those of accounts without a person."""
    yield from _search(knowledge, _HOME, _home)


def _home(found: re.Match[str], before: str) -> str:
    name = found.group(1)
    bare = re.sub(r"[\d._-]*$", "", name.lower())
    return "" if bare in GENERIC_USERS or name.lower() in GENERIC_USERS else f"`{found.group()}` names a person."
