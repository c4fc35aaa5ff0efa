#!/usr/bin/env python3
"""Seeded generator of whole incidents, log files as they lie on disk, with ground truth.

    scripts/make_incidents.py OUT_DIR [--seed N] [--kinds a,b] [--list]

Writes OUT_DIR/<kind>/logs/... (what the tool under test is given) and OUT_DIR/<kind>/truth.json
(what it must find; it stands outside logs/). The same seed gives identical bytes. `--list` prints
every kind with what it proves. Hosts, ranks, world sizes, clocks, pids and steps vary with the seed.

truth.json: kind, seed, inputs, status (one, or a list of acceptable ones), line (literal that
evidence[0] of the initiating finding contains, null where no line may be initiating), line_alt
(other lines of the same fault that are as good), source (file below logs/, null: not checked), rank
with rank_checked, host with host_checked, suspects with suspects_checked, owner (null: not checked),
never_blame (literals that must not be the initiating evidence), covered (false: invented on purpose,
so `identified` is wrong), independent (literals of further faults that must not be lost, not be
initiating), why.

Written from what real software prints, without sight of the code under test.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import pickle
import random
import sys
import tarfile
import zipfile
import zlib
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

KINDS: dict[str, tuple] = {}
ANY_FOUND = ["identified", "classified", "unexplained"]
SYMPTOM = ["symptom-only", "classified"]
BUS = ["1b", "43", "52", "61", "9d", "c3", "d1", "df"]
MON = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
DAY = "Mon Tue Wed Thu Fri Sat Sun".split()


def kind(fn):
    """Register an incident; its docstring says what it proves."""
    KINDS[fn.__name__] = (fn, fn.__doc__)
    return fn


def S(x):
    """Seconds."""
    return timedelta(seconds=x)


# ---------------------------------------------------------------- time forms
def torch_stamp(t, lvl="E"):
    """c10 log stamp: no year, month not padded, nanoseconds."""
    return f"[{lvl}{t.month}{t.day:02d} {t:%H:%M:%S}.{t.microsecond:06d}{(t.microsecond * 7) % 1000:03d}"


def glog(t, lvl="W", pid=1022):
    """Stamp of torch elastic: level, month, day, no year."""
    return f"{lvl}{t:%m%d %H:%M:%S}.{t.microsecond:06d} {pid}"


def iso_ns(t):
    """RFC 3339 with nanoseconds, UTC."""
    return f"{t:%Y-%m-%dT%H:%M:%S}.{t.microsecond:06d}{(t.microsecond * 3) % 1000:03d}Z"


def comma(t):
    """Stamp of Python logging."""
    return f"{t:%Y-%m-%d %H:%M:%S},{t.microsecond // 1000:03d}"


def plain(t):
    """Date and time to the second."""
    return f"{t:%Y-%m-%d %H:%M:%S}"


def syslog(t):
    """Classic syslog stamp, no year."""
    return f"{MON[t.month - 1]} {t.day:2d} {t:%H:%M:%S}"


def dmesg_T(t):
    """Stamp of `dmesg -T`."""
    return f"[{DAY[t.weekday()]} {MON[t.month - 1]} {t.day:2d} {t:%H:%M:%S} {t.year}]"


def unpack(name, data):
    """Text of one generated file, archives and JSON lines opened."""
    if name.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            return "\n".join(z.read(n).decode() for n in z.namelist())
    if name.endswith(".gz"):
        data = gzip.decompress(data)
    if ".tar" in name:
        with tarfile.open(fileobj=io.BytesIO(data)) as z:
            return "\n".join(z.extractfile(m).read().decode() for m in z.getmembers())
    if name.endswith(".jsonl"):
        return "".join(json.loads(x)["log"] for x in data.decode().splitlines())
    return data.decode(errors="replace")


# ---------------------------------------------------------------- one incident
class Inc:
    """One incident: its files and its truth."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        self.r = random.Random(zlib.crc32(name.encode()) * 1000003 + seed)
        self.files: dict[str, bytes] = {}
        self.truth: dict = {}

    def text(self):
        """Everything written so far, unpacked."""
        return "\n".join(unpack(n, b) for n, b in self.files.items())

    def put(self, path, lines):
        """Add one file below logs/."""
        if isinstance(lines, bytes):
            self.files[path] = lines
        else:
            text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
            self.files[path] = text.encode()

    def say(
        self,
        status,
        line,
        why,
        *,
        source=None,
        rank=None,
        rank_checked=None,
        host=None,
        host_checked=None,
        suspects=(),
        suspects_checked=None,
        owner=None,
        never=(),
        covered=True,
        alt=(),
        independent=(),
    ):
        """Set the ground truth."""
        never = list(never)
        if line:
            never += [
                x
                for x in ("failed (exitcode", "closing signal SIGTERM")
                if x not in line and not any(x in y for y in never)
            ]
            never = [x for x in never if x in self.text()]
        self.truth = {
            "kind": self.name,
            "seed": self.seed,
            "inputs": ["logs"],
            "status": status,
            "line": line,
            "line_alt": list(alt),
            "source": source,
            "rank": rank,
            "rank_checked": rank is not None if rank_checked is None else rank_checked,
            "host": host,
            "host_checked": host is not None if host_checked is None else host_checked,
            "suspects": sorted(suspects),
            "suspects_checked": bool(suspects) if suspects_checked is None else suspects_checked,
            "owner": owner,
            "never_blame": list(never),
            "covered": covered,
            "independent": list(independent),
            "why": why,
        }


