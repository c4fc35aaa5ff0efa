"""Incidents: healthy_noise, uncovered_library, uncovered_native_abort, two_process_groups and others."""

from __future__ import annotations

from datetime import UTC

from incident_kinds.base import ANY_FOUND, SYMPTOM, S, comma, dmesg_T, glog, kind, plain, torch_stamp
from incident_kinds.job import Job


@kind
def healthy_noise(i):
    """Healthy run with the frightening noise of several programs (TF registration, NCCL plugin, IPv6 warnings, AER of an Ethernet card)."""
    j = Job(i, nodes=1, style=i.r.choice(["plain", "titan"]))
    t = j.t0
    ep = t.replace(tzinfo=UTC).timestamp()
    j.add(
        t,
        0,
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        + "\n".join(
            [
                f"E0000 00:00:{ep:.6f}  {j.pids[0]} cuda_dnn.cc:8579] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
                f"E0000 00:00:{ep:.6f}  {j.pids[0]} cuda_blas.cc:1407] Unable to register cuBLAS factory: Attempting to register factory for plugin cuBLAS when one has already been registered",
                "[W socket.cpp:752] [c10d] The IPv6 network addresses of (head-0, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
                "[W socket.cpp:697] [c10d] The client socket has failed to connect to [head-0]:29500 (errno: 111 - Connection refused).",
                "/usr/local/lib/python3.12/dist-packages/apex/normalization/fused_layer_norm.py:15: UserWarning: fused_layer_norm_cuda not found, falling back (ModuleNotFoundError: No module named 'fused_layer_norm_cuda')",
            ]
        ),
    )
    t = j.steps(j.startup(t + S(3)), 20)
    j.add(
        t,
        0,
        f"{comma(t)} WARNING fs.py:44 attempt 1/5 failed: ConnectionResetError: [Errno 104] Connection reset by peer; retrying in 2.0 s\n{comma(t + S(3))} INFO fs.py:49 upload succeeded on attempt 2",
    )
    t = j.steps(t, 20)
    j.done(t + S(3))
    j.add(
        t + S(9),
        0,
        f"[rank0]:{torch_stamp(t + S(9), 'W')} ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
    )
    i.put("train.log", j.single())
    i.put(
        "dmesg.txt",
        [
            f"{dmesg_T(j.t0 + S(70 * n))} alx 0000:07:00.0: AER: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)"
            for n in range(8)
        ],
    )
    i.say(
        "healthy",
        None,
        "all steps done, final checkpoint saved",
        never=["Unable to register", "Connection reset", "AER:", "destroy_process_group", "Connection refused"],
    )


@kind
def uncovered_library(i):
    """Invented library error on one rank, watchdogs elsewhere: unexplained with the right line and rank, never identified."""
    j = Job(i, nodes=2, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    line = f"quillfabric.errors.LatticeDesyncError: QF-{i.r.randrange(1000, 9999)}: lattice epoch {i.r.randrange(9, 99)} diverged from quorum tag 0x{i.r.randrange(16**6):06x}"
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(
            v,
            j.frames(
                (
                    "/usr/local/lib/python3.12/dist-packages/quillfabric/lattice.py",
                    611,
                    "advance",
                    "raise LatticeDesyncError(code, epoch, tag)",
                )
            ),
            line,
        ),
    )
    j.wds(t + S(j.timeout_ms / 1000 + 1), [k for k in range(8) if k != v])
    j.closing(t + S(2), j.node(v), v)
    j.table(t + S(5), j.node(v), v)
    j.rank_files(lambda k: f"rank{k}.log")
    i.say(
        "unexplained",
        line[:60],
        "nobody's knowledge base has this; place and time are still plain",
        rank=v,
        host=j.host(v),
        never=["Watchdog caught", "ChildFailedError"],
        covered=False,
    )


@kind
def uncovered_native_abort(i):
    """Invented native abort without any traceback on one rank of an interleaved file: unexplained, right line and rank."""
    j = Job(i, nodes=1)
    v = j.pick()
    t = j.steps(j.startup(), 12)
    line = f"[{plain(t)}] FATAL zephyrkv[{j.pids[v]}]: slab {i.r.randrange(99)} guard word 0x{i.r.randrange(16**8):08x} overwritten, halting"
    j.add(t, v, line)
    j.closing(t + S(2), 0, v, code=-6)
    j.table(t + S(4), 0, v, code=-6)
    for k in range(8):
        if k != v:
            j.tcpstore(t + S(3) + j.us(), k)
    i.put("job.log", j.single(lambda k, j: f"{k}: ", lambda n, j: "0: "))
    i.say(
        "unexplained",
        "guard word",
        "an unknown program's last word before SIGABRT on that rank",
        rank=v,
        host=j.hosts[0],
        never=["ChildFailedError", "sendBytes failed", "exitcode  : -6"],
        covered=False,
    )


