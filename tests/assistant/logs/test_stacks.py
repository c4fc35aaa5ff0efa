"""Stacks of hung processes in the forms in which people collect them."""

from __future__ import annotations

import pytest

from assistant.diagnosis.standing import standing_of
from assistant.logs.stacks import Frame, read_stacks
from tests.heads import records

PY_SPY = """
Process 26506: /usr/bin/python3 -u train.py --local_rank=4
Python v3.12.3 (/usr/bin/python3.12)

Thread 26506 (idle): "MainThread"
    read_bytes (fsspec/implementations/local.py:402)
    __getitem__ (data/parquet_reader.py:118)
    fetch (torch/utils/data/_utils/fetch.py:52)
    train (pretrain_gpt.py:201)
Thread 26594 (idle): "Thread-1 (_pin_memory_loop)"
    select (selectors.py:415)
"""
FAULTHANDLER = """
[rank2]: Timeout (0:15:00)!
[rank2]: Thread 0x00007fdaf7d36640 (most recent call first):
[rank2]:   File "/usr/lib/python3.12/threading.py", line 359 in wait
[rank2]: Thread 0x00007fdaf7d36641 (most recent call first):
[rank2]:   File "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py", line 4635 in barrier
[rank2]:   File "/workspace/finetune.py", line 388 in <module>
"""
GDB = """
Attaching to process 4711
[New LWP 4800]
0x00007f3c7a2e5bcf in __GI___poll (fds=0x7fff, nfds=1, timeout=-1) at ../sysdeps/unix/sysv/linux/poll.c:29
Thread 2 (Thread 0x7f3bff7fe640 (LWP 4800) "python"):
#0  0x00007f3c7a2a117c in __futex_abstimed_wait_common64 (private=0, cancel=true) at ./nptl/futex-internal.c:57
Thread 1 (Thread 0x7f3c7a5c7740 (LWP 4711) "python"):
#0  0x00007f3c7a2e0a5d in __GI___libc_read (fd=7, buf=0x55, nbytes=4096) at ../sysdeps/unix/sysv/linux/read.c:26
#1  0x00007f3c7a26b5d6 in _IO_new_file_underflow (fp=0x55d6) at fileops.c:516
#2  0x000055d61c2f1a31 in PyObject_VectorcallMethod () from /usr/bin/python3.12
"""
ABSL = """
*** SIGABRT received at time=1764490000 on cpu 41 ***
PC: @     0x7f8b0c1a2090  (unknown)  __GI___libc_read
    @     0x7f8b0c1a2091       2416  (unknown)
    @     0x7f8b0c1a2092         48  _PyEval_EvalFrameDefault
[2026-11-30 12:00:00,123 E 1200 1200] logging.cc:365: *** SIGABRT received at time=1764490000 on cpu 41 ***
[2026-11-30 12:00:00,123 E 1200 1200] logging.cc:365: PC: @     0x7f8b0c1a2090  (unknown)  __GI___libc_read
"""
GLOG = """
*** Aborted at 1764490000 (unix time) try "date -d @1764490000" if you are using GNU date ***
PC: @     0x7f8b0c1a2090 __GI_raise
*** SIGABRT (@0x8) received by PID 4711 (TID 0x7f00) from PID 8; stack trace: ***
    @     0x7f2d1b1bb730 (unknown)
    @     0x7f2d1b1bb731 c10d::TCPStore::wait()
"""
TORCH_HANDLER = """
SIGABRT(6), PID: 4142, Thread 4150:
frame #0: c10::FatalSignalHandler::stacktraceSignalHandler(bool) + 0x6b (0x7f00 in /opt/lib/libc10.so)
frame #1: epoll_wait + 0x12 (0x7f01 in /lib/x86_64-linux-gnu/libc.so.6)
SIGABRT(6), PID: 4142, Thread 4142:
frame #0: c10::FatalSignalHandler::stacktraceSignalHandler(bool) + 0x6b (0x7f00 in /opt/lib/libc10.so)
frame #1: <unknown function> + 0x42520 (0x7f01 in /lib/x86_64-linux-gnu/libc.so.6)
frame #2: cudaStreamSynchronize + 0x12 (0x7f02 in /usr/local/cuda/lib64/libcudart.so.12)
"""
CALL = """
[rank3]:[E1130 12:20:00.093 ProcessGroupNCCL.cpp:744] Stack trace of the failed collective:
#0 all_reduce from /usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py:2810
#1 train from /workspace/train.py:44
[rank1]:[E1130 12:20:00.094 ProcessGroupNCCL.cpp:744] next
"""
KERNEL = """
[<0>] rpc_wait_bit_killable+0x24/0xb0 [sunrpc]
[<0>] __rpc_execute+0x10b/0x300 [sunrpc]
[<0>] nfs4_proc_getattr+0x60/0x90 [nfsv4]
"""


