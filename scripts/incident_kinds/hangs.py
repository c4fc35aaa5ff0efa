"""Incidents: healthy_hf_trainer, healthy_lightning, bare_assert_sigkill_escalation, xid31_app_fault and others."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, SYMPTOM, XID79, S, comma, dmesg_T, glog, kind, plain
from incident_kinds.job import Job


@kind
def healthy_hf_trainer(i):
    """HF Trainer and tqdm lines without any time, finishing with train_runtime; a caught connection retry in between: healthy."""
    j = Job(i, nodes=1, ppn=2, style="hf")
    t = j.steps(j.startup(launcher=False), 20)
    j.add(
        t,
        0,
        "'(MaxRetryError(\"HTTPSConnectionPool(host='hub.local', port=443): Max retries exceeded with url: /api\"), '(Request ID: 77ab)')' thrown while requesting HEAD https://hub.local/model/config.json\nRetrying in 1s [Retry 1/5].",
    )
    t = j.steps(t + S(1), 20)
    j.add(
        t,
        0,
        f"{{'train_runtime': 1203.44, 'train_samples_per_second': 53.1, 'train_steps_per_second': 0.83, 'train_loss': {j.loss:.4f}, 'epoch': 1.0}}\n100%|##########| 100000/100000 [20:03<00:00,  1.20it/s]",
    )
    i.put("finetune.log", j.single())
    i.say("healthy", None, "the trainer's own final summary is proof of completion", never=["MaxRetryError"])


@kind
def healthy_lightning(i):
    """Lightning: bar, a worker's warning, then `Trainer.fit` stopped: max_steps reached: healthy."""
    Job(i, nodes=1, ppn=2)
    n = i.r.randrange(30, 60)
    i.put(
        "lightning.log",
        [
            "GPU available: True (cuda), used: True",
            "TPU available: False, using: 0 TPU cores",
            "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2",
            "Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/2",
            "-" * 100,
            "distributed_backend=nccl",
            "All distributed processes registered. Starting with 2 processes",
            "-" * 100,
            "/usr/local/lib/python3.12/dist-packages/lightning/pytorch/trainer/connectors/data_connector.py:425: The 'train_dataloader' does not have many workers which may be a bottleneck. Consider increasing the value of the `num_workers` argument` to `num_workers=63` in the `DataLoader` to improve performance.",
            *[
                f"Epoch {s // 10}: {s % 10 * 10:3d}%|{'#' * (s % 10):10s}| {s % 10 * 50}/500 [00:{s % 60:02d}<00:41, 12.1it/s, v_num=3, train_loss={2.2 - s / 100:.3f}]"
                for s in range(n)
            ],
            "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f1122aabb00>",
            "Traceback (most recent call last):",
            '  File "/usr/local/lib/python3.12/dist-packages/torch/utils/data/dataloader.py", line 1604, in __del__',
            "    self._shutdown_workers()",
            "AssertionError: can only test a child process",
            f"Epoch {n // 10}: 100%|##########| 500/500 [00:41<00:00, 12.1it/s, v_num=3, train_loss=1.102]",
            f"`Trainer.fit` stopped: `max_steps={n * 50}` reached.",
        ],
    )
    i.say(
        "healthy",
        None,
        "exceptions ignored in a destructor do not end a run",
        never=["can only test a child process", "does not have many workers"],
    )


@kind
def bare_assert_sigkill_escalation(i):
    """Bare assert on one rank; torchrun's escalation to SIGKILL makes the others exit -9: those are its own kills, no OOM killer."""
    j = Job(i, nodes=1, ppn=8)
    v = j.pick(0)
    t = j.steps(j.startup(), 12)
    code = i.r.choice(
        ["assert labels.max() < vocab_size", "assert x.shape[0] == mask.shape[0]", "assert self.cursor <= self.end"]
    )
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(v, j.frames(("/workspace/data/check.py", 27, "validate", code)), "AssertionError"),
    )
    j.closing(t + S(1), 0, v)
    others = [k for k in range(8) if k != v]
    a = j.agent_pid[0]
    j.add(
        t + S(31),
        -1,
        "\n".join(
            f"{glog(t + S(31), 'W', a)} torch/distributed/elastic/multiprocessing/api.py:1030] Unable to shutdown process {j.pids[k]} via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL"
            for k in others[:4]
        ),
    )
    j.table(t + S(33), 0, v, others=[(k, -9) for k in others[:4]])
    i.put("job.log", j.single())
    i.say(
        ANY_FOUND,
        "AssertionError",
        "the -9 of the others is the agent's own escalation after this rank's assertion",
        alt=[code],
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["Signals.SIGKILL", "ChildFailedError", "exitcode  : -9"],
    )


