"""Incidents: foreign_oom_kill, host_oom_own_pid, thermal_degraded, nvswitch_sxid and others."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, MON, SYMPTOM, S, comma, dmesg_T, kind, syslog
from incident_kinds.job import Job


@kind
def foreign_oom_kill(i):
    """Another Slurm job's OOM kill on the shared node inside our window; ours died of its own ValueError."""
    j = Job(i, nodes=1, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    other = j.jobid + 17
    n = i.r.randrange(3, 60)
    msg = f"ValueError: Expected input batch_size ({n * 8}) to match target batch_size ({n})."
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(v, j.frames(("/workspace/model/loss.py", 19, "forward", "return F.cross_entropy(logits, labels)")), msg),
    )
    j.closing(t + S(2), 0, v)
    j.table(t + S(5), 0, v)
    i.put(f"slurm-{j.jobid}.out", j.single())
    k = t - S(45)
    p = j.pids[0] + 30000
    h = f"{j.hosts[0]} kernel:"
    i.put(
        f"syslog-{j.hosts[0]}",
        [
            f"{syslog(j.t0)} {j.hosts[0]} slurmd[2210]: launch task StepId={j.jobid}.0 request from UID:1041 GID:1041",
            f"{syslog(k)} {h} python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
            f"{syslog(k)} {h} oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,oom_memcg=/slurm/uid_2207/job_{other},task_memcg=/slurm/uid_2207/job_{other}/step_0/task_0,task=python3,pid={p},uid=2207",
            f"{syslog(k)} {h} Memory cgroup out of memory: Killed process {p} (python3) total-vm:212331232kB, anon-rss:98233120kB, file-rss:1024kB, shmem-rss:0kB, UID:2207 pgtables:199000kB oom_score_adj:0",
            f"{syslog(k + S(1))} {j.hosts[0]} slurmstepd[8812]: done with job",
        ],
    )
    i.say(
        ANY_FOUND,
        msg[:45],
        "the kill names another job's cgroup and a pid that is none of ours",
        source=f"slurm-{j.jobid}.out",
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["Memory cgroup out of memory", "oom-kill:", "invoked oom-killer"],
    )


@kind
def host_oom_own_pid(i):
    """Our own rank's pid is the victim of the host OOM killer in the kernel log; the job log has only exitcode -9."""
    j = Job(i, nodes=2)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    j.closing(t + S(3), j.node(v), v, code=-9)
    j.table(t + S(5), j.node(v), v, code=-9)
    for k in range(j.world):
        if j.node(k) != j.node(v):
            j.remote_gone(t + S(4) + j.us(), k, j.host(v))
    j.rank_files(lambda k: f"rank_{k:02d}.log")
    h, p = j.host(v), j.pids[v]
    i.put(
        f"kern-{h}.log",
        [
            f"{syslog(t)} {h} kernel: [{91000 + s}.402911] {x}"
            for s, x in enumerate(
                [
                    "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
                    "CPU: 31 PID: 4400 Comm: python3 Tainted: P           OE     5.15.0-105-generic",
                    "Mem-Info:",
                    "active_anon:120391 inactive_anon:120391223 isolated_anon:0",
                    f"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=python3,pid={p},uid=1041",
                    f"Out of memory: Killed process {p} (python3) total-vm:612331232kB, anon-rss:498233120kB, file-rss:0kB, shmem-rss:2048kB, UID:1041 pgtables:1001000kB oom_score_adj:0",
                ]
            )
        ],
    )
    i.say(
        "identified",
        f"Killed process {p}",
        "the victim pid is the rank whose exit code was -9",
        alt=["invoked oom-killer", f"pid={p},uid="],
        source=f"kern-{h}.log",
        rank=v,
        host=h,
        never=["exitcode  : -9", "ChildFailedError", "ncclRemoteError"],
    )


@kind
def thermal_degraded(i):
    """Thermal throttling: steps slow down three-fold on one node yet the run completes: degraded."""
    j = Job(i, nodes=2, style="titan")
    n, g = i.r.randrange(2), i.r.randrange(8)
    t = j.steps(j.startup(), 15, dt=10)
    t1 = t
    t = j.steps(t, 25, dt=30, ms=2400 + i.r.random() * 100)
    j.done(t + S(5))
    j.rank_files(lambda k: f"rank{k}.log")
    i.put(
        f"gpud-{j.hosts[n]}.log",
        [
            *[
                f"{t1 - S(300 - 60 * s):%Y-%m-%dT%H:%M:%SZ} {j.hosts[n]} gpud: health check ok (8 GPUs, nvml)"
                for s in range(5)
            ],
            *[
                f"{t1 + S(2 + 60 * s):%Y-%m-%dT%H:%M:%SZ} {j.hosts[n]} gpud: GPU-{7 * g:04x}1e: HW Thermal Slowdown (reducing the core clocks by a factor of 2 or more) is engaged (nvml)"
                for s in range(10)
            ],
        ],
    )
    i.say(
        "degraded",
        "HW Thermal Slowdown",
        "the run lives and finishes, slower from the moment the slowdown engaged",
        source=f"gpud-{j.hosts[n]}.log",
        rank_checked=False,
        host=j.hosts[n],
        owner="node",
    )


