"""Incidents of the node under the job: GPUs of others, late kernel lines, reboots, drivers, links, slow parts."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, BUS, XID79, S, comma, dmesg_T, kind, syslog
from incident_kinds.job import Job
from incident_kinds.unseen import died, per_host, store_timeouts, survivors_gone

BOOT = ["br0: port 2(veth81) entered forwarding state", "eth0: link up", "nvme nvme0: 64/0/0 default/read/poll queues", "perf: interrupt took too long (2511 > 2500), lowering kernel.perf_event_max_sample_rate to 79500"]  # fmt: skip


def kern(j, n, rows, noise=4):
    """A syslog kernel log of node `n`: old harmless lines, then the rows (time, text)."""
    h = j.hosts[n]
    first = rows[0][0]
    old = [(first - S(20000 - 900 * x), j.r.choice(BOOT)) for x in range(noise)]
    return [f"{syslog(t + S(j.skew.get(n, 0)))} {h} kernel: {x}" for t, x in [*old, *rows]]


@kind
def xid79_of_a_gpu_we_do_not_hold(i):
    """A shared node: a GPU of another job falls off the bus while ours, on the other four GPUs, dies of its own ValueError."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 12, ranks=[0])
    other = BUS[4 + i.r.randrange(4)]
    rows = [(t - S(i.r.randrange(5, 50)), f"NVRM: Xid (PCI:0000:{other}:00): 79, pid={j.pids[0] + 9000}, name=python3, {XID79}")]  # fmt: skip
    i.put(f"kern-{j.hosts[0]}.log", kern(j, 0, rows))
    line = f"ValueError: batch of rank {v} has {i.r.randrange(2, 40)} sequences longer than 8192"
    died(j, t, v, line, ("/workspace/data/pack.py", 40, "pack", "raise ValueError(msg)"))
    i.put("train.log", j.single())
    i.say(ANY_FOUND, line[:40], "the Xid names a PCI address that is none of our busIds and a foreign pid", rank=v, host=j.hosts[0], never=[XID79])  # fmt: skip


