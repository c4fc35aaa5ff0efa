"""Incidents: clock_skew_two_errors, mixed_time_zones, yearless_month_end, lines_without_time and others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from incident_kinds.base import ANY_FOUND, SYMPTOM, XID79, S, comma, dmesg_T, kind, torch_stamp
from incident_kinds.job import Job


@kind
def clock_skew_two_errors(i):
    """Clock of the victims' host is behind: an unrelated-looking user error on host A by stamps precedes the cause on host B; shared step lines give the skew."""
    j = Job(i, nodes=2, style="plain")
    v = j.pick(8)
    w = i.r.randrange(1, 8)
    sk = i.r.randrange(40, 90)
    j.skew = {0: -sk}
    t = j.steps(j.startup(), 16, ranks=[0, 8])
    line = j.oom(t, v)
    tw = t + S(12)  # true 12 s later, by its clock 28-78 s earlier
    msg = f"RuntimeError: received 0 of {i.r.randrange(3, 90) * 1024} expected activations from pipeline peer on {j.hosts[1]} (peer rank {v} is gone)"
    j.add(
        tw,
        w,
        f"{comma(j.at(w, tw))} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(w, j.frames(("/workspace/pipe/recv.py", 71, "recv_forward", "self._check(n)")), msg),
    )
    for n in range(2):
        i.put(
            f"{j.hosts[n]}.log",
            [x for e in j.sorted() if (e[2] >= 0 and j.node(e[2]) == n) or e[2] == -1 - n for x in e[3].split("\n")],
        )
    i.say(
        "identified",
        line[:60],
        f"host {j.hosts[0]} runs {sk} s behind: by corrected time the OOM is first",
        rank=v,
        host=j.hosts[1],
        owner="workload",
        never=["pipeline peer"],
    )


@kind
def mixed_time_zones(i):
    """Mixed zones: one host logs ISO with +09:00, the other UTC; wall digits invert the true order."""
    j = Job(i, nodes=2, ppn=1)
    t, jst = j.t0, timezone(timedelta(hours=9))

    def f(k, x):
        return (
            x.replace(tzinfo=UTC).astimezone(jst).isoformat(timespec="milliseconds")
            if k == 1
            else x.replace(tzinfo=UTC).isoformat(timespec="milliseconds")
        )

    logs = {0: [], 1: []}
    for k in (0, 1):
        logs[k] += [f"{f(k, t)} INFO {j.script}: rank {k} of 2 on {j.hosts[k]} initialised"]
        logs[k] += [
            f"{f(k, t + S(10 * s))} INFO {j.script}: step {j.step + s} loss {2.2 - s / 100:.3f}" for s in range(1, 25)
        ]
    te = t + S(250)
    line = j.oom_line(1)
    logs[1] += [f"{f(1, te)} ERROR {j.script}: unhandled exception", *j.tb(1, j.frames(), line).split("\n")]
    d = te + S(j.timeout_ms / 1000)
    logs[0] += [
        f"{f(0, d)} ERROR {j.script}: collective failed",
        *j.tb(
            0,
            j.frames(),
            "torch.distributed.DistBackendError: NCCL communicator was aborted on rank 0.  Original reason for failure was: "
            + j.wd_line(0, d).split("] ", 1)[1],
        ).split("\n"),
    ]
    for k in (0, 1):
        i.put(f"{j.hosts[k]}-rank{k}.log", logs[k])
    i.say(
        "identified",
        line[:60],
        "09:00 hours of zone, not of time",
        rank=1,
        host=j.hosts[1],
        owner="workload",
        never=["NCCL communicator was aborted", "collective failed", "Watchdog caught"],
    )


