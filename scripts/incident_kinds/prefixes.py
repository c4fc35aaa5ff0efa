"""Incidents: ray_session_memory_monitor, interleaved, prefix_rankN, prefix_srun_label_doubled and others."""

from __future__ import annotations

from datetime import timedelta

from incident_kinds.base import S, comma, kind, plain
from incident_kinds.job import Job


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