@kind
def xid79_printed_half_a_minute_late(i):
    """The application sees its GPU vanish first; the kernel logs the Xid 79 of that very address half a minute later: still the cause."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 14, ranks=[0])
    late = t + S(i.r.randrange(15, 40))
    died(j, t, v, "torch.AcceleratorError: CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.", (f"/workspace/{j.script}", 231, "train", "loss.backward()"))  # fmt: skip
    survivors_gone(j, t + S(4), [k for k in range(16) if k // 8 != v // 8][:4], j.host(v))
    rows = [(late, f"NVRM: GPU at PCI:{j.pci(v)}: GPU-{i.r.randrange(16**8):08x}-4a1e-9bd0-77c2-{i.r.randrange(16**12):012x}"), (late, f"NVRM: Xid (PCI:{j.pci(v)}): 79, pid={j.pids[v]}, name=python3, {XID79}"), (late, f"NVRM: GPU {j.pci(v)}.0: {XID79}")]  # fmt: skip
    i.put(f"kern-{j.host(v)}.log", kern(j, j.node(v), rows))
    per_host(i, j)
    i.say(ANY_FOUND, "allen off the bus", "same GPU, same pid: the kernel only wrote later", rank=v, host=j.host(v), owner="node", never=["ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def node_rebooted_by_somebody(i):
    """One host's journal: logind announces a reboot in the middle of the run, then the next boot; the other host's ranks lose their peers."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    n = i.r.randrange(2)
    h = j.hosts[n]
    t = j.steps(j.startup(launcher=False), 14, ranks=[0, 4])
    up = t + S(240)
    jr = [f"{syslog(t - S(7000))} {h} sshd[811]: Accepted publickey for admin from 10.9.0.4 port 51122 ssh2", f"{syslog(t)} {h} systemd-logind[1201]: The system will reboot now!", f"{syslog(t + S(1))} {h} systemd-logind[1201]: System is rebooting.", f"{syslog(t + S(2))} {h} systemd[1]: Stopping User Manager for UID 1041...", f"{syslog(t + S(8))} {h} systemd-shutdown[1]: Syncing filesystems and block devices.", f"-- Boot {i.r.randrange(16**12):012x} --", f"{syslog(up)} {h} kernel: Linux version 6.8.0-60-generic (buildd@lcy02-amd64-054) #63-Ubuntu SMP PREEMPT_DYNAMIC"]  # fmt: skip
    i.put(f"journal-{h}.txt", jr)
    survivors_gone(j, t + S(9), [k for k in range(8) if k // 4 != n], h)
    per_host(i, j)
    i.say(ANY_FOUND, "The system will reboot now!", "an administrator or a tool rebooted the node under the job", rank_checked=False, host=h, alt=["System is rebooting"], never=["ncclRemoteError", "remote process exited", "Accepted publickey"])  # fmt: skip


@kind
def driver_mismatch_on_one_node(i):
    """An unattended upgrade left one node with a newer user-space driver than its kernel module: no CUDA there, everybody else waits."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    n = i.r.randrange(2)
    bad = list(range(n * 4, n * 4 + 4))
    t = j.startup(launcher=False, nccl=False, ranks=[k for k in range(8) if k not in bad])
    new, old = "560.35.05", "560.35.03"
    rows = [(t - S(2), f"NVRM: API mismatch: the client has the version {new}, but"), (t - S(2), f"NVRM: this kernel module has the version {old}.  Please"), (t - S(2), "NVRM: make sure that this kernel module and all NVIDIA driver"), (t - S(2), "NVRM: components have the same version.")]  # fmt: skip
    i.put(f"kern-{j.hosts[n]}.log", kern(j, n, rows))
    for k in bad:
        died(j, t + j.us(), k, "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / cuda driver combination", ("/usr/local/lib/python3.12/dist-packages/torch/cuda/__init__.py", 372, "_lazy_init", "torch._C._cuda_init()"))  # fmt: skip
    store_timeouts(j, t, [k for k in range(8) if k not in bad])
    per_host(i, j)
    i.say(ANY_FOUND, "NVRM: API mismatch", "user space and kernel module of one node differ", rank_checked=False, host=j.hosts[n], alt=["Error 803", "this kernel module has the version"], never=["Timed out after"])  # fmt: skip


@kind
def link_flaps_and_returns(i):
    """An InfiniBand port goes down and comes back within seconds, twice; NCCL retries inside its timeout and the run finishes."""
    j = Job(i, nodes=2, ppn=8, style="titan")
    n = i.r.randrange(2)
    t = j.steps(j.startup(launcher=False), 8, ranks=[0])
    dev = f"mlx5_core 0000:{i.r.choice(BUS)}:00.0 ibs{i.r.randrange(2, 9)}"
    rows = [(t, f"{dev}: Link down"), (t + S(4), f"{dev}: Link up"), (t + S(60), f"{dev}: Link down"), (t + S(63), f"{dev}: Link up")]  # fmt: skip
    i.put(f"kern-{j.hosts[n]}.log", kern(j, n, rows))
    t = j.steps(t + S(5), 14, ranks=[0])
    j.done(t)
    i.put("titan.log", j.single())
    i.say(["healthy", "degraded"], None, "down for seconds, up again, trained to the end", never=["Link down"])


@kind
def nccl_port_error_event(i):
    """NCCL's asynchronous event names device and port ('mlx5_3:1 ... port error') on one rank; status 12 on its peer and watchdogs later."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    v = j.pick(0)
    w = (v + 8) % 16
    t = j.steps(j.startup(launcher=False), 12, ranks=[0])
    hca = f"mlx5_{j.local(v)}"
    j.add(t, v, f"{j.host(v)}:{j.pids[v]}:{j.pids[v] + 501} [{j.local(v)}] ib_common.cc:110 NCCL WARN NET/IB : {hca}:1 Got async event : port error")  # fmt: skip
    j.add(t + S(9), w, f"{j.host(w)}:{j.pids[w]}:{j.pids[w] + 530} [{j.local(w)}] NCCL WARN NET/IB: Got completion from peer {j.ips[j.node(v)]}<43127> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:{j.ips[j.node(w)]} remoteGids::ffff:{j.ips[j.node(v)]} hca {hca}")  # fmt: skip
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(16) if k not in (v, w)])
    per_host(i, j)
    i.say(ANY_FOUND, "Got async event : port error", "the port of that HCA went first", rank=v, host=j.host(v), never=["with status=12", "Watchdog caught"])  # fmt: skip