@kind
def nvswitch_sxid(i):
    """Fatal NVSwitch SXid on one node, fabric-manager log beside it; jobs' ranks there see only NCCL errors."""
    j = Job(i)
    n = i.r.randrange(2)
    t = j.steps(j.startup(), 12)
    line = f"nvidia-nvswitch{i.r.randrange(4)}: SXid (PCI:0000:c{i.r.randrange(1, 9)}:00.0): 20034, Fatal, Link {i.r.randrange(10, 60)} LTSSM Fault Up"
    j.wds(t + S(j.timeout_ms / 1000 + 2), range(j.world))
    j.rank_files(lambda k: f"rank{k}.log")
    i.put(
        f"dmesg-{j.hosts[n]}.txt",
        [
            f"{dmesg_T(j.t0 - S(50))} nvidia-nvswitch0: open (major=510)",
            f"{dmesg_T(t + S(1))} {line}",
            f"{dmesg_T(t + S(1))} {line.split(': SXid')[0]}: SXid ({line.split('(')[1].split(')')[0]}): 20034, Severity 5 Engine instance 33 Sub-engine instance 00",
        ],
    )
    i.put(
        f"fabricmanager-{j.hosts[n]}.log",
        [
            f"[{MON[j.t0.month - 1]} {j.t0:%d %Y %H:%M:%S}] [INFO] [tid 4410] Fabric Manager version 560.35.03 is running with the following configuration options",
            f"[{MON[t.month - 1]} {t + S(1):%d %Y %H:%M:%S}] [ERROR] [tid 4412] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:C1:00.0",
        ],
    )
    i.say(
        "identified",
        "20034",
        "a fatal switch link error precedes the time every collective began to hang",
        rank_checked=False,
        host=j.hosts[n],
        owner="node",
        never=["Watchdog caught", "open (major"],
    )


# ================================================================ order, clocks
@kind
def adv_oom_later_in_file(i):
    """Adversarial (a): the initiating OOM is earlier in time but later in the file than rank 0's watchdog."""
    j = Job(i, nodes=1, style="plain")
    v = j.pick()
    t = j.steps(j.startup(), 14)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(8) if k != v])
    head = j.single()
    j.ev = []
    line = j.oom(t, v)
    i.put("all_ranks.log", [*head, f"--- stderr of rank {v} ---", *j.single()])
    i.say(
        "identified",
        line[:60],
        "order in time, not place in the file",
        rank=v,
        host_checked=False,
        owner="workload",
        never=["Watchdog caught"],
    )


@kind
def adv_never_entered(i):
    """Adversarial (b): one rank has enqueued == completed (it never entered the collective), no cause in the logs: symptom-only, that rank is the suspect."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 14)
    tw = t + S(j.timeout_ms / 1000 + 2)
    ks = [k for k in range(8) if k != v]
    j.wds(tw, ks)
    j.notified(tw + S(1.2), v, 0, j.seq - 1, j.seq - 1)
    j.table(tw + S(70), 0, 0, code=-6, others=[(k, -6) for k in ks[1:4]])
    i.put("job.log", j.single())
    i.say(
        SYMPTOM,
        None,
        "the rank whose last enqueued equals its last completed never came; why is not in the log",
        suspects=[v],
        never=["ChildFailedError", "Watchdog caught"],
    )


@kind
def adv_rank_absent(i):
    """Adversarial (c): one rank's file is absent from the directory; the others time out: symptom-only, the absent rank is the suspect."""
    j = Job(i, nodes=2)
    v = j.pick()
    t = j.steps(
        j.startup(launcher=False, ranks=[k for k in range(j.world) if k != v]),
        10,
        ranks=[k for k in (0, 3, 12) if k != v],
    )
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(j.world) if k != v])
    j.rank_files(lambda k: f"rank_{k}.err", ranks=[k for k in range(j.world) if k != v], launcher=None)
    i.say(SYMPTOM, None, "15 of 16 ranks are here and all wait", suspects=[v], never=["Watchdog caught"])


