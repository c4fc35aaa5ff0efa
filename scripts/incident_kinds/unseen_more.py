"""Incidents of further programs: TGI, Triton, torchtitan's tee, pyxis, orted, hung tasks, slow saves, one file of many."""

from __future__ import annotations

import json

from incident_kinds.base import ANY_FOUND, SYMPTOM, S, comma, iso_ns, kind
from incident_kinds.job import Job
from incident_kinds.unseen import QUIET, SILENT, died, per_host, per_rank, store_timeouts, survivors_gone
from incident_kinds.unseen_nodes import kern

FIT = ("/workspace/fit.py", 77, "fit", "self.step(batch)")


@kind
def tgi_shard_failed_json(i):
    """text-generation-inference with JSON logs: a shard's whole stderr stands inside one message, its rank in the span; then 'Shard N failed to start'."""
    j = Job(i, nodes=1, ppn=4)
    v = j.pick(0)

    def row(t, level, text, **span):
        body = {"timestamp": iso_ns(t), "level": level, "fields": {"message": text}, "target": "text_generation_launcher"}  # fmt: skip
        if span:
            body |= {"span": span, "spans": [span]}
        return json.dumps(body)

    t = j.t0
    out = [row(t, "INFO", 'Args {model_id: "mistralai/Mixtral-8x7B-Instruct-v0.1", num_shard: Some(4)}')]
    out += [row(t + S(k + 1), "INFO", f"Starting shard {k}", rank=k, name="shard-manager") for k in range(4)]
    out += [row(t + S(10 + 10 * s), "INFO", f"Waiting for shard {k} to be ready...", rank=k, name="shard-manager") for s in range(i.r.randrange(4, 12)) for k in range(4)]  # fmt: skip
    line = j.oom_line(v)
    out.append(row(t + S(200), "ERROR", "Shard complete standard error output:\n\n" + j.tb(v, j.frames(FIT), line, tag=False), rank=v, name="shard-manager"))  # fmt: skip
    out += [row(t + S(200), "ERROR", f"Shard {v} failed to start"), row(t + S(200), "INFO", "Shutting down shards"), *[row(t + S(201), "INFO", "Terminating shard", rank=k, name="shard-manager") for k in range(4) if k != v], "Error: ShardCannotStart"]  # fmt: skip
    i.put("tgi.log", out)
    i.say(ANY_FOUND, "CUDA out of memory. Tried to allocate", "one shard's weights did not fit", rank=v, never=["failed to start\"", "ShardCannotStart"])  # fmt: skip


@kind
def triton_model_load_failed(i):
    """Triton: one of several models cannot be loaded because its backend library is missing; the server says 'failed to load all models' and exits."""
    j = Job(i, nodes=1, ppn=1)
    t = j.t0
    names = ["embedder", "reranker", "llm", "preprocess"]
    bad = i.r.choice(names)

    def line(lvl, s, where, text):
        at = t + S(s)
        return f"{lvl}{at:%m%d %H:%M:%S}.{at.microsecond:06d} 1 {where}] {text}"

    out = [line("I", 0, "pinned_memory_manager.cc:277", "\"Pinned memory pool is created at '0x7f2c4e000000' with size 268435456\""), *[line("I", 2, "model_lifecycle.cc:473", f'"loading: {n}:1"') for n in names]]  # fmt: skip
    out += [line("I", 6, "model_lifecycle.cc:849", f"\"successfully loaded '{n}'\"") for n in names if n != bad]
    out += [line("E", 5, "model_lifecycle.cc:654", f"\"failed to load '{bad}' version 1: Not found: unable to load shared library: libnvinfer.so.10: cannot open shared object file: No such file or directory\""), line("I", 5, "model_lifecycle.cc:789", f"\"failed to load '{bad}'\"")]  # fmt: skip
    out += [line("E", 8, "main.cc:382", "\"failed to create server\"") if i.r.random() < 0.5 else "error: creating server: Internal - failed to load all models"]  # fmt: skip
    i.put("triton.log", out)
    i.say(ANY_FOUND, "libnvinfer.so.10", "one library is missing in the image", rank_checked=False, never=["successfully loaded", "failed to load all models", "failed to create server"])  # fmt: skip


