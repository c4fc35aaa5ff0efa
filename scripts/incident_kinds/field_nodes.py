"""Incidents as an on-call engineer finds them: nodes, file systems, clocks, names of files."""

from __future__ import annotations

import gzip

from incident_kinds.base import ANY_FOUND, S, comma, dmesg_T, kind, syslog
from incident_kinds.job import Job

QUIET = ["healthy", "inconclusive", "degraded"]


@kind
def nfs_stall_recovers(i):
    """The kernel of one host reports an NFS server that does not respond and, two minutes later, is OK; the job goes on and finishes."""
    j = Job(i, nodes=2, ppn=2, style="plain")
    t = j.steps(j.startup(launcher=False), 10, ranks=[0])
    i.put(f"kern-{j.hosts[1]}.log", [f"{syslog(t)} {j.hosts[1]} kernel: nfs: server fs-7 not responding, still trying", f"{syslog(t + S(121))} {j.hosts[1]} kernel: nfs: server fs-7 OK"])  # fmt: skip
    t = j.steps(t + S(130), 10, ranks=[0])
    j.done(t)
    i.put("train.log", j.single())
    i.say(QUIET, None, "it stalled for two minutes and ended well", never=["not responding"])


@kind
def nfs_stall_that_never_ends(i):
    """NFS does not respond on one host and never again; its loaders stand still and all watchdogs of the other host fire."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    t = j.steps(j.startup(launcher=False), 10, ranks=[0, 4])
    line = f"{syslog(t)} {j.hosts[1]} kernel: nfs: server fs-7 not responding, still trying"
    i.put(f"kern-{j.hosts[1]}.log", [f"{syslog(t - S(8000))} {j.hosts[1]} kernel: eth0: link up", line, f"{syslog(t + S(180))} {j.hosts[1]} kernel: nfs: server fs-7 not responding, still trying"])  # fmt: skip
    j.wds(t + S(j.timeout_ms / 1000), range(4))
    for n in range(2):
        i.put(f"{j.hosts[n]}.log", [x for e in j.sorted() if j.node(e[2]) == n for x in e[3].split("\n")])
    i.say([*ANY_FOUND, "symptom-only"], "nfs: server fs-7 not responding", "the file server went away under one host's loaders", rank_checked=False, host=j.hosts[1], never=["Watchdog caught"])  # fmt: skip


@kind
def sdc_nan_on_one_rank(i):
    """Megatron's check finds NaN in the gradients of one device before the reduction; the peers only time out."""
    j = Job(i, nodes=2, ppn=4, style="megatron")
    v = j.pick(1)
    t = j.steps(j.startup(), 10)
    line = f"AssertionError: found NaN in local grad norm for bucket #0 in backward pass before data-parallel communication collective. Device: {j.local(v)}, node: {j.host(v)}"
    j.add(t, v, j.tb(v, j.frames(("/opt/megatron-lm/megatron/core/distributed/param_and_grad_buffer.py", 103, "check_grads", "assert not norm.isnan(), (")), line))  # fmt: skip
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(8) if k != v])
    i.put("pretrain.log", j.single())
    i.say(
        ANY_FOUND,
        "found NaN in local grad norm",
        "one device computed NaN",
        rank=v,
        host=j.host(v),
        never=["Watchdog caught"],
    )


@kind
def shared_node_other_kill_healthy(i):
    """A postgres on the same node is killed by the OOM killer while our job trains and finishes."""
    j = Job(i, nodes=1, ppn=2, style="plain")
    t = j.steps(j.startup(launcher=False), 10, ranks=[0])
    i.put(f"dmesg-{j.hosts[0]}.log", [f"{dmesg_T(t - S(20))} Out of memory: Killed process {j.pids[0] + 4000} (postgres) total-vm:9000kB, anon-rss:8000kB, file-rss:0kB, shmem-rss:0kB, UID:26 pgtables:100kB oom_score_adj:0"])  # fmt: skip
    t = j.steps(t, 10, ranks=[0])
    j.done(t)
    i.put("train.log", j.single())
    i.say("healthy", None, "not our process, and we finished", never=["postgres"])


@kind
def rotated_first_fault_in_older_part(i):
    """train.log.2.gz, train.log.1 and train.log of one job: the CUDA OOM stands at the end of .1, the live file holds only what followed."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(), 20, ranks=[0])
    line = j.oom(t, v)
    whole = j.single()
    j.ev.clear()
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(4) if k != v])
    cut = len(whole) // 2
    i.put("train.log.2.gz", gzip.compress(("\n".join(whole[:cut]) + "\n").encode(), mtime=0))
    i.put("train.log.1", whole[cut:])
    i.put("train.log", j.single())
    i.say(
        "identified",
        line[:60],
        "the older part ends with the cause",
        rank=v,
        host=j.hosts[0],
        never=["Watchdog caught"],
    )


@kind
def names_node_gpu_without_world(i):
    """Files node1-gpu0.log ... without any rank or world size inside: one GPU's file has a CUDA error, the rest lost their peer."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(1)
    t = j.steps(j.t0, 8, ranks=range(8))
    line = "RuntimeError: CUDA error: an illegal memory access was encountered"
    for k in range(8):
        n, g = k // 4 + 1, k % 4
        end = [f"{comma(t)} ERROR {j.script}:355 unhandled exception", *j.tb(k, j.frames(), line, tag=False).split("\n")] if k == v else [f"{comma(t + S(4))} ERROR {j.script}:355 unhandled exception", *j.tb(k, j.frames(), "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, NCCL version 2.26.2", tag=False).split("\n")]  # fmt: skip
        i.put(f"node{n}-gpu{g}.log", [*j.of(k), *end])
    i.say(ANY_FOUND, line, "the name gives node and GPU; the rank is nowhere", rank_checked=False, source=f"node{v // 4 + 1}-gpu{v % 4}.log", never=["remote process exited"])  # fmt: skip


