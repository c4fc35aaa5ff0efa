"""Incidents whose difficulty is the form of the log: clocks, late flushes, bars, archives, colours, JSON, journals."""

from __future__ import annotations

import io
import json
import tarfile

from incident_kinds.base import ANY_FOUND, S, comma, kind, syslog
from incident_kinds.job import Job
from incident_kinds.unseen import GONE, died, per_host, survivors_gone
from incident_kinds.unseen_nodes import kern

FIT = ("/workspace/fit.py", 77, "fit", "self.step(batch)")


@kind
def local_times_without_zone(i):
    """Two hosts, one logs UTC and one local time, no zone printed; both log the same steps. The cause stands on the host that seems hours later."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    n = i.r.randrange(2)
    j.skew = {1 - n: -3600 * i.r.choice([4, 5, 7, 8])}
    v = n * 4 + i.r.randrange(4)
    t = j.steps(j.startup(launcher=False, nccl=False), 18, ranks=[0, 4])
    line = f"ValueError: expected token ids below {i.r.randrange(32000, 64000)}"
    died(j, t, v, line, FIT)
    for k in range((1 - n) * 4, (1 - n) * 4 + 4):
        died(j, t + S(5) + j.us(), k, GONE)
    per_host(i, j)
    i.say(ANY_FOUND, line[:30], "hours of zone, not of time: the shared steps give the difference", rank=v, host=j.hosts[n], never=["remote process exited"])  # fmt: skip


@kind
def traceback_after_the_table(i):
    """Nothing is dated: torchrun's table is printed first, and a buffered rank's traceback only after it."""
    j = Job(i, nodes=1, ppn=8, style="hf")
    v = j.pick(1)
    j.table(j.t0, 0, v)
    table = j.of(-1)
    line = f"KeyError: 'labels_{i.r.randrange(100)}'"
    out = [f"step {x} loss {2 - x / 99:.3f}" for x in range(i.r.randrange(10, 40))]
    i.put("run.log", [*out, *table, *j.tb(v, j.frames(FIT), line).split("\n")])
    i.say(ANY_FOUND, line, "printed last, happened first", rank=v, never=["ChildFailedError", "exitcode  :"])


@kind
def midnight_with_times_only(i):
    """Per-rank files stamped HH:MM:SS without a date; the fault is printed just before midnight, its consequences just after."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(1)
    sec = i.r.randrange(50, 60)
    line = f"RuntimeError: shape '[8, {i.r.randrange(100, 4000)}]' is invalid for input of size {i.r.randrange(9, 90) * 1000}"
    for k in range(4):
        out = [f"20:01:0{k} INFO {j.script}:41 initialized rank {k} of world size 4 on host {j.hosts[0]} (local_rank {k}, pid {j.pids[k]})"]  # fmt: skip
        out += [f"23:{10 + x}:0{k} INFO {j.script}:212 step {x * 10} loss {2 - x / 99:.4f}" for x in range(49)]
        out += [f"23:59:{sec} ERROR {j.script}:355 unhandled exception", *j.tb(k, j.frames(FIT), line, tag=False).split("\n")] if k == v else [f"00:00:{sec - 45:02d} ERROR {j.script}:355 unhandled exception", *j.tb(k, j.frames(FIT), GONE, tag=False).split("\n")]  # fmt: skip
        i.put(f"rank_{k}.log", out)
    i.say(ANY_FOUND, line[:16], "23:59 was before 00:00", rank=v, source=f"rank_{v}.log", never=["remote process exited"])  # fmt: skip


@kind
def bar_and_traceback_on_one_line(i):
    """A progress bar with carriage returns; the traceback's first line is glued to its last state, colours round the error's name."""
    j = Job(i, nodes=1, ppn=1)
    n = i.r.randrange(300, 900)
    bar = "".join(f"\r{x * 100 // 1000:3d}%|{'█' * (x // 100)}{' ' * (10 - x // 100)}| {x}/1000 [{x // 60:02d}:{x % 60:02d}<09:11,  1.00it/s, loss=2.{x % 90:02d}]" for x in range(0, n, 3))  # fmt: skip
    key = f"doc_{i.r.randrange(10**6)}"
    rest = ["Traceback (most recent call last):", '  File "\x1b[35m/workspace/fit.py\x1b[0m", line \x1b[35m77\x1b[0m, in \x1b[35mfit\x1b[0m', "    self.step(batch)", "    \x1b[31m~~~~~~~~~\x1b[0m\x1b[1;31m^^^^^^^\x1b[0m", f"\x1b[1;35mKeyError\x1b[0m: \x1b[35m'{key}'\x1b[0m"]  # fmt: skip
    i.put("fit.log", f"rank 0 of world size 1 on {j.hosts[0]}\n{bar}{rest[0]}\n" + "\n".join(rest[1:]) + "\n")
    i.say(ANY_FOUND, key, "Python 3.13 colours its tracebacks", rank_checked=False, never=["most recent call last"])


