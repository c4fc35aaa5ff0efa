"""Incidents: cri_wrapped, jsonl_wrapped, dsa, ansi_cr_progress, archived, packed_gz, packed_zip and others."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from datetime import UTC, timedelta

from incident_kinds.base import BUS, XID79, S, comma, dmesg_T, iso_ns, kind, syslog
from incident_kinds.job import Job


@kind
def cri_wrapped(i):
    """CRI-wrapped pod logs (time, stream, F tag) of /var/log/containers: OOM on one rank, watchdogs elsewhere."""
    j = Job(i, nodes=4, ppn=1)
    v = j.pick(0)
    t = j.steps(j.startup(nccl=False, launcher=False), 10)
    line = j.oom(t, v)
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(4) if k != v])
    for k in range(4):
        out = []
        for e in j.sorted():
            if e[2] == k:
                for n, x in enumerate(e[3].split("\n")):
                    out.append(f"{iso_ns(e[0] + timedelta(microseconds=n))} stderr F {x}")
        i.put(f"train-{j.jobid}-worker-{k}_training_pytorch-{i.r.randrange(16**12):012x}.log", out)
    i.say(
        "identified",
        line[:60],
        "wrapping in CRI must not change the verdict",
        rank=v,
        owner="workload",
        never=["Watchdog caught"],
    )


@kind
def jsonl_wrapped(i):
    """JSON-lines log (log/stream/time plus pod and rank fields): device-side assert on one rank, NCCL noise on the others."""
    j = Job(i, nodes=1, ppn=8)
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 10)
    dsa(j, t, v)
    for k in range(8):
        if k != v:
            j.remote_gone(t + S(2) + j.us(), k, j.hosts[0])
    out = []
    for e in j.sorted():
        for n, x in enumerate(e[3].split("\n")):
            out.append(
                json.dumps(
                    {
                        "log": x + "\n",
                        "stream": "stderr",
                        "time": iso_ns(e[0] + timedelta(microseconds=n)),
                        "kubernetes": {"pod_name": f"train-{j.jobid}-0", "host": j.hosts[0]},
                        "rank": e[2],
                    }
                )
            )
    i.put("export.jsonl", out)
    i.say(
        "identified",
        "index out of bounds",
        "the device-side assertion is the first fault, the runtime's error is its report",
        alt=["CUDA error: device-side assert triggered"],
        rank=v,
        owner="workload",
        never=["ncclRemoteError"],
    )


def dsa(j, t, v):
    """A device-side assertion and the runtime's report of it."""
    for n in range(6):
        j.add(
            t,
            v,
            f'/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1553: indexSelectLargeIndex: block: [{n * 3},0,0], thread: [{n * 32},0,0] Assertion `srcIndex < srcSelectDimSize && "index out of bounds"` failed.',
        )
    j.add(
        t + S(0.2),
        v,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(
            v,
            j.frames(("/workspace/model/embed.py", 31, "forward", "return F.embedding(ids, self.weight)")),
            "RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        ),
    )


@kind
def ansi_cr_progress(i):
    """ANSI colours and a carriage-return tqdm bar that is one huge line, with the OOM after it."""
    j = Job(i, nodes=1, ppn=1)
    t, n = j.t0, i.r.randrange(300, 700)
    line = j.oom_line(0)
    bar = "\r".join(
        f"\x1b[32m  {s * 100 // n:3d}%\x1b[0m|{'#' * (s * 20 // n):20s}| {s}/{n * 2} [{s // 60:02d}:{s % 60:02d}<1:02:11,  1.02it/s, loss={2.4 - s / 2000:.3f}]"
        for s in range(n)
    )
    i.put(
        "stderr.txt",
        f"\x1b[1;34m{comma(t)}\x1b[0m \x1b[32mINFO\x1b[0m  trainer: starting fine-tuning on 1 GPU of {j.hosts[0]}\n"
        + bar
        + "\n\x1b[31m"
        + j.tb(0, j.frames(), line, tag=False)
        + "\x1b[0m\n"
        + "wandb: \x1b[33mWARNING\x1b[0m run crashed, syncing last files\nwandb: Run history: loss ▁▂▃\n",
    )
    i.say(
        "identified",
        line[:60],
        "colour codes and carriage returns are not text",
        rank_checked=False,
        owner="workload",
        never=["run crashed"],
    )


def archived(i, how):
    """One incident, packed."""
    j = Job(i, nodes=2, ppn=4)
    v = j.pick(0)
    t = j.steps(j.startup(), 10)
    line = j.oom(t, v)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(j.world) if k != v])
    j.table(t + S(6), j.node(v), v)
    j.rank_files(lambda k: f"rank-{k}.log")
    raw, i.files = i.files, {}
    if how == "gz":
        i.files = {n + ".gz": gzip.compress(b, mtime=0) for n, b in raw.items()}
    elif how == "zip":
        buf = io.BytesIO()
        with zipfile.ZipFile(buf, "w", zipfile.ZIP_DEFLATED) as z:
            for n, b in raw.items():
                z.writestr(zipfile.ZipInfo(f"bundle/{n}", (2026, 1, 2, 3, 4, 6)), b, zipfile.ZIP_DEFLATED)
        i.files = {"support-bundle.zip": buf.getvalue()}
    else:
        buf = io.BytesIO()
        with tarfile.open(fileobj=buf, mode="w", format=tarfile.USTAR_FORMAT) as z:
            for n, b in raw.items():
                ti = tarfile.TarInfo(f"logs-{j.jobid}/{n}")
                ti.size, ti.mtime = len(b), 1767323046
                z.addfile(ti, io.BytesIO(b))
        i.files = {f"logs-{j.jobid}.tar.gz": gzip.compress(buf.getvalue(), mtime=0)}
    i.say(
        "identified",
        line[:60],
        f"the same incident packed as {how}",
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["Watchdog caught", "ChildFailedError"],
    )