@kind
def xid31_app_fault(i):
    """Xid 31 (application class) in the kernel log beside the rank's illegal memory access: the program's fault, the device is not condemned."""
    j = Job(i, nodes=2, ppn=8)
    v = j.pick(0)
    t = j.steps(j.startup(), 12)
    j.add(
        t + S(1),
        v,
        f"{comma(t + S(1))} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(
            v,
            j.frames(("/workspace/kernels/gather.py", 88, "forward", "out = _C.ragged_gather(x, idx)")),
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        ),
    )
    for k in range(16):
        if k != v:
            j.remote_gone(t + S(3) + j.us(), k, j.host(v))
    j.rank_files(lambda k: f"rank{k}.log")
    i.put(
        f"dmesg-{j.host(v)}.txt",
        [
            f"{dmesg_T(j.t0 - S(900))} nvidia-persistenced: registered",
            f"{dmesg_T(t)} NVRM: Xid (PCI:{j.pci(v)}): 31, pid={j.pids[v]}, name=python3, Ch 0000000e, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_{i.r.randrange(9)} faulted @ 0x7f{i.r.randrange(16**6):06x}_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        ],
    )
    i.say(
        "identified",
        f"Xid (PCI:{j.pci(v)}): 31",
        "kernel record and CUDA error are one event of the program on this rank",
        alt=["an illegal memory access was encountered"],
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["ncclRemoteError", "Connection closed by remote peer"],
    )


@kind
def faulthandler_fs_hang(i):
    """Faulthandler dumps of hung ranks in one file: one rank in os.stat of the data loader, the others in a barrier; no cause: symptom-only."""
    j = Job(i, nodes=1, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(launcher=False), 10)
    for k in i.r.sample(range(8), 8):
        top = (
            [
                '  File "<frozen genericpath>", line 19 in exists',
                '  File "/workspace/data/index.py", line 47 in _mtime',
                '  File "/workspace/data/index.py", line 63 in refresh',
            ]
            if k == v
            else [
                '  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py", line 4635 in barrier',
                '  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/c10d_logger.py", line 83 in wrapper',
            ]
        )
        tt = t + S(900) + j.us()
        j.add(
            tt,
            k,
            f"{comma(tt)} WARNING {j.script}:150 no step for 900 s, dumping stacks\nTimeout (0:15:00)!\nThread 0x00007f{i.r.randrange(16**7):07x}640 (most recent call first):\n"
            + "\n".join(
                [
                    *top,
                    f'  File "/workspace/{j.script}", line 201 in train',
                    f'  File "/workspace/{j.script}", line 388 in <module>',
                ]
            ),
        )
    i.put("job.log", j.single(lambda k, j: f"[rank{k}]: "))
    i.say(
        [*SYMPTOM, "unexplained"],
        None,
        "one rank sits in a file-system call, the others wait for it",
        suspects=[v],
        never=[],
    )


@kind
def xid79_monotonic_unanchored(i):
    """Monotonic dmesg without boot time and without a pid of ours: the Xid 79 cannot be placed, so it is a suspect and never identified."""
    j = Job(i, nodes=1)
    v = j.pick(0)
    t = j.steps(j.startup(), 12)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(8) if k != v])
    j.rank_files(lambda k: f"rank{k}.log")
    up = i.r.randrange(300000, 900000) + 0.402911
    i.put(
        f"dmesg-{j.hosts[0]}.log",
        [
            f"[{up - 90000:12.6f}] docker0: port 1(veth12ab) entered forwarding state",
            f"[{up:12.6f}] NVRM: Xid (PCI:{j.pci(v)}): 79, pid='<unknown>', name=<unknown>, {XID79}",
            f"[{up:12.6f}] NVRM: GPU {j.pci(v)}.0: {XID79}",
        ],
    )
    i.say(
        SYMPTOM,
        None,
        "likely, but nothing in these files says that the Xid fell into the job's time",
        suspects=[v],
        never=["Watchdog caught"],
    )