class Job:
    """A distributed job: places, pids, clocks, and the lines its programs print."""

    def __init__(self, inc, nodes=2, ppn=8, t0=None, style=None, timeout_ms=None):
        self.inc, self.r = inc, inc.r
        r = self.r
        self.nodes, self.ppn, self.world = nodes, ppn, nodes * ppn
        base = r.randrange(3, 90)
        scheme = r.choice(["gpu-a3-{:03d}", "node-b{:02d}", "ip-10-4-17-{}", "cn{:04d}", "dgx-h100-{:02d}"])
        self.hosts = [scheme.format(base + i) for i in range(nodes)]
        self.spare = scheme.format(base + nodes + 3)
        self.ips = [f"10.4.{r.randrange(2, 30)}.{base + i}" for i in range(nodes)]
        self.pids = [r.randrange(21000, 64000) // 50 * 50 + (i % ppn) for i in range(self.world)]
        self.agent_pid = [r.randrange(900, 20000) for _ in range(nodes)]
        self.t0 = t0 or datetime(
            2026,
            r.randrange(1, 13),
            r.randrange(3, 26),
            r.randrange(2, 20),
            r.randrange(0, 59),
            r.randrange(0, 59),
            r.randrange(0, 999999),
        )
        self.script = r.choice(["pretrain_gpt.py", "train.py", "finetune.py", "run_sft.py"])
        self.style = style or r.choice(["megatron", "titan", "plain", "deepspeed", "hf"])
        self.step = r.randrange(200, 90000)
        self.timeout_ms = timeout_ms or r.choice([600000, 1800000])
        self.skew = {}  # host index -> seconds its clock is ahead
        self.seq = r.randrange(20000, 900000)
        self.jobid = r.randrange(100000, 9000000)
        self.loss = 1.6 + r.random()
        self.ev: list[tuple] = []
        self.closed: list[
            list
        ] = []  # [node, from, to]: the agent ended its workers then, nothing more is printed by them

    # places and clocks
    def node(self, rank):
        """Index of the node of a rank."""
        return rank // self.ppn

    def host(self, rank):
        """Host of a rank."""
        return self.hosts[rank // self.ppn]

    def local(self, rank):
        """Local rank."""
        return rank % self.ppn

    def pci(self, rank):
        """PCI address as the kernel prints it."""
        return f"0000:{BUS[self.local(rank)]}:00"

    def at(self, rank, t):
        """The rank's own clock at true time `t`."""
        return t + S(self.skew.get(self.node(rank) if rank is not None and rank >= 0 else 0, 0))

    def pick(self, lo=1, hi=None):
        """A rank to fail."""
        return self.r.randrange(lo, hi or self.world)

    def us(self):
        """A fraction of a second."""
        return timedelta(microseconds=self.r.randrange(1000, 900000))

    # events: (true time, rank, text); rank -1-n is the launcher of node n
    def add(self, t, rank, text, order=None):
        """An event at true time `t`; `order`: when it reached the file."""
        self.ev.append((t if order is None else order, len(self.ev), rank, text, t))

    def sorted(self):
        """Events in print order, without those of workers that were already ended."""
        return sorted(
            (
                e
                for e in self.ev
                if not (
                    e[2] >= 0
                    and any(
                        n == self.node(e[2]) and e[4] > a + S(12) and (b is None or e[4] < b) for n, a, b in self.closed
                    )
                )
            ),
            key=lambda e: (e[0], e[1]),
        )

    def of(self, rank):
        """One rank's (or launcher's) lines."""
        return [x for e in self.sorted() if e[2] == rank for x in e[3].split("\n")]

    # normal life
    def startup(self, t=None, nccl=True, launcher=True, ranks=None):
        """Normal start-up lines; returns the time after."""
        t = t or self.t0
        for c in self.closed:
            c[2] = c[2] or t
        ranks = range(self.world) if ranks is None else ranks
        if launcher:
            for n in range(self.nodes):
                tl = t + S(self.skew.get(n, 0))
                self.add(
                    t,
                    -1 - n,
                    f"{glog(tl, 'W', self.agent_pid[n])} torch/distributed/run.py:792] \n"
                    f"{glog(tl, 'W', self.agent_pid[n])} torch/distributed/run.py:792] *****************************************\n"
                    f"{glog(tl, 'W', self.agent_pid[n])} torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed. \n"
                    f"{glog(tl, 'W', self.agent_pid[n])} torch/distributed/run.py:792] *****************************************",
                )
        comm = self.r.randrange(1 << 40, 1 << 44)
        for k in ranks:
            tk = t + S(4) + self.us()
            lt = self.at(k, tk)
            self.add(
                tk,
                k,
                f"{comma(lt)} INFO {self.script}:41 initialized rank {k} of world size {self.world} on host {self.host(k)} (local_rank {self.local(k)}, pid {self.pids[k]})",
            )
            if k == 0:
                self.add(
                    tk,
                    0,
                    f"{comma(lt)} INFO {self.script}:58 torch 2.7.1+cu126, CUDA 12.6, driver 560.35.03, args: --micro-batch-size 2 --seq-length 4096 --bf16\nNCCL version 2.26.2+cuda12.2",
                )
            if nccl:
                pre = f"{self.host(k)}:{self.pids[k]}:{self.pids[k] + 410} [{self.local(k)}] NCCL INFO"
                self.add(
                    tk + S(1),
                    k,
                    f"{pre} Bootstrap: Using eth0:{self.ips[self.node(k)]}<0>\n"
                    f"{pre} NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.\n"
                    f"{pre} comm 0x55{comm + k:010x} rank {k} nranks {self.world} cudaDev {self.local(k)} nvmlDev {self.local(k)} busId {BUS[self.local(k)]}000 commId 0x{comm:x} - Init START\n"
                    f"{pre} comm 0x55{comm + k:010x} rank {k} nranks {self.world} cudaDev {self.local(k)} nvmlDev {self.local(k)} busId {BUS[self.local(k)]}000 commId 0x{comm:x} - Init COMPLETE",
                )
        return t + S(20)

    def step_line(self, t, k, loss=None, ms=None):
        """One progress line in the style of the trainer."""
        self.loss = max(1.2, self.loss - 0.0003)
        lo = self.loss + self.r.random() * 0.01 if loss is None else loss
        ms = ms or 780 + self.r.random() * 40
        s = self.step
        if self.style == "megatron":
            return (
                f" [{plain(t)}] iteration {s:8d}/  500000 | consumed samples: {s * 512:12d} | elapsed time per iteration (ms): {ms:.1f} | "
                f"learning rate: 1.500000E-04 | global batch size:   512 | lm loss: {lo:.6E} | loss scale: 1.0 | grad norm: {0.3 + self.r.random() / 9:.3f} | "
                "number of skipped iterations:   0 | number of nan iterations:   0 |"
            )
        if self.style == "titan":
            return f"[titan] {comma(t)} - root - INFO - step: {s:2d}  loss: {lo:7.4f}  grad_norm: {0.3 + self.r.random() / 9:7.4f}  memory: 58.41GiB(73.84%)  tps: {int(5e6 / ms):,}  tflops: 401.20  mfu: 40.57%"
        if self.style == "hf":
            return f"{{'loss': {lo:.4f}, 'grad_norm': {0.3 + self.r.random() / 9:.6f}, 'learning_rate': 1.5e-05, 'epoch': {s / 90000:.2f}}}\r  {s / 1000:.0f}%|###       | {s}/100000 [{s // 3600:02d}:{s // 60 % 60:02d}:11<9:12:33,  {1000 / ms:.2f}it/s]"
        if self.style == "deepspeed":
            return (
                f"[{comma(t)}] [INFO] [logging.py:107:log_dist] [Rank {k}] step={s}, skipped=0, lr=[0.00015], mom=[(0.9, 0.95)]\n"
                f"[{comma(t)}] [INFO] [timer.py:264:stop] epoch=0/micro_step={s}/global_step={s}, RunningAvgSamplesPerSec={512e3 / ms:.2f}, CurrSamplesPerSec={512e3 / ms:.2f}, MemAllocated=31.2GB, MaxMemAllocated=58.4GB"
            )
        return f"{comma(t)} INFO {self.script}:212 step {s} loss {lo:.4f} lr 1.50e-04 {ms:.0f} ms/step"

    def steps(self, t, n, dt=30, ranks=None, ms=None):
        """Progress of `n` logged steps; returns the time after the last."""
        if ranks is None:
            ranks = (
                [self.world - 1]
                if self.style == "megatron"
                else [0]
                if self.style in ("deepspeed", "hf")
                else [0, self.world - 1]
            )
        for _ in range(n):
            self.step += 10
            for k in ranks:
                tt = t + self.us()
                self.add(tt, k, self.step_line(self.at(k, tt), k, ms=ms))
            t += S(dt)
        return t

    # failures of one rank
    def tb(self, k, frames, exc, tag=True):
        """A traceback."""
        p = f"[rank{k}]: " if tag else ""
        out = [p + "Traceback (most recent call last):"]
        for f, n, fn, code in frames:
            out += [f'{p}  File "{f}", line {n}, in {fn}', f"{p}    {code}"]
        return "\n".join(out + [p + x for x in exc.split("\n")])

    def frames(self, *extra):
        """Stack of the training script, then `extra`."""
        d = f"/workspace/{self.script}"
        return [(d, 388, "<module>", "main()"), (d, 341, "main", "train(model, loader, optimizer)"), *extra]

    def oom_line(self, k):
        """torch's CUDA OOM message."""
        g = self.local(k)
        a = 0.5 + self.r.randrange(1, 14) / 4
        return (
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {a:.2f} GiB. GPU {g} has a total capacity of 79.11 GiB of which {a / 3:.2f} GiB is free. "
            f"Including non-PyTorch memory, this process has {79.05 - a / 3:.2f} GiB memory in use. Of the allocated memory 74.{self.r.randrange(10, 99)} GiB is allocated by PyTorch, and 2.31 GiB is reserved by PyTorch but unallocated. "
            "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
        )

    def oom(self, t, k, stamped=True, tag=True, line=None, order=None):
        """A CUDA OOM traceback of one rank; returns the message."""
        line = line or self.oom_line(k)
        head = (
            f"{comma(self.at(k, t))} ERROR {self.script}:355 unhandled exception in training loop, exiting\n"
            if stamped
            else ""
        )
        self.add(
            t,
            k,
            head
            + self.tb(
                k,
                self.frames(
                    (f"/workspace/{self.script}", 207, "train", "loss = model(batch)"),
                    (
                        "/usr/local/lib/python3.12/dist-packages/torch/nn/modules/module.py",
                        1751,
                        "_wrapped_call_impl",
                        "return self._call_impl(*args, **kwargs)",
                    ),
                    ("/workspace/model/mlp.py", 66, "forward", "h = self.act(self.w1(x)) * self.w3(x)"),
                ),
                line,
                tag,
            ),
            order,
        )
        return line

    def E(self, k, t, src):
        """Prefix of a c10d error line."""
        return f"[rank{k}]:{torch_stamp(self.at(k, t))} {src}]"

    def wd_line(self, k, t, seq=None, op="ALLREDUCE", nin=1048576, nout=None, ran=None, timeout=None):
        """The watchdog's timeout line."""
        timeout = timeout or self.timeout_ms
        ran = ran or timeout + self.r.randrange(3, 98)
        return (
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:683')} [Rank {k}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq or self.seq}, OpType={op}, "
            f"NumelIn={nin}, NumelOut={nout or nin}, Timeout(ms)={timeout}) ran for {ran} milliseconds before timing out."
        )

    ADVICE = (
        "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled collective, "
        "for some reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library (e.g. NCCL), etc. "
    )

    def wd(
        self,
        t,
        k,
        seq=None,
        op="ALLREDUCE",
        nin=1048576,
        nout=None,
        enq=None,
        comp=None,
        ran=None,
        timeout=None,
        term=True,
        order=None,
        pg="0 PG GUID 0(default_pg)",
    ):
        """The watchdog's whole block on a rank that waited."""
        seq = seq or self.seq
        enq, comp = enq or seq, comp if comp is not None else seq - 1
        w = self.wd_line(k, t, seq, op, nin, nout, ran, timeout)
        what = w.split("] ", 1)[1]
        out = [
            w,
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:2241')} [PG ID {pg} Rank {k}]  failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {enq}, last completed work: {comp}",
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:730')} Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.",
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:2573')} [PG ID {pg} Rank {k}] First PG on this rank to signal dumping.",
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:1858')} [PG ID {pg} Rank {k}] Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. Last enqueued NCCL work: {enq}, last completed NCCL work: {comp}.{self.ADVICE}",
        ]
        self.add(t, k, "\n".join(out), order)
        if term:
            t2 = t + S(60)
            out = [
                f"{self.E(k, t2, 'ProcessGroupNCCL.cpp:744')} [Rank {k}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
                f"{self.E(k, t2, 'ProcessGroupNCCL.cpp:758')} [Rank {k}] To avoid data inconsistency, we are taking the entire process down.",
                f"{self.E(k, t2, 'ProcessGroupNCCL.cpp:1896')} [PG ID {pg} Rank {k}] Process group watchdog thread terminated with exception: {what}",
                "Exception raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:686 (most recent call first):",
                f"frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f{self.r.randrange(1 << 40):010x} in /usr/local/lib/python3.12/dist-packages/torch/lib/libc10.so)",
                f"frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long, std::ratio<1l, 1000l> > >) + 0x23d (0x7f{self.r.randrange(1 << 40):010x} in /usr/local/lib/python3.12/dist-packages/torch/lib/libtorch_cuda.so)",
                "terminate called after throwing an instance of 'c10::DistBackendError'",
                f"  what():  [PG ID {pg} Rank {k}] Process group watchdog thread terminated with exception: {what}",
            ]
            self.add(t2, k, "\n".join(out), order)

    def wds(self, t, ranks, **kw):
        """Watchdog blocks of several ranks."""
        for k in ranks:
            self.wd(t + self.us(), k, **kw)

    def notified(self, t, k, frm, enq, comp, order=None, pg="0 PG GUID 0(default_pg)"):
        """A rank that was only told of the timeout by another."""
        self.add(
            t,
            k,
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:1794')} [PG ID {pg} Rank {k}] Observed flight recorder dump signal from another rank via TCPStore.\n"
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:1858')} [PG ID {pg} Rank {k}] Received a dump signal due to a collective timeout from  rank {frm} and we will try our best to dump the debug info. Last enqueued NCCL work: {enq}, last completed NCCL work: {comp}.{self.ADVICE}\n"
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:1575')} [PG ID {pg} Rank {k}] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1",
            order,
        )

    def tcpstore(self, t, k, host=None):
        """Noise of a rank whose store went away."""
        self.add(
            t,
            k,
            f"[rank{k}]:{torch_stamp(self.at(k, t), 'W')} TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd={self.r.randrange(40, 99)}, addr=[{self.host(k)}]:{self.r.randrange(40000, 60000)}, remote=[{host or self.hosts[0]}]:29500): Broken pipe\n"
            f'[rank{k}]:{torch_stamp(self.at(k, t), "W")} ProcessGroupNCCL.cpp:1659] [PG ID 0 PG GUID 0(default_pg) Rank {k}] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe',
        )

    def remote_gone(self, t, k, host):
        """NCCL remote error of a rank whose peer went away."""
        self.add(
            t,
            k,
            self.tb(
                k,
                self.frames((f"/workspace/{self.script}", 231, "train", "loss.backward()")),
                "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2363, remote process exited or there was a network error, NCCL version 2.26.2\n"
                "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\n"
                f"socketProgress: Connection closed by remote peer {host}<{self.r.randrange(32000, 60000)}>",
            ),
        )

    def closing(self, t, node, dead, code=1, restart=None):
        """torchrun's agent after one child died."""
        a, g = self.agent_pid[node], t + S(self.skew.get(node, 0))
        self.closed.append([node, t, None])
        first = node * self.ppn
        out = [
            f"{glog(g, 'W', a)} torch/distributed/elastic/multiprocessing/api.py:900] Sending process {self.pids[k]} closing signal SIGTERM"
            for k in range(first, first + self.ppn)
            if k != dead
        ]
        out.append(
            f"{glog(g + S(2), 'E', a)} torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: {code}) local_rank: {self.local(dead)} (pid: {self.pids[dead]}) of binary: /usr/bin/python3"
        )
        if restart is not None:
            out.append(
                f"{glog(g + S(2), 'I', a)} torch/distributed/elastic/agent/server/api.py:721] [default] Worker group FAILED. {restart}/3 attempts left; will restart worker group"
            )
        self.add(t, -1 - node, "\n".join(out))

    def table(self, t, node, dead, code=1, others=()):
        """ChildFailedError's report; `others`: [(rank, code)] listed before it."""
        self.closed.append([node, t, None])

        def block(i, k, c):
            tr = (
                f"Signal {-c} ({ {6: 'SIGABRT', 9: 'SIGKILL', 15: 'SIGTERM', 11: 'SIGSEGV', 7: 'SIGBUS'}[-c] }) received by PID {self.pids[k]}"
                if c < 0
                else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
            )
            return [
                f"[{i}]:",
                f"  time      : {t + S(self.skew.get(node, 0)):%Y-%m-%d_%H:%M:%S}",
                f"  host      : {self.host(k)}",
                f"  rank      : {k} (local_rank: {self.local(k)})",
                f"  exitcode  : {c} (pid: {self.pids[k]})",
                "  error_file: <N/A>",
                f"  traceback : {tr}",
            ]

        out = [
            "Traceback (most recent call last):",
            '  File "/usr/local/bin/torchrun", line 8, in <module>',
            "    sys.exit(main())",
            '  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/launcher/api.py", line 270, in launch_agent',
            "    raise ChildFailedError(",
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
            "=" * 60,
            f"{self.script} FAILED",
            "-" * 60,
            "Failures:",
        ]
        if others:
            for i, (k, c) in enumerate(others, 1):
                out += block(i, k, c)
        else:
            out.append("  <NO_OTHER_FAILURES>")
        out += ["-" * 60, "Root Cause (first observed failure):", *block(0, dead, code), "=" * 60]
        self.add(t, -1 - node, "\n".join(out))

    # layouts
    def single(self, prefix=lambda k, j: "", launcher_prefix=lambda n, j: ""):
        """All events in one interleaved file."""
        out = []
        for _, _, k, text, _ in self.sorted():
            p = prefix(k, self) if k >= 0 else launcher_prefix(-1 - k, self)
            out += [p + x for x in text.split("\n")]
        return out

    def rank_files(self, name, ranks=None, launcher="torchrun-{host}.log"):
        """A file per rank, a file per launcher."""
        for k in range(self.world) if ranks is None else ranks:
            self.inc.put(name(k), self.of(k))
        if launcher:
            for n in range(self.nodes):
                ls = self.of(-1 - n)
                if ls:
                    self.inc.put(launcher.format(host=self.hosts[n], n=n), ls)

    def done(self, t, ranks=(0,)):
        """Proof of completion."""
        for k in ranks:
            self.add(
                t,
                k,
                f"{comma(self.at(k, t))} INFO {self.script}:371 saved final checkpoint to /ckpt/run/step_{self.step}\n{comma(self.at(k, t + S(3)))} INFO {self.script}:380 training finished: {self.step} steps, final loss {self.loss:.4f}",
            )


# ================================================================ layouts on disk
@kind
def torchrun_tree_oom(i):
    """torchrun --log-dir tree (one run, per-rank stdout/stderr): one rank's CUDA OOM, the rest time out; rank from the path, host from the start-up line."""
    j = Job(i)
    v = j.pick(0)
    t = j.steps(j.startup(), 12)
    line = j.oom(t, v)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(j.world) if k != v])
    j.closing(t + S(3), j.node(v), v)
    j.table(t + S(6), j.node(v), v)
    tree(i, j, "none_" + "".join(i.r.choices("abcdefgh12345", k=8)), 0)
    for n in range(2):
        i.put(f"agent-{j.hosts[n]}.log", j.of(-1 - n) or [""])
    i.say(
        "identified",
        line[:60],
        "one rank ran out of GPU memory, every other rank waited for it in an all-reduce",
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["Watchdog caught", "ChildFailedError", "exitcode  :"],
    )


