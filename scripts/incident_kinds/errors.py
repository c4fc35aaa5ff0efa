"""Incidents: ib_error12, disk_full_checkpoint, loss_nan, ninja_build_failure, chain_direct_cause and others."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, XID79, S, comma, dmesg_T, kind, plain
from incident_kinds.job import Job


@kind
def ib_error12(i):
    """InfiniBand completion error 12 on one HCA, watchdogs after."""
    j = Job(i, nodes=2)
    v = j.pick(8)
    t = j.steps(j.startup(), 12)
    p = f"{j.host(v)}:{j.pids[v]}:{j.pids[v] + 431} [{j.local(v)}]"
    hca = f"mlx5_{j.local(v)}"
    line = f"NCCL WARN NET/IB : Got completion from peer {j.ips[0]}<{i.r.randrange(40000, 60000)}> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid fe80::ba3f:d2ff:fe11:2233 remoteGids fe80::ba3f:d2ff:fe11:4455 hca {hca}"
    j.add(
        t,
        v,
        f"\n[{plain(t)}] {p} transport/net_ib.cc:2039 {line}\n{p} NCCL INFO transport/net.cc:1393 -> 6\n{p} NCCL INFO proxy.cc:723 -> 6\n{p} NCCL INFO proxy.cc:905 -> 6 [Progress Thread]",
    )
    j.wds(t + S(j.timeout_ms / 1000 + 1), [k for k in range(16) if k != v])
    j.table(t + S(j.timeout_ms / 1000 + 70), 1, v, code=-6)
    j.rank_files(lambda k: f"rank{k}.log")
    i.say(
        "identified",
        "status=12",
        "transport retry exceeded on one HCA; the rest waits",
        rank=v,
        host=j.host(v),
        never=["Watchdog caught", "ChildFailedError"],
    )


@kind
def disk_full_checkpoint(i):
    """Disk full while rank 0 saves; the others time out in the barrier."""
    j = Job(i, nodes=2, ppn=4)
    t = j.steps(j.startup(), 12)
    path = f"/ckpt/run{i.r.randrange(99)}/step_{j.step}/model_rank0.pt"
    line = f"OSError: [Errno 28] No space left on device: '{path}'"
    j.add(
        t,
        0,
        f"{comma(t)} INFO {j.script}:301 saving checkpoint at step {j.step}\n{comma(t + S(9))} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(0, j.frames((f"/workspace/{j.script}", 303, "save", "torch.save(state, path)")), line),
    )
    j.wds(t + S(9 + j.timeout_ms / 1000), range(1, 8), op="ALLREDUCE", nin=1)
    j.rank_files(lambda k: f"log_{k}.txt")
    i.say(
        "identified",
        "No space left on device",
        "rank 0 could not write, the barrier waited in vain",
        rank=0,
        host=j.hosts[0],
        never=["Watchdog caught"],
    )


@kind
def loss_nan(i):
    """Loss turns nan in the trainer's own lines; the run stops on its own check later."""
    j = Job(i, nodes=1, style=i.r.choice(["plain", "titan"]))
    t = j.steps(j.startup(), 14, ranks=[0])
    first = None
    for _s in range(5):
        j.step += 10
        x = j.step_line(t, 0)
        x = x.split("loss")[0] + (
            "loss nan lr 1.50e-04 801 ms/step"
            if j.style == "plain"
            else "loss:     nan  grad_norm:     nan  memory: 58.41GiB(73.84%)  tps: 6,101  tflops: 401.20  mfu: 40.57%"
        )
        first = first or (f"step {j.step} loss nan" if j.style == "plain" else f"step: {j.step:2d}  loss:     nan")
        j.add(t, 0, x)
        t += S(30)
    j.add(
        t,
        0,
        j.tb(
            0,
            j.frames((f"/workspace/{j.script}", 219, "train", "raise RuntimeError(msg)")),
            "RuntimeError: loss has been non-finite for 5 consecutive logs, aborting",
        ),
    )
    j.table(t + S(4), 0, 0)
    i.put("job.log", j.single())
    i.say(
        "identified",
        first,
        "the first nan line is the fault, the abort is its consequence",
        rank_checked=False,
        owner="workload",
        never=["ChildFailedError", "non-finite for 5 consecutive"],
    )


