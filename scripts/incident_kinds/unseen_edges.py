"""Incidents at the edges: copies that hurt the text, faults that heal, events just outside the job, clocks that jump."""

from __future__ import annotations

import gzip
from datetime import UTC

from incident_kinds.base import ANY_FOUND, SYMPTOM, XID79, S, comma, glog, kind, plain, syslog
from incident_kinds.job import Job
from incident_kinds.unseen import GONE, QUIET, died, per_host, per_rank, survivors_gone
from incident_kinds.unseen_nodes import kern

FIT = ("/workspace/fit.py", 77, "fit", "self.step(batch)")


@kind
def xla_stuck_warning_then_unstuck(i):
    """JAX on GPUs: XLA warns at ERROR level that threads wait for a rendezvous and may be stuck, then says it was a false positive; the run finishes."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    t = j.steps(j.startup(launcher=False, nccl=False), 6, ranks=[0])
    for k in range(8):
        pre = f"E{t:%m%d %H:%M:%S}.512011 {j.pids[k]:7d} rendezvous.cc"
        late = f"E{t + S(14):%m%d %H:%M:%S}.812011 {j.pids[k]:7d} rendezvous.cc"
        j.add(t, k, f"{pre}:100] This thread has been waiting for `acquire clique for rank {k}; clique=devices=[0,1,2,3,4,5,6,7]; stream=0; run_id={i.r.randrange(1 << 31)}` for 10 seconds and may be stuck. Expected 8 threads to join the rendezvous, but not all of them arrived on time.")  # fmt: skip
        j.add(t + S(14), k, f"{late}:116] Thread is unstuck! Warning above was a false-positive. Perhaps the timeout is too short.")  # fmt: skip
    t = j.steps(t + S(20), 14 + i.r.randrange(9), ranks=[0])
    j.done(t)
    i.put("train.log", j.single())
    i.say("healthy", None, "it says itself that the warning was wrong", never=["may be stuck"])


@kind
def rerun_in_the_same_file_finishes(i):
    """nohup with >>: the first run dies of a CUDA OOM, the user starts again with a smaller batch and that run finishes, all in one file."""
    j = Job(i, nodes=1, ppn=1, style="plain")
    t = j.steps(j.startup(launcher=False, nccl=False), 5)
    j.oom(t, 0, tag=False)
    t = j.steps(j.startup(t + S(i.r.randrange(300, 4000)), launcher=False, nccl=False), 20 + i.r.randrange(9))
    j.done(t)
    i.put("nohup.out", j.single())
    i.say("healthy", None, "what counts is the run that ended last", never=["CUDA out of memory"])


@kind
def utf16_copy_with_crlf(i):
    """A log saved by PowerShell: UTF-16 with a byte order mark and CRLF; one rank's CUDA OOM in it."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(), 10, ranks=[0])
    line = j.oom(t, v)
    j.closing(t + S(3), 0, v)
    j.table(t + S(9), 0, v)
    text = j.single()
    i.put("train.log", text)
    i.say("identified", line[:60], "only the encoding differs", rank=v, host=j.hosts[0])
    i.put("train.log", b"\xff\xfe" + "".join(x + "\r\n" for x in text).encode("utf-16-le"))


@kind
def damaged_gzip_beside_the_culprit(i):
    """Per-rank files gzipped, two of them cut off in the middle of the stream; the culprit's is whole."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v, a, b = i.r.sample(range(8), 3)
    t = j.steps(j.startup(launcher=False), 12, ranks=range(8))
    line = j.oom(t, v)
    survivors_gone(j, t + S(5), [k for k in range(8) if k != v], j.hosts[0])
    per_rank(i, j)
    i.say("identified", line[:60], "what can be read is enough", rank=v, source=f"rank_{v}.log.gz", never=["ncclRemoteError", "remote process exited"])  # fmt: skip
    for k in range(8):
        data = gzip.compress(i.files.pop(f"rank_{k}.log"), mtime=0)
        i.put(f"rank_{k}.log.gz", data[: len(data) * 2 // 3] if k in (a, b) else data)


@kind
def every_line_twice_out_of_order(i):
    """A log shipper delivered every line twice and some seconds late: the user's error, its copies and the consequences are mixed."""
    j = Job(i, nodes=2, ppn=2, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False, nccl=False), 10, ranks=[0])
    line = f"OverflowError: int too large to convert to float: sample {i.r.randrange(10**6)}"
    died(j, t, v, line, FIT)
    for k in range(4):
        if k != v:
            died(j, t + S(2) + j.us(), k, GONE)
    rows = [(e[4] + S(3 * copy + i.r.random() * 2), n, f"{e[4]:%Y-%m-%dT%H:%M:%S}.{e[4].microsecond // 1000:03d}Z {j.host(e[2])} {e[3]}") for copy in (0, 1) for n, e in enumerate(j.sorted())]  # fmt: skip
    i.put("shipped.log", [x for r in sorted(rows) for x in r[2].split("\n")])
    i.say(ANY_FOUND, "OverflowError", "the stamps in the lines count, not their place", rank=v, never=["remote process exited"])  # fmt: skip


