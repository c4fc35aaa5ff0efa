"""Incidents of serving and of agents: SGLang, vLLM, image pulls, wrong architectures, logs that quote other logs."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, SYMPTOM, S, comma, kind, plain
from incident_kinds.job import Job
from incident_kinds.unseen import QUIET, SILENT, died, per_rank, store_timeouts


def vllm(t, level="INFO", where="loggers.py:127"):
    """vLLM's own prefix: level, month-day, time, place."""
    return f"{level} {t:%m-%d %H:%M:%S} [{where}]"


@kind
def sglang_scheduler_oom(i):
    """SGLang tensor parallel, '[date time TPn]' prefixes: one scheduler out of memory, then sigquit and 'Killed'."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.t0
    out = [f"[{plain(t)}] server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3', tp_size=8, mem_fraction_static=0.93)"]  # fmt: skip
    for k in range(8):
        out += [f"[{plain(t + S(9))} TP{k}] Load weight begin. avail mem=78.84 GB", f"[{plain(t + S(80))} TP{k}] Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=9.{i.r.randrange(10, 99)} GB, mem usage=69.11 GB."]  # fmt: skip
    for s in range(i.r.randrange(20, 60)):
        out.append(f"[{plain(t + S(100 + s))} TP0] Decode batch. #running-req: {i.r.randrange(1, 60)}, #token: {i.r.randrange(900, 90000)}, token usage: 0.{i.r.randrange(10, 99)}, gen throughput (token/s): {i.r.randrange(800, 2000)}.10, #queue-req: 0")  # fmt: skip
    e = t + S(200)
    line = j.oom_line(v)
    out += [f"[{plain(e)} TP{v}] Scheduler hit an exception: Traceback (most recent call last):", '  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 2012, in run_scheduler_process', "    scheduler.event_loop_overlap()", '  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 664, in event_loop_overlap', "    result = self.run_batch(batch)", line, ""]  # fmt: skip
    out += [f"[{plain(e + S(1))}] Received sigquit from a child process. It usually means the child failed.", "Killed"]
    i.put("sglang.log", out)
    i.say("identified", "CUDA out of memory. Tried to allocate", "one scheduler ran out of memory under load", rank=v, rank_checked=False, never=["Received sigquit"])  # fmt: skip


@kind
def vllm_gated_repo_401(i):
    """vLLM at start: the hub answers 401 for a gated model; the OSError below it is the same fault in transformers' words."""
    j = Job(i, nodes=1, ppn=1)
    t = j.t0
    model = i.r.choice(["meta-llama/Llama-3.3-70B-Instruct", "google/gemma-3-27b-it"])
    req = f"(Request ID: Root=1-{i.r.randrange(16**8):08x}-{i.r.randrange(16**12):012x}; 5c{i.r.randrange(16**6):06x})"
    out = [f"{vllm(t, where='api_server.py:1289')} vLLM API server version 0.9.1", f"{vllm(t, where='cli_args.py:309')} non-default args: {{'model': '{model}', 'tensor_parallel_size': 4}}", "Traceback (most recent call last):", '  File "/usr/local/lib/python3.12/dist-packages/huggingface_hub/utils/_http.py", line 409, in hf_raise_for_status', "    response.raise_for_status()", f"requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/{model}/resolve/main/config.json", "", "The above exception was the direct cause of the following exception:", "", "Traceback (most recent call last):", '  File "/usr/local/lib/python3.12/dist-packages/transformers/utils/hub.py", line 470, in cached_files', "    hf_hub_download(", f"huggingface_hub.errors.GatedRepoError: 401 Client Error. {req}", "", f"Cannot access gated repo for url https://huggingface.co/{model}/resolve/main/config.json.", f"Access to model {model} is restricted. You must have access to it and be authenticated to access it. Please log in.", "", "The above exception was the direct cause of the following exception:", "", "Traceback (most recent call last):", '  File "/usr/local/bin/vllm", line 8, in <module>', "    sys.exit(main())", "OSError: You are trying to access a gated repo.", f"Make sure to have access to it at https://huggingface.co/{model}.", f"401 Client Error. {req}"]  # fmt: skip
    i.put("vllm.log", out)
    i.say(ANY_FOUND, "401 Client Error", "no token, or one without access", rank_checked=False, alt=["GatedRepoError", "Cannot access gated repo", "trying to access a gated repo", "is restricted. You must have access"])  # fmt: skip