@kind
def ninja_build_failure(i):
    """Ninja/nvcc build failure inside an exception: the compiler's error decides, not 'Error building extension'."""
    j = Job(i, nodes=1, ppn=4)
    t = j.t0
    arch = i.r.choice(["compute_120", "compute_103"])
    line = f"nvcc fatal   : Unsupported gpu architecture '{arch}'"
    i.put(
        "train.log",
        [
            f"{comma(t)} INFO {j.script}:41 rank 0 of 1 starting on {j.hosts[0]}",
            "Using /root/.cache/torch_extensions/py312_cu124 as PyTorch extensions root...",
            "Detected CUDA files, patching ldflags",
            "Emitting ninja build file /root/.cache/torch_extensions/py312_cu124/fused_adam/build.ninja...",
            "Building extension module fused_adam...",
            "Allowing ninja to set a default number of workers... (overridable by setting the environment variable MAX_JOBS=N)",
            f"[1/3] /usr/local/cuda/bin/nvcc --generate-dependencies-with-compile -DTORCH_EXTENSION_NAME=fused_adam -gencode=arch={arch},code=sm_{arch[8:]} -c multi_tensor_adam.cu -o multi_tensor_adam.cuda.o ",
            "FAILED: multi_tensor_adam.cuda.o ",
            f"/usr/local/cuda/bin/nvcc --generate-dependencies-with-compile -DTORCH_EXTENSION_NAME=fused_adam -gencode=arch={arch},code=sm_{arch[8:]} -c multi_tensor_adam.cu -o multi_tensor_adam.cuda.o ",
            line,
            "ninja: build stopped: subcommand failed.",
            "Traceback (most recent call last):",
            '  File "/usr/local/lib/python3.12/dist-packages/torch/utils/cpp_extension.py", line 2209, in _run_ninja_build',
            "    subprocess.run(",
            "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
            "",
            "The above exception was the direct cause of the following exception:",
            "",
            "Traceback (most recent call last):",
            f'  File "/workspace/{j.script}", line 120, in main',
            "    opt = FusedAdam(params)",
            "RuntimeError: Error building extension 'fused_adam'",
        ],
    )
    i.say(
        ["identified", "classified"],
        "Unsupported gpu architecture",
        "nvcc names the cause; the exception and ninja only report",
        rank_checked=False,
        never=["ninja: build stopped", "CalledProcessError", "Error building extension"],
    )


@kind
def chain_direct_cause(i):
    """'The above exception was the direct cause': the first exception in time decides."""
    j = Job(i, nodes=1, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(), 10)
    key = i.r.choice(["doc_offsets", "image_grid_thw", "speaker_id"])
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 unhandled exception\n"
        + j.tb(v, [("/workspace/data/collate.py", 40, "collate", f"x = row['{key}']")], f"KeyError: '{key}'")
        + f"\n[rank{v}]: \n[rank{v}]: The above exception was the direct cause of the following exception:\n[rank{v}]: \n"
        + j.tb(
            v,
            j.frames(("/workspace/data/collate.py", 43, "collate", "raise BatchError(...) from e")),
            "data.errors.BatchError: could not build batch 412",
        ),
    )
    j.closing(t + S(2), 0, v)
    j.table(t + S(5), 0, v)
    i.put("job.log", j.single())
    i.say(
        ANY_FOUND,
        f"KeyError: '{key}'",
        "the direct cause is the upper traceback",
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["could not build batch", "ChildFailedError"],
    )


@kind
def chain_during_handling(i):
    """'During handling of the above exception': OOM first, then the emergency save fails; the OOM decides."""
    j = Job(i, nodes=1, ppn=4)
    v = j.pick()
    t = j.steps(j.startup(), 10)
    line = j.oom_line(v)
    j.add(
        t,
        v,
        f"{comma(t)} ERROR {j.script}:355 step failed, writing emergency checkpoint\n"
        + j.tb(v, [(f"/workspace/{j.script}", 207, "train", "loss = model(batch)")], line)
        + f"\n[rank{v}]: \n[rank{v}]: During handling of the above exception, another exception occurred:\n[rank{v}]: \n"
        + j.tb(
            v,
            j.frames((f"/workspace/{j.script}", 318, "emergency_save", "os.makedirs(path)")),
            "PermissionError: [Errno 13] Permission denied: '/emergency/ckpt'",
        ),
    )
    j.closing(t + S(2), 0, v)
    j.table(t + S(5), 0, v)
    i.put("job.log", j.single())
    i.say(
        "identified",
        line[:60],
        "the second exception happened while the first was handled",
        rank=v,
        host=j.hosts[0],
        owner="workload",
        never=["PermissionError", "ChildFailedError"],
    )