def tree(i, j, run, attempt, ranks=None):
    """One attempt in torchrun's layout: <run>/attempt_N/<rank>/{stdout,stderr}.log"""
    for k in ranks or range(j.world):
        out, err = [], []
        for e in j.sorted():
            if e[2] == k:
                for x in e[3].split("\n"):
                    good = (
                        " INFO " in x or "NCCL INFO" in x or "NCCL version" in x or "iteration " in x or "[INFO]" in x
                    )
                    (out if good else err).append(x)
        i.put(f"{run}/attempt_{attempt}/{k}/stdout.log", out)
        i.put(f"{run}/attempt_{attempt}/{k}/stderr.log", err if err else b"")


@kind
def torchrun_two_attempts(i):
    """torchrun tree with two failed attempts of different faults: the last attempt's OOM is initiating, the first attempt's KeyError is independent."""
    j = Job(i, nodes=1)
    a, b = i.r.sample(range(1, 8), 2)
    run = f"{j.jobid}_" + "".join(i.r.choices("abcdefgh12345", k=8))
    t = j.steps(j.startup(), 6)
    key = i.r.choice(["attention_mask", "labels", "doc_ids"])
    j.add(
        t,
        a,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(
            a,
            j.frames(("/workspace/data/collate.py", 44, "__call__", f"masks = [b['{key}'] for b in batch]")),
            f"KeyError: '{key}'",
        ),
    )
    j.closing(t + S(1), 0, a, restart=3)
    agent = j.of(-1)
    tree(i, j, run, 0)
    j.ev, j.pids = [], [p + 900 for p in j.pids]
    t = j.steps(j.startup(t + S(30), launcher=False), 14)
    line = j.oom(t, b)
    j.closing(t + S(2), 0, b)
    j.table(t + S(4), 0, b, others=[(k, -15) for k in range(8) if k != b][:2])
    tree(i, j, run, 1)
    i.put("agent.log", agent + j.of(-1))
    i.say(
        "identified",
        line[:60],
        "attempt 1 is the last that failed; attempt 0 died of another fault",
        source=f"{run}/attempt_1/{b}/stderr.log",
        rank=b,
        host=j.hosts[0],
        owner="workload",
        never=[f"KeyError: '{key}'", "ChildFailedError"],
        independent=[f"KeyError: '{key}'"],
    )


@kind
def torchrun_recovered(i):
    """A worker failed, torchrun restarted the group and the run completed: healthy, the fault is recovered and not blamed."""
    j = Job(i, nodes=1)
    a = j.pick()
    t = j.steps(j.startup(), 8)
    j.oom(t, a)
    j.closing(t + S(1), 0, a, restart=3)
    t = j.steps(j.startup(t + S(35), launcher=False), 40)
    j.done(t + S(5))
    i.put("train.log", j.single())
    i.say(
        "healthy",
        None,
        "the restarted worker group ran 40 more logged steps and finished",
        never=["CUDA out of memory", "failed (exitcode"],
        host_checked=False,
    )


@kind
def slurm_jt_keyerror(i):
    """Slurm %j_%t files: a user KeyError on one rank, the others print only TCPStore and connection noise."""
    j = Job(i, nodes=2, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(launcher=False), 10)
    key = i.r.choice(["input_ids", "pixel_values", "token_type_ids"])
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 crashed\n"
        + j.tb(
            v, j.frames(("/workspace/data/pack.py", 91, "__getitem__", f"return sample['{key}']")), f"KeyError: '{key}'"
        ),
    )
    for k in range(j.world):
        if k != v:
            j.tcpstore(t + S(2) + j.us(), k, j.host(v))
            if k % 2:
                j.remote_gone(t + S(3) + j.us(), k, j.host(v))
    j.rank_files(lambda k: f"{j.jobid}_{k}.out", launcher=None)
    i.put(
        f"slurm-{j.jobid}.out",
        [
            f"srun: error: {j.host(v)}: task {v}: Exited with exit code 1",
            f"srun: Terminating StepId={j.jobid}.0",
            f"slurmstepd: error: *** STEP {j.jobid}.0 ON {j.hosts[0]} CANCELLED AT {t + S(6):%Y-%m-%dT%H:%M:%S} ***",
            *[f"srun: error: {j.host(k)}: task {k}: Terminated" for k in range(j.world) if k != v],
        ],
    )
    i.say(
        ANY_FOUND,
        f"KeyError: '{key}'",
        "one rank's own code raised; the rest lost their peer",
        source=f"{j.jobid}_{v}.out",
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["sendBytes failed", "ncclRemoteError", "CANCELLED AT", "Connection closed by remote peer"],
    )


@kind
def kube_previous(i):
    """kubectl logs dumps by pod, --previous too: the fault stands in one pod's previous container; the current one only waits."""
    j = Job(i, nodes=4, ppn=1)
    v = j.pick()
    pod = [f"sft-{j.jobid}-worker-{n}" for n in range(4)]
    t = j.steps(j.startup(nccl=False, launcher=False), 10)
    line = j.oom(t, v)
    for k in range(4):
        if k != v:
            j.wd(t + S(j.timeout_ms / 1000) + j.us(), k)
    for k in range(4):
        i.put(f"{pod[k]}.previous.log" if k == v else f"{pod[k]}.log", j.of(k))
    t2 = t + S(14)
    i.put(
        f"{pod[v]}.log",
        [
            f"{comma(t2 + S(10 * n))} INFO {j.script}:30 waiting for rendezvous at {pod[0]}:29500 (attempt {n + 1})"
            for n in range(18)
        ],
    )
    i.say(
        "identified",
        line[:60],
        "the container that ran out of memory is only in the --previous dump",
        source=f"{pod[v]}.previous.log",
        rank=v,
        owner="workload",
        never=["Watchdog caught", "waiting for rendezvous"],
    )


@kind
def kube_oomkilled_describe(i):
    """kubectl describe plus events: OOMKilled (137) of one pod of the job; events of another workload's pod (image pull) are out of scope."""
    j = Job(i, nodes=4, ppn=1)
    v = j.pick()
    name = f"llm-{i.r.randrange(10, 99)}-worker"
    t = j.steps(j.startup(nccl=False, launcher=False), 9, ranks=[0, 1, 2, 3])
    for k in range(4):
        if k != v:
            j.remote_gone(t + S(4) + j.us(), k, j.ips[v])
        i.put(f"{name}-{k}.log", j.of(k))
    i.put(
        f"describe-{name}-{v}.txt",
        [
            f"Name:             {name}-{v}",
            "Namespace:        training",
            "Priority:         0",
            f"Node:             {j.hosts[v]}/{j.ips[v]}",
            f"Start Time:       {DAY[j.t0.weekday()]}, {j.t0:%d} {MON[j.t0.month - 1]} {j.t0:%Y %H:%M:%S} +0000",
            "Labels:           training.kubeflow.org/job-role=worker",
            f"                  training.kubeflow.org/replica-index={v}",
            "Status:           Failed",
            "Containers:",
            "  pytorch:",
            "    Image:         registry.local/llm/train:4.2",
            "    State:          Terminated",
            "      Reason:       OOMKilled",
            "      Exit Code:    137",
            f"      Started:      {DAY[j.t0.weekday()]}, {j.t0:%d} {MON[j.t0.month - 1]} {j.t0:%Y %H:%M:%S} +0000",
            f"      Finished:     {DAY[t.weekday()]}, {t:%d} {MON[t.month - 1]} {t:%Y %H:%M:%S} +0000",
            "    Ready:          False",
            "    Restart Count:  0",
            "    Limits:",
            "      memory:          180Gi",
            "      nvidia.com/gpu:  1",
            "    Environment:",
            f"      RANK:        {v}",
            "      WORLD_SIZE:  4",
            "Events:",
            "  Type     Reason     Age   From               Message",
            "  ----     ------     ----  ----               -------",
            f"  Normal   Scheduled  41m   default-scheduler  Successfully assigned training/{name}-{v} to {j.hosts[v]}",
            "  Normal   Pulled     41m   kubelet            Container image already present on machine",
            "  Normal   Started    41m   kubelet            Started container pytorch",
        ],
    )
    i.put(
        "events.txt",
        [
            "LAST SEEN   TYPE      REASON             OBJECT                              MESSAGE",
            '38m         Warning   Failed             pod/notebook-ana-0                  Failed to pull image "registry.local/notebook:edge": rpc error: code = NotFound desc = failed to pull and unpack image: not found',
            '38m         Warning   BackOff            pod/notebook-ana-0                  Back-off pulling image "registry.local/notebook:edge"',
            f"41m         Normal    Started            pod/{name}-{v}                     Started container pytorch",
            "12m         Warning   Unhealthy          pod/metrics-agent-x2c9k             Readiness probe failed: HTTP probe failed with statuscode: 503",
        ],
    )
    i.say(
        "identified",
        "OOMKilled",
        "the pod's container was killed at its memory limit; the peers lost it; the other pod's events are not ours",
        alt=["Exit Code:    137"],
        source=f"describe-{name}-{v}.txt",
        rank=v,
        host=j.hosts[v],
        owner="workload",
        never=["Failed to pull image", "Readiness probe failed", "ncclRemoteError", "Connection closed by remote peer"],
    )


@kind
def kube_startup_probe(i):
    """K8s startup probe kills a server that was still loading weights; events beside the pod's log."""
    j = Job(i, nodes=1, ppn=4)
    t, pod = j.t0, f"vllm-{i.r.randrange(10**9, 10**10):x}-{''.join(i.r.choices('bcdfghjk', k=5))}"
    p = f"(EngineCore_DP0 pid={j.pids[0]}) INFO"
    log = [
        f"(APIServer pid=1) INFO {t:%m-%d %H:%M:%S} [api_server.py:1842] vLLM API server version 0.11.0",
        f"(APIServer pid=1) INFO {t:%m-%d %H:%M:%S} [model.py:547] Resolved architecture: LlamaForCausalLM",
    ]
    n = i.r.randrange(30, 50)
    for s in range(n):
        log.append(
            f"{p} {t + S(10 + s * 9):%m-%d %H:%M:%S} [default_loader.py:268] Loading safetensors checkpoint shards: {s * 100 // 61}% Completed | {s}/61"
        )
    end = t + S(10 + n * 9)
    log += [
        f"(APIServer pid=1) INFO {end:%m-%d %H:%M:%S} [launcher.py:99] Shutting down FastAPI HTTP server.",
        "(APIServer pid=1) Process terminated by signal 15",
    ]
    i.put(f"{pod}.log", log)
    msg = "Container vllm failed startup probe, will be restarted"
    i.put(
        "events.txt",
        [
            "LAST SEEN                   TYPE      REASON      OBJECT                         MESSAGE",
            f"{t - S(8):%Y-%m-%dT%H:%M:%SZ}        Normal    Scheduled   pod/{pod}   Successfully assigned serving/{pod} to {j.hosts[0]}",
            *[
                f'{end - S(60 - 10 * s):%Y-%m-%dT%H:%M:%SZ}        Warning   Unhealthy   pod/{pod}   Startup probe failed: Get "http://10.42.1.7:8000/health": dial tcp 10.42.1.7:8000: connect: connection refused'
                for s in range(6)
            ],
            f"{end - S(1):%Y-%m-%dT%H:%M:%SZ}        Normal    Killing     pod/{pod}   {msg}",
        ],
    )
    i.say(
        "identified",
        "tartup probe",
        "the kubelet killed a healthy but slow start",
        host=j.hosts[0],
        host_checked=False,
        owner="platform",
        never=["Shutting down FastAPI", "signal 15"],
        source="events.txt",
    )
    i.truth["owner"] = None  # platform (probe budget) or workload (the team's own manifest): both defensible


@kind
def ray_task_oom(i):
    """Ray Train driver log with (fn pid=, ip=) prefixes: an actor's CUDA OOM under RayTaskError wrappers and ActorDiedError noise."""
    j = Job(i, nodes=2, ppn=4)
    v = j.pick()
    t = j.startup(nccl=False, launcher=False)

    def p(k):
        ip = f", ip={j.ips[1]}" if j.node(k) else ""
        return f"(RayTrainWorker pid={j.pids[k]}{ip}) "

    t = j.steps(t, 14)
    line = j.oom(t, v, tag=False)
    for k in range(j.world):
        if k != v:
            j.remote_gone(t + S(3) + j.us(), k, j.ips[j.node(v)])
    out = [
        f"{plain(j.t0)},{201}\tINFO worker.py:1843 -- Connecting to existing Ray cluster at address: {j.ips[0]}:6379..."
    ]
    out += [f"(TrainController pid=4410) Started training worker group of size {j.world}: "] + [
        f"(TrainController pid=4410) - (ip={j.ips[j.node(k)]}, pid={j.pids[k]}) world_rank={k}, local_rank={j.local(k)}, node_rank={j.node(k)}"
        for k in range(j.world)
    ]
    out += j.single(lambda k, j: p(k))
    ip = j.ips[j.node(v)]
    out += [
        "Traceback (most recent call last):",
        '  File "/workspace/driver.py", line 58, in <module>',
        "    result = trainer.fit()",
        f"ray.exceptions.RayTaskError(OutOfMemoryError): \x1b[36mray::_RayTrainWorker__execute.get_next()\x1b[39m (pid={j.pids[v]}, ip={ip}, actor_id=f1b2{i.r.randrange(16**8):08x}01000000, repr=<ray.train._internal.worker_group.RayTrainWorker object at 0x7f11>)",
        '  File "/workspace/train_loop.py", line 88, in train_loop',
        "    out = model(batch)",
        line,
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "\tclass_name: RayTrainWorker",
        "The actor is dead because all references to the actor were removed.",
    ]
    i.put("driver.log", out)
    i.say(
        "identified",
        line[:60],
        "RayTaskError only carries the worker's own OOM to the driver",
        rank=v,
        owner="workload",
        never=["ActorDiedError", "ncclRemoteError"],
    )


