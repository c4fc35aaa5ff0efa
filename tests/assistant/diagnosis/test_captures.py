"""What a finding shows of the values that its signature bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(head("refused", signature("connect to {peer:host} failed : {reason:name}")))


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("Connection refused", "Connection refused"),
        ("No route to host (113)", "No route to host"),
        ("ECONNREFUSED", "ECONNREFUSED"),
    ],
)
def test_a_reason_at_the_end_is_the_whole_phrase(tmp_path: Path, end: str, reason: str) -> None:
    (tmp_path / "job.log").write_text(f"connect to node-7 failed : {end}\n")
    found = diagnose([str(tmp_path)], catalogue=CATALOGUE).initiating
    assert found is not None and found.evidence[0].captures["reason"] == reason


MACHINES = catalogue_of(
    head("graph", signature("cannot create node {node:name} of the graph")),
    head("address", signature("Selected instruction {node:hex} is unknown")),
    head("dns", signature("Could not resolve host: {host:host}")),
    head("peer", signature("connect to host {host:host} port {port:int}")),
    head("step", signature("Task launch failed on node {node:host}:")),
    head("memory", signature("killed due to memory pressure at node (ID: {id:hex}, IP: {ip:ip})")),
    head("list", signature("Node failure on {hosts:path}")),
)


@pytest.mark.parametrize(
    ("line", "hosts"),
    [
        ("cannot create node batch_gemm of the graph", ()),
        ("Selected instruction t12 is unknown".replace("t12", "ab12"), ()),
        ("Could not resolve host: models.example.com", ()),
        ("pool(host='models.example.com'): Could not resolve host: models.example.com", ()),
        ("ssh: connect to host storage-1 port 22: refused", ()),
        ("Task launch failed on node gpu-7: no such user", ("gpu-7",)),
        ("killed due to memory pressure at node (ID: 5d1c0f, IP: 10.14.0.12)", ("10.14.0.12",)),
        ("Node failure on gpu-9", ("gpu-9",)),
        ("gpu-4: starting\ngpu-5: starting\nCould not resolve host: gpu-5", ("gpu-5",)),
    ],
)
def test_only_machines_of_the_job_are_hosts_of_a_fault(tmp_path: Path, line: str, hosts: tuple[str, ...]) -> None:
    (tmp_path / "job.log").write_text(f"{line}\n")
    found = diagnose([str(tmp_path)], catalogue=MACHINES).initiating
    assert found is not None and found.hosts == hosts
