"""The peer that gloo names by its address is where to look; who reports it is a victim."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("oom", signature("CUDA out of memory. Tried to allocate {size:size}")),
    head("gloo", signature("gloo/transport/tcp/pair.cc:{line:int}] Connection closed by peer"), kind="wrapper", role="downstream"),
)  # fmt: skip
CLOSED = "Connection closed by peer [{0}]:41877"
RESET = "Read error [{0}]:41877: Connection reset by peer"
TIMEOUT = "Read timeout [{0}]:41877"


def lost(rank: int, address: str, form: str = CLOSED) -> str:
    return (
        f"[rank{rank}]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] {form.format(address)}"
    )


def nccl(rank: int, world: int = 4) -> str:
    host = f"node-{rank}:1{rank}:2{rank} [0] NCCL INFO"
    return f"{host} Bootstrap: Using eth0:10.4.4.{rank}<0>\n{host} comm 0x1 rank {rank} nranks {world} cudaDev 0 busId 8a000 - Init COMPLETE"


def read(folder: Path, *lines: str) -> Diagnosis:
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return diagnose([str(folder / "job.log")], catalogue=CATALOGUE)


def suspects(result: Diagnosis) -> list[tuple[int | None, str | None]]:
    return [(suspect.rank, suspect.host) for suspect in result.suspects]


@pytest.mark.parametrize("form", [CLOSED, RESET, TIMEOUT])
def test_the_lost_peer_is_named_by_the_address_that_start_up_gave(form: str, tmp_path: Path) -> None:
    started = [nccl(rank) for rank in range(4)]
    result = read(tmp_path, *started, *(lost(rank, "10.4.4.2", form) for rank in (0, 1, 3)))
    assert (result.status, result.initiating) == ("symptom-only", None)
    assert {finding.role for finding in result.findings} == {"downstream"}
    assert suspects(result) == [(2, "node-2")]
    assert "3 ranks report that peer 10.4.4.2 went away first" in result.suspects[0].because


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("starting on host node-2 ip 10.4.4.2", (None, "node-2")),
        ("rank 2 listening on 10.4.4.2", (2, "10.4.4.2")),
        ("train-2   1/1   Running   0   4m   10.4.4.2   node-2", (None, "train-2")),
        ("10.4.4.2 node-2 node-2.cluster.local", (None, "node-2")),
        ("nothing of it", (None, "10.4.4.2")),
    ],
)
def test_addresses_are_read_where_logs_give_them(line: str, expected: tuple[int | None, str], tmp_path: Path) -> None:
    assert suspects(read(tmp_path, line, *(lost(rank, "10.4.4.2") for rank in (0, 1)))) == [expected]


def test_the_one_absent_rank_is_the_one_unknown_peer(tmp_path: Path) -> None:
    result = read(tmp_path, "world_size=3", *(lost(rank, "10.4.4.2") for rank in (0, 1)))
    assert suspects(result) == [(2, "10.4.4.2")]


def test_a_peer_that_lost_another_one_is_a_victim(tmp_path: Path) -> None:
    started = [nccl(rank) for rank in range(4)]
    lines = [lost(0, "10.4.4.2"), lost(1, "10.4.4.0"), lost(3, "10.4.4.1")]
    assert suspects(read(tmp_path, *started, *lines)) == [(2, "node-2")]


def test_peers_of_a_single_host_tell_nothing(tmp_path: Path) -> None:
    lines = [lost(rank, "127.0.0.1") for rank in range(4)]
    assert suspects(read(tmp_path, *lines)) == []


def test_a_known_cause_needs_no_suspect(tmp_path: Path) -> None:
    oom = "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    result = read(tmp_path, *(nccl(rank) for rank in range(4)), oom, *(lost(rank, "10.4.4.2") for rank in (0, 1, 3)))
    assert result.status == "identified"
    assert result.suspects == ()


def test_an_address_mapped_into_ipv6_is_the_address(tmp_path: Path) -> None:
    started = [nccl(rank) for rank in range(4)]
    result = read(tmp_path, *started, *(lost(rank, "::ffff:10.4.4.2") for rank in (0, 1, 3)))
    assert suspects(result) == [(2, "node-2")] and "peer 10.4.4.2 went away" in result.suspects[0].because
    stranger = read(tmp_path, lost(0, "::ffff:10.4.4.2"), lost(1, "::ffff:10.4.4.2"))
    assert [item.what for item in stranger.fetch_next] == ["job log of 10.4.4.2", "kernel log of 10.4.4.2"]
    assert stranger.fetch_next[1].command == "ssh 10.4.4.2 dmesg -T | tail -200"


NCCL_LOST = catalogue_of(
    head("flush", signature("with status=5"), role="downstream"),
    head("closed", signature("onnection closed by remote peer"), role="downstream"),
)


@pytest.mark.parametrize(
    ("started", "line", "expected"),
    [
        (nccl(2), "NCCL WARN NET/IB: Got completion from peer 10.4.4.2<34696> with status=5 opcode=0 len=0", (2, "node-2")),
        ("", "NCCL WARN NET/IB: Got completion from peer 10.4.4.2<34696> with status=5 opcode=0 len=0", (None, "10.4.4.2")),
        (nccl(2), "NCCL WARN socketProgress: Connection closed by remote peer node-2.cluster<51000>", (2, "node-2")),
    ],
)  # fmt: skip
def test_nccl_names_the_other_end_as_well(
    tmp_path: Path, started: str, line: str, expected: tuple[int | None, str]
) -> None:
    (tmp_path / "job.log").write_text(f"{nccl(0)}\n{started}\nnode-0:10:20 [0] {line}\n")
    result = diagnose([str(tmp_path)], catalogue=NCCL_LOST)
    assert (result.status, suspects(result)[:1]) == ("symptom-only", [expected])