@kind
def tar_of_rotated_logs(i):
    """A tar.gz of two hosts' directories, each with a rotated and a live log: the OOM ends one rotated file, the live ones hold the watchdogs."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(launcher=False), 22, ranks=[0, 4])
    line = j.oom(t, v)
    cut = t + S(60)
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(8) if k != v])
    buf = io.BytesIO()
    with tarfile.open(fileobj=buf, mode="w:gz", compresslevel=1) as tar:
        for n in range(2):
            for name, old in (("train.log.1", True), ("train.log", False)):
                text = "\n".join(e[3] for e in j.sorted() if e[2] >= 0 and j.node(e[2]) == n and (e[4] < cut) is old) + "\n"  # fmt: skip
                info = tarfile.TarInfo(f"logs/{j.hosts[n]}/{name}")
                info.size = len(text.encode())
                tar.addfile(info, io.BytesIO(text.encode()))
    i.put("incident.tar.gz", buf.getvalue())
    i.say("identified", line[:60], "in the rotated file of its host", rank=v, host=j.host(v), never=["Watchdog caught"])


@kind
def ray_deduplicated_colours(i):
    """Ray Train with coloured (RayTrainWorker pid=, ip=) prefixes and '[repeated Nx across cluster]': one worker's error among folded consequences."""
    j = Job(i, nodes=2, ppn=4)
    v = j.pick(1)

    def pre(k):
        return f"\x1b[36m(RayTrainWorker pid={j.pids[k]}, ip={j.ips[j.node(k)]})\x1b[0m "

    out = [f"\x1b[36m(TrainController pid={j.agent_pid[0]})\x1b[0m Started worker group of size 8: "]
    out += [f"\x1b[36m(TrainController pid={j.agent_pid[0]})\x1b[0m - (ip={j.ips[j.node(k)]}, pid={j.pids[k]}) world_rank={k}, local_rank={j.local(k)}, node_rank={j.node(k)}" for k in range(8)]  # fmt: skip
    for s in range(i.r.randrange(8, 30)):
        out += [f"{pre(0)}step {s * 10} loss {2 - s / 50:.3f}", f"{pre(3)}step {s * 10} loss {2 - s / 50:.3f}\x1b[32m [repeated 7x across cluster]\x1b[0m"]  # fmt: skip
    line = f"ZeroDivisionError: float division by zero in bucket {i.r.randrange(90)}"
    out += [pre(v) + x for x in j.tb(v, j.frames(FIT), line, tag=False).split("\n")]
    w = (v + 4) % 8
    out += [pre(w) + x for x in j.tb(w, j.frames(FIT), GONE, tag=False).split("\n")]
    out[-1] += "\x1b[32m [repeated 7x across cluster]\x1b[0m"
    i.put("ray-driver.log", out)
    i.say(ANY_FOUND, "ZeroDivisionError", "one worker's own error; the folded line stands for seven others", rank=v, never=["remote process exited"])  # fmt: skip


@kind
def two_faults_disk_then_memory(i):
    """A full disk ends rank 0 on one host; twenty seconds later, unrelated, a contained ECC error ends a rank on the other: two faults, the first decides."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(4)
    t = j.steps(j.startup(launcher=False), 12, ranks=[0, 4])
    line = f"OSError: [Errno 28] No space left on device: '/scratch/run/step_{j.step}.pt'"
    died(j, t, 0, line, ("/workspace/ckpt.py", 40, "save", "f.write(buf)"))
    at = t + S(20)
    i.put(f"kern-{j.hosts[1]}.log", kern(j, 1, [(at, f"NVRM: Xid (PCI:{j.pci(v)}): 94, pid={j.pids[v]}, name=python3, Contained: SM (0x1). RST: No, D-RST: No")]))  # fmt: skip
    died(j, at + S(1), v, "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered", FIT)
    survivors_gone(j, t + S(40), [1, 2], j.hosts[1])
    per_host(i, j)
    i.say(ANY_FOUND, "No space left on device", "the disk first; the memory must not be lost", rank=0, host=j.hosts[0], never=["ncclRemoteError"], independent=["Contained: SM"])  # fmt: skip


@kind
def healthy_full_of_error_words(i):
    """A finished run whose metrics, options and library notes are full of error, failed, nan, timeout, killed and abort."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    t = j.startup(launcher=False)
    words = ["eval/word_error_rate=0.0{n} failed_decodes=0 num_nan_grads=0 killed_workers=0", "config: abort_on_nan=True, error_policy='raise', nccl_timeout_s=1800, on_oom='skip'", "UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.", "heartbeat: 0 ranks timed out, 0 errors, 0 aborted collectives", "retry policy: max_failures=3 (0 used); last failure: None"]  # fmt: skip
    for _ in range(i.r.randrange(8, 20)):
        t = j.steps(t, 2, ranks=[0])
        j.add(t, 0, f"{comma(t)} INFO {j.script}:290 {i.r.choice(words).format(n=i.r.randrange(9))}")
    t = j.steps(t, 3, ranks=[0])
    j.done(t)
    i.put("train.log", j.single())
    i.say("healthy", None, "words are no errors")


