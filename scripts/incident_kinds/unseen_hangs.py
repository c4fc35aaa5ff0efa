"""Incidents in which ranks wait: slow loaders, gloo peers, monitored barriers, tails of logs, pods that were taken away."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, SYMPTOM, S, comma, kind
from incident_kinds.job import Job
from incident_kinds.unseen import SILENT, died, per_host, per_rank, survivors_gone

DIST = "/usr/local/lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py"


@kind
def one_rank_waits_for_its_data(i):
    """One rank keeps saying that it waits for a batch while the others sit in the all-reduce until their watchdogs fire; it never entered."""
    j = Job(i, nodes=2, ppn=8, style="megatron")
    v = j.pick(0, 15)
    t = j.steps(j.startup(launcher=False), 12)
    for x in range(1, int(j.timeout_ms / 120000)):
        j.add(t + S(120 * x), v, f"{comma(t + S(120 * x))} WARNING loader.py:144 rank {v}: no batch for {120 * x} s, still waiting for worker 3")  # fmt: skip
    e = t + S(j.timeout_ms / 1000)
    j.wds(e, [k for k in range(16) if k != v], term=False)
    j.notified(e + S(2), v, 0 if v else 1, j.seq - 1, j.seq - 1)
    per_host(i, j)
    i.say(SILENT, None, "it says itself that it waits; why its worker is slow is not in the logs", suspects=[v], never=["Watchdog caught", "Observed flight recorder"])  # fmt: skip


@kind
def gloo_peers_of_a_segfault(i):
    """CPU job over gloo: one rank's faulthandler prints a segmentation fault inside a tokenizer, all others 'Connection closed by peer'."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False, nccl=False), 12, ranks=[0])
    j.add(t, v, f'Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f{i.r.randrange(1 << 40):010x} (most recent call first):\n  File "/workspace/data/tok.py", line 44 in encode\n  File "/workspace/data/pack.py", line 91 in __iter__\n  File "/workspace/{j.script}", line 199 in train\n  File "/workspace/{j.script}", line 388 in <module>\n\nExtension modules: numpy._core._multiarray_umath, torch._C (total: 44)')  # fmt: skip
    for k in range(8):
        if k != v:
            died(j, t + S(1) + j.us(), k, f"RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [{j.ips[0]}]:{i.r.randrange(20000, 60000)}", (DIST, 2806, "all_reduce", "work.wait()"), tag=False)  # fmt: skip
    per_rank(i, j, "worker-{}.log")
    i.say(ANY_FOUND, "Fatal Python error: Segmentation fault", "native code of one rank crashed", rank=v, source=f"worker-{v}.log", never=["Connection closed by peer"])  # fmt: skip


@kind
def srun_task_killed_no_evidence(i):
    """srun reports one task 'Killed' and terminates the step; no oom_kill line, no kernel log: the killer is unknown."""
    j = Job(i, nodes=2, ppn=8, style="megatron")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 14)
    out = j.single(lambda k, _: f"{k:2d}: ")
    out += [f"srun: error: {j.host(v)}: task {v}: Killed", f"srun: Terminating StepId={j.jobid}.0", f"slurmstepd: error: *** STEP {j.jobid}.0 ON {j.hosts[0]} CANCELLED AT {t + S(2):%Y-%m-%dT%H:%M:%S} ***"]  # fmt: skip
    out += [f"srun: error: {h}: tasks {'0-7' if n == 0 else '8-15'}: Terminated" for n, h in enumerate(j.hosts)]
    i.put(f"slurm-{j.jobid}.out", out)
    i.say([*SYMPTOM, "unexplained"], None, "signal 9 with no killer's word", never=["CANCELLED AT", "Terminated"])


