"""Incidents: torchrun_tree_oom, tree, torchrun_two_attempts, torchrun_recovered, slurm_jt_keyerror and others."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, DAY, MON, S, comma, kind, plain
from incident_kinds.job import Job


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
