"""Incidents: flight_recorder_dumps, slurm_end, slurm_time_limit, slurm_preemption, slurm_node_fail and others."""

from __future__ import annotations

import pickle
from datetime import UTC

from incident_kinds.base import ANY_FOUND, SYMPTOM, S, comma, glog, kind
from incident_kinds.job import Job
from incident_kinds.packed import dsa


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
