"""Incidents as an on-call engineer finds them: hangs, with the stacks and dumps that were taken of them."""

from __future__ import annotations

import json

from incident_kinds.base import ANY_FOUND, S, comma, dmesg_T, kind
from incident_kinds.job import Job

SILENT = ["symptom-only", "classified", "unexplained"]


@kind
def pipeline_hang_of_two_groups(i):
    """Megatron with pipeline and tensor groups: ranks wait in receives of their pipeline groups for a rank that waits in its tensor group for another, which never entered."""
    j = Job(i, nodes=2, ppn=4, style="megatron")
    t = j.steps(j.startup(), 10)
    late, mate = 5, 4  # tensor group 4,5; pipeline groups 0,4 and 1,5
    d = t + S(j.timeout_ms / 1000)
    j.wd(d, 0, op="RECV", seq=77, enq=77, comp=76, pg="4 PG GUID 11(PIPELINE_MODEL_PARALLEL_GROUP)")
    j.wd(d, mate, seq=9120, enq=9120, comp=9119, pg="2 PG GUID 7(TENSOR_MODEL_PARALLEL_GROUP)")
    j.notified(d + S(1), late, mate, 9119, 9119, pg="2 PG GUID 7(TENSOR_MODEL_PARALLEL_GROUP)")
    for k in (1, 2, 3, 6, 7):
        j.notified(d + S(1), k, 0, 412, 411)
    i.put("pretrain.log", j.single())
    i.say(["symptom-only", "classified"], None, "the rank whose counters are equal in the tensor group", suspects=[late], never=["Watchdog caught"])  # fmt: skip


@kind
def deepspeed_hang_pyspy_native(i):
    """py-spy --native dumps named by host and pid: one rank writes a checkpoint shard to Lustre, the others stand in DeepSpeed's barrier."""
    j = Job(i, nodes=1, ppn=4, style="deepspeed")
    v = j.pick(0)
    t = j.steps(j.startup(), 8)
    i.put("train.log", j.single())
    for k in range(4):
        p = j.pids[k]
        head = [f"Process {p}: /usr/bin/python3 -u {j.script} --deepspeed ds.json", "Python v3.11.9 (/usr/bin/python3.11)", "", f'Thread {p} (idle): "MainThread"']  # fmt: skip
        stuck = ["__GI___libc_write (libc.so.6)", "_ZN5caffe29serialize19PyTorchStreamWriter11writeRecordE (torch/lib/libtorch_cpu.so)", "_save (torch/serialization.py:1078)", "save (torch/serialization.py:849)", "save (deepspeed/runtime/checkpoint_engine/torch_checkpoint_engine.py:22)", "save_checkpoint (deepspeed/runtime/engine.py:3191)", f"main ({j.script}:211)", f"<module> ({j.script}:230)"]  # fmt: skip
        wait = ["cuStreamSynchronize (libcuda.so.550.54)", "barrier (torch/distributed/distributed_c10d.py:4159)", "wrapper (torch/distributed/c10d_logger.py:83)", "barrier (deepspeed/comm/comm.py:412)", "save_checkpoint (deepspeed/runtime/engine.py:3205)", f"main ({j.script}:211)", f"<module> ({j.script}:230)"]  # fmt: skip
        i.put(f"pyspy_{j.hosts[0]}_{p}.txt", head + [f"    {x}" for x in (stuck if k == v else wait)])
    _ = t
    i.say(SILENT, None, "the one that writes is the one the barrier waits for", suspects=[v])


