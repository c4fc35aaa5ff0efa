"""A distributed job as long as all goes well: places, pids, clocks, steps."""

from __future__ import annotations

from datetime import datetime, timedelta

from incident_kinds.base import BUS, S, comma, glog, plain


class Life:
    """A distributed job: places, pids, clocks, and what its programs print while they live."""

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