@kind
def packed_gz(i):
    """Per-rank files each gzipped."""
    archived(i, "gz")


@kind
def packed_zip(i):
    """Support bundle as one zip."""
    archived(i, "zip")


@kind
def packed_targz(i):
    """Log directory as one tar.gz."""
    archived(i, "tar")


@kind
def adv_xid79_later_in_file(i):
    """Adversarial (d): Xid 79 earlier in time but pasted later in the same file than rank 0's watchdog; PCI mapped to rank by NCCL busId."""
    j = Job(i)
    v = j.pick(j.ppn)
    t = j.steps(j.startup(), 12)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(j.world) if k != v])
    out = [
        *j.single(),
        "",
        f"===== dmesg -T on {j.host(v)} =====",
        f"{dmesg_T(t - S(4000))} mlx5_core 0000:18:00.0: Port module event: module 0, Cable plugged",
        f"{dmesg_T(t + S(1))} NVRM: GPU at PCI:{j.pci(v)}: GPU-{i.r.randrange(16**8):08x}-1b2c-3d4e-5f60-718293a4b5c6",
        f"{dmesg_T(t + S(1))} NVRM: Xid (PCI:{j.pci(v)}): 79, pid={j.pids[v]}, name=python3, {XID79}",
        f"{dmesg_T(t + S(1))} NVRM: GPU {j.pci(v)}.0: {XID79}",
        f"{dmesg_T(t + S(1))} NVRM: A GPU crash dump has been created. If possible, please run",
    ]
    i.put("job.log", out)
    i.say(
        "identified",
        f"Xid (PCI:{j.pci(v)}): 79",
        "the card was gone ten minutes before the first watchdog printed",
        alt=[f"GPU {j.pci(v)}.0: {XID79}"],
        rank=v,
        host=j.host(v),
        owner="node",
        never=["Watchdog caught", "Cable plugged"],
    )