@kind
def ray_session_memory_monitor(i):
    """Ray session directory: the raylet's memory monitor kills a worker; python-core-worker and driver only report the death."""
    j = Job(i, nodes=1, ppn=4)
    v = j.pick()
    t = j.t0 + S(1200)
    h = f"session_{j.t0:%Y-%m-%d_%H-%M-%S}_{j.t0.microsecond:06d}_{j.agent_pid[0]}/logs"
    wid = f"{i.r.randrange(16**12):012x}"
    i.put(
        f"{h}/raylet.out",
        [
            *[
                f"[{plain(j.t0 + S(60 * n))},{n % 1000:03d} I 812 812] (raylet) node_manager.cc:660: Sending Python GC request to {4 + n % 3} local workers to clean up Python cyclic references."
                for n in range(20)
            ],
            f"[{plain(t)},512 I 812 812] (raylet) node_manager.cc:3026: Killing worker with task for actor ID e1f200000000, task ID {wid}, worker ID {wid}77, worker pid {j.pids[v]} because the node is running low on memory: Memory on the node (IP: {j.ips[0]}, ID: 77aa{wid}) where the task (actor ID: e1f2, name=Rollout.generate, pid={j.pids[v]}, memory used=181.22GB) was running was 488.11GB / 503.54GB (0.969337), which exceeds the memory usage threshold of 0.95.",
            f"[{plain(t)},530 I 812 841] (raylet) worker_pool.cc:1202: Worker process {j.pids[v]} disconnected.",
        ],
    )
    for k in range(4):
        i.put(
            f"{h}/worker-{wid}{k}-01000000-{j.pids[k]}.out",
            [
                ":actor_name:Rollout",
                *[
                    f"{comma(j.t0 + S(30 * n))} INFO rollout.py:77 rank {k} batch {n} generated 512 sequences"
                    for n in range(38)
                ],
            ],
        )
        i.put(f"{h}/worker-{wid}{k}-01000000-{j.pids[k]}.err", [":actor_name:Rollout"])
    i.put(
        f"{h}/job-driver-raysubmit_x9.log",
        [
            *[f"{comma(j.t0 + S(60 * n))} INFO ppo.py:301 iteration {n} reward {0.3 + n / 100:.3f}" for n in range(20)],
            "Traceback (most recent call last):",
            '  File "/workspace/ppo.py", line 312, in <module>',
            "    rollouts = ray.get(refs)",
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
            f"Memory on the node (IP: {j.ips[0]}, ID: 77aa{wid}) where the task (actor ID: e1f2, name=Rollout.generate, pid={j.pids[v]}, memory used=181.22GB) was running was 488.11GB / 503.54GB (0.969337), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: {wid}77) because it was the most recently scheduled task; to see more information about memory usage on this node, use `ray logs raylet.out -ip {j.ips[0]}`.",
        ],
    )
    i.say(
        "identified",
        "because the node is running low on memory",
        "Ray's own memory monitor is the killer",
        alt=["Task was killed due to the node running low on memory", "exceeds the memory usage threshold"],
        never=["disconnected", "Python GC request"],
        rank_checked=False,
    )


def interleaved(i, prefix, lp=None, tag=True, nodes=2, ppn=4, tail=None):
    """OOM on one rank of an interleaved file; without `lp` there is no torchrun."""
    j = Job(i, nodes=nodes, ppn=ppn)
    v = j.pick(0)
    t = j.steps(j.startup(launcher=lp is not None), 14)
    line = j.oom(t, v, tag=tag)
    j.wds(t + S(j.timeout_ms / 1000 + 1), [k for k in range(j.world) if k != v])
    if lp:
        j.closing(t + S(3), j.node(v), v)
        j.table(t + S(8), j.node(v), v)
    out = j.single(prefix, lp or (lambda n, j: ""))
    i.put("job.log", out + (tail(j, v) if tail else []))
    i.say(
        "identified",
        line[:60],
        "one rank's OOM, told apart by the line prefix alone",
        source="job.log",
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["Watchdog caught", "ChildFailedError", "Exited with exit code", "non-zero exit code"],
    )


@kind
def prefix_rankN(i):
    """One interleaved file with [rankN]: prefixes."""
    interleaved(i, lambda k, j: "", lambda n, j: "")


@kind
def prefix_srun_label_doubled(i):
    """srun -l, one task a rank: 'N: ' prefixes, [rankN]: doubled inside."""
    interleaved(
        i,
        lambda k, j: f"{k:2d}: ",
        tail=lambda j, v: [
            f"srun: error: {j.host(v)}: task {v}: Exited with exit code 1",
            *[f"srun: error: {j.host(k)}: task {k}: Aborted (core dumped)" for k in range(j.world) if k != v],
        ],
    )


@kind
def prefix_srun_node_tasks(i):
    """srun -l, one task a NODE (torchrun inside): 'N: ' is the node, the [rankN]: inside is the rank."""
    interleaved(
        i,
        lambda k, j: f"{j.node(k)}: ",
        lambda n, j: f"{n}: ",
        tail=lambda j, v: [f"srun: error: {j.host(v)}: task {j.node(v)}: Exited with exit code 1"],
    )


@kind
def prefix_default_local(i):
    """torchrun --tee: [defaultN]: prefixes are local ranks, [rankN]: inside says the global rank."""
    interleaved(i, lambda k, j: f"[default{j.local(k)}]:", lambda n, j: "")


@kind
def prefix_mpi(i):
    """mpirun --tag-output: [1,3]<stderr>: prefixes and no rank in the traceback itself."""
    interleaved(
        i,
        lambda k, j: f"[1,{k}]<stderr>:",
        tag=False,
        tail=lambda j, v: [
            "-" * 74,
            "mpirun detected that one or more processes exited with non-zero status, thus causing",
            "the job to be terminated. The first process to do so was:",
            "",
            f"  Process name: [[{j.jobid % 60000},1],{v}]",
            "  Exit code:    1",
            "-" * 74,
        ],
    )


@kind
def jax_oom_barrier(i):
    """JAX, '[task N]' prefixes: one task's device OOM, minutes later all others die in a barrier timeout."""
    n = i.r.choice([16, 32, 64])
    t, v = Job(i).t0, i.r.randrange(1, n)
    step = i.r.randrange(300, 9000)
    ev = []
    for k in range(0, n, 4):
        ev.append(
            (
                t,
                k,
                f"I{t:%m%d %H:%M:%S}.{k * 1013:06d} {4000 + k} distributed.py:119] JAX distributed service started: process {k} of {n}",
            )
        )
    for s in range(14):
        for k in sorted({0, v, n - 1, 7 % n}):
            ts = t + S(40 + s * 18)
            ev.append(
                (
                    ts,
                    k,
                    f"I{ts:%m%d %H:%M:%S}.{(k * 991) % 999999:06d} {4000 + k} metric_logger.py:196] completed step: {step + s}, seconds: 17.9{k % 10}, TFLOP/s/device: 402.11, Tokens/s/device: 1021.4, total_weights: 2097152, loss: {2.4 - s / 300:.3f}",
                )
            )
    tf = t + S(40 + 14 * 18)
    size = i.r.randrange(60, 120) * 1024**3 + 77312
    ev.append(
        (
            tf,
            v,
            f"{plain(tf)}.812345: W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate {size / 1024**3:.2f}GiB (rounded to {size})requested by op ",
        )
    )
    ev.append(
        (
            tf,
            v,
            f'Traceback (most recent call last):\n  File "/workspace/train.py", line 811, in train_loop\n    state, metrics = p_train_step(state, batch)\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {size} bytes.',
        )
    )
    tb = tf + S(302)
    for k in i.r.sample([x for x in range(n) if x != v], n - 1):
        tk = tb + timedelta(microseconds=1000 * k)
        if k % 3 == 0:
            ev.append(
                (
                    tk,
                    k,
                    f"{plain(tk)}.{k * 1000:06d}: E external/xla/xla/tsl/distributed_runtime/coordination/coordination_service_agent.cc:725] Coordination agent is set to ERROR: DEADLINE_EXCEEDED: Barrier timed out. Id: shutdown::0. This usually happens because a task triggered the barrier too early or too slowly. Please look at the task logs (both timed out and first task) to debug further.",
                )
            )
        ev.append(
            (
                tk,
                k,
                f"{plain(tk)}.{k * 1000 + 7:06d}: F external/xla/xla/pjrt/distributed/client.h:88] Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details.",
            )
        )
    i.put("jax.log", [f"[task {k:03d}] {x}" for _, k, text in sorted(ev, key=lambda e: e[0]) for x in text.split("\n")])
    i.say(
        "identified",
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate",
        "the OOM of one task precedes the barrier deadline of all",
        alt=["ran out of memory trying to allocate"],
        rank=v,
        owner="workload",
        never=["Barrier timed out", "Terminating process because the JAX", "Coordination agent"],
    )