@kind
def corrected_memory_errors_storm(i):
    """EDAC reports hundreds of corrected memory errors on one node while the job trains to its end at its usual pace."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    n = i.r.randrange(2)
    t0 = j.startup(launcher=False)
    t = j.steps(t0, 25, ranks=[0])
    j.done(t)
    dimm = f"CPU_SrcID#0_MC#{i.r.randrange(4)}_Chan#{i.r.randrange(2)}_DIMM#0"
    rows = [(t0 + S(3 * x), f"EDAC MC{i.r.randrange(4)}: {i.r.randrange(1, 40)} CE memory read error on {dimm} (channel:0 slot:0 page:0x{i.r.randrange(1 << 24):x} offset:0x{i.r.randrange(64) * 64:x} grain:32 syndrome:0x0 -  err_code:0x0101:0x0090  SystemAddress:0x{i.r.randrange(1 << 36):x})") for x in range(i.r.randrange(60, 240))]  # fmt: skip
    i.put(f"kern-{j.hosts[n]}.log", kern(j, n, rows))
    i.put("train.log", j.single())
    i.say(["healthy", "degraded"], None, "corrected is corrected; the DIMM wants a look, the job is fine", never=["training finished"])  # fmt: skip


@kind
def power_brake_slows_one_node(i):
    """nvidia-smi -q of one node shows the power brake active; steps take three times as long from then on, yet the run finishes."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    n = i.r.randrange(2)
    t = j.steps(j.startup(launcher=False), 10, ranks=[0], ms=800)
    at = t
    t = j.steps(t, 14, ranks=[0], dt=90, ms=2400 + i.r.randrange(300))
    j.done(t)
    out = ["", "==============NVSMI LOG==============", "", f"Timestamp                                 : {at:%a %b %d %H:%M:%S %Y}", "Driver Version                            : 560.35.03", "CUDA Version                              : 12.6", "", "Attached GPUs                             : 8"]  # fmt: skip
    for b in BUS:
        out += [f"GPU 00000000:{b.upper()}:00.0", "    Performance State                     : P0", "    Clocks Event Reasons", "        Idle                              : Not Active", "        SW Power Cap                      : Not Active", "        HW Slowdown                       : Active", "            HW Thermal Slowdown           : Not Active", "            HW Power Brake Slowdown       : Active", "        SW Thermal Slowdown               : Not Active"]  # fmt: skip
    i.put(f"nvidia-smi-q-{j.hosts[n]}.txt", out)
    i.put("train.log", j.single())
    i.say("degraded", "HW Power Brake Slowdown       : Active", "the power supply pulled the brake on one node", rank_checked=False, host=j.hosts[n], alt=["HW Slowdown                       : Active"], never=["Not Active"])  # fmt: skip


@kind
def slow_nic_since_boot(i):
    """One node's NIC negotiated four PCIe lanes at boot; the job runs at half speed all the time and finishes: no fault inside its window."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    n = i.r.randrange(2)
    t = j.steps(j.startup(launcher=False), 22, ranks=[0], ms=1700, dt=60)
    j.done(t)
    pci = f"0000:{i.r.choice(BUS)}:00.0"
    i.put(f"dmesg-{j.hosts[n]}.txt", [f"{dmesg_T(j.t0 - S(86400 * 3))} {x}" for x in (f"mlx5_core {pci}: firmware version: 28.39.1002", f"mlx5_core {pci}: 63.008 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x4 link at 0000:15:01.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)", f"mlx5_core {pci}: Port module event: module 0, Cable plugged")])  # fmt: skip
    i.put("train.log", j.single())
    i.say(["healthy", "degraded"], None, "finished; that the link is narrow is worth telling, no more", never=["Port module event", "firmware version"])  # fmt: skip


@kind
def gpu_count_says_seven(i):
    """The launcher's own check counts seven GPUs on one node and stops before training; the Xid 79 that took the eighth is hours old."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    n = i.r.randrange(2)
    t = j.startup(launcher=False, nccl=False, ranks=range((1 - n) * 8, (1 - n) * 8 + 8))
    gone = j.pci(i.r.randrange(8))
    rows = [
        (j.t0 - S(i.r.randrange(9000, 40000)), f"NVRM: Xid (PCI:{gone}): 79, pid='<unknown>', name=<unknown>, {XID79}")
    ]
    i.put(f"kern-{j.hosts[n]}.log", kern(j, n, rows))
    line = f"RuntimeError: {j.hosts[n]}: expected 8 visible GPUs, found 7"
    k = n * 8
    j.add(t, k, f"{comma(t)} ERROR preflight.py:40 node check failed\n" + j.tb(k, [("/workspace/preflight.py", 38, "check", "raise RuntimeError(msg)")], line))  # fmt: skip
    store_timeouts(j, t, [x for x in range(16) if x // 8 != n])
    per_host(i, j)
    i.say(ANY_FOUND, "expected 8 visible GPUs", "the check is the first fault of this job; the Xid is older than it", rank_checked=False, host=j.hosts[n], alt=[XID79], never=["Timed out after"])  # fmt: skip