@kind
def exception_group(i):
    """Exception group of a TaskGroup: first sub-exception in time, not the group line."""
    j = Job(i, nodes=1, ppn=1)
    t = j.t0
    k = i.r.choice(["shard_id", "lang", "bucket"])
    i.put(
        "prepare.log",
        [
            *[f"{comma(t + S(4 * s))} INFO prepare.py:31 wrote shard {s:04d}" for s in range(30)],
            f"{comma(t + S(121))} ERROR prepare.py:70 pipeline stopped",
            "  + Exception Group Traceback (most recent call last):",
            '  |   File "/workspace/prepare.py", line 88, in <module>',
            "  |     asyncio.run(main())",
            "  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)",
            "  +-+---------------- 1 ----------------",
            "    | Traceback (most recent call last):",
            '    |   File "/workspace/prepare.py", line 52, in encode',
            f"    |     out[row['{k}']].append(row)",
            f"    | KeyError: '{k}'",
            "    +---------------- 2 ----------------",
            "    | Traceback (most recent call last):",
            '    |   File "/workspace/prepare.py", line 61, in upload',
            "    |     await q.get()",
            "    | RuntimeError: producer went away before end of stream",
            "    +------------------------------------",
        ],
    )
    i.say(
        ANY_FOUND,
        f"KeyError: '{k}'",
        "the group only holds; its first member started it",
        rank_checked=False,
        owner="workload",
        never=["ExceptionGroup", "producer went away"],
    )


@kind
def two_independent(i):
    """Two independent faults: OOM on one node, 40 s later a Xid 79 on another; the earlier is initiating, the later is not lost."""
    j = Job(i, nodes=2, style="plain")
    v, x = i.r.randrange(1, 8), i.r.randrange(8, 16)
    t = j.steps(j.startup(), 12)
    line = j.oom(t, v)
    j.wds(t + S(j.timeout_ms / 1000 + 2), [k for k in range(16) if k not in (v, x)])
    j.rank_files(lambda k: f"rank{k}.log")
    i.put(
        f"dmesg-{j.host(x)}.txt",
        [f"{dmesg_T(t + S(40))} NVRM: Xid (PCI:{j.pci(x)}): 79, pid={j.pids[x]}, name=python3, {XID79}"],
    )
    i.say(
        "identified",
        line[:60],
        "nothing ties the two; the first in time is initiating",
        rank=v,
        host=j.host(v),
        owner="workload",
        never=["Watchdog caught", "Xid (PCI"],
        independent=["Xid (PCI"],
    )


# ================================================================ not a failure, or not known
@kind
def caught_assertion(i):
    """A user assertion caught and logged with its traceback at WARNING, training goes on to the end: healthy."""
    j = Job(i, nodes=1, style="plain")
    t = j.steps(j.startup(), 12)
    for s in range(3):
        j.add(
            t,
            3,
            f'{comma(t)} WARNING data/filter.py:88 dropping malformed sample {i.r.randrange(99999)}\nTraceback (most recent call last):\n  File "/workspace/data/filter.py", line 81, in check\n    assert len(ids) <= max_len, f"sample too long: {{len(ids)}}"\nAssertionError: sample too long: {8192 + s}',
        )
        t = j.steps(t, 10)
    j.done(t + S(5))
    i.put("train.log", j.single())
    i.say("healthy", None, "the traceback was handled, the job finished", never=["AssertionError"])


@kind
def log_just_stops(i):
    """The log just stops, cut in mid line after two logged steps: inconclusive."""
    j = Job(i, nodes=1)
    j.steps(j.startup(), 2)
    i.put("train.log", "\n".join(j.single())[:-23])
    i.say("inconclusive", None, "no fault and no proof of completion or of lasting progress", never=[])


@kind
def log_stops_at_load(i):
    """Per-rank files end during model load, before the first step, on every rank: inconclusive."""
    j = Job(i, nodes=1)
    t = j.startup()
    for n in range(i.r.randrange(4, 12)):
        for k in range(8):
            j.add(t + S(4 * n) + j.us(), k, f"{comma(t + S(4 * n))} INFO model/load.py:61 loaded shard {n + 1}/30")
    j.rank_files(lambda k: f"rank{k}.log")
    i.say("inconclusive", None, "all ranks stop alike in the load phase and nothing says why", never=[])