@pytest.mark.parametrize(
    ("text", "pid", "top", "kind"),
    [
        (PY_SPY, 26506, "read_bytes", "loader"),
        (FAULTHANDLER, None, "barrier", "collective"),
        (GDB, 4711, "__GI___libc_read", "file-system"),
        (KERNEL, None, "rpc_wait_bit_killable", "file-system"),
        (ABSL, None, "__GI___libc_read", "file-system"),
        (GLOG, 4711, "c10d::TCPStore::wait()", "store"),
        (TORCH_HANDLER, 4142, "cudaStreamSynchronize", "cuda"),
        (CALL, None, "all_reduce", "collective"),
    ],
    ids=["py-spy", "faulthandler", "gdb", "kernel", "abseil", "glog", "torch-handler", "torch-watchdog"],
)
def test_the_main_thread_is_found_and_what_it_waits_in(text: str, pid: int | None, top: str, kind: str) -> None:
    (stack,) = read_stacks([records(text)])
    assert stack.pid == pid
    assert stack.main is not None
    found, frame, _ = standing_of(stack.main.frames)
    assert (found, frame.name) == (kind, top)


def test_the_rank_of_a_command_line_and_of_a_prefix_is_kept() -> None:
    (spied,) = read_stacks([records(PY_SPY)])
    (faulted,) = read_stacks([records(FAULTHANDLER)])
    assert (spied.local_rank, faulted.record.rank) == (4, 2)


def test_interleaved_ranks_keep_their_own_frames() -> None:
    lines = [
        "[rank0]: Thread 0x1 (most recent call first):",
        "[rank1]: Thread 0x2 (most recent call first):",
        '[rank0]:   File "/w/a.py", line 1 in first',
        '[rank1]:   File "/w/b.py", line 2 in second',
        '[rank0]:   File "/w/a.py", line 9 in <module>',
    ]
    stacks = read_stacks([records("\n".join(lines))])
    assert [[frame.name for frame in stack.threads[0].frames] for stack in stacks] == [
        ["first", "<module>"],
        ["second"],
    ]


@pytest.mark.parametrize(
    ("frames", "kind"),
    [
        ([Frame("cuStreamSynchronize", "libcuda.so.1"), Frame("c10d::ProcessGroupNCCL::WorkNCCL::synchronize", "")], "collective"),
        ([Frame("synchronize", "torch/cuda/__init__.py", 954), Frame("step", "train.py", 3)], "cuda"),
        ([Frame("wait", "threading.py", 359), Frame("_store_based_barrier", "torch/distributed/x.py", 4)], "store"),
        ([Frame("write", "zipfile.py", 1), Frame("_save", "torch/serialization.py", 2)], "checkpoint"),
        ([Frame("take_gil", "ceval_gil.c", 1), Frame("main", "a.py", 2)], "gil"),
        ([Frame("sleep", "train.py", 5)], "sleep"),
        ([Frame("tokenize", "corpus.py", 5)], "own-code"),
        ([Frame("_compile_fx", "torch/_inductor/compile_fx.py", 5)], "compile"),
    ],
)  # fmt: skip
def test_what_a_stack_waits_in(frames: list[Frame], kind: str) -> None:
    assert standing_of(frames)[0] == kind


def test_a_traceback_is_no_stack_of_a_hung_process() -> None:
    log = 'Traceback (most recent call last):\n  File "a.py", line 3, in main\n    load()\nKeyError: 1'
    assert read_stacks([records(log)]) == []


def test_processes_that_dump_into_one_file_are_told_apart_by_their_current_threads() -> None:
    dump = 'Current thread 0x{:x} (most recent call first):\n  File "/w/{}.py", line 8 in <module>'
    stacks = read_stacks([records("\n".join(dump.format(number, number) for number in (1, 2, 3)))])
    assert [stack.main.frames[0].file for stack in stacks if stack.main] == ["/w/1.py", "/w/2.py", "/w/3.py"]


def test_the_lines_of_a_call_belong_to_the_rank_whose_watchdog_printed_it() -> None:
    (stack,) = read_stacks([records(CALL)])
    assert (stack.record.rank, stack.group) == (3, "")
    named = CALL.replace("] Stack", "] [PG ID 2 PG GUID 7(dp) Rank 3] Stack")
    (stack,) = read_stacks([records(named)])
    assert stack.group == "7"


def test_the_stack_of_an_exception_is_not_where_a_rank_hangs() -> None:
    text = """
terminate called after throwing an instance of 'c10::DistBackendError'
Exception raised from checkTimeout at /pytorch/x.cpp:686 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7fc7 in /l/libc10.so)
frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout() + 0x23d (0x7fc8 in /l/libtorch_cuda.so)
"""
    assert read_stacks([records(text)]) == []