@kind
def kube_logs_prefix(i):
    """kubectl logs -l --prefix: '[pod/NAME/CONTAINER] ' before every line of an interleaved dump, a sidecar's errors among them."""
    j = Job(i, nodes=4, ppn=1, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(nccl=False, launcher=False), 10)
    line = j.oom(t, v, tag=False)
    j.wds(t + S(j.timeout_ms / 1000 + 1), [k for k in range(4) if k != v])
    name = f"pt-{i.r.randrange(99)}-worker"
    out = j.single(lambda k, j: f"[pod/{name}-{k}/pytorch] ")
    for n in range(6):
        out.insert(
            20 + n * 3,
            f"[pod/{name}-{(v + 1) % 4}/log-shipper] [{plain(j.t0 + S(40 + n))}] [error] [output:es:es.0] failed to flush chunk, retry in 11 seconds",
        )
    i.put("pods.log", out)
    i.say(
        "identified",
        line[:60],
        "the pod in the prefix gives the rank, the log shipper is a neighbour in the pod",
        rank=v,
        host=j.hosts[v],
        owner="workload",
        never=["Watchdog caught", "failed to flush chunk"],
    )


@kind
def store_wait_timeout(i):
    """Rank 0 died of its own error before it could publish the NCCL id: ten minutes later all others print 'wait timeout after N ms'."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    t = j.startup(nccl=False, launcher=False)
    path = f"/workspace/configs/exp_{i.r.randrange(999):03d}.yaml"
    msg = f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'"
    d = t + S(603)
    for k in range(1, 8):
        dk = d + j.us()
        j.add(
            dk,
            k,
            f"{comma(dk)} ERROR {j.script}:355 unhandled exception\n"
            + j.tb(
                k,
                j.frames((f"/workspace/{j.script}", 120, "main", "dist.broadcast(seed, src=0)")),
                f"torch.distributed.DistBackendError: [{k}] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0",
            ),
        )
    j.add(
        t,
        0,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(0, [(f"/workspace/{j.script}", 66, "load_config", "with open(path) as f:")], msg),
        order=d + S(30),
    )
    i.put("job.log", j.single())
    i.say(
        ANY_FOUND,
        msg[:50],
        "600,000 ms before the store timeouts rank 0 had gone; it prints last",
        rank=0,
        host=j.hosts[0],
        never=["wait timeout after", "is setting up NCCL communicator"],
    )


@kind
def store_barrier_missing(i):
    """Store-based barrier at init: one worker of N never joined and has no file here: symptom-only, the missing rank is the suspect."""
    j = Job(i, nodes=2, ppn=4, style="plain")
    v = j.pick(0)
    ks = [k for k in range(8) if k != v]
    t = j.startup(nccl=False, launcher=False, ranks=ks)
    for k in ks:
        d = t + S(1800) + j.us()
        j.add(
            d,
            k,
            f"{comma(d)} ERROR {j.script}:355 unhandled exception\n"
            + j.tb(
                k,
                j.frames((f"/workspace/{j.script}", 98, "main", 'dist.init_process_group("nccl")')),
                f"torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank {k}, for key: store_based_barrier_key:1 (world_size=8, num_workers_joined=7, timeout=0:30:00 error=wait timeout)",
            ),
        )
    j.rank_files(lambda k: f"{j.jobid}.{k}.log", ranks=ks, launcher=None)
    i.say(
        SYMPTOM,
        None,
        "seven of eight joined; the eighth has no log here",
        suspects=[v],
        never=["Timed out initializing"],
    )