@kind
def xid79_monotonic_mapped(i):
    """Monotonic dmesg of each node beside per-rank files; the boot line gives the clock, NCCL busId gives the rank."""
    j = Job(i)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(j.world) if k != v])
    j.rank_files(lambda k: f"rank{k}.log")
    for n in range(2):
        boot = j.t0 - S(i.r.randrange(100000, 900000))
        boot = boot.replace(microsecond=0)

        def up(x, boot=boot):
            return f"[{(x - boot).total_seconds():12.6f}]"

        out = [
            "[    0.000000] Linux version 5.15.0-1053-nvidia (buildd@lcy02) (gcc 11.4.0)",
            f"[    1.000000] rtc_cmos 00:01: setting system clock to {boot + S(1):%Y-%m-%dT%H:%M:%S} UTC ({int((boot + S(1)).replace(tzinfo=UTC).timestamp())})",
            "[    9.112231] nvidia-nvlink: Nvlink Core is being initialized, major device number 510",
            f"[   12.501123] nvidia 0000:{BUS[0]}:00.0: enabling device (0000 -> 0002)",
            "[   55.012311] IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
        ]
        if n == j.node(v):
            out += [
                f"{up(t + S(1))} NVRM: Xid (PCI:{j.pci(v)}): 79, pid={j.pids[v]}, name=python3, {XID79}",
                f"{up(t + S(1))} NVRM: GPU {j.pci(v)}.0: {XID79}",
            ]
        i.put(f"dmesg-{j.hosts[n]}.log", out)
    i.say(
        "identified",
        f"Xid (PCI:{j.pci(v)}): 79",
        "monotonic time plus boot clock places the Xid before the watchdogs",
        alt=[f"GPU {j.pci(v)}.0: {XID79}"],
        source=f"dmesg-{j.host(v)}.log",
        rank=v,
        host=j.host(v),
        owner="node",
        never=["Watchdog caught", "Nvlink Core"],
    )


@kind
def xid79_unmapped_journal(i):
    """Journalctl -k of one node, no NCCL INFO and no pid of ours: host is certain, the rank must stay unknown."""
    j = Job(i)
    n = i.r.randrange(2)
    v = n * j.ppn + i.r.randrange(j.ppn)
    t = j.startup(nccl=False)
    t = j.steps(t, 12)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(j.world) if j.node(k) != n])
    j.rank_files(lambda k: f"rank{k}.log")

    def jr(x):
        return f"{syslog(x)} {j.hosts[n]} kernel:"

    i.put(
        f"journal-{j.hosts[n]}.txt",
        [
            f'{jr(j.t0 + S(9))} audit: type=1400 audit({int(j.t0.replace(tzinfo=UTC).timestamp()) + 9}.112:90): apparmor="STATUS" operation="profile_load"',
            f"{jr(t + S(1))} pcieport 0000:15:01.0: pciehp: Slot(1): Link Down",
            f"{jr(t + S(1))} NVRM: Xid (PCI:{j.pci(v)}): 79, pid='<unknown>', name=<unknown>, {XID79}",
            f"{jr(t + S(1))} NVRM: GPU {j.pci(v)}.0: {XID79}",
            f"{jr(t + S(700))} systemd-journald[712]: Received client request to flush runtime journal.",
        ],
    )
    i.say(
        "identified",
        f"Xid (PCI:{j.pci(v)}): 79",
        "nothing maps this PCI address to a rank: one of the ranks on that node",
        alt=[f"GPU {j.pci(v)}.0: {XID79}", "Link Down"],
        rank=None,
        rank_checked=True,
        host=j.hosts[n],
        owner="node",
        never=["Watchdog caught"],
    )


@kind
def old_xid_beside_oom(i):
    """A nine-day-old Xid 79 in dmesg -T beside today's OOM: outside the job window, unrelated."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    line = j.oom(t, v)
    j.closing(t + S(2), 0, v)
    j.table(t + S(5), 0, v)
    i.put("train.log", j.single())
    o = j.t0 - timedelta(days=9, seconds=i.r.randrange(9999))
    i.put(
        f"dmesg-{j.hosts[0]}.txt",
        [
            f"{dmesg_T(o)} NVRM: Xid (PCI:{j.pci(v)}): 79, pid=9912, name=python3, {XID79}",
            f"{dmesg_T(o)} NVRM: GPU {j.pci(v)}.0: {XID79}",
            f"{dmesg_T(o + S(90000))} usb 1-3: USB disconnect, device number 4",
            f"{dmesg_T(j.t0 - S(500))} docker0: port 1(veth12ab) entered forwarding state",
        ],
    )
    i.say(
        "identified",
        line[:60],
        "the Xid is nine days older than the job",
        source="train.log",
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["Xid (PCI", "fallen off the bus"],
    )
