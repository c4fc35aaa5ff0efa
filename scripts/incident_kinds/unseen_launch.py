"""Incidents of other launchers: pdsh, mpirun on EFA, Slurm arrays, accelerate, axolotl, cloud log exports."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, S, comma, iso_ns, kind, plain
from incident_kinds.job import Job
from incident_kinds.unseen import died, epoch_ms, json_lines, store_timeouts, survivors_gone

TORCH = "/usr/local/lib/python3.12/dist-packages/torch"


@kind
def pdsh_missing_library_one_node(i):
    """DeepSpeed over pdsh, 'HOST: ' before every line: a shared object is missing on one node only, the other waits at the store."""
    j = Job(i, nodes=2, ppn=4, style="deepspeed")
    bad = i.r.randrange(2)
    lib = i.r.choice(["libcudnn.so.9", "libcusparseLt.so.0", "libnccl.so.2", "libmpi.so.40"])
    line = f"ImportError: {lib}: cannot open shared object file: No such file or directory"
    t = j.t0
    cmd = f"['/usr/bin/python3', '-u', '{j.script}', '--local_rank=3', '--deepspeed', 'ds_zero3.json']"
    for n in range(2):
        for k in range(n * 4, n * 4 + 4):
            j.add(t + S(2), k, f"[{comma(t + S(2))}] [INFO] [launch.py:256:main] process {j.pids[k]} spawned with command: {cmd.replace('=3', f'={k % 4}')}")  # fmt: skip
    for k in range(bad * 4, bad * 4 + 4):
        j.add(t + S(9) + j.us(), k, "\n".join(["Traceback (most recent call last):", f'  File "/workspace/{j.script}", line 3, in <module>', "    import torch", f'  File "{TORCH}/__init__.py", line 409, in <module>', "    from torch._C import *  # noqa: F403", line]))  # fmt: skip
    e = t + S(12)
    out = [f"[{comma(e)}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess {j.pids[k]}" for k in range(bad * 4, bad * 4 + 4)]  # fmt: skip
    j.add(e, -1 - bad, "\n".join([*out, f"[{comma(e)}] [ERROR] [launch.py:325:sigkill_handler] {cmd} exits with return code = 1"]))  # fmt: skip
    store_timeouts(j, t, [k for k in range(8) if k // 4 != bad])

    def pre(k, jj):
        return f"{jj.host(k)}: "

    lines = j.single(pre, lambda n, jj: f"{jj.hosts[n]}: ")
    lines.append(f"pdsh@{j.spare}: {j.hosts[bad]}: ssh exited with exit code 1")
    i.put("train.log", lines)
    i.say(ANY_FOUND, line, "one node lacks the library", rank_checked=False, host=j.hosts[bad], never=["Timed out after", "exits with return code", "ssh exited"])  # fmt: skip


@kind
def mpirun_efa_completion_error(i):
    """mpirun --tag-output on EFA: one rank's aws-ofi-nccl request completes with an error, half an hour later all watchdogs fire."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 10, ranks=[0])
    body = f"Request 0x7f{i.r.randrange(1 << 40):010x} completed with error. RC: 103. Error: 4126 (Unresponsive receiver (reachable by EFA device but handshake failed) My EFA addr: fi_addr_efa://[fe80::c55:2eff:fe44:db5]:0:142160333 My host id: i-0{i.r.randrange(16**8):08x} Peer EFA addr: fi_addr_efa://[fe80::cc1:aeff:fe1b:3301]:0:91823). Completed length: 0, Request: {{ dev: {i.r.randrange(4)}, size: 1048576, state: CREATED, type: SEND }}"
    j.add(t, v, f"{j.host(v)}:{j.pids[v]}:{j.pids[v] + 611} [{j.local(v)}] process_err_completion:1372 NCCL WARN NET/OFI {body}")  # fmt: skip
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(16) if k != v])
    i.put("mpi.log", j.single(lambda k, _: f"[1,{k}]<stderr>:"))
    i.say(ANY_FOUND, "NCCL WARN NET/OFI Request", "EFA gave up on one request, then everybody waited", rank=v, host=j.host(v), never=["Watchdog caught"])  # fmt: skip