@kind
def two_process_groups(i):
    """Process groups: one rank never entered its tensor-parallel collective; its TP peers are behind in the default group too, yet only it is the suspect."""
    j = Job(i, nodes=1)
    g = i.r.randrange(2)
    a, b = list(range(4 * g, 4 * g + 4)), list(range(4 - 4 * g, 8 - 4 * g))
    v = i.r.choice([k for k in a if k])
    t = j.steps(j.startup(), 12)
    tw = t + S(j.timeout_ms / 1000 + 2)
    tp = j.seq * 3
    peers = [k for k in a if k != v]
    for k in peers:
        j.wd(
            tw + j.us(),
            k,
            seq=tp,
            op="_ALLGATHER_BASE",
            nin=8388608,
            nout=33554432,
            pg=f"{2 + g} PG GUID {5 + g}(tp_group)",
        )
    for k in b:
        j.wd(tw + S(4) + j.us(), k, seq=j.seq, op="ALLREDUCE", nin=1, enq=j.seq, comp=j.seq - 1)
    j.notified(tw + S(1.4), v, peers[0], j.seq - 1, j.seq - 1)
    j.table(tw + S(70), 0, peers[0], code=-6)
    i.put("job.log", j.single())
    i.say(
        SYMPTOM,
        None,
        "three TP peers wait for it in their own group and so never reach the global one; it alone waits nowhere",
        suspects=[v],
        never=["Watchdog caught", "ChildFailedError"],
    )


@kind
def seq1_preprocessing(i):
    """Watchdog at sequence number 1: one rank still tokenizes while the others sit in the first collective: symptom-only, busy rank is the suspect."""
    j = Job(i, nodes=1, style="plain", timeout_ms=600000)
    v = j.pick(0)
    t = j.startup(launcher=False)
    j.seq = 1
    for s in range(30):
        tt = t + S(s * 21)
        j.add(
            tt,
            v,
            f"{comma(tt)} INFO data/tokenize.py:55 Tokenizing train split: {s * 2}% ({s * 40000}/2000000 examples)",
        )
    j.wds(t + S(604), [k for k in range(8) if k != v], seq=1, op="BROADCAST", nin=80, comp=-1)
    j.rank_files(lambda k: f"rank{k}.log", launcher=None)
    i.say(
        SYMPTOM,
        None,
        "everyone waits in the first broadcast for the rank that preprocesses",
        suspects=[v],
        never=["Watchdog caught"],
    )


@kind
def megatron_nan_grad(i):
    """Megatron names rank, node and device inside the nan message itself; other ranks lose their peer."""
    j = Job(i, nodes=2, style="megatron")
    v = j.pick()
    t = j.steps(j.startup(), 12)
    line = f"RuntimeError: Rank {v}, node {j.host(v)}, device {j.local(v)}, iteration {j.step}: Unexpected result nan (message='found NaN in local grad norm for bucket #3 in backward pass before data-parallel communication collective')"
    j.add(
        t,
        v,
        j.tb(
            v,
            j.frames(
                (
                    "/workspace/megatron/core/rerun_state_machine.py",
                    531,
                    "validate_result",
                    "raise RuntimeError(full_message)",
                )
            ),
            line,
        ),
    )
    for k in range(16):
        if k != v:
            j.remote_gone(t + S(2) + j.us(), k, j.host(v))
    j.table(t + S(5), j.node(v), v)
    i.put("pretrain.log", j.single())
    i.say(
        "identified",
        "found NaN in local grad norm",
        "one rank's gradient turned nan before any collective",
        rank=v,
        host=j.host(v),
        never=["ncclRemoteError", "ChildFailedError"],
    )


