"""Incidents as an on-call engineer finds them: Kubernetes, Slurm, Ray, MPI and JAX clusters."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, S, comma, dmesg_T, kind, plain
from incident_kinds.job import Job

SILENT = ["symptom-only", "classified", "unexplained"]
QUIET = ["healthy", "inconclusive", "degraded"]


def python_error(j, exc, where=("/workspace/data/index.py", 88, "__getitem__", "row = self.rows[key]")):
    """A bare traceback of the script with this error."""
    return j.tb(0, j.frames(where), exc, tag=False).split("\n")


@kind
def k8s_oomkilled_beside_other_evicted(i):
    """Two pods' logs and one events dump of the whole namespace: our worker was OOMKilled, another job's pod was evicted before it."""
    j = Job(i, nodes=2, ppn=1, style="plain")
    name = f"llama-sft-{i.r.randrange(100, 999)}"
    t = j.steps(j.startup(launcher=False), 12, ranks=[0, 1])
    pods = [f"{name}-worker-{k}" for k in (0, 1)]
    for k in (0, 1):
        lines = j.of(k)
        if k == 0:
            lines = [
                *lines,
                *j.wd_line(0, t + S(600)).split("\n"),
                *python_error(
                    j,
                    "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, NCCL version 2.26.2",
                ),
            ]
        i.put(f"{pods[k]}.log", lines)
    other = f"eval-mmlu-{i.r.randrange(1000, 9999)}-x7k2p"
    line = f"Memory cgroup out of memory: Killed process {j.pids[1]} (python3) total-vm:412331232kB, anon-rss:130112344kB, file-rss:81220kB, shmem-rss:0kB, UID:0 pgtables:266004kB oom_score_adj:996"
    i.put("events.txt", [
        "LAST SEEN   TYPE      REASON             OBJECT                                   MESSAGE",
        f"22m         Warning   Evicted            pod/{other}                     The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 8123Mi. ",
        f"21m         Normal    Killing            pod/{other}                     Stopping container main",
        f"14m         Normal    Pulled             pod/{pods[0]}         Container image \"nvcr.io/pytorch:26.03\" already present on machine",
        f"3m          Warning   BackOff            pod/{pods[1]}         Back-off restarting failed container pytorch in pod {pods[1]}_ml(5b1e)",
    ])  # fmt: skip
    i.put(f"dmesg-{j.hosts[1]}.log", [
        f"{dmesg_T(t - S(4000))} systemd[1]: Started Session 12 of user root.",
        f"{dmesg_T(t + S(1))} python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=996",
        f"{dmesg_T(t + S(1))} oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-77,mems_allowed=0-1,oom_memcg=/kubepods.slice/kubepods-burstable.slice,task=python3,pid={j.pids[1]},uid=0",
        f"{dmesg_T(t + S(1))} {line}",
    ])  # fmt: skip
    i.say("identified", line[:60], "the kernel killed our worker by its cgroup's limit; the eviction is another job's pod", rank=1, host=j.hosts[1], never=["Evicted", "Back-off", "remote process exited"])  # fmt: skip


def described(name, job, node, *, state, last=None, ready="False", restarts=0, events=()):
    """One pod of `kubectl describe pods`."""
    out = [f"Name:             {name}", "Namespace:        ml", f"Node:             {node}/10.0.4.11", f"Labels:           app.kubernetes.io/name={job}", f"                  job-name={job}", "Status:           Running", f"Controlled By:  Job/{job}", "Containers:", "  main:", "    Image:          nvcr.io/pytorch:26.03"]  # fmt: skip
    out += [f"    State:          {state[0]}", *[f"      {x}" for x in state[1:]]]
    if last:
        out += [f"    Last State:     {last[0]}", *[f"      {x}" for x in last[1:]]]
    out += [f"    Ready:          {ready}", f"    Restart Count:  {restarts}", "Events:"]
    return out + ([*("  " + e for e in events)] or ["  <none>"]) + ["", ""]


@kind
def k8s_describe_of_many_pods(i):
    """`kubectl describe pods` of a whole namespace beside our pod's log: another job's notebook was OOMKilled, ours raised a KeyError."""
    j = Job(i, nodes=1, ppn=1, style="plain")
    job = f"sft-{i.r.randrange(100, 999)}"
    t = j.steps(j.startup(launcher=False), 9, ranks=[0])
    key = f"tok_{i.r.randrange(1000, 9999)}"
    i.put(
        f"{job}-0.log",
        [*j.of(0), f"{comma(t)} ERROR {j.script}:355 unhandled exception", *python_error(j, f"KeyError: '{key}'")],
    )
    oom = ("Terminated", "Reason:       OOMKilled", "Exit Code:    137")
    pods = [
        described(f"notebook-{i.r.randrange(10, 99)}", "notebook", j.spare, state=("Running", "Started:      Mon, 02 Mar 2026 08:00:00 +0000"), last=oom, ready="True", restarts=3),
        described(f"{job}-0", job, j.hosts[0], state=("Terminated", "Reason:       Error", "Exit Code:    1"), restarts=0),
        described("grafana-0", "grafana", j.spare, state=("Running", "Started:      Mon, 02 Mar 2026 08:00:00 +0000"), ready="True"),
    ]  # fmt: skip
    i.r.shuffle(pods)
    i.put("describe-pods.txt", [x for pod in pods for x in pod])
    i.say(ANY_FOUND, f"KeyError: '{key}'", "the OOMKilled container is another job's and runs again", never=["OOMKilled", "Exit Code:    137"])  # fmt: skip


@kind
def k8s_last_state_oomkilled_running(i):
    """`Last State: OOMKilled` of a pod that runs again and makes progress: nothing to identify."""
    j = Job(i, nodes=1, ppn=1, style="plain")
    t = j.steps(j.startup(launcher=False), 20, ranks=[0])
    name = f"pretrain-{i.r.randrange(10, 99)}-0"
    i.put(f"{name}.log", j.of(0))
    i.put("describe.txt", described(name, "pretrain", j.hosts[0], state=("Running", f"Started:      {t:%a, %d %b %Y} 01:00:00 +0000"), last=("Terminated", "Reason:       OOMKilled", "Exit Code:    137"), ready="True", restarts=1))  # fmt: skip
    i.say(QUIET, None, "the container that was killed is the one before the one that trains")


@kind
def ray_train_rank_by_pid(i):
    """Ray Train's driver log: ranks stand only in the list of started workers; one worker runs out of GPU memory, the driver re-raises it."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(1)
    t = j.t0
    out = [f"{plain(t)},101\tINFO worker.py:1843 -- Connecting to existing Ray cluster at address: {j.ips[0]}:6379...", f"(TorchTrainer pid={j.agent_pid[0]}) Started distributed worker processes: "]  # fmt: skip
    out += [f"(TorchTrainer pid={j.agent_pid[0]}) - (node_id=3f{j.node(k):02d}ab, ip={j.ips[j.node(k)]}, pid={j.pids[k]}) world_rank={k}, local_rank={j.local(k)}, node_rank={j.node(k)}" for k in range(j.world)]  # fmt: skip
    for s in range(8):
        out += [f"(RayTrainWorker pid={j.pids[k]}, ip={j.ips[j.node(k)]}) step {s * 10} loss {2 - s / 50:.3f}" for k in (0, 5)]  # fmt: skip
    line = j.oom_line(v)
    pre = f"(RayTrainWorker pid={j.pids[v]}, ip={j.ips[j.node(v)]}) "
    out += [pre + x for x in [*j.tb(v, j.frames(), line, tag=False).split("\n")]]
    out += [f"{plain(t + S(300))},477\tERROR tune_controller.py:1331 -- Trial task failed for trial TorchTrainer_91c2b_00000", "Traceback (most recent call last):", '  File "/usr/local/lib/python3.12/dist-packages/ray/air/execution/_internal/event_manager.py", line 110, in resolve_future', "    result = ray.get(future)", f"ray.exceptions.RayTaskError(OutOfMemoryError): ray::_Inner.train() (pid={j.agent_pid[0]}, ip={j.ips[0]}, actor_id=8b, repr=TorchTrainer)", f"  {line}"]  # fmt: skip
    i.put("driver.log", out)
    i.say("identified", line[:60], "the worker list maps the pid to the rank", rank=v, host=j.ips[j.node(v)], owner="workload", never=["Trial task failed", "RayTaskError"])  # fmt: skip