@kind
def names_worker_out_without_world(i):
    """worker_0.out ... worker_7.out, no world size, no prefix: the KeyError of one of them."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.steps(j.t0, 8, ranks=range(8))
    for k in range(8):
        i.put(f"worker_{k}.out", [*j.of(k), *(j.tb(k, j.frames(), "KeyError: 'mask'", tag=False).split("\n") if k == v else [f"{comma(t + S(300))} WARNING {j.script}:90 still waiting for peers"])])  # fmt: skip
    i.say(
        ANY_FOUND, "KeyError: 'mask'", "eight files, one of them ends with an error", rank=v, source=f"worker_{v}.out"
    )


@kind
def name_against_prefix(i):
    """A file named after one rank whose lines all carry another rank's prefix: the lines are believed and the conflict is said."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = 5
    t = j.steps(j.startup(launcher=False), 8, ranks=[v])
    line = j.oom(t, v)
    i.put("rank_3.log", [f"[rank{v}]: " + x.removeprefix(f"[rank{v}]: ") for x in j.of(v)])
    i.say("identified", line[:60], "the prefix of every line beats the name", rank=v)


@kind
def skew_known_only_from_a_collective(i):
    """Two hosts whose clocks differ by minutes and that share nothing but one timed-out collective; the Xid of the host that is ahead came first."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    j.skew = {1: i.r.randrange(200, 900)}
    v = 6
    t = j.steps(j.startup(launcher=False), 12, ranks=[0])
    x = t + S(1)
    line = f"NVRM: Xid (PCI:{j.pci(v)}): 79, pid={j.pids[v]}, name=python3, GPU has fallen off the bus."
    i.put(f"kern-{j.hosts[1]}.log", [f"{syslog(j.at(v, x - S(5000)))} {j.hosts[1]} kernel: eth0: link up", f"{syslog(j.at(v, x))} {j.hosts[1]} kernel: {line}"])  # fmt: skip
    d = t + S(j.timeout_ms / 1000 + 3)
    j.wds(d, [0, 1, 2, 3, 4, 5, 7])
    for n in range(2):
        i.put(f"{j.hosts[n]}.log", [y for e in j.sorted() if j.node(e[2]) == n for y in e[3].split("\n")])
    i.say("identified", "GPU has fallen off the bus", "by its own clock long after the others had begun to wait", rank=v, host=j.hosts[1], never=["Watchdog caught"])  # fmt: skip


@kind
def checkpoint_shard_damaged(i):
    """One rank cannot read its checkpoint shard at load; the others time out at the first barrier."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(1)
    t = j.startup()
    line = "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"
    j.add(t, v, f"{comma(j.at(v, t))} ERROR {j.script}:70 cannot load\n" + j.tb(v, j.frames(("/usr/local/lib/python3.12/dist-packages/torch/serialization.py", 1456, "load", "with _open_zipfile_reader(f) as z:")), line))  # fmt: skip
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(8) if k != v], seq=1, op="BARRIER", enq=1, comp=0)
    j.closing(t + S(2), j.node(v), v)
    i.put("job.log", j.single())
    i.say(
        ANY_FOUND,
        line[:50],
        "the shard is truncated",
        rank=v,
        host=j.host(v),
        never=["Watchdog caught", "closing signal"],
    )


@kind
def ib_link_down_on_one_host(i):
    """mlx5 link down in one host's kernel log; NCCL's completions with errors on both hosts follow within seconds."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    t = j.steps(j.startup(launcher=False), 12, ranks=[0, 4])
    h = j.hosts[1]
    i.put(f"dmesg-{h}.log", [f"{dmesg_T(t - S(3000))} mlx5_core 0000:41:00.0: firmware version: 28.39.1002", f"{dmesg_T(t)} mlx5_core 0000:41:00.0 ibp65s0: Link down"])  # fmt: skip
    for k in (1, 5):
        j.add(t + S(6), k, f"{j.host(k)}:{j.pids[k]}:{j.pids[k] + 500} [{j.local(k)}] NCCL WARN NET/IB: Got completion from peer {j.ips[1 - j.node(k)]}<43127> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid fe80::1 remoteGidsfe80::2 hca mlx5_3")  # fmt: skip
    for n in range(2):
        i.put(f"{j.hosts[n]}.log", [x for e in j.sorted() if j.node(e[2]) == n for x in e[3].split("\n")])
    i.say(
        ANY_FOUND,
        "Link down",
        "the link went first",
        rank_checked=False,
        alt=["with status=12"],
        never=["firmware version"],
    )


@kind
def credentials_expire_on_one_rank(i):
    """One rank's loader gets ExpiredToken from the object store, the other ranks time out in gloo's barrier."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(nccl=False, launcher=False), 9, ranks=[0])
    line = "botocore.exceptions.ClientError: An error occurred (ExpiredToken) when calling the GetObject operation: The provided token has expired."
    j.add(t, v, f"{comma(t)} ERROR {j.script}:355 loader died\n" + j.tb(v, j.frames(("/usr/lib/python3/dist-packages/botocore/client.py", 1023, "_make_api_call", "raise error_class(parsed_response, operation_name)")), line))  # fmt: skip
    for k in range(4):
        if k != v:
            j.add(t + S(600), k, f"{comma(t + S(600))} ERROR {j.script}:355 unhandled exception\n" + j.tb(k, j.frames(), "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 600000ms for recv operation to complete"))  # fmt: skip
    i.put("job.log", j.single())
    i.say(ANY_FOUND, line[:60], "the token expired on one rank", rank=v, never=["Timed out waiting"])