@kind
def vllm_worker_oom(i):
    """VLLM tensor parallel: (Worker_TP1 pid=) OOM wrapped by EngineCore, then APIServer EngineDeadError and 500s."""
    j = Job(i, nodes=1, ppn=4)
    v = j.pick()
    t = j.t0

    def st(x):
        return f"{x:%m-%d %H:%M:%S}"

    w, e, a = (
        (lambda k: f"(Worker_TP{k} pid={j.pids[k]}) "),
        f"(EngineCore_DP0 pid={j.agent_pid[0]}) ",
        "(APIServer pid=1) ",
    )
    out = [a + f"INFO {st(t)} [api_server.py:1839] vLLM API server version 0.11.0"]
    out += [
        w(k)
        + f"INFO {st(t + S(9))} [parallel_state.py:1208] rank {k} in world size 4 is assigned as DP rank 0, PP rank 0, TP rank {k}, EP rank {k}"
        for k in range(4)
    ]
    out += [e + f"INFO {st(t + S(90))} [kv_cache_utils.py:1087] GPU KV cache size: 512,288 tokens"]
    for s in range(25):
        out += [a + f'INFO:     10.0.3.{s}:4{s:04d} - "POST /v1/chat/completions HTTP/1.1" 200 OK']
        if s % 5 == 0:
            out += [
                a
                + f"INFO {st(t + S(100 + s * 10))} [loggers.py:127] Engine 000: Avg prompt throughput: 811.2 tokens/s, Avg generation throughput: 1204.0 tokens/s, Running: {s + 2} reqs, Waiting: 0 reqs, GPU KV cache usage: {s + 4}.1%"
            ]
    tf = t + S(360)
    line = j.oom_line(v)
    out += [
        w(v) + f"ERROR {st(tf)} [multiproc_executor.py:671] " + x
        for x in [
            "WorkerProc hit an exception.",
            "Traceback (most recent call last):",
            '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/executor/multiproc_executor.py", line 666, in worker_busy_loop',
            "    output = func(*args, **kwargs)",
            '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/worker/gpu_model_runner.py", line 2011, in execute_model',
            "    logits = self.model.compute_logits(sample_hidden_states)",
            line,
        ]
    ]
    out += [
        e + f"ERROR {st(tf)} [core.py:710] " + x
        for x in [
            "EngineCore encountered a fatal error.",
            "Traceback (most recent call last):",
            '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 701, in run_engine_core',
            "    engine_core.run_busy_loop()",
            f"RuntimeError: Worker failed with error '{line[24:70]}', please check the stack trace above for the root cause",
        ]
    ]
    for s in range(12):
        out += [
            a + f"ERROR {st(tf + S(s))} [async_llm.py:480] AsyncLLM output_handler failed."
            if s == 0
            else a + f'INFO:     10.0.3.{s}:4{s:04d} - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error',
            a
            + "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        ]
    i.put("vllm.log", out)
    i.say(
        "identified",
        line[:60],
        "the worker's OOM is the root the engine's and the server's errors point back to",
        rank=v,
        owner="workload",
        never=["EngineDeadError", "EngineCore encountered", "Worker failed with error", "500 Internal"],
    )


@kind
def vllm_kv_cache(i):
    """VLLM at start: no memory for KV blocks, then 'Engine core initialization failed. See root cause above'."""
    j = Job(i, nodes=1, ppn=1)
    t = j.t0
    e, a = f"(EngineCore_DP0 pid={j.agent_pid[0]}) ", "(APIServer pid=1) "
    line = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."
    out = [
        a + f"INFO {t:%m-%d %H:%M:%S} [api_server.py:1839] vLLM API server version 0.11.0",
        a
        + f"WARNING {t:%m-%d %H:%M:%S} [config.py:411] Async output processing is not supported on the current platform type cuda.",
    ]
    out += [
        e
        + f"INFO {t + S(5 + n):%m-%d %H:%M:%S} [default_loader.py:268] Loading safetensors checkpoint shards: {n * 3}% Completed | {n}/30"
        for n in range(30)
    ]
    tf = t + S(60)
    out += [
        e
        + f"INFO {tf:%m-%d %H:%M:%S} [gpu_model_runner.py:2653] Model loading took 70.{i.r.randrange(10, 99)} GiB and 32.1 seconds",
        e
        + f"INFO {tf + S(3):%m-%d %H:%M:%S} [gpu_worker.py:298] Available KV cache memory: -3.{i.r.randrange(10, 99)} GiB",
    ]
    out += [
        e + f"ERROR {tf + S(3):%m-%d %H:%M:%S} [core.py:700] " + x
        for x in [
            "EngineCore failed to start.",
            "Traceback (most recent call last):",
            '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 92, in __init__',
            "    self._initialize_kv_caches(vllm_config)",
            line,
        ]
    ]
    out += [
        a + x
        for x in [
            "Traceback (most recent call last):",
            '  File "/usr/local/bin/vllm", line 8, in <module>',
            "    sys.exit(main())",
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        ]
    ]
    i.put("serve.log", out)
    i.say(
        "identified",
        "No available memory for the cache blocks",
        "the wrapper says itself that the cause is above",
        rank_checked=False,
        owner="workload",
        never=["Engine core initialization failed", "EngineCore failed to start"],
    )


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


# ================================================================ kernel and node logs
XID79 = "GPU has fallen off the bus."


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


@kind
def flight_recorder_dumps(i):
    """PyTorch flight-recorder dumps beside watchdog lines: one rank's last enqueued collective is behind."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 8)
    s = i.r.randrange(400, 900)
    tw = t + S(j.timeout_ms / 1000)
    j.wds(tw, [k for k in range(8) if k != v][:3], seq=s)
    i.put("job.log", j.single())
    ns = int(t.replace(tzinfo=UTC).timestamp()) * 10**9
    for k in range(8):
        last = s - 1 if k == v else s
        ent = [
            {
                "record_id": q,
                "pg_id": 0,
                "process_group": ("0", "default_pg"),
                "collective_seq_id": q,
                "p2p_seq_id": 0,
                "op_id": q,
                "profiling_name": "nccl:all_reduce",
                "time_created_ns": ns - (s - q) * 10**8,
                "duration_ms": None,
                "input_sizes": [[1048576]],
                "input_dtypes": ["Float"],
                "output_sizes": [[1048576]],
                "output_dtypes": ["Float"],
                "state": "completed" if q < s else "scheduled",
                "time_discovered_started_ns": None,
                "time_discovered_completed_ns": None,
                "retired": q < s,
                "timeout_ms": j.timeout_ms,
                "is_p2p": False,
                "frames": [{"name": "all_reduce", "filename": "/workspace/optim/clip.py", "line": 77}],
            }
            for q in range(last - 20, last + 1)
        ]
        i.put(
            f"nccl_trace_rank_{k}",
            pickle.dumps(
                {
                    "version": "2.5",
                    "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(8)))}},
                    "pg_status": {
                        "0": {
                            "last_enqueued_collective": last,
                            "last_started_collective": -1,
                            "last_completed_collective": s - 1,
                        }
                    },
                    "entries": ent,
                },
                protocol=4,
            ),
        )
    i.say(SYMPTOM, None, "seven ranks enqueued the collective, one never did", suspects=[v], never=["Watchdog caught"])


# ================================================================ killers
def slurm_end(i, reason, line_fn, owner, why, pre=(), extra=None, dead=None):
    """A job ended by Slurm, with the noise that follows."""
    j = Job(i, nodes=2, style=i.r.choice(["megatron", "plain"]))
    t = j.steps(j.startup(), 16)
    line = line_fn(j, t)
    for n in range(2):
        if n == dead:
            continue
        g, a = t + S(0.4), j.agent_pid[n]
        j.add(
            t + S(0.4),
            -1 - n,
            f"{glog(g, 'W', a)} torch/distributed/elastic/agent/server/api.py:732] Received Signals.SIGTERM death signal, shutting down workers\n"
            + "\n".join(
                f"{glog(g, 'W', a)} torch/distributed/elastic/multiprocessing/api.py:1010] Sending process {j.pids[k]} closing signal SIGTERM"
                for k in range(n * 8, n * 8 + 8)
            ),
        )
    for k in (0, 5, 11) if dead is None else (0, 5):
        j.add(
            t + S(1) + j.us(),
            k,
            j.tb(k, j.frames((f"/workspace/{j.script}", 231, "train", "loss.backward()")), "KeyboardInterrupt"),
        )
    j.add(
        t + S(2),
        -1,
        'Traceback (most recent call last):\n  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/elastic/multiprocessing/api.py", line 85, in _terminate_process_handler\n    raise SignalException(f"Process {os.getpid()} got signal: {sigval}", sigval=sigval)\n'
        f"torch.distributed.elastic.multiprocessing.api.SignalException: Process {j.agent_pid[0]} got signal: 15",
    )
    j.add(t, -1, "\n".join([*[p(j, t) for p in pre], line]), order=t)
    j.add(t + S(30), -1, "\n".join(f"srun: error: {h}: task {n}: Terminated" for n, h in enumerate(j.hosts)))
    i.put(f"slurm-{j.jobid}.out", j.single())
    i.say(
        "identified",
        line,
        why,
        rank_checked=False,
        host_checked=False,
        owner=owner,
        never=[
            "KeyboardInterrupt",
            "SignalException",
            "closing signal SIGTERM",
            "Received Signals.SIGTERM",
            "Terminated",
        ],
    )
    if extra:
        extra(i, j, t)


@kind
def slurm_time_limit(i):
    """Slurm time limit, then torchrun SignalException and KeyboardInterrupt noise."""
    slurm_end(
        i,
        "",
        lambda j, t: (
            f"slurmstepd: error: *** JOB {j.jobid} ON {j.hosts[0]} CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***"
        ),
        None,
        "wall clock limit of the job",
    )


@kind
def slurm_preemption(i):
    """Slurm preemption, then the same noise."""
    slurm_end(
        i,
        "",
        lambda j, t: (
            f"slurmstepd: error: *** JOB {j.jobid} ON {j.hosts[0]} CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO PREEMPTION ***"
        ),
        "platform",
        "a higher job took the nodes",
    )


@kind
def slurm_node_fail(i):
    """Slurm node failure: srun reports it, ranks elsewhere only see their peer vanish."""

    def extra(i, j, t):
        i.truth["line"], i.truth["line_alt"] = "DUE TO NODE FAILURE", [f"Node failure on {j.hosts[1]}"]
        i.truth["host"], i.truth["host_checked"] = j.hosts[1], True

    slurm_end(
        i,
        "",
        lambda j, t: (
            f"slurmstepd: error: *** JOB {j.jobid} ON {j.hosts[0]} CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***"
        ),
        None,
        "slurmctld lost one node",
        pre=[lambda j, t: f"srun: error: Node failure on {j.hosts[1]}"],
        extra=extra,
        dead=1,
    )


@kind
def scancel_sigterm(i):
    """Bare scancel: SIGTERM from the scheduler with no reason given, then KeyboardInterrupt noise on the ranks."""
    slurm_end(
        i,
        "",
        lambda j, t: f"slurmstepd: error: *** STEP {j.jobid}.0 ON {j.hosts[0]} CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} ***",
        None,
        "somebody or something cancelled the step; the tracebacks are its noise",
    )
    i.truth["status"] = [*ANY_FOUND, "symptom-only"]


@kind
def slurm_cgroup_oom(i):
    """Slurm cgroup OOM: slurmstepd's oom_kill event and task number; other tasks terminated."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick()
    t = j.steps(j.startup(launcher=False), 16, ranks=range(8))
    out = j.single(lambda k, j: f"{k}: ")
    h = j.host(v)
    out += [
        f"slurmstepd-{h}: error: Detected 1 oom_kill event in StepId={j.jobid}.0. Some of the step tasks have been OOM Killed.",
        f"srun: error: {h}: task {v}: Out Of Memory",
        f"srun: Terminating StepId={j.jobid}.0",
        f"slurmstepd-{j.hosts[0]}: error: *** STEP {j.jobid}.0 ON {j.hosts[0]} CANCELLED AT {t + S(2):%Y-%m-%dT%H:%M:%S} ***",
        *[f"srun: error: {j.host(k)}: task {k}: Terminated" for k in range(8) if k != v],
        "/usr/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 56 leaked semaphore objects to clean up at shutdown",
    ]
    i.put(f"slurm-{j.jobid}.out", out)
    i.say(
        "identified",
        "oom_kill event",
        "the step's memory cgroup killed that task",
        alt=[f"task {v}: Out Of Memory"],
        rank=v,
        host=h,
        owner="workload",
        never=["CANCELLED AT", "Terminated", "leaked semaphore"],
    )


@kind
def sighup(i):
    """Terminal closed: SIGHUP to torchrun, workers shut down."""
    j = Job(i, nodes=1)
    t = j.steps(j.startup(), 12)
    a = j.agent_pid[0]
    line = (
        "torch/distributed/elastic/agent/server/api.py:732] Received Signals.SIGHUP death signal, shutting down workers"
    )
    j.add(
        t,
        -1,
        f"{glog(t, 'W', a)} {line}\n"
        + "\n".join(
            f"{glog(t, 'W', a)} torch/distributed/elastic/multiprocessing/api.py:1010] Sending process {p} closing signal SIGHUP"
            for p in j.pids
        )
        + f'\nTraceback (most recent call last):\n  File "/usr/local/bin/torchrun", line 8, in <module>\n    sys.exit(main())\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process {a} got signal: 1',
    )
    i.put("nohup.out", j.single())
    i.say(
        [*ANY_FOUND, "symptom-only"],
        "Signals.SIGHUP",
        "session hang-up, nobody failed",
        alt=["got signal: 1", "closing signal SIGHUP"],
        rank_checked=False,
        never=[],
    )


@kind
def slurm_requeue(i):
    """Slurm requeue in one appended file: first run lost to node failure, second run fails with OOM, which is initiating."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 8)
    j.add(
        t,
        -1,
        f"slurmstepd: error: *** JOB {j.jobid} ON {j.hosts[0]} CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
    )
    j.hosts, j.pids = [j.spare], [p + 211 for p in j.pids]
    t = t + S(900)
    j.add(t, -1, f"=== SLURM_RESTART_COUNT=1 job {j.jobid} started on {j.hosts[0]} at {t:%Y-%m-%dT%H:%M:%S} ===")
    t = j.steps(j.startup(t), 10)
    line = j.oom(t, v)
    j.closing(t + S(2), 0, v)
    j.table(t + S(5), 0, v)
    i.put(f"slurm-{j.jobid}.out", j.single())
    i.say(
        "identified",
        line[:60],
        "the last attempt failed of its own",
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["DUE TO NODE FAILURE", "ChildFailedError"],
        independent=["DUE TO NODE FAILURE"],
    )


# ================================================================ workload faults
@kind
def shm_bus_error(i):
    """/dev/shm bus error of a DataLoader worker on one rank, NCCL timeouts on the rest."""
    j = Job(i, nodes=2, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    w = j.pids[v] + 77
    j.add(
        t,
        v,
        f"ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(
            v,
            j.frames(
                (
                    "/usr/local/lib/python3.12/dist-packages/torch/utils/data/dataloader.py",
                    1251,
                    "_try_get_data",
                    "data = self._data_queue.get(timeout=timeout)",
                )
            ),
            f"RuntimeError: DataLoader worker (pid {w}) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
        ),
    )
    j.wds(t + S(j.timeout_ms / 1000 + 1), [k for k in range(8) if k != v])
    j.rank_files(lambda k: f"rank-{k}.log")
    i.say(
        "identified",
        "bus error",
        "shared memory of one pod ran out",
        alt=["is killed by signal: Bus error"],
        rank=v,
        host=j.host(v),
        never=["Watchdog caught"],
    )


@kind
def device_side_assert(i):
    """Device-side assert on one rank; the other ranks' watchdogs and remote errors follow."""
    j = Job(i, nodes=2, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    dsa(j, t, v)
    for k in range(8):
        if k != v:
            j.remote_gone(t + S(3) + j.us(), k, j.host(v))
    j.table(t + S(7), j.node(v), v)
    i.put("job.log", j.single(lambda k, j: f"[{j.host(k)}]: "))
    i.say(
        "identified",
        "index out of bounds",
        "an index outside the embedding",
        alt=["device-side assert triggered"],
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["ncclRemoteError", "ChildFailedError"],
    )


@kind
def ib_error12(i):
    """InfiniBand completion error 12 on one HCA, watchdogs after."""
    j = Job(i, nodes=2)
    v = j.pick(8)
    t = j.steps(j.startup(), 12)
    p = f"{j.host(v)}:{j.pids[v]}:{j.pids[v] + 431} [{j.local(v)}]"
    hca = f"mlx5_{j.local(v)}"
    line = f"NCCL WARN NET/IB : Got completion from peer {j.ips[0]}<{i.r.randrange(40000, 60000)}> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid fe80::ba3f:d2ff:fe11:2233 remoteGids fe80::ba3f:d2ff:fe11:4455 hca {hca}"
    j.add(
        t,
        v,
        f"\n[{plain(t)}] {p} transport/net_ib.cc:2039 {line}\n{p} NCCL INFO transport/net.cc:1393 -> 6\n{p} NCCL INFO proxy.cc:723 -> 6\n{p} NCCL INFO proxy.cc:905 -> 6 [Progress Thread]",
    )
    j.wds(t + S(j.timeout_ms / 1000 + 1), [k for k in range(16) if k != v])
    j.table(t + S(j.timeout_ms / 1000 + 70), 1, v, code=-6)
    j.rank_files(lambda k: f"rank{k}.log")
    i.say(
        "identified",
        "status=12",
        "transport retry exceeded on one HCA; the rest waits",
        rank=v,
        host=j.host(v),
        never=["Watchdog caught", "ChildFailedError"],
    )


@kind
def disk_full_checkpoint(i):
    """Disk full while rank 0 saves; the others time out in the barrier."""
    j = Job(i, nodes=2, ppn=4)
    t = j.steps(j.startup(), 12)
    path = f"/ckpt/run{i.r.randrange(99)}/step_{j.step}/model_rank0.pt"
    line = f"OSError: [Errno 28] No space left on device: '{path}'"
    j.add(
        t,
        0,
        f"{comma(t)} INFO {j.script}:301 saving checkpoint at step {j.step}\n{comma(t + S(9))} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(0, j.frames((f"/workspace/{j.script}", 303, "save", "torch.save(state, path)")), line),
    )
    j.wds(t + S(9 + j.timeout_ms / 1000), range(1, 8), op="ALLREDUCE", nin=1)
    j.rank_files(lambda k: f"log_{k}.txt")
    i.say(
        "identified",
        "No space left on device",
        "rank 0 could not write, the barrier waited in vain",
        rank=0,
        host=j.hosts[0],
        never=["Watchdog caught"],
    )


@kind
def loss_nan(i):
    """Loss turns nan in the trainer's own lines; the run stops on its own check later."""
    j = Job(i, nodes=1, style=i.r.choice(["plain", "titan"]))
    t = j.steps(j.startup(), 14, ranks=[0])
    first = None
    for _s in range(5):
        j.step += 10
        x = j.step_line(t, 0)
        x = x.split("loss")[0] + (
            "loss nan lr 1.50e-04 801 ms/step"
            if j.style == "plain"
            else "loss:     nan  grad_norm:     nan  memory: 58.41GiB(73.84%)  tps: 6,101  tflops: 401.20  mfu: 40.57%"
        )
        first = first or (f"step {j.step} loss nan" if j.style == "plain" else f"step: {j.step:2d}  loss:     nan")
        j.add(t, 0, x)
        t += S(30)
    j.add(
        t,
        0,
        j.tb(
            0,
            j.frames((f"/workspace/{j.script}", 219, "train", "raise RuntimeError(msg)")),
            "RuntimeError: loss has been non-finite for 5 consecutive logs, aborting",
        ),
    )
    j.table(t + S(4), 0, 0)
    i.put("job.log", j.single())
    i.say(
        "identified",
        first,
        "the first nan line is the fault, the abort is its consequence",
        rank_checked=False,
        owner="workload",
        never=["ChildFailedError", "non-finite for 5 consecutive"],
    )


@kind
def ninja_build_failure(i):
    """Ninja/nvcc build failure inside an exception: the compiler's error decides, not 'Error building extension'."""
    j = Job(i, nodes=1, ppn=4)
    t = j.t0
    arch = i.r.choice(["compute_120", "compute_103"])
    line = f"nvcc fatal   : Unsupported gpu architecture '{arch}'"
    i.put(
        "train.log",
        [
            f"{comma(t)} INFO {j.script}:41 rank 0 of 1 starting on {j.hosts[0]}",
            "Using /root/.cache/torch_extensions/py312_cu124 as PyTorch extensions root...",
            "Detected CUDA files, patching ldflags",
            "Emitting ninja build file /root/.cache/torch_extensions/py312_cu124/fused_adam/build.ninja...",
            "Building extension module fused_adam...",
            "Allowing ninja to set a default number of workers... (overridable by setting the environment variable MAX_JOBS=N)",
            f"[1/3] /usr/local/cuda/bin/nvcc --generate-dependencies-with-compile -DTORCH_EXTENSION_NAME=fused_adam -gencode=arch={arch},code=sm_{arch[8:]} -c multi_tensor_adam.cu -o multi_tensor_adam.cuda.o ",
            "FAILED: multi_tensor_adam.cuda.o ",
            f"/usr/local/cuda/bin/nvcc --generate-dependencies-with-compile -DTORCH_EXTENSION_NAME=fused_adam -gencode=arch={arch},code=sm_{arch[8:]} -c multi_tensor_adam.cu -o multi_tensor_adam.cuda.o ",
            line,
            "ninja: build stopped: subcommand failed.",
            "Traceback (most recent call last):",
            '  File "/usr/local/lib/python3.12/dist-packages/torch/utils/cpp_extension.py", line 2209, in _run_ninja_build',
            "    subprocess.run(",
            "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
            "",
            "The above exception was the direct cause of the following exception:",
            "",
            "Traceback (most recent call last):",
            f'  File "/workspace/{j.script}", line 120, in main',
            "    opt = FusedAdam(params)",
            "RuntimeError: Error building extension 'fused_adam'",
        ],
    )
    i.say(
        ["identified", "classified"],
        "Unsupported gpu architecture",
        "nvcc names the cause; the exception and ninja only report",
        rank_checked=False,
        never=["ninja: build stopped", "CalledProcessError", "Error building extension"],
    )


@kind
def chain_direct_cause(i):
    """'The above exception was the direct cause': the first exception in time decides."""
    j = Job(i, nodes=1, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(), 10)
    key = i.r.choice(["doc_offsets", "image_grid_thw", "speaker_id"])
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(v, [("/workspace/data/collate.py", 40, "collate", f"x = row['{key}']")], f"KeyError: '{key}'")
        + f"\n[rank{v}]: \n[rank{v}]: The above exception was the direct cause of the following exception:\n[rank{v}]: \n"
        + j.tb(
            v,
            j.frames(("/workspace/data/collate.py", 43, "collate", "raise BatchError(...) from e")),
            "data.errors.BatchError: could not build batch 412",
        ),
    )
    j.closing(t + S(2), 0, v)
    j.table(t + S(5), 0, v)
    i.put("job.log", j.single())
    i.say(
        ANY_FOUND,
        f"KeyError: '{key}'",
        "the direct cause is the upper traceback",
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["could not build batch", "ChildFailedError"],
    )


@kind
def chain_during_handling(i):
    """'During handling of the above exception': OOM first, then the emergency save fails; the OOM decides."""
    j = Job(i, nodes=1, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(), 10)
    line = j.oom_line(v)
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 step failed, writing emergency checkpoint\n"
        + j.tb(v, [(f"/workspace/{j.script}", 207, "train", "loss = model(batch)")], line)
        + f"\n[rank{v}]: \n[rank{v}]: During handling of the above exception, another exception occurred:\n[rank{v}]: \n"
        + j.tb(
            v,
            j.frames((f"/workspace/{j.script}", 318, "emergency_save", "os.makedirs(path)")),
            "PermissionError: [Errno 13] Permission denied: '/emergency/ckpt'",
        ),
    )
    j.closing(t + S(2), 0, v)
    j.table(t + S(5), 0, v)
    i.put("job.log", j.single())
    i.say(
        "identified",
        line[:60],
        "the second exception happened while the first was handled",
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["PermissionError", "ChildFailedError"],
    )