@kind
def mpi_segfault_one_rank(i):
    """Open MPI with tagged output: one rank segfaults, mpirun says which process on which node, the others are aborted."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(1)
    h = j.host(v)
    out = [f"[1,{k}]<stdout>:rank {k}/8 on {j.host(k)} up, local rank {j.local(k)}" for k in range(8)]
    for s in range(10):
        out += [f"[1,{k}]<stdout>:step {s} loss {3 - s / 20:.3f}" for k in (0,)]
    p = f"[{h}:{j.pids[v]}]"
    line = f"{p} *** Process received signal ***"
    out += [f"[1,{v}]<stderr>:{x}" for x in [line, f"{p} Signal: Segmentation fault (11)", f"{p} Signal code: Address not mapped (1)", f"{p} Failing at address: 0x7f0{i.r.randrange(16**6):06x}", f"{p} [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x42520)[0x7f1d]", f"{p} [ 1] /opt/app/libtok.so(_ZN3tok6EncodeEv+0x91)[0x7f1d]", f"{p} *** End of error message ***"]]  # fmt: skip
    end = f"mpirun noticed that process rank {v} with PID {j.pids[v]} on node {h} exited on signal 11 (Segmentation fault)."
    out += ["-" * 74, "Primary job  terminated normally, but 1 process returned", "a non-zero exit code. Per user-direction, the job has been aborted.", "-" * 74, end, "-" * 74]  # fmt: skip
    i.put("mpi.out", out)
    i.say(ANY_FOUND, "Signal: Segmentation fault (11)", "the segfault of one rank, as the rank and as mpirun tell it", rank=v, host=h, alt=["Process received signal", "exited on signal 11"], never=["Primary job  terminated"])  # fmt: skip


@kind
def jax_task_never_reached_barrier(i):
    """Four JAX processes, a log each: three time out at the coordination service's barrier, which names the task that never came; its own log stops at compiling."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(1, 4)
    t = j.t0
    for k in range(4):
        ls = [f"I{t:%m%d %H:%M:%S}.{100000 + k} {j.pids[k]} distributed.py:106] Connecting to JAX distributed service on {j.ips[0]}:1234", f"I{t:%m%d %H:%M:%S}.{200000 + k} {j.pids[k]} main.py:30] process {k} of 4, host={j.hosts[k]}, local devices 4"]  # fmt: skip
        if k == v:
            ls.append(
                f"I{t + S(20):%m%d %H:%M:%S}.300000 {j.pids[k]} train.py:77] compiling train_step for mesh (4, 4)"
            )
        else:
            d = t + S(620)
            ls += [f"I{t + S(20):%m%d %H:%M:%S}.300000 {j.pids[k]} train.py:77] compiling train_step for mesh (4, 4)", f"I{t + S(25):%m%d %H:%M:%S}.300000 {j.pids[k]} train.py:80] compiled, waiting for all hosts", f"jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: sync_global_devices:train_start:1. This usually happens because a task triggered the barrier too early or too slowly. Please look at the task logs (both timed out and first task) to debug further.\n# of tasks that reached the barrier: 3/4.\nThe first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n/job:jax_worker/replica:0/task:{v}\n", f"I{d:%m%d %H:%M:%S}.000000 {j.pids[k]} train.py:99] exiting"]  # fmt: skip
        i.put(f"worker-{k}.log", "\n".join(ls) + "\n")
    i.say(SILENT, None, "the barrier's text names the task", suspects=[v])