@kind
def loguru_serialized_traceback(i):
    """loguru with serialize=True: every record one JSON object, the whole traceback inside a string; the rank stands in `extra`."""
    j = Job(i, nodes=1, ppn=8)
    v = j.pick(1)

    def record(k, t, level, text, exc=None):
        full = f"{comma(t).replace(',', '.')} | {level:8} | __main__:train:212 - {text}\n"
        return json.dumps({"text": full + (exc or ""), "record": {"elapsed": {"seconds": 40}, "exception": {"type": "KeyError", "value": "", "traceback": True} if exc else None, "extra": {"rank": k, "host": j.hosts[0]}, "function": "train", "level": {"name": level, "no": 40 if exc else 20}, "line": 212, "message": text, "time": {"repr": f"{t:%Y-%m-%d %H:%M:%S}+00:00"}}})  # fmt: skip

    t = j.t0
    out = [record(k, t, "INFO", f"rank {k} of 8 ready") for k in range(8)]
    out += [record(0, t + S(30 * s), "INFO", f"step {s * 10} loss {2 - s / 90:.4f}") for s in range(1, i.r.randrange(9, 30))]  # fmt: skip
    key = f"meta_{i.r.randrange(1000)}"
    e = t + S(1000)
    out.append(record(v, e, "ERROR", "training failed", j.tb(v, j.frames(FIT), f"KeyError: '{key}'", tag=False) + "\n"))
    out += [record(k, e + S(3), "ERROR", "training failed", j.tb(k, j.frames(FIT), GONE, tag=False) + "\n") for k in range(8) if k != v]  # fmt: skip
    i.put("train.jsonlog", out)
    i.say(ANY_FOUND, key, "inside a JSON string stands the first error", rank=v, never=["remote process exited"])


@kind
def journal_holds_job_and_kernel(i):
    """journalctl of one host: the job runs as a unit, its lines carry 'host torchrun[pid]:', the kernel's OOM kill of our rank stands between them."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(nccl=False), 12, ranks=[0])
    h = j.hosts[0]
    j.closing(t + S(2), 0, v, code=-9)
    j.table(t + S(33), 0, v, code=-9)
    kill = f"Out of memory: Killed process {j.pids[v]} (python3) total-vm:412331232kB, anon-rss:130112344kB, file-rss:81220kB, shmem-rss:0kB, UID:1041 pgtables:266004kB oom_score_adj:0"
    rows = [(e[4], f"{syslog(e[4])} {h} torchrun[{j.agent_pid[0]}]: {x}") for e in j.sorted() for x in e[3].split("\n")]
    rows += [(t + S(1), f"{syslog(t + S(1))} {h} kernel: {x}") for x in ("python3 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|__GFP_COMP|__GFP_ZERO), order=0, oom_score_adj=0", kill)]  # fmt: skip
    i.put(f"journal-{h}.txt", [x for _, x in sorted(rows, key=lambda r: r[0])])
    i.say("identified", "Out of memory: Killed process", "the kernel killed our rank's pid", rank=v, host=h, alt=["python3 invoked oom-killer"], never=["closing signal SIGTERM", "exitcode  :"])  # fmt: skip


@kind
def compose_prefix_of_services(i):
    """docker compose logs: 'trainer-N  | ' before every line of four services and a database; one trainer raises, the database only complains."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False, nccl=False), 10, ranks=range(4))
    line = f"PermissionError: [Errno 13] Permission denied: '/data/shard_{i.r.randrange(1000)}.bin'"
    died(j, t, v, line, FIT)
    survivors_gone(j, t + S(4), [k for k in range(4) if k != v], j.host(v))
    out = j.single(lambda k, _: f"trainer-{k}   | ")
    out[1:1] = [f"postgres-1  | {j.t0 + S(2):%Y-%m-%d %H:%M:%S}.101 UTC [61] {x}" for x in ("FATAL:  password authentication failed for user \"mlflow\"", "ERROR:  relation \"runs\" does not exist at character 15")]  # fmt: skip
    i.put("compose.log", out)
    i.say(ANY_FOUND, "PermissionError: [Errno 13]", "one trainer may not read its shard", rank=v, never=["password authentication failed", "does not exist at character", "ncclRemoteError"])  # fmt: skip