@kind
def slurm_array_one_task_failed(i):
    """A Slurm array, one output file a task (%A_%a): independent one-GPU jobs, one of them raises, the others finish."""
    n = i.r.randrange(5, 9)
    bad = i.r.randrange(n)
    top = i.r.randrange(200000, 999999)
    line = f"ValueError: learning rate {i.r.randrange(2, 90)} is outside the sweep's bounds (0, 1]"
    for a in range(n):
        j = Job(i, nodes=1, ppn=1, style="plain")
        t = j.steps(j.startup(launcher=False, nccl=False), 4 + i.r.randrange(6))
        if a == bad:
            died(j, t, 0, line, ("/workspace/sweep.py", 61, "check", "raise ValueError(msg)"), tag=False)
        else:
            j.done(t)
        i.put(f"sweep_{top}_{a}.out", [f"SLURM_ARRAY_JOB_ID={top} SLURM_ARRAY_TASK_ID={a}", *j.of(0)])
    i.say(ANY_FOUND, line[:40], "one task of the array failed, by itself", rank_checked=False, source=f"sweep_{top}_{bad}.out")  # fmt: skip


@kind
def accelerate_port_in_use(i):
    """accelerate launch: the rendezvous port is taken, CalledProcessError of the launcher at the end."""
    j = Job(i, nodes=1, ppn=1, style="hf")
    port = i.r.choice([29500, 29501, 23456])
    t = j.t0
    line = f"torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: {port}, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
    out = ["The following values were not passed to `accelerate launch` and had defaults used instead:", "\t`--num_processes` was set to a value of `8`"]  # fmt: skip
    out += [f"[W{t:%m%d %H:%M:%S}.000000000 socket.cpp:464] [c10d] The server socket has failed to bind to {a}:{port} (errno: 98 - Address already in use)." for a in ("[::]", "0.0.0.0")]  # fmt: skip
    out += [f"[E{t:%m%d %H:%M:%S}.000000000 socket.cpp:500] [c10d] The server socket has failed to listen on any local network address."]  # fmt: skip
    out += j.tb(0, j.frames((f"{TORCH}/distributed/elastic/rendezvous/static_tcp_rendezvous.py", 66, "next_rendezvous", "self._store = TCPStore(")), line, tag=False).split("\n")  # fmt: skip
    out += ["Traceback (most recent call last):", '  File "/usr/local/bin/accelerate", line 8, in <module>', "    sys.exit(main())", f"subprocess.CalledProcessError: Command '['/usr/bin/python3', '{j.script}']' returned non-zero exit status 1."]  # fmt: skip
    i.put("accelerate.log", out)
    i.say(ANY_FOUND, "EADDRINUSE", "another program owns the port", rank_checked=False, alt=["Address already in use", "failed to listen on any local"], never=["CalledProcessError", "were not passed to"])  # fmt: skip


def box(title, rows, width=100):
    """A rich traceback box."""
    return ["╭" + f" {title} ".center(width - 2, "─") + "╮", *["│ " + r.ljust(width - 4)[: width - 4] + " │" for r in rows], "╰" + "─" * (width - 2) + "╯"]  # fmt: skip


@kind
def axolotl_rich_box_oom(i):
    """axolotl: rich's traceback boxes, the exception below the box; one rank out of memory, the others' boxes end in DistBackendError."""
    j = Job(i, nodes=1, ppn=8, style="hf")
    v = j.pick(1)
    t = j.steps(j.startup(nccl=False), 6)
    rows = ["/workspace/axolotl/src/axolotl/cli/train.py:121 in <module>", "", "  118 ", "❱ 121 │   fire.Fire(do_cli)", "", "/workspace/axolotl/src/axolotl/train.py:189 in execute_training", "", "❱ 189 │   trainer.train(resume_from_checkpoint=resume)"]  # fmt: skip
    line = j.oom_line(v).removeprefix("torch.")
    j.add(t, v, "\n".join([*box("Traceback (most recent call last)", rows), line]))
    for k in range(8):
        if k != v:
            j.add(t + S(2) + j.us(), k, "\n".join([*box("Traceback (most recent call last)", rows), GONE_BOX]))
    j.closing(t + S(4), 0, v)
    j.table(t + S(8), 0, v)
    i.put("axolotl.log", j.single())
    i.say("identified", "CUDA out of memory. Tried to allocate", "the message stands below its box; the table says which rank", rank=v, never=["DistBackendError", "remote process exited"])  # fmt: skip


GONE_BOX = "DistBackendError: NCCL error: remote process exited or there was a network error, NCCL version 2.26.2"


@kind
def srun_gpu_missing_on_one_node(i):
    """srun -l: a node came up with seven of eight GPUs; its last rank gets 'invalid device ordinal', everybody else waits."""
    j = Job(i, nodes=2, ppn=8, style="megatron")
    n = i.r.randrange(2)
    v = n * 8 + 7
    t = j.startup(launcher=False, nccl=False, ranks=[k for k in range(16) if k != v])
    line = "RuntimeError: CUDA error: invalid device ordinal"
    died(j, t, v, line + "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n", (f"{TORCH}/cuda/__init__.py", 529, "set_device", "torch._C._cuda_setDevice(device)"), tag=False)  # fmt: skip
    store_timeouts(j, t, [k for k in range(16) if k != v])
    i.put(f"slurm-{j.jobid}.out", [*j.single(lambda k, _: f"{k:2d}: "), f"srun: error: {j.hosts[n]}: task {v}: Exited with exit code 1"])  # fmt: skip
    i.say(ANY_FOUND, line, "the eighth GPU of that node is not there", rank=v, host=j.hosts[n], never=["Timed out after", "Exited with exit code"])  # fmt: skip