@kind
def gdb_all_threads_of_every_rank(i):
    """gdb -batch -ex 'thread apply all bt' of every rank: one main thread reads from NFS, the others synchronise a stream below NCCL."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(0)
    j.steps(j.startup(), 8)
    for k in range(4):
        i.put(f"rank{k}.log", j.of(k))
        p = j.pids[k]
        a = "0x00007f" + f"{i.r.randrange(16**10):010x}"
        top = [f"#0  {a} in __GI___libc_read (fd=41, buf=0x55d0, nbytes=1048576) at ../sysdeps/unix/sysv/linux/read.c:26", f"#1  {a} in _Py_read () from /usr/bin/python3.11", f"#2  {a} in _io_FileIO_readinto () from /usr/bin/python3.11"] if k == v else [f"#0  {a} in sched_yield () from /lib/x86_64-linux-gnu/libc.so.6", f"#1  {a} in cuStreamSynchronize () from /lib/x86_64-linux-gnu/libcuda.so.1", f"#2  {a} in c10d::ProcessGroupNCCL::WorkNCCL::synchronizeInternal(std::chrono::duration<long, std::ratio<1l, 1000l> >) () from /usr/lib/libtorch_cuda.so"]  # fmt: skip
        i.put(f"gdb-{p}.txt", [f"Attaching to process {p}", f"[New LWP {p + 11}]", "[Thread debugging using libthread_db enabled]", f"Thread 2 (Thread 0x7f2a (LWP {p + 11}) \"pt_main_thread\"):", f"#0  {a} in __futex_abstimed_wait_common64 (private=0) at ./nptl/futex-internal.c:57", "", f"Thread 1 (Thread 0x7f2b (LWP {p}) \"python3\"):", *top, f"[Inferior 1 (process {p}) detached]"])  # fmt: skip
    i.say(SILENT, None, "one process reads a file while the others wait for its part", suspects=[v])


@kind
def kernel_stacks_of_ranks(i):
    """cat /proc/PID/stack of each rank in one file, a heading line each: one rank is in rpc_wait_bit_killable, the others in futex waits of a barrier; watchdogs name who never entered."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(), 8)
    others = [k for k in range(4) if k != v]
    d = t + S(j.timeout_ms / 1000)
    j.wds(d, others)
    j.notified(d + S(2), v, others[0], j.seq - 1, j.seq - 1)
    i.put("train.log", j.single())
    i.put(f"dmesg-{j.hosts[0]}.log", [f"{dmesg_T(t + S(130))} INFO: task python3:{j.pids[v]} blocked for more than 120 seconds.", f"{dmesg_T(t + S(130))}       Not tainted 5.15.0-105-generic #115-Ubuntu", f"{dmesg_T(t + S(130))} Call Trace:", f"{dmesg_T(t + S(130))}  rpc_wait_bit_killable+0x24/0xb0 [sunrpc]"])  # fmt: skip
    i.say(
        SILENT,
        None,
        "a blocked task with the pid of the rank whose counters are equal",
        suspects=[v],
        never=["Watchdog caught"],
    )


@kind
def dump_fails_after_watchdog(i):
    """The flight recorder cannot be written because /tmp is full, after the watchdogs fired: the disk is no cause; one rank's counters are equal."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.steps(j.startup(), 10, ranks=[0])
    others = [k for k in range(8) if k != v]
    d = t + S(j.timeout_ms / 1000)
    j.wds(d, others)
    for k in others[:3]:
        j.add(d + S(3), k, f"{j.E(k, d + S(3), 'FlightRecorder.cpp:60')} Error opening file for writing Flight Recorder debug info: /tmp/nccl_trace_rank_{k}: No space left on device")  # fmt: skip
    j.notified(d + S(4), v, others[0], j.seq - 1, j.seq - 1)
    i.put("job.log", j.single())
    i.say(["symptom-only", "classified"], None, "the dump failed after the hang", suspects=[v], never=["No space left on device", "Watchdog caught"])  # fmt: skip


@kind
def disk_full_before_watchdog(i):
    """Rank 0 cannot write its checkpoint because the disk is full and hangs in its retry; the watchdogs of the others fire half an hour later."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    t = j.steps(j.startup(), 10, ranks=[0])
    line = "OSError: [Errno 28] No space left on device"
    j.add(t + S(1), 0, f"{comma(t + S(1))} ERROR {j.script}:311 checkpoint failed\n" + j.tb(0, j.frames(("/workspace/ckpt.py", 40, "save", "f.write(buf)")), line))  # fmt: skip
    j.wds(t + S(j.timeout_ms / 1000), [1, 2, 3])
    i.put("job.log", j.single())
    i.say(ANY_FOUND, line, "the disk was full before anybody waited", rank=0, never=["Watchdog caught"])