@kind
def silent_rank_stopped_first(i):
    """Interleaved file, absent rank found through world size only (prefix N:), it printed nothing after start-up."""
    j = Job(i, nodes=1, style="plain")
    v = j.pick()
    t = j.startup(launcher=False)
    t = j.steps(t, 8, ranks=range(8))
    stop = j.steps(t, 1, ranks=[k for k in range(8) if k != v])
    j.wds(stop + S(j.timeout_ms / 1000), [k for k in range(8) if k != v])
    i.put("job.log", j.single(lambda k, j: f"{k}: ", lambda n, j: "0: "))
    i.say(
        SYMPTOM,
        None,
        "seven ranks logged one step more and timed out; one rank stopped before and said nothing",
        suspects=[v],
        never=["Watchdog caught"],
    )


@kind
def seq_other_collective(i):
    """Two different collectives at the same sequence number: the odd rank is the suspect (desynchronised)."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 10)
    tw = t + S(j.timeout_ms / 1000 + 1)
    j.wds(tw, [k for k in range(8) if k != v], op="ALLREDUCE", nin=1)
    j.wd(tw + S(0.5), v, op="_ALLGATHER_BASE", nin=67108864, nout=67108864 * 8)
    j.table(tw + S(66), 0, 0, code=-6)
    i.put("job.log", j.single())
    i.say(
        [*SYMPTOM, "identified", "unexplained"],
        None,
        "seven ranks reduce a scalar, one gathers parameters at the same number",
        suspects=[v],
        owner=None,
        never=["ChildFailedError", "exitcode  : -6"],
    )


@kind
def seq_size_mismatch(i):
    """Same collective, same number, another size on one rank: size mismatch, that rank is the suspect."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 10)
    n = i.r.randrange(100, 900) * 4096
    tw = t + S(j.timeout_ms / 1000 + 1)
    j.wds(tw, [k for k in range(8) if k != v], op="ALLREDUCE", nin=n)
    j.wd(tw + S(0.4), v, op="ALLREDUCE", nin=n - i.r.randrange(1, 9) * 512)
    i.put("job.log", j.single())
    i.say(
        [*SYMPTOM, "identified", "unexplained"],
        None,
        "one rank brought fewer elements",
        suspects=[v],
        never=["terminate called"],
    )


@kind
def mismatch_detail(i):
    """TORCH_DISTRIBUTED_DEBUG=DETAIL names the mismatch: 'Detected mismatch between collectives on ranks'."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 10)
    opt = "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
    for k in range(8):
        b = 0 if k == v else v
        mine, his = ("ALLGATHER", "ALLREDUCE") if k == v else ("ALLREDUCE", "ALLGATHER")
        j.add(
            t + j.us(),
            k,
            j.tb(
                k,
                j.frames((f"/workspace/{j.script}", 250, "train", "dist.all_reduce(loss)")),
                f"RuntimeError: Detected mismatch between collectives on ranks. Rank {k} is running collective: CollectiveFingerPrint(SequenceNumber={j.seq % 900}, OpType={mine}, TensorShape=[1024], {opt}), but Rank {b} is running collective: CollectiveFingerPrint(SequenceNumber={j.seq % 900}, OpType={his}, TensorShape=[1024], {opt}).Collectives differ in the following aspects: \t Op type: {mine}vs {his}",
            ),
        )
    j.table(t + S(6), 0, 0, others=[(k, 1) for k in range(1, 8)])
    i.put("job.log", j.single())
    i.say(
        "identified",
        "Detected mismatch between collectives on ranks",
        "every rank reports it; seven agree against one",
        suspects=[v],
        rank_checked=False,
        owner="workload",
        never=["ChildFailedError"],
    )


@kind
def clock_skew_ahead(i):
    """Clock of one host is 20-90 s ahead: its OOM prints a later stamp than the peers' connection errors; the causal edge and shared steps fix the order."""
    j = Job(i, nodes=2, style="plain")
    v = j.pick(8)
    j.skew = {1: i.r.randrange(20, 90)}
    t = j.steps(j.startup(), 14, ranks=[0, 8])
    line = j.oom(t, v)
    for k in range(8):
        j.remote_gone(t + S(2) + j.us(), k, j.hosts[1])
        j.add(t + S(3), k, f"{comma(j.at(k, t + S(3)))} ERROR {j.script}:355 rank {k} aborting")
    j.closing(t + S(3), 1, v)
    j.table(t + S(5), 1, v)
    for n in range(2):
        i.put(
            f"{j.hosts[n]}.log",
            [x for e in j.sorted() if (e[2] >= 0 and j.node(e[2]) == n) or e[2] == -1 - n for x in e[3].split("\n")],
        )
    i.say(
        "identified",
        line[:60],
        f"the host's clock is {j.skew[1]} s ahead; the peers' 'closed by remote peer' is a consequence whatever the stamps say",
        rank=v,
        host=j.hosts[1],
        owner="workload",
        never=["ncclRemoteError", "Connection closed by remote peer", "aborting"],
    )