@kind
def exception_group(i):
    """Exception group of a TaskGroup: first sub-exception in time, not the group line."""
    j = Job(i, nodes=1, ppn=1)
    t = j.t0
    k = i.r.choice(["shard_id", "lang", "bucket"])
    i.put(
        "prepare.log",
        [
            *[f"{comma(t + S(4 * s))} INFO prepare.py:31 wrote shard {s:04d}" for s in range(30)],
            f"{comma(t + S(121))} ERROR prepare.py:70 pipeline stopped",
            "  + Exception Group Traceback (most recent call last):",
            '  |   File "/workspace/prepare.py", line 88, in <module>',
            "  |     asyncio.run(main())",
            "  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)",
            "  +-+---------------- 1 ----------------",
            "    | Traceback (most recent call last):",
            '    |   File "/workspace/prepare.py", line 52, in encode',
            f"    |     out[row['{k}']].append(row)",
            f"    | KeyError: '{k}'",
            "    +---------------- 2 ----------------",
            "    | Traceback (most recent call last):",
            '    |   File "/workspace/prepare.py", line 61, in upload',
            "    |     await q.get()",
            "    | RuntimeError: producer went away before end of stream",
            "    +------------------------------------",
        ],
    )
    i.say(
        ANY_FOUND,
        f"KeyError: '{k}'",
        "the group only holds; its first member started it",
        rank_checked=False,
        owner="workload",
        never=["ExceptionGroup", "producer went away"],
    )


@kind
def two_independent(i):
    """Two independent faults: OOM on one node, 40 s later a Xid 79 on another; the earlier is initiating, the later is not lost."""
    j = Job(i, nodes=2, style="plain")
    v, x = i.r.randrange(1, 8), i.r.randrange(8, 16)
    t = j.steps(j.startup(), 12)
    line = j.oom(t, v)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(16) if k not in (v, x)])
    j.rank_files(lambda k: f"rank{k}.log")
    i.put(
        f"dmesg-{j.host(x)}.txt",
        [f"{dmesg_T(t + S(40))} NVRM: Xid (PCI:{j.pci(x)}): 79, pid={j.pids[x]}, name=python3, {XID79}"],
    )
    i.say(
        "identified",
        line[:60],
        "nothing ties the two; the first in time is initiating",
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["Watchdog caught", "Xid (PCI"],
        independent=["Xid (PCI"],
    )


# ================================================================ not a failure, or not known
@kind
def caught_assertion(i):
    """A user assertion caught and logged with its traceback at WARNING, training goes on to the end: healthy."""
    j = Job(i, nodes=1, style="plain")
    t = j.steps(j.startup(), 12)
    for s in range(3):
        j.add(
            t,
            3,
            f'{comma(t)} WARNING data/filter.py:88 dropping malformed sample {i.r.randrange(99999)}\nTraceback (most recent call last):\n  File "/workspace/data/filter.py", line 81, in check\n    assert len(ids) <= max_len, f"sample too long: {{len(ids)}}"\nAssertionError: sample too long: {8192 + s}',
        )
        t = j.steps(t, 10)
    j.done(t + S(5))
    i.put("train.log", j.single())
    i.say("healthy", None, "the traceback was handled, the job finished", never=["AssertionError"])


@kind
def log_just_stops(i):
    """The log just stops, cut in mid line after two logged steps: inconclusive."""
    j = Job(i, nodes=1)
    j.steps(j.startup(), 2)
    i.put("train.log", "\n".join(j.single())[:-23])
    i.say("inconclusive", None, "no fault and no proof of completion or of lasting progress", never=[])


@kind
def log_stops_at_load(i):
    """Per-rank files end during model load, before the first step, on every rank: inconclusive."""
    j = Job(i, nodes=1)
    t = j.startup()
    for n in range(i.r.randrange(4, 12)):
        for k in range(8):
            j.add(t + S(4 * n) + j.us(), k, f"{comma(t + S(4 * n))} INFO model/load.py:61 loaded shard {n + 1}/30")
    j.rank_files(lambda k: f"rank{k}.log")
    i.say("inconclusive", None, "all ranks stop alike in the load phase and nothing says why", never=[])


