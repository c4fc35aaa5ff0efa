"""Incidents of other accelerators: Ascend, ROCm, Gaudi, Neuron, TPU; and a name that does not resolve."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, S, comma, glog, kind
from incident_kinds.job import Job
from incident_kinds.unseen import died, per_host, per_rank
from incident_kinds.unseen_nodes import kern

HCCL = "Possible Cause: 1. An exception occurs during the execution on some NPUs in the cluster. As a result, collective communication operation failed.2. The execution speed on some NPU in the cluster is too slow to complete a communication operation within the timeout interval. (default 1800s, You can set the interval by using HCCL_EXEC_TIMEOUT.)3. The number of training samples of each NPU is inconsistent.4. Packet loss or other connectivity problems occur on the communication link."


@kind
def ascend_npu_oom_then_notify(i):
    """Ascend: one NPU out of memory, half an hour later every other rank prints EI0002 with HCCL's list of possible causes."""
    j = Job(i, nodes=2, ppn=8, style="megatron")
    v = j.pick(0)
    t = j.steps(j.startup(nccl=False, launcher=False), 9)
    a = i.r.randrange(1, 9)
    line = f"RuntimeError: NPU out of memory. Tried to allocate {a}.00 GiB (NPU {j.local(v)}; 60.97 GiB total capacity; 5{i.r.randrange(4, 9)}.10 GiB already allocated; 54.98 GiB current active; 1.32 GiB free; 57.55 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation."
    died(j, t, v, line, (f"/workspace/{j.script}", 207, "train", "loss = model(batch)"))
    for k in range(16):
        if k != v:
            e = t + S(1836) + j.us()
            at = f"{j.at(k, e):%Y-%m-%d-%H:%M:%S}"
            text = f"RuntimeError: npuSynchronizeDevice:build/CMakeFiles/torch_npu.dir/compiler_depend.ts:479 NPU function error: AclrtSynchronizeDeviceWithTimeout, error code is 507048\n[ERROR] {at} (PID:{j.pids[k]}, Device:{j.local(k)}, RankID:{k}) ERR00100 PTA call acl api failed\n[Error]: The execution of the internal task times out.\nEI0002: [PID: {j.pids[k]}] {at}.713.335 The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank: [{v}]. base information: [streamID:[109], taskID[38], taskType[Notify Wait], tag[AllReduce_group_name_1]].\n        {HCCL}"
            died(j, e, k, text, (f"/workspace/{j.script}", 231, "train", "torch.npu.synchronize()"))
    i.put("train.log", j.single())
    i.say(ANY_FOUND, "NPU out of memory", "HCCL's timeouts name the rank they wait for", rank=v, host=j.host(v), never=["EI0002", "error code is 507048", "PTA call acl api"])  # fmt: skip


@kind
def rocm_memory_access_fault(i):
    """ROCm, torchrun: the runtime prints a memory access fault of one GPU node and aborts; no traceback; the others see the peer go."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(), 12, ranks=[0])
    line = f"Memory access fault by GPU node-{4 + v} (Agent handle: 0x{i.r.randrange(1 << 36):x}) on address 0x7f{i.r.randrange(1 << 36):09x}000. Reason: Page not present or supervisor privilege."
    j.add(t, v, line)
    for k in [x for x in range(8) if x != v][:3]:
        j.remote_gone(t + S(4) + j.us(), k, j.hosts[0])
    j.closing(t + S(5), 0, v, code=-6)
    j.table(t + S(35), 0, v, code=-6)
    i.put("train.log", j.single())
    i.say(ANY_FOUND, "Memory access fault by GPU node", "a kernel of that GPU wrote where nothing is mapped", rank=v, rank_checked=False, never=["ncclRemoteError", "remote process exited", "exitcode  : -6"])  # fmt: skip


@kind
def gaudi_device_acquire_failed(i):
    """Gaudi: one card of a node cannot be acquired at start because its firmware does not answer; per-rank files and the node's kernel log."""
    j = Job(i, nodes=1, ppn=8, style="hf")
    v = j.pick(1)
    t = j.startup(launcher=False, nccl=False, ranks=[k for k in range(8) if k != v])
    boot = j.t0 - S(i.r.randrange(60, 300))
    rows = [(boot, f"habanalabs hl{v}: Failed to communicate with Device CPU (CPU-CP timeout)"), (boot, f"habanalabs hl{v}: failed to initialize CPU H/W queues -5"), (boot, f"habanalabs 0000:{j.pci(v)[5:7]}:00.0: Failed to initialize hl{v}. Device is NOT usable !")]  # fmt: skip
    i.put(f"kern-{j.hosts[0]}.log", kern(j, 0, rows))
    died(j, t, v, "RuntimeError: synStatus=26 [Generic failure] Device acquire failed.", ("/usr/local/lib/python3.10/dist-packages/habana_frameworks/torch/hpu/__init__.py", 309, "set_device", "device_idx = _get_device_index(device, optional=True)"), head=False)  # fmt: skip
    for k in range(8):
        if k != v:
            died(j, t + S(600) + j.us(), k, f"torch.distributed.DistStoreError: wait timeout after 600000ms, keys: /default_pg/0//cuda//{v}", head=False)  # fmt: skip
    per_rank(i, j, "rank{}.log")
    i.say(ANY_FOUND, "synStatus=26 [Generic failure] Device acquire failed", "that card did not come up", rank=v, alt=["Failed to communicate with Device CPU", "Device is NOT usable"], never=["wait timeout after"])  # fmt: skip


