"""Incidents of kills and of GPU memory: pid namespaces, foreign kills, Xids that matter and Xids that do not."""

from __future__ import annotations

from datetime import UTC

from incident_kinds.base import ANY_FOUND, SYMPTOM, S, comma, dmesg_T, glog, kind
from incident_kinds.job import Job
from incident_kinds.unseen import died, per_host, per_rank, survivors_gone
from incident_kinds.unseen_nodes import kern

LOADER = ("/usr/local/lib/python3.12/dist-packages/torch/utils/data/dataloader.py", 1285, "_try_get_data", "data = self._data_queue.get(timeout=timeout)")  # fmt: skip


@kind
def cgroup_kill_of_loader_in_pod(i):
    """Kubernetes: the kernel of the node kills a loader worker by its cgroup's limit under a host pid; the pod's log knows another pid of the same process."""
    j = Job(i, nodes=2, ppn=1, style="plain")
    v = i.r.randrange(2)
    uid = f"{i.r.randrange(16**8):08x}_11aa_4b7e_9c3d_{i.r.randrange(16**12):012x}"
    t = j.steps(j.startup(launcher=False, nccl=False), 12, ranks=[0, 1])
    hostpid = i.r.randrange(100000, 900000)
    line = f"Memory cgroup out of memory: Killed process {hostpid} (pt_data_worker) total-vm:71233124kB, anon-rss:40218812kB, file-rss:1200kB, shmem-rss:91200kB, UID:0 pgtables:90112kB oom_score_adj:969"
    rows = [(t, "pt_data_worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=969"), (t, f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-9f,mems_allowed=0-1,oom_memcg=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice,task=pt_data_worker,pid={hostpid},uid=0"), (t, line)]  # fmt: skip
    i.put(f"kern-{j.hosts[v]}.log", kern(j, v, rows))
    died(j, t + S(1), v, f"RuntimeError: DataLoader worker (pid {i.r.randrange(200, 900)}) is killed by signal: Killed. ", LOADER, tag=False)  # fmt: skip
    survivors_gone(j, t + S(6), [1 - v], j.hosts[v])
    for k in (0, 1):
        i.put(f"sft-worker-{k}.log", j.of(k))
    i.put("pod.txt", [f"Name:             sft-worker-{v}", f"Node:             {j.hosts[v]}/10.0.4.11", f"UID:              {uid.replace('_', '-')}"])  # fmt: skip
    i.say(ANY_FOUND, "Memory cgroup out of memory", "the worker hit the pod's memory limit", rank_checked=False, host=j.hosts[v], alt=["is killed by signal: Killed", "pt_data_worker invoked oom-killer", "oom-kill:constraint=CONSTRAINT_MEMCG"], never=["ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def sigkill_beside_a_foreign_kill(i):
    """A rank dies of SIGKILL; the kernel log of its node shows an OOM kill of a Java program in another container the same minute: not ours, so no cause here."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(), 14, ranks=[0])
    cid = f"{i.r.randrange(16**10):010x}"
    rows = [(t - S(i.r.randrange(3, 40)), f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={cid},mems_allowed=0-1,oom_memcg=/docker/{cid},task=java,pid={j.pids[0] + 7001},uid=998"), (t - S(2), f"Memory cgroup out of memory: Killed process {j.pids[0] + 7001} (java) total-vm:9933124kB, anon-rss:4021881kB, file-rss:0kB, shmem-rss:0kB, UID:998 pgtables:9112kB oom_score_adj:0")]  # fmt: skip
    i.put(f"kern-{j.hosts[0]}.log", kern(j, 0, rows))
    j.closing(t + S(2), 0, v, code=-9)
    j.table(t + S(30), 0, v, code=-9)
    i.put("train.log", j.single())
    i.say(SYMPTOM, None, "who killed our rank is not in these logs; the Java kill has another cgroup and pid", never=["(java)", "task=java"])  # fmt: skip


@kind
def xid_of_an_earlier_job_monotonic(i):
    """dmesg with seconds since boot and a boot time: a contained ECC error of days ago, long before this job; ours dies of an IndexError."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 12, ranks=[0])
    boot = j.t0 - S(86400 * i.r.randrange(9, 30))
    up = 86400 * i.r.randrange(1, 7) + i.r.random()
    i.put(f"dmesg-{j.hosts[0]}.txt", ["[    0.000000] Linux version 6.8.0-60-generic (buildd@lcy02-amd64-054) #63-Ubuntu SMP PREEMPT_DYNAMIC", f"[    1.{i.r.randrange(100000, 999999)}] rtc_cmos 00:01: setting system clock to {boot:%Y-%m-%dT%H:%M:%S} UTC ({int(boot.replace(tzinfo=UTC).timestamp())})", f"[{up:12.6f}] NVRM: Xid (PCI:{j.pci(v)}): 94, pid={j.pids[v] - 9000}, name=python3, Contained: SM (0x1). RST: No, D-RST: No"])  # fmt: skip
    line = f"IndexError: index {i.r.randrange(32000, 90000)} is out of bounds for dimension 0 with size 32000"
    died(j, t, v, line, ("/workspace/model/embed.py", 21, "forward", "return self.weight[ids]"))
    i.put("train.log", j.single())
    i.say(ANY_FOUND, line[:20], "the Xid is days older than the job", rank=v, host=j.hosts[0], never=["Contained: SM", "Linux version"])  # fmt: skip


@kind
def xid74_without_pid(i):
    """A fatal NVLink error in one host's kernel log with pid unknown; two ranks there report an uncorrectable NVLink error, the rest lose them."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    v = j.pick(0)
    w = v ^ 1
    t = j.steps(j.startup(launcher=False), 12, ranks=[0])
    line = f"NVRM: Xid (PCI:{j.pci(v)}): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link {i.r.randrange(18)}(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
    i.put(f"kern-{j.host(v)}.log", kern(j, j.node(v), [(t, line)]))
    for k in (v, w):
        died(j, t + S(2) + j.us(), k, "torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution", (f"/workspace/{j.script}", 231, "train", "loss.backward()"))  # fmt: skip
    survivors_gone(j, t + S(7), [k for k in range(16) if k // 8 != v // 8][:5], j.host(v))
    per_host(i, j)
    i.say(ANY_FOUND, "NVLink: fatal error detected", "the link of that GPU failed", rank=v, host=j.host(v), alt=["uncorrectable NVLink error"], owner="node", never=["ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def row_remap_recorded_run_finishes(i):
    """Xid 63 in the job's window: a row was marked for remapping; the run goes on and finishes."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 10, ranks=[0])
    i.put(f"kern-{j.hosts[0]}.log", kern(j, 0, [(t, f"NVRM: Xid (PCI:{j.pci(v)}): 63, pid={j.pids[v]}, name=python3, Row Remapper: New row (0x{i.r.randrange(1 << 40):016x}) marked for remapping, reset gpu to activate.")]))  # fmt: skip
    t = j.steps(t, 14, ranks=[0])
    j.done(t)
    i.put("train.log", j.single())
    i.say(["healthy", "degraded"], None, "repaired by the hardware, nothing died", never=["Row Remapper"])


@kind
def contained_ecc_kills_one_rank(i):
    """Xid 48 and 94 of our rank's pid, then its 'uncorrectable ECC error encountered'; torchrun ends the others."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(), 12, ranks=[0])
    g = j.pci(v)
    rows = [(t, f"NVRM: Xid (PCI:{g}): 48, pid={j.pids[v]}, name=python3, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x{i.r.randrange(1 << 36):x} partition {i.r.randrange(20)}, subpartition 1."), (t, f"NVRM: Xid (PCI:{g}): 94, pid={j.pids[v]}, name=python3, Contained: SM (0x1). RST: No, D-RST: No")]  # fmt: skip
    i.put(f"dmesg-{j.host(v)}.txt", [f"{dmesg_T(t - S(9000))} usb 1-1: new high-speed USB device", *[f"{dmesg_T(a)} {x}" for a, x in rows]])  # fmt: skip
    died(j, t + S(1), v, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered", (f"/workspace/{j.script}", 231, "train", "loss.backward()"))  # fmt: skip
    j.closing(t + S(3), j.node(v), v)
    survivors_gone(j, t + S(5), [k for k in range(8) if j.node(k) != j.node(v)], j.host(v))
    i.put("train.log", j.single())
    i.say(ANY_FOUND, "double bit error (DBE)", "memory of that GPU", rank=v, host=j.host(v), alt=["Contained: SM (0x1)", "uncorrectable ECC error encountered"], owner="node", never=["ncclRemoteError"])  # fmt: skip


@kind
def only_sigterm_and_143(i):
    """Per-rank files end with a handler's word about SIGTERM, torchrun reports SignalException: who sent it is not written anywhere."""
    j = Job(i, nodes=2, ppn=2, style="plain")
    t = j.steps(j.startup(), 16, ranks=range(4))
    for k in range(4):
        j.add(t + j.us(), k, f"{comma(t)} WARNING {j.script}:90 received SIGTERM (15), stopping after this step")
    for n in range(2):
        g = glog(t + S(1), "W", j.agent_pid[n])
        j.add(t + S(1), -1 - n, f"{g} torch/distributed/elastic/agent/server/api.py:719] Received 15 death signal, shutting down workers\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process {j.agent_pid[n]} got signal: 15")  # fmt: skip
    per_rank(i, j)
    for n in range(2):
        i.put(f"torchrun-{j.hosts[n]}.log", j.of(-1 - n))
    i.say([*SYMPTOM, "unexplained"], None, "ended from outside; nothing says by whom", suspects_checked=True)