@kind
def healthy_noise(i):
    """Healthy run with the frightening noise of several programs (TF registration, NCCL plugin, IPv6 warnings, AER of an Ethernet card)."""
    j = Job(i, nodes=1, style=i.r.choice(["plain", "titan"]))
    t = j.t0
    ep = t.replace(tzinfo=UTC).timestamp()
    j.add(
        t,
        0,
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        + "\n".join(
            [
                f"E0000 00:00:{ep:.6f}  {j.pids[0]} cuda_dnn.cc:8579] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
                f"E0000 00:00:{ep:.6f}  {j.pids[0]} cuda_blas.cc:1407] Unable to register cuBLAS factory: Attempting to register factory for plugin cuBLAS when one has already been registered",
                "[W socket.cpp:752] [c10d] The IPv6 network addresses of (head-0, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
                "[W socket.cpp:697] [c10d] The client socket has failed to connect to [head-0]:29500 (errno: 111 - Connection refused).",
                "/usr/local/lib/python3.12/dist-packages/apex/normalization/fused_layer_norm.py:15: UserWarning: fused_layer_norm_cuda not found, falling back (ModuleNotFoundError: No module named 'fused_layer_norm_cuda')",
            ]
        ),
    )
    t = j.steps(j.startup(t + S(3)), 20)
    j.add(
        t,
        0,
        f"{comma(t)} WARNING fs.py:44 attempt 1/5 failed: ConnectionResetError: [Errno 104] Connection reset by peer; retrying in 2.0 s\n{comma(t + S(3))} INFO fs.py:49 upload succeeded on attempt 2",
    )
    t = j.steps(t, 20)
    j.done(t + S(3))
    j.add(
        t + S(9),
        0,
        f"[rank0]:{torch_stamp(t + S(9), 'W')} ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
    )
    i.put("train.log", j.single())
    i.put(
        "dmesg.txt",
        [
            f"{dmesg_T(j.t0 + S(70 * n))} alx 0000:07:00.0: AER: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)"
            for n in range(8)
        ],
    )
    i.say(
        "healthy",
        None,
        "all steps done, final checkpoint saved",
        never=["Unable to register", "Connection reset", "AER:", "destroy_process_group", "Connection refused"],
    )


@kind
def uncovered_library(i):
    """Invented library error on one rank, watchdogs elsewhere: unexplained with the right line and rank, never identified."""
    j = Job(i, nodes=2, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    line = f"quillfabric.errors.LatticeDesyncError: QF-{i.r.randrange(1000, 9999)}: lattice epoch {i.r.randrange(9, 99)} diverged from quorum tag 0x{i.r.randrange(16**6):06x}"
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(
            v,
            j.frames(
                (
                    "/usr/local/lib/python3.12/dist-packages/quillfabric/lattice.py",
                    611,
                    "advance",
                    "raise LatticeDesyncError(code, epoch, tag)",
                )
            ),
            line,
        ),
    )
    j.wds(t + S(j.timeout_ms / 1000 + 1), [k for k in range(8) if k != v])
    j.closing(t + S(2), j.node(v), v)
    j.table(t + S(5), j.node(v), v)
    j.rank_files(lambda k: f"rank{k}.log")
    i.say(
        "unexplained",
        line[:60],
        "nobody's knowledge base has this; place and time are still plain",
        rank=v,
        host=j.host(v),
        never=["Watchdog caught", "ChildFailedError"],
        covered=False,
    )


@kind
def uncovered_native_abort(i):
    """Invented native abort without any traceback on one rank of an interleaved file: unexplained, right line and rank."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    line = f"[{plain(t)}] FATAL zephyrkv[{j.pids[v]}]: slab {i.r.randrange(99)} guard word 0x{i.r.randrange(16**8):08x} overwritten, halting"
    j.add(t, v, line)
    j.closing(t + S(2), 0, v, code=-6)
    j.table(t + S(4), 0, v, code=-6)
    for k in range(8):
        if k != v:
            j.tcpstore(t + S(3) + j.us(), k)
    i.put("job.log", j.single(lambda k, j: f"{k}: ", lambda n, j: "0: "))
    i.say(
        "unexplained",
        "guard word",
        "an unknown program's last word before SIGABRT on that rank",
        rank=v,
        host=j.hosts[0],
        never=["ChildFailedError", "sendBytes failed", "exitcode  : -6"],
        covered=False,
    )


@kind
def two_process_groups(i):
    """Process groups: one rank never entered its tensor-parallel collective; its TP peers are behind in the default group too, yet only it is the suspect."""
    j = Job(i, nodes=1)
    g = i.r.randrange(2)
    a, b = list(range(4 * g, 4 * g + 4)), list(range(4 - 4 * g, 8 - 4 * g))
    v = i.r.choice([k for k in a if k])
    t = j.steps(j.startup(), 12)
    tw = t + S(j.timeout_ms / 1000 + 2)
    tp = j.seq * 3
    peers = [k for k in a if k != v]
    for k in peers:
        j.wd(
            tw + j.us(),
            k,
            seq=tp,
            op="_ALLGATHER_BASE",
            nin=8388608,
            nout=33554432,
            pg=f"{2 + g} PG GUID {5 + g}(tp_group)",
        )
    for k in b:
        j.wd(tw + S(4) + j.us(), k, seq=j.seq, op="ALLREDUCE", nin=1, enq=j.seq, comp=j.seq - 1)
    j.notified(tw + S(1.4), v, peers[0], j.seq - 1, j.seq - 1)
    j.table(tw + S(70), 0, peers[0], code=-6)
    i.put("job.log", j.single())
    i.say(
        SYMPTOM,
        None,
        "three TP peers wait for it in their own group and so never reach the global one; it alone waits nowhere",
        suspects=[v],
        never=["Watchdog caught", "ChildFailedError"],
    )


@kind
def seq1_preprocessing(i):
    """Watchdog at sequence number 1: one rank still tokenizes while the others sit in the first collective: symptom-only, busy rank is the suspect."""
    j = Job(i, nodes=1, style="plain", timeout_ms=600000)
    v = j.pick(0)
    t = j.startup(launcher=False)
    j.seq = 1
    for s in range(30):
        tt = t + S(s * 21)
        j.add(
            tt,
            v,
            f"{comma(tt)} INFO data/tokenize.py:55 Tokenizing train split: {s * 2}% ({s * 40000}/2000000 examples)",
        )
    j.wds(t + S(604), [k for k in range(8) if k != v], seq=1, op="BROADCAST", nin=80, comp=-1)
    j.rank_files(lambda k: f"rank{k}.log", launcher=None)
    i.say(
        SYMPTOM,
        None,
        "everyone waits in the first broadcast for the rank that preprocesses",
        suspects=[v],
        never=["Watchdog caught"],
    )


@kind
def megatron_nan_grad(i):
    """Megatron names rank, node and device inside the nan message itself; other ranks lose their peer."""
    j = Job(i, nodes=2, style="megatron")
    v = j.pick()
    t = j.steps(j.startup(), 12)
    line = f"RuntimeError: Rank {v}, node {j.host(v)}, device {j.local(v)}, iteration {j.step}: Unexpected result nan (message='found NaN in local grad norm for bucket #3 in backward pass before data-parallel communication collective')"
    j.add(
        t,
        v,
        j.tb(
            v,
            j.frames(
                (
                    "/workspace/megatron/core/rerun_state_machine.py",
                    531,
                    "validate_result",
                    "raise RuntimeError(full_message)",
                )
            ),
            line,
        ),
    )
    for k in range(16):
        if k != v:
            j.remote_gone(t + S(2) + j.us(), k, j.host(v))
    j.table(t + S(5), j.node(v), v)
    i.put("pretrain.log", j.single())
    i.say(
        "identified",
        "found NaN in local grad norm",
        "one rank's gradient turned nan before any collective",
        rank=v,
        host=j.host(v),
        never=["ncclRemoteError", "ChildFailedError"],
    )


@kind
def kube_evicted(i):
    """Pod evicted for node ephemeral-storage pressure; describe of that pod beside the others' logs."""
    j = Job(i, nodes=4, ppn=1)
    v = j.pick()
    name = f"sft-{i.r.randrange(100, 999)}-worker"
    t = j.steps(j.startup(nccl=False, launcher=False), 9, ranks=range(4))
    for k in range(4):
        if k != v:
            j.remote_gone(t + S(4) + j.us(), k, j.ips[v])
        i.put(f"{name}-{k}.log", j.of(k))
    i.put(
        f"{name}-{v}.describe.txt",
        [
            f"Name:             {name}-{v}",
            "Namespace:        training",
            f"Node:             {j.hosts[v]}/{j.ips[v]}",
            "Status:           Failed",
            "Reason:           Evicted",
            f"Message:          The node was low on resource: ephemeral-storage. Threshold quantity: 50Gi, available: {i.r.randrange(20, 49)}Gi. Container pytorch was using 612Gi, request is 0, has larger consumption of ephemeral-storage.",
            "Containers:",
            "  pytorch:",
            "    Environment:",
            f"      RANK:        {v}",
            "      WORLD_SIZE:  4",
            "Events:",
            "  Type     Reason    Age  From     Message",
            "  ----     ------    ---- ----     -------",
            "  Warning  Evicted   6m   kubelet  The node was low on resource: ephemeral-storage.",
            "  Normal   Killing   6m   kubelet  Stopping container pytorch",
        ],
    )
    i.say(
        "identified",
        "low on resource: ephemeral-storage",
        "the kubelet evicted the pod, its peers lost it",
        alt=["Reason:           Evicted"],
        rank=v,
        host=j.hosts[v],
        never=["ncclRemoteError", "Connection closed by remote peer"],
    )


@kind
def kube_crashloop_import(i):
    """CrashLoopBackOff: current log empty, --previous has the import error; back-off events are only the consequence."""
    j = Job(i, nodes=1, ppn=1)
    pod, mod = f"train-{i.r.randrange(999)}-0", i.r.choice(["flash_attn", "transformer_engine", "deepspeed"])
    t = j.t0
    i.put(
        f"{pod}.previous.log",
        [
            f"{comma(t)} INFO launch.sh: starting {j.script}",
            "Traceback (most recent call last):",
            f'  File "/workspace/{j.script}", line 7, in <module>',
            f"    import {mod}",
            f"ModuleNotFoundError: No module named '{mod}'",
        ],
    )
    i.put(f"{pod}.log", [f"{comma(t + S(160))} INFO launch.sh: starting {j.script}"])
    i.put(
        "events.txt",
        [
            "LAST SEEN   TYPE      REASON    OBJECT          MESSAGE",
            f'2m          Normal    Pulled    pod/{pod}   Container image "registry.local/llm/train:4.2" already present on machine',
            f"10s         Warning   BackOff   pod/{pod}   Back-off restarting failed container pytorch in pod {pod}_training(0b1c)",
        ],
    )
    i.say(
        ["identified", "classified"],
        f"No module named '{mod}'",
        "the import fails at every start",
        source=f"{pod}.previous.log",
        rank_checked=False,
        owner="workload",
        never=["Back-off restarting", "already present"],
    )