@kind
def vllm_healthy_with_client_errors(i):
    """A vLLM server that answers to the end: 400s of clients, preempted sequences, aborted requests, a slow tokenizer warning."""
    j = Job(i, nodes=1, ppn=1)
    t = j.t0
    out = [f"{vllm(t, where='api_server.py:1289')} vLLM API server version 0.9.1", "INFO:     Started server process [1]", "INFO:     Application startup complete."]  # fmt: skip
    for s in range(i.r.randrange(30, 90)):
        at = t + S(60 + 10 * s)
        out.append(f'INFO:     10.2.{i.r.randrange(9)}.7:{i.r.randrange(30000, 60000)} - "POST /v1/chat/completions HTTP/1.1" 200 OK')  # fmt: skip
        out.append(f"{vllm(at)} Engine 000: Avg prompt throughput: {i.r.randrange(900)}.1 tokens/s, Avg generation throughput: {i.r.randrange(200, 900)}.4 tokens/s, Running: {i.r.randrange(1, 40)} reqs, Waiting: 0 reqs, GPU KV cache usage: {i.r.randrange(90)}.2%, Prefix cache hit rate: 41.0%")  # fmt: skip
        if s % 7 == 3:
            out += [f"{vllm(at, 'ERROR', 'serving_chat.py:203')} Error in preprocessing prompt inputs", "Traceback (most recent call last):", '  File "/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/openai/serving_engine.py", line 628, in _validate_input', "    raise ValueError(", "ValueError: This model's maximum context length is 8192 tokens. However, you requested 9001 tokens in the messages, Please reduce the length of the messages.", 'INFO:     10.2.0.9:41022 - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request']  # fmt: skip
        if s % 11 == 5:
            out += [f"{vllm(at, where='async_llm.py:428')} Aborted request chatcmpl-{i.r.randrange(16**8):08x}.", f"{vllm(at, 'WARNING', 'scheduler.py:1754')} Sequence group {s} is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space."]  # fmt: skip
    out += ["INFO:     Shutting down", "INFO:     Waiting for application shutdown.", "INFO:     Application shutdown complete.", "INFO:     Finished server process [1]"]  # fmt: skip
    i.put("vllm.log", out)
    i.say(QUIET, None, "clients erred, the server did not", never=["maximum context length", "Aborted request"])  # fmt: skip


@kind
def vllm_engine_died_unexpectedly(i):
    """vLLM: the engine's process is gone without a word, only the client says so, then 500s: the cause is not in this log."""
    j = Job(i, nodes=1, ppn=1)
    t = j.t0
    out = [f"(APIServer pid=1) {vllm(t, where='api_server.py:1289')} vLLM API server version 0.11.0", f"(EngineCore_DP0 pid=212) {vllm(t + S(30), where='gpu_model_runner.py:2602')} Starting to load model Qwen/Qwen3-32B...", "(APIServer pid=1) INFO:     Application startup complete."]  # fmt: skip
    out += [f'(APIServer pid=1) INFO:     10.2.0.{i.r.randrange(9)}:40112 - "POST /v1/completions HTTP/1.1" 200 OK' for _ in range(i.r.randrange(20, 60))]  # fmt: skip
    e = t + S(900)
    out += [f"(APIServer pid=1) {vllm(e, 'ERROR', 'core_client.py:564')} Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.", f"(APIServer pid=1) {vllm(e, 'ERROR', 'async_llm.py:480')} AsyncLLM output_handler failed.", "(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.", '(APIServer pid=1) INFO:     10.2.0.3:40112 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error', "(APIServer pid=1) INFO:     Shutting down"]  # fmt: skip
    i.put("vllm.log", out)
    i.say(SYMPTOM, None, "the engine died and printed nothing; kernel log or exit code are needed", never=["EngineDeadError", "500 Internal"])  # fmt: skip


ISSUE = """## CUDA out of memory on 8xH100 #{n}
### Log
```
Traceback (most recent call last):
  File "train.py", line 212, in <module>
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free.
[rank3]:[E1103 02:11:09.120933112 ProcessGroupNCCL.cpp:683] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=918, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.
```
Any idea?"""


@kind
def agent_quotes_an_issue(i):
    """An agent's log prints the issue it works on, with somebody's OOM and watchdog lines in it; the agent itself dies of bad JSON."""
    j = Job(i, nodes=1, ppn=1)
    t = j.t0
    out = [f"{comma(t)} INFO agent.py:51 model=qwen3-32b tools=bash,edit,search"]
    for s in range(i.r.randrange(3, 8)):
        out.append(
            f"{comma(t + S(20 * s))} INFO agent.py:88 step {s}: tool=bash rc=0 tokens={i.r.randrange(900, 9000)}"
        )
    out.append(f"{comma(t + S(200))} INFO agent.py:97 tool=fetch_issue returned:")
    out += ISSUE.format(n=i.r.randrange(1000, 9000)).split("\n")
    for s in range(i.r.randrange(3, 8)):
        out.append(f"{comma(t + S(220 + 20 * s))} INFO agent.py:88 step {10 + s}: tool=edit rc=0 tokens={i.r.randrange(900, 9000)}")  # fmt: skip
    line = f"json.decoder.JSONDecodeError: Expecting ',' delimiter: line 1 column {i.r.randrange(30, 400)} (char 91)"
    out += [f"{comma(t + S(500))} ERROR agent.py:131 tool call could not be parsed", "Traceback (most recent call last):", '  File "/opt/agent/agent.py", line 128, in step', "    args = json.loads(call.arguments)", '  File "/usr/lib/python3.12/json/decoder.py", line 354, in raw_decode', "    obj, end = self.scan_once(s, idx)", line]  # fmt: skip
    i.put("agent.log", out)
    i.say(ANY_FOUND, "json.decoder.JSONDecodeError", "what stands between the fences is somebody else's job", never=["CUDA out of memory", "Watchdog caught"])  # fmt: skip