@kind
def sagemaker_cloudwatch_json(i):
    """A CloudWatch export of a SageMaker job as JSON lines: two algo hosts, [1,N]<stderr> inside; the toolkit repeats the error in its own words."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    j.hosts = ["algo-1", "algo-2"]
    v = j.pick(4)
    t = j.steps(j.startup(launcher=False, nccl=False), 8, ranks=[0, 4])
    key = f"shard_{i.r.randrange(100, 999)}"
    died(
        j, t, v, f"KeyError: '{key}'", ("/opt/ml/code/data.py", 88, "__getitem__", "return self.index[key]"), tag=False
    )
    stream = [f"pretrain-{j.jobid}/algo-{n + 1}-{epoch_ms(j.t0) // 1000}" for n in range(2)]
    rows = [{"timestamp": epoch_ms(e[4]), "ingestionTime": epoch_ms(e[4]) + 900, "logStreamName": stream[j.node(e[2])], "message": f"[1,{e[2]}]<{'stderr' if e[2] == v else 'stdout'}>:{x}"} for e in j.sorted() for x in e[3].split("\n")]  # fmt: skip
    told = [f"{plain(t + S(3))},120 sagemaker-training-toolkit ERROR    Reporting training FAILURE", f"{plain(t + S(3))},121 sagemaker-training-toolkit ERROR    ExecuteUserScriptError:", "ExitCode 1", f"ErrorMessage \"KeyError: '{key}'"]  # fmt: skip
    for n in range(2):
        rows += [{"timestamp": epoch_ms(t + S(3 + n)), "ingestionTime": epoch_ms(t + S(4)), "logStreamName": stream[n], "message": x} for x in told]  # fmt: skip
    i.put("cloudwatch.json", json_lines(rows))
    i.say(ANY_FOUND, f"KeyError: '{key}'", "the rank's own traceback, before the toolkit's report", rank=v, host="algo-2", never=["ExecuteUserScriptError", "Reporting training FAILURE", "ErrorMessage"])  # fmt: skip


@kind
def cloud_logging_newest_first(i):
    """A Cloud Logging export, JSON lines in descending time: the OOM stands below its consequences, its traceback upside down."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(launcher=False, nccl=False), 9, ranks=range(4))
    j.oom(t, v, stamped=True)
    survivors_gone(j, t + S(8), [k for k in range(4) if k != v], j.host(v))
    rows = []
    for e in j.sorted():
        for n, x in enumerate(e[3].split("\n")):
            at = e[4] + S(n / 1000)
            rows.append({"insertId": f"{i.r.randrange(36**8):x}", "logName": "projects/ml-prod/logs/stderr", "resource": {"type": "k8s_container", "labels": {"cluster_name": "tpu-west", "container_name": "train", "node_name": j.host(e[2]), "pod_name": f"sft-worker-{e[2]}"}}, "severity": "ERROR" if "Error" in x else "INFO", "textPayload": x, "timestamp": iso_ns(at)})  # fmt: skip
    i.put("downloaded-logs.json", json_lines(reversed(rows)))
    i.say("identified", "CUDA out of memory. Tried to allocate", "first in time, last in the file", rank=v, never=["Connection closed by remote peer", "ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def kube_previous_and_current_differ(i):
    """kubectl logs --previous ends with a CUDA OOM, the current container of the same pod with a missing checkpoint: the last attempt matters."""
    j = Job(i, nodes=1, ppn=1, style="plain")
    pod = f"sft-{i.r.randrange(100, 999)}-0"
    t = j.steps(j.startup(launcher=False, nccl=False), 12)
    j.oom(t, 0, tag=False)
    i.put(f"{pod}-previous.log", j.of(0))
    j.ev.clear()
    t = j.startup(t + S(40), launcher=False, nccl=False)
    path = f"/ckpt/run/step_{j.step}/model.safetensors"
    died(j, t, 0, f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'", ("/workspace/ckpt.py", 33, "load", "with open(path, 'rb') as f:"), tag=False)  # fmt: skip
    i.put(f"{pod}.log", j.of(0))
    i.say(ANY_FOUND, "FileNotFoundError: [Errno 2]", "the attempt that failed last", rank_checked=False, source=f"{pod}.log", never=["CUDA out of memory"], independent=["CUDA out of memory"])  # fmt: skip