@kind
def yearless_month_end(i):
    """Yearless glog stamps over midnight and month end (31st to 1st, also new year): sorted as digits they invert."""
    m = i.r.choice([12, 1, 3, 7, 10])
    j = Job(
        i,
        nodes=1,
        t0=datetime(2026, m, 31, 23, 40, i.r.randrange(50), i.r.randrange(999999)),
        style="deepspeed",
        timeout_ms=1800000,
    )
    v = j.pick()
    t = j.startup(launcher=False, nccl=False)
    j.ev = []
    for k in range(8):
        j.add(
            j.t0,
            k,
            f"[rank{k}]:{torch_stamp(j.t0, 'I')} ProcessGroupNCCL.cpp:981] [PG ID 0 PG GUID 0(default_pg) Rank {k}] ProcessGroupNCCL initialization options: size: 8, global rank: {k}, TIMEOUT(ms): 1800000",
        )
    for s in range(20):
        tt = j.t0 + S(30 * s + 10)
        j.add(
            tt,
            0,
            f"I{tt:%m%d %H:%M:%S}.{tt.microsecond:06d} {j.pids[0]} {j.script}:212] step {j.step + s} loss {j.loss:.4f}",
        )
    t = j.t0 + S(640)
    line = j.oom_line(v)
    j.add(
        t,
        v,
        f"E{t:%m%d %H:%M:%S}.{t.microsecond:06d} {j.pids[v]} {j.script}:355] unhandled exception\n"
        + j.tb(v, j.frames(), line),
    )
    j.wds(t + S(1802), [k for k in range(8) if k != v])
    out = []
    for k in [k for k in range(8) if k != v] + [v]:  # cat of rank files: victim last
        out += j.of(k)
    i.put("cat_all.log", out)
    i.say(
        "identified",
        line[:60],
        "the OOM is before midnight of the 31st, the watchdogs on the 1st",
        rank=v,
        owner="workload",
        never=["Watchdog caught"],
    )


@kind
def lines_without_time(i):
    """Error lines without any time inherit from the dated lines round them."""
    j = Job(i, nodes=1, style="plain", timeout_ms=600000)
    v = j.pick()
    t = j.steps(j.startup(), 14, ranks=range(8))
    line = j.oom(t, v, stamped=False)
    j.wds(t + S(602), [k for k in range(8) if k != v], term=False)
    j.rank_files(lambda k: f"worker{k}.txt")
    i.say(
        "identified",
        line[:60],
        "undated traceback right after the rank's last dated step",
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["Watchdog caught"],
    )


@kind
def late_flushed_rank(i):
    """A rank's stderr is flushed late: in the merged file its OOM (with its earlier stamp) comes after everybody's aborts and torchrun's table."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick()
    t = j.steps(j.startup(), 12, ranks=range(8))
    line = j.oom(t, v, order=t + S(4000))
    for k in range(8):
        if k != v:
            j.remote_gone(t + S(3) + j.us(), k, j.host(v))
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(8) if k != v and k % 3 == 0], term=False)
    j.table(t + S(10), j.node(v), v)
    i.put("merged.log", j.single(lambda k, j: f"[{j.host(k)} rank {k}] ", lambda n, j: f"[{j.hosts[n]} agent] "))
    i.say(
        "identified",
        line[:60],
        "late print, early stamp",
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["ncclRemoteError", "Watchdog caught", "ChildFailedError"],
    )


@kind
def onset_before_xid(i):
    """'ran for N milliseconds' puts the stall before a Xid 79 that printed in between: the Xid is not the cause, the earlier undated error is."""
    j = Job(i, nodes=2, style="plain", timeout_ms=1800000)
    v = i.r.randrange(1, 8)
    x = j.pick(8)
    t = j.steps(j.startup(), 14, ranks=range(16))
    path = f"/data/shards/part-{i.r.randrange(9999):05d}.bin"
    msg = f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'"
    j.add(t, v, j.tb(v, j.frames(("/workspace/data/mmap.py", 22, "open_shard", "f = open(path, 'rb')")), msg))
    tx = t + S(i.r.randrange(700, 1200))
    j.wds(t + S(1803), [k for k in range(16) if k not in (v, x)], ran=1800041)
    j.rank_files(lambda k: f"rank{k}.log")
    i.put(
        f"dmesg-{j.host(x)}.txt",
        [f"{dmesg_T(tx)} NVRM: Xid (PCI:{j.pci(x)}): 79, pid={j.pids[x]}, name=python3, {XID79}"],
    )
    i.say(
        ANY_FOUND,
        msg[:50],
        "the collective hung for 1,800 s before the print, so it began before the Xid; the rank whose file was missing stopped then",
        rank=v,
        host=j.host(v),
        never=["Watchdog caught", "Xid (PCI"],
        independent=["Xid (PCI"],
    )


@kind
def storm_before_cause(i):
    """An error storm: 2,000 repeats of a consequence stand before the cause's late print."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick()
    t = j.steps(j.startup(), 10)
    line = j.oom(t, v, order=t + S(300))
    for n in range(2000):
        k = [q for q in range(4) if q != v][n % 3]
        tt = t + S(1 + n * 0.1)
        j.add(
            tt,
            k,
            f"[rank{k}]:{torch_stamp(tt, 'W')} TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=61, addr=[{j.hosts[0]}]:{41000 + k}, remote=[{j.hosts[0]}]:29500): failed to recv, got 0 bytes",
        )
    i.put("job.log", j.single())
    i.say("identified", line[:60], "count is no evidence", rank=v, owner="workload", never=["recvValue failed"])