@kind
def monitored_barrier_names_ranks(i):
    """Rank 0's monitoredBarrier names who did not come; that rank's own file stops while it builds its index: a symptom with a suspect."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.startup(launcher=False, nccl=False)
    j.add(t, v, f"{comma(t)} INFO index.py:31 rank {v}: building sample index, {i.r.randrange(2, 90)} M documents")
    ms = i.r.choice([300000, 1800000])
    e = t + S(ms / 1000)
    died(j, e, 0, f"RuntimeError: Rank {v} failed to pass monitoredBarrier in {ms} ms", (DIST, 4700, "monitored_barrier", "return group_to_use.monitored_barrier("), tag=False)  # fmt: skip
    for k in range(1, 8):
        if k != v:
            died(j, e + j.us(), k, f"RuntimeError: Rank {k} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.", (DIST, 4700, "monitored_barrier", "return group_to_use.monitored_barrier("), tag=False)  # fmt: skip
    per_rank(i, j)
    i.say(SILENT, None, "rank 0 names the rank that never reached the barrier", suspects=[v], never=["successfully reached monitoredBarrier"])  # fmt: skip


@kind
def tail_of_a_log(i):
    """The last two hundred lines of a log, start cut in mid line: watchdogs of most ranks, one that was only notified with equal counters."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(), 6)
    e = t + S(j.timeout_ms / 1000)
    j.wds(e, [k for k in range(16) if k != v])
    j.notified(e + S(1), v, 0, j.seq - 1, j.seq - 1)
    lines = j.single()
    first = next(n for n, x in enumerate(lines) if "Watchdog caught" in x)
    i.put("tail.log", [lines[first][i.r.randrange(40, 90) :], *lines[first + 1 :]])
    i.say(SYMPTOM, None, "the cause was cut off; the counters still say who never entered", suspects=[v], never=["Watchdog caught", "have failed or timed out"])  # fmt: skip


@kind
def node_shutdown_takes_a_pod(i):
    """kubectl describe: one worker's pod was terminated because its node shuts down; the other pods' logs show the lost peer."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(launcher=False), 12, ranks=range(4))
    survivors_gone(j, t + S(5), [k for k in range(4) if k != v], j.host(v))
    pods = [f"pretrain-worker-{k}" for k in range(4)]
    for k in range(4):
        i.put(f"{pods[k]}.log", j.of(k))
    line = "Message:          Pod was terminated in response to imminent node shutdown."
    i.put(f"describe-{pods[v]}.txt", [f"Name:             {pods[v]}", "Namespace:        ml", f"Node:             {j.host(v)}/10.0.4.{v}", f"Start Time:       {j.t0:%a, %d %b %Y %H:%M:%S} +0000", "Labels:           job-name=pretrain", "Status:           Failed", "Reason:           Terminated", line, "Controlled By:    PyTorchJob/pretrain", "Containers:", "  pytorch:", "    State:          Terminated", "      Reason:       Error", "      Exit Code:    143", f"      Finished:     {t:%a, %d %b %Y %H:%M:%S} +0000", "    Restart Count:  0"])  # fmt: skip
    i.say(ANY_FOUND, "imminent node shutdown", "the node went away and took the pod", rank_checked=False, host=j.host(v), owner="platform", never=["ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def scheduler_preempts_a_pod(i):
    """Events of the namespace: the scheduler preempted one worker for a pod of higher priority; SIGTERM in its log, lost peers elsewhere."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(launcher=False), 12, ranks=range(4))
    j.add(t, v, f"{comma(t)} WARNING {j.script}:90 received SIGTERM (15), stopping")
    survivors_gone(j, t + S(31), [k for k in range(4) if k != v], j.host(v))
    pods = [f"sft-worker-{k}" for k in range(4)]
    for k in range(4):
        i.put(f"{pods[k]}.log", j.of(k))
    uid = f"{i.r.randrange(16**8):08x}-6c1e-4c7e-9a2f-{i.r.randrange(16**12):012x}"
    i.put("events.txt", ["LAST SEEN   TYPE      REASON      OBJECT               MESSAGE", *[f"55m         Normal    Started     pod/{p}     Started container pytorch" for p in pods], f"2m          Normal    Preempted   pod/{pods[v]}     Preempted by pod {uid} on node {j.host(v)}", f"2m          Normal    Killing     pod/{pods[v]}     Stopping container pytorch"])  # fmt: skip
    i.say(ANY_FOUND, "Preempted by pod", "a pod of higher priority needed the node", rank_checked=False, owner="platform", never=["ncclRemoteError", "remote process exited", "Started container", "received SIGTERM"])  # fmt: skip


@kind
def straggler_but_finished(i):
    """One rank's loader warns of slow batches all along, every step waits for it, and the run ends as planned: nothing to identify."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.startup(launcher=False)
    for _ in range(i.r.randrange(8, 16)):
        t = j.steps(t, 2, ranks=[0], ms=2100)
        j.add(t, v, f"[rank{v}] {comma(t)} WARNING loader.py:140 batch took {i.r.randrange(2, 9)}.{i.r.randrange(10)} s (median of all ranks 0.4 s)")  # fmt: skip
    t = j.steps(t, 4, ranks=[0])
    j.done(t)
    i.put("train.log", j.single())
    i.say(["healthy", "degraded"], None, "slow is not dead", never=["training finished"])