@kind
def kube_evicted(i):
    """Pod evicted for node ephemeral-storage pressure; describe of that pod beside the others' logs."""
    j = Job(i, nodes=4, ppn=1)
    v = j.pick()
    name = f"sft-{i.r.randrange(100, 999)}-worker"
    t = j.steps(j.startup(nccl=False, launcher=False), 9, ranks=range(4))
    for k in range(4):
        if k != v:
            j.remote_gone(t + S(4) + j.us(), k, j.ips[v])
        i.put(f"{name}-{k}.log", j.of(k))
    i.put(
        f"{name}-{v}.describe.txt",
        [
            f"Name:             {name}-{v}",
            "Namespace:        training",
            f"Node:             {j.hosts[v]}/{j.ips[v]}",
            "Status:           Failed",
            "Reason:           Evicted",
            f"Message:          The node was low on resource: ephemeral-storage. Threshold quantity: 50Gi, available: {i.r.randrange(20, 49)}Gi. Container pytorch was using 612Gi, request is 0, has larger consumption of ephemeral-storage.",
            "Containers:",
            "  pytorch:",
            "    Environment:",
            f"      RANK:        {v}",
            "      WORLD_SIZE:  4",
            "Events:",
            "  Type     Reason    Age  From     Message",
            "  ----     ------    ---- ----     -------",
            "  Warning  Evicted   6m   kubelet  The node was low on resource: ephemeral-storage.",
            "  Normal   Killing   6m   kubelet  Stopping container pytorch",
        ],
    )
    i.say(
        "identified",
        "low on resource: ephemeral-storage",
        "the kubelet evicted the pod, its peers lost it",
        alt=["Reason:           Evicted"],
        rank=v,
        host=j.hosts[v],
        never=["ncclRemoteError", "Connection closed by remote peer"],
    )


@kind
def kube_crashloop_import(i):
    """CrashLoopBackOff: current log empty, --previous has the import error; back-off events are only the consequence."""
    j = Job(i, nodes=1, ppn=1)
    pod, mod = f"train-{i.r.randrange(999)}-0", i.r.choice(["flash_attn", "transformer_engine", "deepspeed"])
    t = j.t0
    i.put(
        f"{pod}.previous.log",
        [
            f"{comma(t)} INFO launch.sh: starting {j.script}",
            "Traceback (most recent call last):",
            f'  File "/workspace/{j.script}", line 7, in <module>',
            f"    import {mod}",
            f"ModuleNotFoundError: No module named '{mod}'",
        ],
    )
    i.put(f"{pod}.log", [f"{comma(t + S(160))} INFO launch.sh: starting {j.script}"])
    i.put(
        "events.txt",
        [
            "LAST SEEN   TYPE      REASON    OBJECT          MESSAGE",
            f'2m          Normal    Pulled    pod/{pod}   Container image "registry.local/llm/train:4.2" already present on machine',
            f"10s         Warning   BackOff   pod/{pod}   Back-off restarting failed container pytorch in pod {pod}_training(0b1c)",
        ],
    )
    i.say(
        ["identified", "classified"],
        f"No module named '{mod}'",
        "the import fails at every start",
        source=f"{pod}.previous.log",
        rank_checked=False,
        owner="workload",
        never=["Back-off restarting", "already present"],
    )


@kind
def spot_interruption(i):
    """Spot interruption notice of the node termination handler, then SIGTERM and peers' NCCL errors."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    n = 1
    t = j.steps(j.startup(), 14)
    t2 = t + S(125)
    j.steps(t, 4)
    g = j.agent_pid[n]
    j.add(
        t2,
        -1 - n,
        f"{glog(t2, 'W', g)} torch/distributed/elastic/agent/server/api.py:732] Received Signals.SIGTERM death signal, shutting down workers",
    )
    for k in range(4):
        j.remote_gone(t2 + S(6) + j.us(), k, j.hosts[1])
    j.table(t2 + S(9), 0, 0, code=1)
    for m in range(2):
        i.put(
            f"{j.hosts[m]}.log",
            [x for e in j.sorted() if (e[2] >= 0 and j.node(e[2]) == m) or e[2] == -1 - m for x in e[3].split("\n")],
        )
    iid = f"i-0{i.r.randrange(16**15):015x}"
    i.put(
        f"node-termination-handler-{j.hosts[n]}.log",
        [
            f"{t - S(3000):%Y/%m/%d %H:%M:%S} INF Started watching for interruption events",
            f'{t:%Y/%m/%d %H:%M:%S} INF Adding new event to the event store event={{"AutoScalingGroupName":"","Description":"Spot ITN received. Instance will be interrupted at {t + S(120):%Y-%m-%dT%H:%M:%SZ} \\n","InstanceID":"{iid}","Kind":"SPOT_ITN"}}',
            f"{t + S(1):%Y/%m/%d %H:%M:%S} INF Requesting instance drain event-id=spot-itn-{i.r.randrange(16**8):08x} instance-id={iid} kind=SPOT_ITN node-name={j.hosts[n]}",
        ],
    )
    i.say(
        ANY_FOUND,
        "Spot ITN received",
        "the cloud took the node away two minutes after the notice",
        alt=["kind=SPOT_ITN"],
        rank_checked=False,
        host=j.hosts[n],
        owner="platform",
        never=["ncclRemoteError", "ChildFailedError", "Received Signals.SIGTERM"],
    )
