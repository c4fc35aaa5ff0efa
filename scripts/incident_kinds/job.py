"""A distributed job and the ways in which it fails."""

from __future__ import annotations

from incident_kinds.base import S, comma, glog, torch_stamp
from incident_kinds.life import Life


class Job(Life):
    """A job with the lines that its failures print."""

    # failures of one rank
    def tb(self, k, frames, exc, tag=True):
        """A traceback."""
        p = f"[rank{k}]: " if tag else ""
        out = [p + "Traceback (most recent call last):"]
        for f, n, fn, code in frames:
            out += [f'{p}  File "{f}", line {n}, in {fn}', f"{p}    {code}"]
        return "\n".join(out + [p + x for x in exc.split("\n")])

    def frames(self, *extra):
        """Stack of the training script, then `extra`."""
        d = f"/workspace/{self.script}"
        return [(d, 388, "<module>", "main()"), (d, 341, "main", "train(model, loader, optimizer)"), *extra]

    def oom_line(self, k):
        """torch's CUDA OOM message."""
        g = self.local(k)
        a = 0.5 + self.r.randrange(1, 14) / 4
        return (
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {a:.2f} GiB. GPU {g} has a total capacity of 79.11 GiB of which {a / 3:.2f} GiB is free. "
            f"Including non-PyTorch memory, this process has {79.05 - a / 3:.2f} GiB memory in use. Of the allocated memory 74.{self.r.randrange(10, 99)} GiB is allocated by PyTorch, and 2.31 GiB is reserved by PyTorch but unallocated. "
            "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
        )

    def oom(self, t, k, stamped=True, tag=True, line=None, order=None):
        """A CUDA OOM traceback of one rank; returns the message."""
        line = line or self.oom_line(k)
        head = (
            f"{comma(self.at(k, t))} ERROR {self.script}:355 unhandled exception in training loop, exiting\n"
            if stamped
            else ""
        )
        self.add(
            t,
            k,
            head
            + self.tb(
                k,
                self.frames(
                    (f"/workspace/{self.script}", 207, "train", "loss = model(batch)"),
                    (
                        "/usr/local/lib/python3.12/dist-packages/torch/nn/modules/module.py",
                        1751,
                        "_wrapped_call_impl",
                        "return self._call_impl(*args, **kwargs)",
                    ),
                    ("/workspace/model/mlp.py", 66, "forward", "h = self.act(self.w1(x)) * self.w3(x)"),
                ),
                line,
                tag,
            ),
            order,
        )
        return line

    def E(self, k, t, src):
        """Prefix of a c10d error line."""
        return f"[rank{k}]:{torch_stamp(self.at(k, t))} {src}]"

    def wd_line(self, k, t, seq=None, op="ALLREDUCE", nin=1048576, nout=None, ran=None, timeout=None):
        """The watchdog's timeout line."""
        timeout = timeout or self.timeout_ms
        ran = ran or timeout + self.r.randrange(3, 98)
        return (
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:683')} [Rank {k}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq or self.seq}, OpType={op}, "
            f"NumelIn={nin}, NumelOut={nout or nin}, Timeout(ms)={timeout}) ran for {ran} milliseconds before timing out."
        )

    ADVICE = (
        "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled collective, "
        "for some reason, didn't run. Additionally, this can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library (e.g. NCCL), etc. "
    )

    def wd(
        self,
        t,
        k,
        seq=None,
        op="ALLREDUCE",
        nin=1048576,
        nout=None,
        enq=None,
        comp=None,
        ran=None,
        timeout=None,
        term=True,
        order=None,
        pg="0 PG GUID 0(default_pg)",
    ):
        """The watchdog's whole block on a rank that waited."""
        seq = seq or self.seq
        enq, comp = enq or seq, comp if comp is not None else seq - 1
        w = self.wd_line(k, t, seq, op, nin, nout, ran, timeout)
        what = w.split("] ", 1)[1]
        out = [
            w,
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:2241')} [PG ID {pg} Rank {k}]  failure detected by watchdog at work sequence id: {seq} PG status: last enqueued work: {enq}, last completed work: {comp}",
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:730')} Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.",
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:2573')} [PG ID {pg} Rank {k}] First PG on this rank to signal dumping.",
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:1858')} [PG ID {pg} Rank {k}] Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. Last enqueued NCCL work: {enq}, last completed NCCL work: {comp}.{self.ADVICE}",
        ]
        self.add(t, k, "\n".join(out), order)
        if term:
            t2 = t + S(60)
            out = [
                f"{self.E(k, t2, 'ProcessGroupNCCL.cpp:744')} [Rank {k}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
                f"{self.E(k, t2, 'ProcessGroupNCCL.cpp:758')} [Rank {k}] To avoid data inconsistency, we are taking the entire process down.",
                f"{self.E(k, t2, 'ProcessGroupNCCL.cpp:1896')} [PG ID {pg} Rank {k}] Process group watchdog thread terminated with exception: {what}",
                "Exception raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:686 (most recent call first):",
                f"frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f{self.r.randrange(1 << 40):010x} in /usr/local/lib/python3.12/dist-packages/torch/lib/libc10.so)",
                f"frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long, std::ratio<1l, 1000l> > >) + 0x23d (0x7f{self.r.randrange(1 << 40):010x} in /usr/local/lib/python3.12/dist-packages/torch/lib/libtorch_cuda.so)",
                "terminate called after throwing an instance of 'c10::DistBackendError'",
                f"  what():  [PG ID {pg} Rank {k}] Process group watchdog thread terminated with exception: {what}",
            ]
            self.add(t2, k, "\n".join(out), order)

    def wds(self, t, ranks, **kw):
        """Watchdog blocks of several ranks."""
        for k in ranks:
            self.wd(t + self.us(), k, **kw)

    def notified(self, t, k, frm, enq, comp, order=None, pg="0 PG GUID 0(default_pg)"):
        """A rank that was only told of the timeout by another."""
        self.add(
            t,
            k,
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:1794')} [PG ID {pg} Rank {k}] Observed flight recorder dump signal from another rank via TCPStore.\n"
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:1858')} [PG ID {pg} Rank {k}] Received a dump signal due to a collective timeout from  rank {frm} and we will try our best to dump the debug info. Last enqueued NCCL work: {enq}, last completed NCCL work: {comp}.{self.ADVICE}\n"
            f"{self.E(k, t, 'ProcessGroupNCCL.cpp:1575')} [PG ID {pg} Rank {k}] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1",
            order,
        )

    def tcpstore(self, t, k, host=None):
        """Noise of a rank whose store went away."""
        self.add(
            t,
            k,
            f"[rank{k}]:{torch_stamp(self.at(k, t), 'W')} TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd={self.r.randrange(40, 99)}, addr=[{self.host(k)}]:{self.r.randrange(40000, 60000)}, remote=[{host or self.hosts[0]}]:29500): Broken pipe\n"
            f'[rank{k}]:{torch_stamp(self.at(k, t), "W")} ProcessGroupNCCL.cpp:1659] [PG ID 0 PG GUID 0(default_pg) Rank {k}] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe',
        )

    def remote_gone(self, t, k, host):
        """NCCL remote error of a rank whose peer went away."""
        self.add(
            t,
            k,
            self.tb(
                k,
                self.frames((f"/workspace/{self.script}", 231, "train", "loss.backward()")),
                "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2363, remote process exited or there was a network error, NCCL version 2.26.2\n"
                "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\n"
                f"socketProgress: Connection closed by remote peer {host}<{self.r.randrange(32000, 60000)}>",
            ),
        )

    def closing(self, t, node, dead, code=1, restart=None):
        """torchrun's agent after one child died."""
        a, g = self.agent_pid[node], t + S(self.skew.get(node, 0))
        self.closed.append([node, t, None])
        first = node * self.ppn
        out = [
            f"{glog(g, 'W', a)} torch/distributed/elastic/multiprocessing/api.py:900] Sending process {self.pids[k]} closing signal SIGTERM"
            for k in range(first, first + self.ppn)
            if k != dead
        ]
        out.append(
            f"{glog(g + S(2), 'E', a)} torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: {code}) local_rank: {self.local(dead)} (pid: {self.pids[dead]}) of binary: /usr/bin/python3"
        )
        if restart is not None:
            out.append(
                f"{glog(g + S(2), 'I', a)} torch/distributed/elastic/agent/server/api.py:721] [default] Worker group FAILED. {restart}/3 attempts left; will restart worker group"
            )
        self.add(t, -1 - node, "\n".join(out))

    def table(self, t, node, dead, code=1, others=()):
        """ChildFailedError's report; `others`: [(rank, code)] listed before it."""
        self.closed.append([node, t, None])

        def block(i, k, c):
            tr = (
                f"Signal {-c} ({ {6: 'SIGABRT', 9: 'SIGKILL', 15: 'SIGTERM', 11: 'SIGSEGV', 7: 'SIGBUS'}[-c] }) received by PID {self.pids[k]}"
                if c < 0
                else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
            )
            return [
                f"[{i}]:",
                f"  time      : {t + S(self.skew.get(node, 0)):%Y-%m-%d_%H:%M:%S}",
                f"  host      : {self.host(k)}",
                f"  rank      : {k} (local_rank: {self.local(k)})",
                f"  exitcode  : {c} (pid: {self.pids[k]})",
                "  error_file: <N/A>",
                f"  traceback : {tr}",
            ]

        out = [
            "Traceback (most recent call last):",
            '  File "/usr/local/bin/torchrun", line 8, in <module>',
            "    sys.exit(main())",
            '  File "/usr/local/lib/python3.12/dist-packages/torch/distributed/launcher/api.py", line 270, in launch_agent',
            "    raise ChildFailedError(",
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
            "=" * 60,
            f"{self.script} FAILED",
            "-" * 60,
            "Failures:",
        ]
        if others:
            for i, (k, c) in enumerate(others, 1):
                out += block(i, k, c)
        else:
            out.append("  <NO_OTHER_FAILURES>")
        out += ["-" * 60, "Root Cause (first observed failure):", *block(0, dead, code), "=" * 60]
        self.add(t, -1 - node, "\n".join(out))