@kind
def image_pull_fails_for_one_worker(i):
    """Events of a namespace and the master's log: one worker's image cannot be pulled, the master waits for it at the rendezvous."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(1)
    job = f"llama-{i.r.randrange(100, 999)}"
    t = j.startup(launcher=False, nccl=False, ranks=[k for k in range(4) if k != v])
    store_timeouts(j, t, [k for k in range(4) if k != v])
    pods = [f"{job}-master-0", *[f"{job}-worker-{k}" for k in range(3)]]
    for k in range(4):
        if k != v:
            i.put(f"{pods[k]}.log", j.of(k))
    img = f"registry.corp.example/ml/train:{i.r.randrange(10, 99)}.03-py3"
    line = f'Failed to pull image "{img}": failed to pull and unpack image "{img}": failed to resolve reference "{img}": {img}: not found'
    ev = ["LAST SEEN   TYPE      REASON      OBJECT                   MESSAGE"]
    ev += [f"18m         Normal    Started     pod/{pods[k]}   Started container pytorch" for k in range(4) if k != v]
    ev += [f"18m         Normal    Pulling     pod/{pods[v]}   Pulling image \"{img}\"", f"17m         Warning   Failed      pod/{pods[v]}   {line}", f"17m         Warning   Failed      pod/{pods[v]}   Error: ErrImagePull", f"3m          Warning   BackOff     pod/{pods[v]}   Back-off pulling image \"{img}\"", f"3m          Warning   Failed      pod/{pods[v]}   Error: ImagePullBackOff"]  # fmt: skip
    i.put("events.txt", ev)
    i.say(ANY_FOUND, "Failed to pull image", "one pod never started", rank_checked=False, alt=["ErrImagePull"], never=["Timed out after", "Started container"])  # fmt: skip


@kind
def wrong_arch_on_one_node(i):
    """A mixed cluster: the build has no kernels for one node's older GPUs; its ranks say so at the first kernel, the others lose them."""
    j = Job(i, nodes=2, ppn=2, style="plain")
    n = i.r.randrange(2)
    bad = [n * 2, n * 2 + 1]
    t = j.startup(launcher=False)
    line = "torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device"
    warn = "/usr/local/lib/python3.12/dist-packages/torch/cuda/__init__.py:283: UserWarning: \n    Found GPU0 Tesla V100-SXM2-32GB which is of cuda capability 7.0.\n    Minimum and Maximum cuda capability supported by this version of PyTorch is\n    (7.5) - (12.0)"
    for k in bad:
        j.add(t - S(12), k, warn)
        died(j, t + j.us(), k, line, ("/workspace/model/embed.py", 21, "forward", "h = self.tok(ids)"))
    for k in range(4):
        if k not in bad:
            j.remote_gone(t + S(5), k, j.hosts[n])
    per_rank(i, j)
    i.say(ANY_FOUND, "no kernel image is available", "the wheel was not built for that node's GPUs", rank_checked=False, host=j.hosts[n], alt=["Minimum and Maximum cuda capability", "which is of cuda capability 7.0"], never=["ncclRemoteError", "remote process exited"])  # fmt: skip


@kind
def ray_serve_replica_silent_exit(i):
    """Ray: the driver knows only that a worker died of an unexpected system error; no worker's log, no kernel line: nothing to identify."""
    j = Job(i, nodes=2, ppn=4)
    t = j.t0
    ip = j.ips[1]
    out = [f"{plain(t)},101\tINFO worker.py:1843 -- Connecting to existing Ray cluster at address: {j.ips[0]}:6379..."]
    out += [f"(ServeReplica:llm:Model pid={j.pids[4]}, ip={ip}) INFO {plain(t + S(9 * s))},011 llm_Model 8k2p -- POST /v1/chat/completions 200 {i.r.randrange(90, 900)}.2ms" for s in range(i.r.randrange(20, 50))]  # fmt: skip
    out += [f"(raylet, ip={ip}) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. RayTask ID: ffffffffffffffff72ad Worker ID: 91c2 Node ID: 44aa Worker IP address: {ip} Worker port: 10021 Worker PID: {j.pids[4]} Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.", "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task."]  # fmt: skip
    i.put("driver.log", out)
    i.say(SILENT, None, "'potential root causes' is advice; the worker's own log is missing", suspects_checked=False)