@kind
def wrapped_at_eighty_columns(i):
    """A terminal's copy: every line broken hard at eighty columns, long messages in pieces."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(nccl=False), 8, ranks=[0])
    j.oom(t, v)
    j.closing(t + S(3), 0, v)
    text = j.single()
    i.put("copy.txt", [x[n : n + 80] for x in text for n in range(0, max(len(x), 1), 80)])
    i.say(ANY_FOUND, "OutOfMemoryError: CUDA out of memory", "the first piece still says it", rank=v)


@kind
def hosts_and_addresses_redacted(i):
    """A log made anonymous before it was sent: hosts are [HOST], addresses [IP], paths cut; the rank and the fault are still there."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 10, ranks=[0])
    died(j, t, v, f"RuntimeError: CUDA error: device-side assert triggered\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\nstep {j.step}", FIT)  # fmt: skip
    survivors_gone(j, t + S(5), [k for k in range(8) if k != v][:5], j.host(v))
    text = "\n".join(j.single())
    for h, ip in zip(j.hosts, j.ips, strict=True):
        text = text.replace(h, "[HOST]").replace(ip, "[IP]")
    i.put("redacted.log", text.replace("/workspace/", "[PATH]/").split("\n"))
    i.say(ANY_FOUND, "device-side assert triggered", "no host to name", rank=v, never=["ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def epoch_seconds_only(i):
    """Two hosts' logs piped through `ts %.s`: seconds since 1970 before every line and nothing else; the consequence's file sorts first by name."""
    j = Job(i, nodes=2, ppn=1, style="hf")
    v = i.r.randrange(2)
    t = j.t0
    line = f"AttributeError: 'NoneType' object has no attribute 'input_ids_{i.r.randrange(90)}'"
    names = ["a.log", "b.log"]
    for k in range(2):
        e = t + S(400 + (0 if k == v else 7))
        rows = [(t, f"rank {k} of 2 on {j.hosts[k]}"), *[(t + S(20 * s), f"step {s} loss {2 - s / 90:.3f}") for s in range(1, 20)], *[(e, x) for x in j.tb(k, j.frames(FIT), line if k == v else GONE, tag=False).split("\n")]]  # fmt: skip
        i.put(names[0 if k != v else 1], [f"{at.replace(tzinfo=UTC).timestamp():.6f} {x}" for at, x in rows])
    i.say(ANY_FOUND, "AttributeError: 'NoneType'", "seven seconds earlier, in the second file", rank=v, source="b.log", never=["remote process exited"])  # fmt: skip


@kind
def oom_caught_and_batch_halved(i):
    """auto_find_batch_size: the trainer catches CUDA OOMs twice, prints their tracebacks, halves the batch and trains to the end."""
    j = Job(i, nodes=1, ppn=1, style="plain")
    t = j.startup(launcher=False, nccl=False)
    for b in (16, 8):
        j.add(t, 0, f"{comma(t)} WARNING batch.py:51 out of memory with batch size {b}, decreasing batch size to {b // 2}\n" + j.tb(0, j.frames(FIT), j.oom_line(0), tag=False))  # fmt: skip
        t += S(25)
    t = j.steps(t, 25 + i.r.randrange(9))
    j.done(t)
    i.put("train.log", j.single())
    i.say("healthy", None, "caught, smaller batch, finished", never=["CUDA out of memory", "out of memory with batch size"])  # fmt: skip


@kind
def somebody_pressed_ctrl_c(i):
    """A healthy run on a terminal: ^C, torchrun's SIGINT warning, KeyboardInterrupt tracebacks of every rank, exit codes at the end."""
    j = Job(i, nodes=1, ppn=8, style="megatron")
    t = j.steps(j.startup(), 16)
    g = glog(t, "W", j.agent_pid[0])
    j.add(t, -1, f"^C{g} torch/distributed/elastic/agent/server/api.py:723] Received Signals.SIGINT death signal, shutting down workers\n" + "\n".join(f"{g} torch/distributed/elastic/multiprocessing/api.py:1010] Sending process {p} closing signal SIGINT" for p in j.pids))  # fmt: skip
    for k in range(8):
        j.add(t + j.us(), k, j.tb(k, j.frames(FIT), "KeyboardInterrupt"))
    i.put("pretrain.log", j.single())
    i.say([*ANY_FOUND, "symptom-only"], "Received Signals.SIGINT", "a person ended it", rank_checked=False, never=["Sending process"])  # fmt: skip


@kind
def sidecar_oomkilled_training_goes_on(i):
    """kubectl describe of our pod: the log shipper beside the trainer was OOMKilled three times; the trainer's container runs and makes progress."""
    j = Job(i, nodes=1, ppn=1, style="plain")
    j.steps(j.startup(launcher=False, nccl=False), 25)
    i.put("sft-0-trainer.log", j.of(0))
    i.put("describe-sft-0.txt", ["Name:             sft-0", "Namespace:        ml", f"Node:             {j.hosts[0]}/10.0.4.11", "Status:           Running", "Containers:", "  fluent-bit:", "    State:          Running", f"      Started:      {j.t0:%a, %d %b %Y %H:%M:%S} +0000", "    Last State:     Terminated", "      Reason:       OOMKilled", "      Exit Code:    137", "    Ready:          True", f"    Restart Count:  {i.r.randrange(2, 9)}", "  trainer:", "    State:          Running", f"      Started:      {j.t0:%a, %d %b %Y %H:%M:%S} +0000", "    Ready:          True", "    Restart Count:  0"])  # fmt: skip
    i.say(QUIET, None, "another container of the pod, and it runs again", never=["OOMKilled", "Exit Code:    137"])


@kind
def filesystem_remounted_read_only(i):
    """The kernel aborts the journal of the scratch disk and remounts it read-only; two minutes later the checkpoint cannot be written."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    n = i.r.randrange(2)
    v = n * 4
    t = j.steps(j.startup(launcher=False), 12, ranks=[0])
    dev = i.r.choice(["nvme1n1p1", "sdb1", "dm-3"])
    rows = [(t, f"EXT4-fs error (device {dev}): ext4_journal_check_start:87: comm python3: Detected aborted journal"), (t, f"EXT4-fs ({dev}): Remounting filesystem read-only")]  # fmt: skip
    i.put(f"kern-{j.hosts[n]}.log", kern(j, n, rows))
    e = t + S(120)
    died(j, e, v, f"OSError: [Errno 30] Read-only file system: '/scratch/ckpt/step_{j.step}.tmp'", ("/workspace/ckpt.py", 40, "save", "f = open(path, 'wb')"))  # fmt: skip
    survivors_gone(j, e + S(6), [k for k in range(8) if k // 4 != n], j.hosts[n])
    per_host(i, j)
    i.say(ANY_FOUND, "EXT4-fs", "the disk's journal failed first", rank_checked=False, host=j.hosts[n], alt=["Remounting filesystem read-only", "Read-only file system"], never=["ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def soft_lockup_silences_a_host(i):
    """One host's kernel reports soft lockups of our processes again and again; its ranks print nothing more, the other host's watchdogs fire."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    n = i.r.randrange(2)
    t = j.steps(j.startup(launcher=False), 12, ranks=[0, 8])
    k = n * 8 + i.r.randrange(8)
    rows = [(t + S(22 + 28 * x), f"watchdog: BUG: soft lockup - CPU#{i.r.randrange(128)} stuck for {22 + 26 * x}s! [python3:{j.pids[k]}]") for x in range(i.r.randrange(3, 12))]  # fmt: skip
    i.put(f"kern-{j.hosts[n]}.log", kern(j, n, rows))
    j.wds(t + S(j.timeout_ms / 1000), [x for x in range(16) if x // 8 != n])
    per_host(i, j)
    i.say(ANY_FOUND, "soft lockup", "the kernel of that host stood still", rank_checked=False, host=j.hosts[n], never=["Watchdog caught"])  # fmt: skip


@kind
def clock_stepped_back(i):
    """chronyd steps one host's clock back by minutes in mid run; its ranks' fault then carries an earlier stamp than steps it printed before."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    n = i.r.randrange(2)
    v = n * 4 + i.r.randrange(4)
    back = i.r.randrange(200, 900)
    t = j.steps(j.startup(launcher=False, nccl=False), 10, ranks=[0, 4])
    j.skew = {n: -back}
    i.put(f"messages-{j.hosts[n]}.log", [f"{syslog(t)} {j.hosts[n]} chronyd[901]: System clock wrong by -{back}.283303 seconds", f"{syslog(t - S(back))} {j.hosts[n]} chronyd[901]: System clock was stepped by -{back}.283303 seconds"])  # fmt: skip
    t = j.steps(t, 6, ranks=[0, 4])
    line = f"ValueError: sequence {i.r.randrange(10**6)} is empty"
    died(j, t, v, line, FIT)
    survivors_gone(j, t + S(5), [k for k in range(8) if k // 4 != n], j.hosts[n])
    per_host(i, j)
    i.say(ANY_FOUND, line[:20], "after the jump that host is minutes behind; it still comes first and was never recovered", rank=v, host=j.hosts[n], never=["ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def mpi_abort_without_a_reason(i):
    """Open MPI: 'MPI_ABORT was invoked on rank N' and nothing else of that rank; who called it and why is not in the log."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(0)
    j.steps(j.startup(launcher=False, nccl=False), 14, ranks=[0])
    out = j.single(lambda k, _: f"[1,{k}]<stdout>:")
    out += ["-" * 74, f"MPI_ABORT was invoked on rank {v} in communicator MPI_COMM_WORLD", "with errorcode 1.", "", "NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.", "You may or may not see output from other processes, depending on", "exactly when Open MPI kills them.", "-" * 74]  # fmt: skip
    i.put("mpi.log", out)
    i.say(
        [*SYMPTOM, "unexplained"], None, "a wrapper's word; rank N is where to look", never=["NOTE: invoking MPI_ABORT"]
    )


@kind
def xid_after_the_job_ended(i):
    """The kernel log goes on after the job died of its own error; forty minutes later a GPU falls off the bus: outside the job's window."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 12, ranks=[0])
    line = f"AssertionError: {i.r.randrange(3, 90)} labels for {i.r.randrange(100, 900)} tokens"
    died(j, t, v, line, FIT)
    i.put("train.log", j.single())
    late = t + S(i.r.randrange(2000, 9000))
    i.put(f"kern-{j.hosts[0]}.log", kern(j, 0, [(late, f"NVRM: Xid (PCI:{j.pci(v)}): 79, pid='<unknown>', name=<unknown>, {XID79}")]))  # fmt: skip
    i.say(ANY_FOUND, line[:18], "the job was dead by then", rank=v, host=j.hosts[0], never=[XID79])


@kind
def every_rank_raises_the_same(i):
    """A wrong option: all sixteen ranks raise the same error within a second at start, torchrun's two tables name two of them."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    t = j.startup(nccl=False)
    opt = i.r.choice(["hidden_size", "n_kv_heads", "rope_theta"])
    for k in range(16):
        died(j, t + j.us(), k, f"KeyError: '{opt}'", ("/workspace/model/config.py", 31, "build", f"cfg['{opt}']"), head=False)  # fmt: skip
    for n in range(2):
        w = n * 8 + i.r.randrange(8)
        j.closing(t + S(3), n, w)
        j.table(t + S(6), n, w)
    per_rank(i, j, "rank{:02d}.err")
    for n in range(2):
        i.put(f"torchrun-{j.hosts[n]}.log", j.of(-1 - n))
    i.say(ANY_FOUND, f"KeyError: '{opt}'", "the same option is missing everywhere", rank_checked=False)


@kind
def error_printed_in_another_job_of_the_folder(i):
    """A folder with two jobs' logs: yesterday's died of an OOM, today's of a KeyError; the last one that failed decides, the older is independent."""
    j = Job(i, nodes=1, ppn=1, style="plain")
    t = j.steps(j.startup(launcher=False, nccl=False), 8)
    j.oom(t, 0, tag=False)
    i.put(f"run-{j.t0:%Y%m%d}.log", j.of(0))
    k = Job(i, nodes=1, ppn=1, style="plain", t0=t + S(86400))
    k.hosts, k.script = j.hosts, j.script
    t = k.steps(k.startup(launcher=False, nccl=False), 8)
    line = f"KeyError: 'source_{i.r.randrange(99)}'"
    died(k, t, 0, line, FIT, tag=False)
    i.put(f"run-{k.t0:%Y%m%d}.log", k.of(0))
    i.put("README.txt", [f"runs of the sweep, newest last ({plain(k.t0)})"])
    i.say(ANY_FOUND, line, "a day lies between", rank_checked=False, source=f"run-{k.t0:%Y%m%d}.log", never=["CUDA out of memory"])  # fmt: skip