@kind
def slurm_other_jobs_cancelled(i):
    """A node's shared slurmd log beside ours: another job id hit its time limit there a minute before ours raised an error."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    t = j.steps(j.startup(launcher=False), 12, ranks=[0])
    other = j.jobid + i.r.randrange(3, 90)
    i.put(f"slurm-{j.jobid}.out", [f"SLURM_JOB_ID={j.jobid} starts on {j.hosts[0]}", *j.of(0), *python_error(j, "ValueError: sequence length 8193 exceeds 8192")])  # fmt: skip
    i.put(f"slurmd-{j.hosts[0]}.log", [
        f"[{(t - S(900)):%Y-%m-%dT%H:%M:%S}.101] launch task StepId={other}.0 request from UID:1041",
        f"[{(t - S(60)):%Y-%m-%dT%H:%M:%S}.101] [{other}.0] error: *** STEP {other}.0 ON {j.hosts[0]} CANCELLED AT {(t - S(60)):%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***",
        f"[{(t - S(55)):%Y-%m-%dT%H:%M:%S}.101] [{other}.0] done with step",
    ])  # fmt: skip
    i.say(ANY_FOUND, "ValueError: sequence length 8193", "the cancelled step has another job's id", never=["DUE TO TIME LIMIT"])  # fmt: skip


@kind
def slurm_preempted_then_resumed_keyerror(i):
    """One output file of a requeued job (open-mode append) whose second part starts with other words: preempted first, then a KeyError of the code."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    t = j.steps(j.startup(launcher=False), 12, ranks=[0])
    first = j.of(0)
    j.ev.clear()
    t2 = j.steps(t + S(4000), 6, ranks=[0])
    h = j.hosts[0]
    i.put(f"slurm-{j.jobid}.out", [*first, f"slurmstepd: error: *** JOB {j.jobid} ON {h} CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO PREEMPTION ***", f"{comma(t + S(3990))} INFO {j.script}:29 resuming from /ckpt/step_{j.step}", *j.of(0), f"{comma(t2)} ERROR {j.script}:355 unhandled exception", *python_error(j, "KeyError: 'labels'")])  # fmt: skip
    i.say(ANY_FOUND, "KeyError: 'labels'", "the preemption ended the attempt before", never=["DUE TO PREEMPTION"])  # fmt: skip