@kind
def spot_interruption(i):
    """Spot interruption notice of the node termination handler, then SIGTERM and peers' NCCL errors."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    n = 1
    t = j.steps(j.startup(), 14)
    t2 = t + S(125)
    j.steps(t, 4)
    g = j.agent_pid[n]
    j.add(
        t2,
        -1 - n,
        f"{glog(t2, 'W', g)} torch/distributed/elastic/agent/server/api.py:732] Received Signals.SIGTERM death signal, shutting down workers",
    )
    for k in range(4):
        j.remote_gone(t2 + S(6) + j.us(), k, j.hosts[1])
    j.table(t2 + S(9), 0, 0, code=1)
    for m in range(2):
        i.put(
            f"{j.hosts[m]}.log",
            [x for e in j.sorted() if (e[2] >= 0 and j.node(e[2]) == m) or e[2] == -1 - m for x in e[3].split("\n")],
        )
    iid = f"i-0{i.r.randrange(16**15):015x}"
    i.put(
        f"node-termination-handler-{j.hosts[n]}.log",
        [
            f"{t - S(3000):%Y/%m/%d %H:%M:%S} INF Started watching for interruption events",
            f'{t:%Y/%m/%d %H:%M:%S} INF Adding new event to the event store event={{"AutoScalingGroupName":"","Description":"Spot ITN received. Instance will be interrupted at {t + S(120):%Y-%m-%dT%H:%M:%SZ} \\n","InstanceID":"{iid}","Kind":"SPOT_ITN"}}',
            f"{t + S(1):%Y/%m/%d %H:%M:%S} INF Requesting instance drain event-id=spot-itn-{i.r.randrange(16**8):08x} instance-id={iid} kind=SPOT_ITN node-name={j.hosts[n]}",
        ],
    )
    i.say(
        ANY_FOUND,
        "Spot ITN received",
        "the cloud took the node away two minutes after the notice",
        alt=["kind=SPOT_ITN"],
        rank_checked=False,
        host=j.hosts[n],
        owner="platform",
        never=["ncclRemoteError", "ChildFailedError", "Received Signals.SIGTERM"],
    )


@kind
def healthy_hf_trainer(i):
    """HF Trainer and tqdm lines without any time, finishing with train_runtime; a caught connection retry in between: healthy."""
    j = Job(i, nodes=1, ppn=2, style="hf")
    t = j.steps(j.startup(launcher=False), 20)
    j.add(
        t,
        0,
        "'(MaxRetryError(\"HTTPSConnectionPool(host='hub.local', port=443): Max retries exceeded with url: /api\"), '(Request ID: 77ab)')' thrown while requesting HEAD https://hub.local/model/config.json\nRetrying in 1s [Retry 1/5].",
    )
    t = j.steps(t + S(1), 20)
    j.add(
        t,
        0,
        f"{{'train_runtime': 1203.44, 'train_samples_per_second': 53.1, 'train_steps_per_second': 0.83, 'train_loss': {j.loss:.4f}, 'epoch': 1.0}}\n100%|##########| 100000/100000 [20:03<00:00,  1.20it/s]",
    )
    i.put("finetune.log", j.single())
    i.say("healthy", None, "the trainer's own final summary is proof of completion", never=["MaxRetryError"])


@kind
def healthy_lightning(i):
    """Lightning: bar, a worker's warning, then `Trainer.fit` stopped: max_steps reached: healthy."""
    Job(i, nodes=1, ppn=2)
    n = i.r.randrange(30, 60)
    i.put(
        "lightning.log",
        [
            "GPU available: True (cuda), used: True",
            "TPU available: False, using: 0 TPU cores",
            "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2",
            "Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/2",
            "-" * 100,
            "distributed_backend=nccl",
            "All distributed processes registered. Starting with 2 processes",
            "-" * 100,
            "/usr/local/lib/python3.12/dist-packages/lightning/pytorch/trainer/connectors/data_connector.py:425: The 'train_dataloader' does not have many workers which may be a bottleneck. Consider increasing the value of the `num_workers` argument` to `num_workers=63` in the `DataLoader` to improve performance.",
            *[
                f"Epoch {s // 10}: {s % 10 * 10:3d}%|{'#' * (s % 10):10s}| {s % 10 * 50}/500 [00:{s % 60:02d}<00:41, 12.1it/s, v_num=3, train_loss={2.2 - s / 100:.3f}]"
                for s in range(n)
            ],
            "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f1122aabb00>",
            "Traceback (most recent call last):",
            '  File "/usr/local/lib/python3.12/dist-packages/torch/utils/data/dataloader.py", line 1604, in __del__',
            "    self._shutdown_workers()",
            "AssertionError: can only test a child process",
            f"Epoch {n // 10}: 100%|##########| 500/500 [00:41<00:00, 12.1it/s, v_num=3, train_loss=1.102]",
            f"`Trainer.fit` stopped: `max_steps={n * 50}` reached.",
        ],
    )
    i.say(
        "healthy",
        None,
        "exceptions ignored in a destructor do not end a run",
        never=["can only test a child process", "does not have many workers"],
    )


@kind
def bare_assert_sigkill_escalation(i):
    """Bare assert on one rank; torchrun's escalation to SIGKILL makes the others exit -9: those are its own kills, no OOM killer."""
    j = Job(i, nodes=1, ppn=8)
    v = j.pick(0)
    t = j.steps(j.startup(), 12)
    code = i.r.choice(
        ["assert labels.max() < vocab_size", "assert x.shape[0] == mask.shape[0]", "assert self.cursor <= self.end"]
    )
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(v, j.frames(("/workspace/data/check.py", 27, "validate", code)), "AssertionError"),
    )
    j.closing(t + S(1), 0, v)
    others = [k for k in range(8) if k != v]
    a = j.agent_pid[0]
    j.add(
        t + S(31),
        -1,
        "\n".join(
            f"{glog(t + S(31), 'W', a)} torch/distributed/elastic/multiprocessing/api.py:1030] Unable to shutdown process {j.pids[k]} via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL"
            for k in others[:4]
        ),
    )
    j.table(t + S(33), 0, v, others=[(k, -9) for k in others[:4]])
    i.put("job.log", j.single())
    i.say(
        ANY_FOUND,
        "AssertionError",
        "the -9 of the others is the agent's own escalation after this rank's assertion",
        alt=[code],
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["Signals.SIGKILL", "ChildFailedError", "exitcode  : -9"],
    )


@kind
def xid31_app_fault(i):
    """Xid 31 (application class) in the kernel log beside the rank's illegal memory access: the program's fault, the device is not condemned."""
    j = Job(i, nodes=2, ppn=8)
    v = j.pick(0)
    t = j.steps(j.startup(), 12)
    j.add(
        t + S(1),
        v,
        f"{comma(t + S(1))} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(
            v,
            j.frames(("/workspace/kernels/gather.py", 88, "forward", "out = _C.ragged_gather(x, idx)")),
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        ),
    )
    for k in range(16):
        if k != v:
            j.remote_gone(t + S(3) + j.us(), k, j.host(v))
    j.rank_files(lambda k: f"rank{k}.log")
    i.put(
        f"dmesg-{j.host(v)}.txt",
        [
            f"{dmesg_T(j.t0 - S(900))} nvidia-persistenced: registered",
            f"{dmesg_T(t)} NVRM: Xid (PCI:{j.pci(v)}): 31, pid={j.pids[v]}, name=python3, Ch 0000000e, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_{i.r.randrange(9)} faulted @ 0x7f{i.r.randrange(16**6):06x}_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        ],
    )
    i.say(
        "identified",
        f"Xid (PCI:{j.pci(v)}): 31",
        "kernel record and CUDA error are one event of the program on this rank",
        alt=["an illegal memory access was encountered"],
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["ncclRemoteError", "Connection closed by remote peer"],
    )


@kind
def faulthandler_fs_hang(i):
    """Faulthandler dumps of hung ranks in one file: one rank in os.stat of the data loader, the others in a barrier; no cause: symptom-only."""
    j = Job(i, nodes=1, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 10)
    for k in i.r.sample(range(8), 8):
        top = (
            [
                '  File "<frozen genericpath>", line 19 in exists',
                '  File "/workspace/data/index.py", line 47 in _mtime',
                '  File "/workspace/data/index.py", line 63 in refresh',
            ]
            if k == v
            else [
                '  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py", line 4635 in barrier',
                '  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/c10d_logger.py", line 83 in wrapper',
            ]
        )
        tt = t + S(900) + j.us()
        j.add(
            tt,
            k,
            f"{comma(tt)} WARNING {j.script}:150 no step for 900 s, dumping stacks\nTimeout (0:15:00)!\nThread 0x00007f{i.r.randrange(16**7):07x}640 (most recent call first):\n"
            + "\n".join(
                [
                    *top,
                    f'  File "/workspace/{j.script}", line 201 in train',
                    f'  File "/workspace/{j.script}", line 388 in <module>',
                ]
            ),
        )
    i.put("job.log", j.single(lambda k, j: f"[rank{k}]: "))
    i.say(
        [*SYMPTOM, "unexplained"],
        None,
        "one rank sits in a file-system call, the others wait for it",
        suspects=[v],
        never=[],
    )


@kind
def xid79_monotonic_unanchored(i):
    """Monotonic dmesg without boot time and without a pid of ours: the Xid 79 cannot be placed, so it is a suspect and never identified."""
    j = Job(i, nodes=1)
    v = j.pick(0)
    t = j.steps(j.startup(), 12)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(8) if k != v])
    j.rank_files(lambda k: f"rank{k}.log")
    up = i.r.randrange(300000, 900000) + 0.402911
    i.put(
        f"dmesg-{j.hosts[0]}.log",
        [
            f"[{up - 90000:12.6f}] docker0: port 1(veth12ab) entered forwarding state",
            f"[{up:12.6f}] NVRM: Xid (PCI:{j.pci(v)}): 79, pid='<unknown>', name=<unknown>, {XID79}",
            f"[{up:12.6f}] NVRM: GPU {j.pci(v)}.0: {XID79}",
        ],
    )
    i.say(
        SYMPTOM,
        None,
        "likely, but nothing in these files says that the Xid fell into the job's time",
        suspects=[v],
        never=["Watchdog caught"],
    )


@kind
def kube_logs_prefix(i):
    """kubectl logs -l --prefix: '[pod/NAME/CONTAINER] ' before every line of an interleaved dump, a sidecar's errors among them."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(nccl=False, launcher=False), 10)
    line = j.oom(t, v, tag=False)
    j.wds(t + S(j.timeout_ms / 1000 + 1), [k for k in range(4) if k != v])
    name = f"pt-{i.r.randrange(99)}-worker"
    out = j.single(lambda k, j: f"[pod/{name}-{k}/pytorch] ")
    for n in range(6):
        out.insert(
            20 + n * 3,
            f"[pod/{name}-{(v + 1) % 4}/log-shipper] [{plain(j.t0 + S(40 + n))}] [error] [output:es:es.0] failed to flush chunk, retry in 11 seconds",
        )
    i.put("pods.log", out)
    i.say(
        "identified",
        line[:60],
        "the pod in the prefix gives the rank, the log shipper is a neighbour in the pod",
        rank=v,
        host=j.hosts[v],
        owner="workload",
        never=["Watchdog caught", "failed to flush chunk"],
    )


@kind
def store_wait_timeout(i):
    """Rank 0 died of its own error before it could publish the NCCL id: ten minutes later all others print 'wait timeout after N ms'."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    t = j.startup(nccl=False, launcher=False)
    path = f"/workspace/configs/exp_{i.r.randrange(999):03d}.yaml"
    msg = f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'"
    d = t + S(603)
    for k in range(1, 8):
        dk = d + j.us()
        j.add(
            dk,
            k,
            f"{comma(dk)} ERROR {j.script}:355 unhandled exception\n"
            + j.tb(
                k,
                j.frames((f"/workspace/{j.script}", 120, "main", "dist.broadcast(seed, src=0)")),
                f"torch.distributed.DistBackendError: [{k}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0",
            ),
        )
    j.add(
        t,
        0,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(0, [(f"/workspace/{j.script}", 66, "load_config", "with open(path) as f:")], msg),
        order=d + S(30),
    )
    i.put("job.log", j.single())
    i.say(
        ANY_FOUND,
        msg[:50],
        "600,000 ms before the store timeouts rank 0 had gone; it prints last",
        rank=0,
        host=j.hosts[0],
        never=["wait timeout after", "is setting up NCCL communicator"],
    )


@kind
def store_barrier_missing(i):
    """Store-based barrier at init: one worker of N never joined and has no file here: symptom-only, the missing rank is the suspect."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(0)
    ks = [k for k in range(8) if k != v]
    t = j.startup(nccl=False, launcher=False, ranks=ks)
    for k in ks:
        d = t + S(1800) + j.us()
        j.add(
            d,
            k,
            f"{comma(d)} ERROR {j.script}:355 unhandled exception\n"
            + j.tb(
                k,
                j.frames((f"/workspace/{j.script}", 98, "main", 'dist.init_process_group("nccl")')),
                f"torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank {k}, for key: store_based_barrier_key:1 (world_size=8, num_workers_joined=7, timeout=0:30:00 error=wait timeout)",
            ),
        )
    j.rank_files(lambda k: f"{j.jobid}.{k}.log", ranks=ks, launcher=None)
    i.say(
        SYMPTOM,
        None,
        "seven of eight joined; the eighth has no log here",
        suspects=[v],
        never=["Timed out initializing"],
    )


# ---------------------------------------------------------------- command line
def build(name, seed):
    """One incident of a seed."""
    inc = Inc(name, seed)
    KINDS[name][0](inc)
    return inc


def main(argv=None):
    """Command line."""
    ap = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("out", nargs="?", type=Path, metavar="OUT_DIR")
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--kinds", help="comma-separated; default all")
    ap.add_argument("--list", action="store_true", help="print kinds and what each proves")
    a = ap.parse_args(argv)
    if a.list:
        for n, (_, p) in KINDS.items():
            print(f"{n}\t{p}")
        return 0
    if a.out is None:
        ap.error("OUT_DIR is needed")
    names = a.kinds.split(",") if a.kinds else list(KINDS)
    bad = [n for n in names if n not in KINDS]
    if bad:
        ap.error(f"unknown kinds: {', '.join(bad)}")
    for n in names:
        inc = build(n, a.seed)
        for path, data in inc.files.items():
            f = a.out / n / "logs" / path
            f.parent.mkdir(parents=True, exist_ok=True)
            f.write_bytes(data)
        (a.out / n / "truth.json").write_text(
            json.dumps(inc.truth, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