def gloo_dump(j, k, seq, done, op="all_reduce", size=7):
    """A gloo rank's flight recorder as JSON: entries stay `scheduled`, only the counters say what completed."""
    entries = [
        {
            "collective_seq_id": n, "input_dtypes": ["Float"], "input_sizes": [[size]], "is_p2p": False, "op_id": n,
            "output_dtypes": ["Float"], "output_sizes": [[size]], "p2p_seq_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"],
            "profiling_name": f"gloo:{op if n == seq else 'all_reduce'}", "record_id": n - 1, "retired": n <= done,
            "state": "scheduled", "time_created_ns": 1796047576727685149 + n, "timeout_ms": 1800000,
        }
        for n in range(1, seq + 1)
    ]  # fmt: skip
    status = {
        "0": {
            "last_completed_collective": str(done),
            "last_enqueued_collective": str(seq),
            "last_started_collective": "-1",
        }
    }
    return json.dumps({"comm_lib_version": "", "entries": entries, "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(j.world)))}}, "pg_status": status, "version": "2.10"}).encode()  # fmt: skip


@kind
def gloo_recorder_json(i):
    """JSON dumps of gloo's flight recorder and a log that just stops: one rank runs a broadcast where the others reduce."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(0)
    j.steps(j.startup(nccl=False), 6, ranks=[0])
    i.put("job.log", j.single())
    for k in range(4):
        i.put(f"fr/fr_trace_{k}.json", gloo_dump(j, k, 9, 8, "broadcast" if k == v else "all_reduce"))
    i.say(["symptom-only", "classified", "inconclusive"], None, "another operation at the same number", suspects=[v])


@kind
def faulthandler_sigabrt_of_all(i):
    """Watchdogs abort every waiting rank and faulthandler prints their stacks; one rank prints none because it never waited: it sat in its tokenizer."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(), 8, ranks=[0])
    d = t + S(j.timeout_ms / 1000)
    j.wds(d, [k for k in range(4) if k != v])
    for k in range(4):
        p = f"[rank{k}]: "
        own = ['  File "/workspace/data/tok.py", line 31 in encode', '  File "/workspace/data/tok.py", line 77 in __iter__'] if k == v else ['  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py", line 2810 in all_reduce', '  File "/workspace/optim.py", line 12 in clip']  # fmt: skip
        head = "Fatal Python error: Aborted" if k != v else "Fatal Python error: Terminated"
        j.add(d + S(65), k, "\n".join(p + x for x in [head, "", "Thread 0x00007f11 (most recent call first):", '  File "/usr/lib/python3.12/threading.py", line 359 in wait', "", "Current thread 0x00007f10 (most recent call first):", *own, f'  File "/workspace/{j.script}", line 388 in <module>']))  # fmt: skip
    i.put("job.log", j.single())
    i.say([*ANY_FOUND, *SILENT], None, "its stack is the only one outside the collective", suspects=[v], never=["Watchdog caught", "Aborted"])  # fmt: skip


@kind
def rank_sleeps_between_retries(i):
    """py-spy dumps of a job that never starts: one rank sleeps in a retry loop of a download, the others wait for it at the store."""
    j = Job(i, nodes=1, ppn=4, style="plain")
    v = j.pick(0)
    i.put("job.log", [f"rank {k} of world size 4 starts, pid={j.pids[k]} host={j.hosts[0]}" for k in range(4)])
    for k in range(4):
        p = j.pids[k]
        own = ["sleep (download.py:44)", "fetch_tokenizer (download.py:61)", "main (train.py:20)"] if k == v else ["wait (torch/distributed/rendezvous.py:221)", "_store_based_barrier (torch/distributed/distributed_c10d.py:901)", "init_process_group (torch/distributed/distributed_c10d.py:1700)", "main (train.py:22)"]  # fmt: skip
        i.put(f"stack.{p}", [f"Process {p}: python train.py", "Python v3.11.9 (/usr/bin/python3.11)", "", f"Thread {p} (idle): \"MainThread\"", *[f"    {x}" for x in own]])  # fmt: skip
    i.say(SILENT, None, "it sleeps while the others wait at the store", suspects=[v])