@kind
def neuron_uncorrectable_hbm(i):
    """Trainium: the kernel reports an uncorrectable HBM error of one Neuron device, the runtime then times out its execution; peers' collectives follow."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False, nccl=False), 10, ranks=[0, 8])
    d = j.local(v) // 2
    i.put(f"kern-{j.host(v)}.log", kern(j, j.node(v), [(t, f"neuron{d}: NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR device={d}")]))  # fmt: skip

    def nrt(k, at, mod, text):
        return f"{j.at(k, at):%Y-%b-%d %H:%M:%S}.0593 {j.pids[k]}:{j.pids[k] + 3} ERROR  {mod:40}{text}"

    e = t + S(35)
    j.add(e, v, "\n".join([nrt(v, e, "TDRV:exec_consume_tpb_status_notifications", " Missing infer_status notification: (end:4)"), nrt(v, e, "TDRV:exec_consume_infer_status_notifications", f" (FATAL-RT-UNDEFINED-STATE) encountered uncorrectable memory error on Neuron Device {d}. Execution results may be invalid. Please terminate or start/stop this instance to recover from bad hardware."), nrt(v, e, "NMGR:dlr_infer", " Inference completed with err: 1201")]))  # fmt: skip
    for k in [x for x in range(16) if x != v][:6]:
        p = e + S(600)
        j.add(p, k, nrt(k, p, "TDRV:exec_consume_infer_status_notifications", f" (FATAL-RT-UNDEFINED-STATE) missing collectives status on Neuron Device {j.local(k) // 2} NC 0, model model.neff - suspected hang in collectives operation 0 out of 32"))  # fmt: skip
    per_host(i, j)
    i.say(ANY_FOUND, "HBM_UNCORRECTABLE_ERROR", "the device's memory failed, the rest waited", rank_checked=False, host=j.host(v), alt=["uncorrectable memory error on Neuron Device", "Missing infer_status notification"], owner="node", never=["suspected hang in collectives"])  # fmt: skip


@kind
def tpu_compile_oom_on_every_worker(i):
    """MaxText on a TPU slice: the program does not fit; every worker prints the same compile error within a second, then the barrier's complaints."""
    j = Job(i, nodes=4, ppn=1)
    t = j.t0
    used = i.r.randrange(17, 40)
    line = f"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used {used}.21G of 15.75G hbm. Exceeded hbm capacity by {used - 16}.46G."
    for k in range(4):
        e = t + S(95) + j.us()
        out = [f"{comma(t)} INFO max_utils.py:201 Jax distributed system initialized: process {k} of 4 on {j.hosts[k]}", f"{comma(t + S(20))} INFO train.py:71 Per train step: Total TFLOPs: {i.r.randrange(90, 400)}.11"]  # fmt: skip
        out += ["Traceback (most recent call last):", '  File "/deps/MaxText/train.py", line 812, in main', "    train_loop(config)", '  File "/deps/MaxText/train.py", line 690, in train_loop', "    state, metrics = p_train_step(state, example_batch, nextrng)", line, "", f"Total hbm usage >= {used}.74G:", "    reserved        530.00M", f"    program          {used}.21G", "    arguments            0B"]  # fmt: skip
        if k:
            out.append(f"E{e:%m%d %H:%M:%S}.512011 {j.pids[k]} coordination_service_agent.cc:613] Failed to disconnect from coordination service with status: UNAVAILABLE: failed to connect to all addresses")  # fmt: skip
        i.put(f"{j.hosts[k]}-worker{k}.log", out)
    i.say(ANY_FOUND, "Ran out of memory in memory space hbm", "the same program, the same answer on every worker", rank_checked=False, owner="workload", never=["coordination_service_agent"])  # fmt: skip


@kind
def name_of_master_unknown_in_one_pod(i):
    """One pod cannot resolve the master's name (gai error -2) and gives up; the others sit in the rendezvous until it times out."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(1)
    t = j.t0
    job = f"sft-{i.r.randrange(100, 999)}"
    host = f"{job}-master-0"
    for k in range(4):
        pod = host if k == 0 else f"{job}-worker-{k - 1}"
        out = [f"{glog(t, 'I', 1)} torch/distributed/launcher/api.py:195] Starting elastic_operator with launch configs: min_nodes: 4 max_nodes: 4 rdzv_backend: c10d rdzv_endpoint: {host}:29500"]  # fmt: skip
        if k == v:
            out += [f"[W{(t + S(2 + x)):%m%d %H:%M:%S}.459331441 socket.cpp:755] [c10d] The IPv{6 - 2 * (x % 2)} network addresses of ({host}, 29500) cannot be retrieved (gai error: -2 - Name or service not known)." for x in range(i.r.randrange(6, 30))]  # fmt: skip
            out += [f"[E{(t + S(62)):%m%d %H:%M:%S}.459331441 socket.cpp:1023] [c10d] The client socket has timed out after 60000ms while trying to connect to ({host}, 29500).", "Traceback (most recent call last):", '  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py", line 161, in _create_tcp_store', "    store = TCPStore(", "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details."]  # fmt: skip
        else:
            out += [f"{glog(t + S(601), 'E', 1)} torch/distributed/elastic/agent/server/api.py:704] Error waiting on rendezvous", "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"]  # fmt: skip
        i.put(f"{pod}.log", out)
    name = f"{job}-worker-{v - 1}.log"
    i.say(ANY_FOUND, "Name or service not known", "that pod's resolver does not know the master", rank_checked=False, source=name, never=["RendezvousTimeoutError", "Error waiting on rendezvous", "Starting elastic_operator"])  # fmt: skip