# ================================================================ symptom-only and wrappers
@kind
def gloo_peer_loss_only(i):
    """Gloo and TCPStore peer loss only, one pod's log absent: symptom-only, the missing rank is the suspect."""
    j = Job(i, nodes=4, ppn=1)
    v = j.pick()
    t = j.startup(nccl=False, launcher=False, ranks=[k for k in range(4) if k != v])
    t = j.steps(t, 10, ranks=[k for k in range(4) if k != v])
    for k in range(4):
        if k != v:
            j.add(
                t + j.us(),
                k,
                f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
                + j.tb(
                    k,
                    j.frames((f"/workspace/{j.script}", 290, "train", "dist.barrier()")),
                    f"RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [{j.ips[v]}]:{i.r.randrange(30000, 60000)}",
                ),
            )
            j.tcpstore(t + S(1), k)
            i.put(f"pod-worker-{k}.log", j.of(k))
    i.say(
        SYMPTOM,
        None,
        "everyone here lost the same peer, whose log is not here",
        suspects=[v],
        never=["Connection closed by peer", "sendBytes failed"],
    )


@kind
def wrapper_only_exit9(i):
    """Wrapper only: ChildFailedError with exitcode -9 and nothing else; the killer's word is not in the log."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    j.closing(t, 0, v, code=-9)
    j.table(t + S(3), 0, v, code=-9)
    i.put("job.log", j.single())
    i.say(
        SYMPTOM,
        None,
        "SIGKILL without a killer: OOM killer, cgroup or operator; dmesg of that host is to be fetched",
        suspects=[v],
        never=[],
        rank_checked=False,
    )


@kind
def pyspy_stuck_dataloader(i):
    """NCCL heartbeat monitor plus py-spy dumps: the suspect sits in a file-system read in its data loader, the others in an all-reduce."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    tw = t + S(j.timeout_ms / 1000 + 2)
    for k in range(8):
        if k != v:
            j.add(
                tw + j.us(),
                k,
                f"{j.E(k, tw, 'ProcessGroupNCCL.cpp:1484')} [PG ID 0 PG GUID 0(default_pg) Rank {k}] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog, and could be triggered by another thread holding the GIL inside a CUDA api (for example, CudaEventDestroy), or other deadlock-prone behaviors.",
            )
    i.put("job.log", j.single())
    for k in range(8):
        top = (
            [
                "    read_bytes (fsspec/implementations/local.py:402)",
                "    read_row_group (pyarrow/parquet/core.py:467)",
                "    __getitem__ (data/parquet_reader.py:118)",
                "    fetch (torch/utils/data/_utils/fetch.py:52)",
                "    _next_data (torch/utils/data/dataloader.py:789)",
                f"    train ({j.script}:201)",
            ]
            if k == v
            else [
                "    all_reduce (torch/distributed/distributed_c10d.py:2810)",
                "    wrapper (torch/distributed/c10d_logger.py:83)",
                "    clip_grad_norm (optim/clip.py:77)",
                f"    train ({j.script}:231)",
            ]
        )
        i.put(
            f"pyspy-rank{k}.txt",
            [
                f"Process {j.pids[k]}: /usr/bin/python3 -u {j.script}",
                "Python v3.12.3 (/usr/bin/python3.12)",
                "",
                f'Thread {j.pids[k]} (idle): "MainThread"',
                *top,
                f"    main ({j.script}:341)",
                f"    <module> ({j.script}:388)",
                f'Thread {j.pids[k] + 88} (idle): "Thread-1 (_pin_memory_loop)"',
                "    select (selectors.py:415)",
                "    wait (multiprocessing/connection.py:1136)",
            ],
        )
    i.say(
        [*SYMPTOM, "unexplained"],
        None,
        "all but one wait in the collective; one still reads its shard",
        suspects=[v],
        never=["watchdog got stuck"],
    )
