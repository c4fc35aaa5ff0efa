"""The verdict on an incident does not depend on what a reader would not look at."""

from __future__ import annotations

import importlib
import json
import random
import re
import shutil
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from corpus.catalogue import Catalogue
from tests.assistant.diagnosis.changes import CHANGES, Files

ROOT = Path(__file__).parents[3]
BUNDLED = ROOT / "corpus" / "incidents"
GENERATED = (
    "prefix_rankN", "adv_never_entered", "adv_rank_absent", "adv_xid79_later_in_file", "kube_logs_prefix",
    "store_wait_timeout", "pyspy_stuck_dataloader", "faulthandler_fs_hang", "k8s_describe_of_many_pods",
    "slurm_other_jobs_cancelled", "nfs_stall_that_never_ends", "elastic_three_restarts", "ib_link_down_on_one_host",
)  # fmt: skip
CHAINS = (("reorder", "rename_hosts", "add_filler", "wrap_json"), ("reorder", "shift_clock", "rotate", "wrap_cri"))
"""Several changes at once: each alone was tried on all generated kinds, which takes minutes."""
_STAMP = re.compile(r"\d\d:\d\d:\d\d")
_CRI = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z stderr F ")


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    return Catalogue.load(ROOT / "corpus")


@lru_cache(maxsize=256)
def incident(name: str) -> Files:
    """The files of a bundled or generated incident."""
    if name.startswith("bundled/"):
        record = tomllib.loads((BUNDLED / f"{name.removeprefix('bundled/')}.toml").read_text())
        files: Files = {}
        for source in record["sources"]:
            path = BUNDLED / source
            found = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
            files |= {str(file.relative_to(BUNDLED)): file.read_bytes() for file in found}
        return files
    kinds = importlib.import_module("incident_kinds")
    built = kinds.Inc(name, 3)
    kinds.KINDS[name][0](built)
    return dict(built.files)


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    yield


def verdict(files: Files, folder: Path) -> Diagnosis:
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return diagnose([str(folder)], catalogue=catalogue())


def told(result: Diagnosis, other: dict[str, str]) -> dict[str, object]:
    """What must stay the same, hosts by the names they were given."""
    first = result.initiating
    text = first.evidence[0].text if first is not None else ""
    if text.startswith("{"):
        text = json.loads(text)["log"].rstrip("\n")
    text = _STAMP.sub("", _CRI.sub("", text))
    for host in sorted(other, key=len, reverse=True):
        text = text.replace(host, other[host])
    return {
        "status": result.status,
        "entry": first.entry.id if first is not None and first.entry is not None else None,
        "line": text,
        "ranks": first.ranks if first is not None else (),
        "hosts": sorted(other.get(host, host) for host in first.hosts) if first is not None else [],
        "suspects": sorted((suspect.rank or -1, suspect.reason) for suspect in result.suspects),
    }


NAMES = [f"bundled/{path.stem}" for path in sorted(BUNDLED.glob("*.toml"))] + list(GENERATED)


@lru_cache(maxsize=256)
def original(name: str, folder: Path) -> Diagnosis:
    return verdict(incident(name), folder / "original")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("incidents")


@pytest.mark.parametrize("chain", CHAINS, ids="+".join)
@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_stays(name: str, chain: tuple[str, ...], folder: Path) -> None:
    before = original(name, folder)
    hosts = [host for host in before.run.hosts if len(host) > 3 and not re.fullmatch(r"[\d.:]+", host)]
    other = {host: f"zz-node-{90 - number}" for number, host in enumerate(sorted(hosts))}
    files, done = incident(name), []
    for change in chain:
        changed = CHANGES[change](files, other, random.Random(f"{name}{change}"))
        done += [change] if changed != files else []
        files = changed
    if not done:
        pytest.skip("this incident has nothing to change so")
    expected = told(before, other if "rename_hosts" in done else {})
    assert told(verdict(files, folder / "changed"), {}) == expected