@kind
def slurm_dataloader_worker_of_a_rank(i):
    """sbatch output, a torchrun tree and dmesg of the node: the host's OOM killer took a loader worker (a child's pid), its rank raised, the rest timed out."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(), 14, ranks=[0, 7])
    child = j.pids[v] + i.r.randrange(200, 900)
    err = f"RuntimeError: DataLoader worker (pid {child}) is killed by signal: Killed. "
    j.add(t + S(2), v, j.tb(v, j.frames(("/usr/local/lib/python3.12/dist-packages/torch/utils/data/_utils/signal_handling.py", 73, "handler", "_error_if_any_worker_fails()")), err))  # fmt: skip
    j.closing(t + S(4), 0, v)
    j.table(t + S(8), 0, v)
    for k in range(8):
        i.put(f"logs/none_q3/attempt_0/{k}/stderr.log", j.of(k))
    i.put(f"slurm-{j.jobid}.out", [f"+ srun torchrun --nproc-per-node 8 on {j.hosts[0]}", *j.of(-1)])
    line = f"Out of memory: Killed process {child} (pt_data_worker) total-vm:71233124kB, anon-rss:40218812kB, file-rss:1200kB, shmem-rss:91200kB, UID:1041 pgtables:90112kB oom_score_adj:0"
    i.put(f"dmesg-{j.hosts[0]}.txt", [f"{dmesg_T(t - S(9000))} usb 1-1: new high-speed USB device", f"{dmesg_T(t)} pt_data_worker invoked oom-killer: gfp_mask=0x140dca, order=0, oom_score_adj=0", f"{dmesg_T(t)} {line}"])  # fmt: skip
    i.say("identified", line[:48], "the killer's line is first; the rank is known by the worker's pid in its error", rank=None, rank_checked=False, host=j.hosts[0], alt=[err[:60]], never=["exitcode  :", "closing signal"])  # fmt: skip


@kind
def tpu_maintenance_event(i):
    """A TPU slice, a log per worker: one host announces maintenance and gets SIGTERM, the others see its task become unhealthy."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(1, 4)
    t = j.t0
    line = "Maintenance event detected: TERMINATE_ON_HOST_MAINTENANCE, this VM will be terminated in 60 seconds"
    for k in range(4):
        ls = [
            f"{comma(t)} INFO main.py:30 jax process {k} of 4 on host={j.hosts[k]}, {k * 4}..{k * 4 + 3} local TPU devices"
        ]
        ls += [
            f"{comma(t + S(10 * s))} INFO train.py:140 step: {s} loss: {3 - s / 90:.4f} tflops: 190.1"
            for s in range(1, 15)
        ]
        e = t + S(150)
        if k == v:
            ls += [
                f"{comma(e)} WARNING agent.py:55 {line}",
                f"{comma(e + S(30))} INFO agent.py:61 received SIGTERM, exiting",
            ]
        else:
            ls += [f"{comma(e + S(95))} ERROR train.py:201 jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:{v}\nThe tasks have crashed. Check the task logs for an earlier error, or scheduler events (e.g. preemption, eviction) to debug further."]  # fmt: skip
        i.put(f"worker{k}.log", "\n".join(ls) + "\n")
    i.say(SILENT, None, "a notice in words of the site's own agent; the service names the task that went silent", suspects=[v], never=["stopped sending heartbeats", "tasks are unhealthy"])  # fmt: skip