@kind
def titan_tee_prefix_is_local(i):
    """torchtitan over torchrun --role rank --tee 3: the '[rankN]:' before every line is the LOCAL rank, the '[rankM]:' of torch behind it the global one."""
    j = Job(i, nodes=2, ppn=8, style="titan")
    v = j.pick(8)
    t = j.steps(j.startup(launcher=False), 12, ranks=[0, 8])
    line = f"RuntimeError: The size of tensor a ({i.r.randrange(100, 900)}) must match the size of tensor b (4096) at non-singleton dimension 1"
    died(j, t, v, line, ("/workspace/torchtitan/models/llama3/model.py", 211, "forward", "h = x + self.attention(y)"), head=False)  # fmt: skip
    survivors_gone(j, t + S(6), range(4), j.hosts[1])
    for n in range(2):
        out = [f"[rank{j.local(e[2])}]:{x}" for e in j.sorted() if e[2] >= 0 and j.node(e[2]) == n for x in e[3].split("\n")]  # fmt: skip
        i.put(f"{j.hosts[n]}.out", out)
    i.say(ANY_FOUND, "must match the size of tensor b", "the inner prefix is torch's and global", rank=v, host=j.hosts[1], never=["ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def pyxis_import_denied_on_one_node(i):
    """srun with a container: one node's task cannot fetch the image (401), pyxis prints enroot's log below its own words; the others wait at the store."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(1)
    t = j.startup(launcher=False, nccl=False, ranks=[k for k in range(4) if k != v])
    store_timeouts(j, t, [k for k in range(4) if k != v])
    pre = f"{v}: slurmstepd: error: pyxis:"
    out = [f"{v}: pyxis: importing docker image: nvcr.io#corp/train:26.03", f"{pre} child {j.pids[v]} failed with error code: 1", f"{pre} failed to import docker image", f"{pre} printing enroot log file:", f"{pre}     [INFO] Querying registry for permission grant", f"{pre}     [INFO] Authenticating with user: <anonymous>", f"{pre}     [ERROR] URL https://nvcr.io/proxy_auth?scope=repository:corp/train:pull returned error code: 401 Unauthorized", f"{pre} couldn't start container", f"{v}: slurmstepd: error: spank: required plugin spank_pyxis.so: task_init() failed with rc=-1", f"{v}: slurmstepd: error: Failed to invoke spank plugin stack"]  # fmt: skip
    out += j.single(lambda k, _: f"{k}: ")
    i.put(f"slurm-{j.jobid}.out", [*out, f"srun: error: {j.hosts[v]}: task {v}: Exited with exit code 1"])
    i.say(ANY_FOUND, "401 Unauthorized", "no credentials for the registry on that node", rank_checked=False, alt=["failed to import docker image"], never=["Timed out after", "Failed to invoke spank", "Exited with exit code"])  # fmt: skip


@kind
def execve_fails_on_one_node(i):
    """srun: 'execve(): ... No such file or directory' from one node where the shared file system is not mounted; the rest of the tasks wait."""
    j = Job(i, nodes=4, ppn=2, style="plain")
    n = i.r.randrange(4)
    bad = [n * 2, n * 2 + 1]
    t = j.startup(launcher=False, nccl=False, ranks=[k for k in range(8) if k not in bad])
    store_timeouts(j, t, [k for k in range(8) if k not in bad])
    out = [f"slurmstepd-{j.hosts[n]}: error: execve(): /shared/envs/train/bin/python: No such file or directory"] * 2
    out += [f"srun: error: {j.hosts[n]}: tasks {bad[0]}-{bad[1]}: Exited with exit code 2"]
    i.put(f"slurm-{j.jobid}.out", [*out, *j.single(lambda k, _: f"{k}: ")])
    i.say(ANY_FOUND, "error: execve(): /shared/envs", "the environment is not there on that node", rank_checked=False, host=j.hosts[n], never=["Timed out after", "Exited with exit code"])  # fmt: skip


@kind
def orted_lost_a_daemon(i):
    """mpirun's log ends with 'has lost communication with a remote daemon' naming two nodes: a lost node, but why is not said."""
    j = Job(i, nodes=4, ppn=2, style="plain")
    n = i.r.randrange(1, 4)
    j.steps(j.startup(launcher=False, nccl=False), 14, ranks=[0])
    who = i.r.choice(["ORTE", "PRTE"])
    out = j.single(lambda k, _: f"[1,{k}]<stdout>:")
    out += ["-" * 74, f"{who} has lost communication with a remote daemon.", "", f"  HNP daemon   : [[16919,0],0] on node {j.hosts[0]}", f"  Remote daemon: [[16919,0],{n}] on node {j.hosts[n]}", "", "This is usually due to either a failure of the TCP network", "connection to the node, or possibly an internal failure of", "the daemon itself. We cannot recover from this failure, and", "therefore will terminate the job.", "-" * 74]  # fmt: skip
    i.put("mpi.log", out)
    i.say([*SYMPTOM, "unexplained"], None, "the node is gone for mpirun; its own logs are needed", never=["usually due to either"])  # fmt: skip


@kind
def hung_task_of_our_pid(i):
    """One host's kernel: our rank's main process blocked for more than 122 seconds, again and again, in Lustre; everybody else's watchdog fires."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 12, ranks=[0, 8])
    rows = []
    for x in range(i.r.randrange(2, 5)):
        at = t + S(122 * (x + 1))
        rows += [(at, f"INFO: task python3:{j.pids[v]} blocked for more than {122 + 123 * x} seconds."), (at, "      Not tainted 6.8.0-60-generic #63-Ubuntu"), (at, '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.'), (at, f"task:python3         state:D stack:0     pid:{j.pids[v]} ppid:{j.agent_pid[j.node(v)]} flags:0x00004002"), (at, " cl_sync_io_wait+0x1d1/0x3c0 [obdclass]"), (at, " ll_fsync+0x1f2/0x420 [lustre]")]  # fmt: skip
    i.put(f"kern-{j.host(v)}.log", kern(j, j.node(v), rows))
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(16) if k != v])
    per_host(i, j)
    i.say(ANY_FOUND, "blocked for more than 122 seconds", "that process waits in the file system and holds up all", rank=v, host=j.host(v), never=["Watchdog caught"])  # fmt: skip


@kind
def slow_save_outlasts_the_timeout(i):
    """Rank 0 writes a checkpoint for longer than the collective timeout and says so to the end; the others' watchdogs fire in the barrier."""
    j = Job(i, nodes=2, ppn=8, style="plain", timeout_ms=600000)
    t = j.steps(j.startup(launcher=False), 14, ranks=[0])
    for x in range(1, 12):
        j.add(t + S(60 * x), 0, f"{comma(t + S(60 * x))} INFO ckpt.py:55 writing step_{j.step}: {x * 4} of 96 shards, {i.r.randrange(20, 60)} MB/s")  # fmt: skip
    j.wds(t + S(600), range(1, 16), op="BARRIER", nin=1)
    per_host(i, j)
    i.say(SILENT, None, "rank 0 was busy, alive and slow", suspects=[0], never=["Watchdog caught"])


@kind
def only_rank_zero_of_sixteen(i):
    """One of sixteen ranks' files: its watchdog, nothing else; what happened elsewhere cannot be known from it."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    t = j.steps(j.startup(launcher=False), 14, ranks=[0])
    j.wds(t + S(j.timeout_ms / 1000), [0])
    i.put("rank0.log", j.of(0))
    i.say(SYMPTOM, None, "fifteen files are missing", never=["Watchdog caught"])


@kind
def wandb_cannot_reach_its_server(i):
    """wandb loses its network, retries with tracebacks for half the run and gives up syncing; the training finishes."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    t = j.startup(launcher=False)
    for _ in range(i.r.randrange(4, 9)):
        t = j.steps(t, 3, ranks=[0])
        j.add(t, 0, "wandb: Network error (ConnectTimeout), entering retry loop.")
    j.add(t, 0, "wandb: ERROR Error communicating with wandb process\nwandb: ERROR For more info see: https://docs.wandb.ai/library/init#init-start-error")  # fmt: skip
    t = j.steps(t, 9, ranks=[0])
    j.done(t)
    i.put("train.log", j.single())
    i.say("healthy", None, "only the charts are missing", never=["Network error", "Error communicating with wandb"])


@kind
def vllm_over_ray_remote_worker(i):
    """vLLM over Ray, nested '(EngineCore_DP0 pid=) (RayWorkerWrapper pid=, ip=)' prefixes: the remote worker has no room for its weights, the rest are wrappers."""
    j = Job(i, nodes=2, ppn=4)
    t = j.t0
    v = 4 + i.r.randrange(4)
    stamp = f"{t:%m-%d %H:%M:%S}"
    core = "(EngineCore_DP0 pid=846)"
    wrk = f"{core} \x1b[36m(RayWorkerWrapper pid={j.pids[v]}, ip={j.ips[1]})\x1b[0m ERROR {stamp} [worker_base.py:620]"
    line = j.oom_line(v)
    out = [f"(APIServer pid=1) INFO {stamp} [api_server.py:1289] vLLM API server version 0.11.0", f"{core} INFO {stamp} [ray_utils.py:337] No current placement group found. Creating a new placement group."]  # fmt: skip
    out += [f"{core} \x1b[36m(RayWorkerWrapper pid={j.pids[k]}, ip={j.ips[j.node(k)]})\x1b[0m INFO {stamp} [gpu_model_runner.py:2602] Starting to load model deepseek-ai/DeepSeek-R1..." for k in range(8)]  # fmt: skip
    out += [f"{wrk} Error executing method 'load_model'. This might cause deadlock in distributed execution.", *[f"{wrk} {x}" for x in j.tb(v, j.frames(FIT), line, tag=False).split("\n")]]  # fmt: skip
    out += [f"{core} ERROR {stamp} [core.py:708] EngineCore failed to start.", f"{core} ERROR {stamp} [core.py:708] Traceback (most recent call last):", f'{core} ERROR {stamp} [core.py:708]   File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 699, in run_engine_core', f"{core} ERROR {stamp} [core.py:708] ray.exceptions.RayTaskError(OutOfMemoryError): ray::RayWorkerWrapper.execute_method() (pid={j.pids[v]}, ip={j.ips[1]}, actor_id=8b, repr=<vllm.executor.ray_utils.RayWorkerWrapper object>)", "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"]  # fmt: skip
    i.put("vllm.log", out)
    i.say("identified", "CUDA out of memory. Tried to allocate", "on the remote node's worker", rank_checked=False, never=["Engine core initialization failed", "EngineCore failed to start", "Error executing method"])  # fmt: skip


@kind
def abort_at_exit_after_success(i):
    """Every rank says it finished and saved; at interpreter exit one of them aborts in a destructor: the training is complete."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(launcher=False), 20, ranks=range(4))
    j.done(t, ranks=range(4))
    j.add(t + S(9), v, "terminate called without an active exception\nFatal Python error: Aborted")
    per_rank(i, j)
    i.say([*QUIET, "classified", "unexplained"], None, "a crash at exit loses nothing", never=["training finished"])


@kind
def rminit_fails_before_start(i):
    """The kernel of one node cannot initialise a GPU's adapter; that node's rank finds no CUDA GPUs, the other pods wait for it."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(1)
    t = j.startup(launcher=False, nccl=False, ranks=[k for k in range(4) if k != v])
    boot = j.t0 - S(i.r.randrange(20, 200))
    rows = [(boot, "NVRM: GPU 0000:1b:00.0: RmInitAdapter failed! (0x62:0x40:2393)"), (boot, "NVRM: GPU 0000:1b:00.0: rm_init_adapter failed, device minor number 0")]  # fmt: skip
    i.put(f"kern-{j.hosts[v]}.log", kern(j, v, rows))
    died(j, t, v, "RuntimeError: No CUDA GPUs are available", ("/usr/local/lib/python3.12/dist-packages/torch/cuda/__init__.py", 372, "_lazy_init", "torch._C._cuda_init()"))  # fmt: skip
    store_timeouts(j, t, [k for k in range(4) if k != v])
    per_host(i, j)
    i.say(ANY_FOUND, "RmInitAdapter failed", "the driver could not start that GPU", rank_checked=False, host=j.hosts[v], alt=["No CUDA GPUs are available", "rm_init_adapter failed"], never=["Timed out after"])  # fmt: skip