@kind
def spot_notice_in_node_agent(i):
    """A node agent's log announces the spot interruption of one node; two minutes later its ranks end by SIGTERM and the others lose their peer."""
    j = Job(i, nodes=2, ppn=2, style="plain")
    v = 2
    t = j.steps(j.startup(launcher=False), 16, ranks=[0, 2])
    when = f"{t + S(120):%Y-%m-%dT%H:%M:%SZ}"
    line = f'INF Adding new event to the event store event={{"Description":"Spot ITN received. Instance will be interrupted at {when} \\n","InstanceID":"i-0{i.r.randrange(16**8):08x}","Kind":"SPOT_ITN"}}'
    i.put(f"nth-{j.hosts[1]}.log", [f"{t - S(3000):%Y/%m/%d %H:%M:%S} INF Started watching for interruption events", f"{t:%Y/%m/%d %H:%M:%S} {line}"])  # fmt: skip
    for k in (2, 3):
        j.add(t + S(118), k, f"{comma(t + S(118))} WARNING {j.script}:90 received SIGTERM (15), stopping")
    for k in (0, 1):
        j.remote_gone(t + S(121), k, j.hosts[1])
    for k in range(4):
        i.put(f"{j.host(k)}-rank{k}.log", j.of(k))
    _ = v
    i.say(ANY_FOUND, "Spot ITN received", "the cloud took the node back and said so two minutes before", rank_checked=False, alt=["instance will be interrupted"], never=["ncclRemoteError", "Connection closed by remote peer", "received SIGTERM"])  # fmt: skip


@kind
def elastic_three_restarts(i):
    """One file, three torchrun attempts: twice a peer is lost, the last one ends with a full disk on one rank."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    t = j.startup()
    for n in (2, 1):
        t = j.steps(t, 5, ranks=[0])
        j.remote_gone(t, 1, j.hosts[0])
        j.closing(t + S(1), 0, 1, restart=n)
        t = j.startup(t + S(30), launcher=False)
    t = j.steps(t, 5, ranks=[0])
    line = "OSError: [Errno 28] No space left on device: '/scratch/ckpt/step_100.tmp'"
    j.add(t, 2, j.tb(2, j.frames(("/workspace/ckpt.py", 40, "save", "f.write(buf)")), line))
    j.closing(t + S(1), 0, 2)
    j.table(t + S(3), 0, 2)
    i.put("job.log", j.single())
    i.say(ANY_FOUND, line[:40], "the last attempt's fault; those before it are listed apart", rank=2, never=["ncclRemoteError", "Connection closed by remote peer"])  # fmt: skip
