"""Incidents of storage and of numbers: stale handles, damaged checkpoints, retries, quotas, NaN, data full of errors."""

from __future__ import annotations

from incident_kinds.base import ANY_FOUND, S, comma, kind
from incident_kinds.job import Job
from incident_kinds.unseen import died, per_host

SHARD = ("/workspace/data/shards.py", 52, "open_shard", "f = open(path, 'rb')")


@kind
def stale_handle_on_one_host(i):
    """A re-exported NFS share: all loaders of one host get 'Stale file handle' within seconds, the other host's watchdogs fire much later."""
    j = Job(i, nodes=2, ppn=4, style="megatron")
    n = i.r.randrange(2)
    bad = [n * 4 + x for x in range(4)]
    t = j.steps(j.startup(launcher=False), 12)
    path = f"/mnt/corpus/shard_{i.r.randrange(1000, 9999)}.bin"
    for k in bad:
        died(j, t + j.us(), k, f"OSError: [Errno 116] Stale file handle: '{path}'", SHARD)
    j.wds(t + S(j.timeout_ms / 1000), [k for k in range(8) if k not in bad])
    per_host(i, j)
    i.say(ANY_FOUND, "Stale file handle", "the share was re-exported under one host", rank_checked=False, host=j.hosts[n], never=["Watchdog caught"])  # fmt: skip


@kind
def damaged_checkpoint_then_fallback(i):
    """The newest checkpoint cannot be read at resume, with a full traceback; the trainer falls back to the one before and finishes."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    t = j.startup(launcher=False)
    s = j.step
    line = "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"
    j.add(t, 0, f"{comma(t)} WARNING ckpt.py:88 cannot load /ckpt/run/step_{s}, trying the previous one\n" + j.tb(0, [("/workspace/ckpt.py", 80, "load_latest", "state = torch.load(path)"), ("/usr/local/lib/python3.12/dist-packages/torch/serialization.py", 1456, "load", "with _open_zipfile_reader(f) as z:")], line))  # fmt: skip
    j.add(t + S(20), 0, f"{comma(t + S(20))} INFO ckpt.py:93 resumed from /ckpt/run/step_{s - 1000}")
    t = j.steps(t + S(30), 16 + i.r.randrange(9), ranks=[0])
    j.done(t)
    i.put("train.log", j.single())
    i.say("healthy", None, "recovered: the older checkpoint served", never=["PytorchStreamReader"])


@kind
def save_retry_succeeds_then_user_bug(i):
    """Two uploads of a checkpoint fail with 503 SlowDown and the third succeeds; twenty steps later the code indexes past its table."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(0)
    t = j.steps(j.startup(), 12, ranks=[0])
    for x in (1, 2):
        j.add(t + S(9 * x), 0, f"{comma(t + S(9 * x))} WARNING ckpt.py:61 upload failed (attempt {x}/5): botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the UploadPart operation (reached max retries: 4): Please reduce your request rate.")  # fmt: skip
    j.add(t + S(30), 0, f"{comma(t + S(30))} INFO ckpt.py:66 upload of step_{j.step} done after 3 attempts")
    t = j.steps(t + S(40), 8, ranks=[0])
    line = f"IndexError: list index out of range: sample {i.r.randrange(100000, 999999)}"
    died(j, t, v, line, ("/workspace/data/mix.py", 73, "__getitem__", "row = self.rows[n]"))
    j.closing(t + S(2), 0, v)
    j.table(t + S(6), 0, v)
    i.put("train.log", j.single())
    i.say(ANY_FOUND, line[:30], "the slow upload recovered long before", rank=v, host=j.hosts[0], never=["SlowDown"])


@kind
def quota_at_nemo_save(i):
    """NeMo: the checkpoint's last file hits the user's disk quota on rank 0; the ranks wait in the save barrier until their watchdogs fire."""
    j = Job(i, nodes=2, ppn=8, style="plain")
    t = j.steps(j.startup(launcher=False), 14, ranks=[0])
    name = f"/lustre/u/nemo/megatron_gpt--val_loss=2.1-step={j.step}-last/weights/__0_{i.r.randrange(8)}.distcp"
    died(j, t, 0, f"OSError: [Errno 122] Disk quota exceeded: '{name}'", ("/opt/megatron-lm/megatron/core/dist_checkpointing/strategies/filesystem_async.py", 211, "write_preloaded_data", "stream.flush()"))  # fmt: skip
    j.wds(t + S(j.timeout_ms / 1000), range(1, 16), op="BARRIER")
    i.put("nemo.log", j.single(lambda k, _: f"[default{k % 8}]:"))
    i.say(ANY_FOUND, "Disk quota exceeded", "a quota, not a full disk", rank=0, never=["Watchdog caught"])


@kind
def nan_long_before_the_crash(i):
    """HF trainer: the gradient norm becomes nan, the loss 0.0 for hundreds of steps, and only evaluation dies of the broken weights."""
    j = Job(i, nodes=1, ppn=1)
    n = i.r.randrange(20, 40)
    out = [f"{comma(j.t0)} INFO finetune.py:41 initialized rank 0 of world size 1 on host {j.hosts[0]}"]
    out += [f"{{'loss': {2.1 - x / 99:.4f}, 'grad_norm': {0.3 + i.r.random():.6f}, 'learning_rate': 1.5e-05, 'epoch': {x / 100:.2f}}}" for x in range(n)]  # fmt: skip
    out += [f"{{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1.5e-05, 'epoch': {x / 100:.2f}}}" for x in range(n, n + 30)]  # fmt: skip
    out += ["Traceback (most recent call last):", '  File "/workspace/finetune.py", line 301, in <module>', "    trainer.evaluate()", '  File "/usr/local/lib/python3.12/dist-packages/transformers/generation/utils.py", line 3286, in _sample', "    next_tokens = torch.multinomial(probs, num_samples=1).squeeze(1)", "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"]  # fmt: skip
    i.put("finetune.log", out)
    i.say(ANY_FOUND, "'grad_norm': nan", "the first nan, not the sampling that stumbled over it", rank_checked=False, never=["probability tensor contains"])  # fmt: skip


SAMPLES = ["User: my training dies with torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import torch\nModuleNotFoundError: No module named 'torch'", "NVRM: Xid (PCI:0000:3b:00): 79, pid=1911, name=python, GPU has fallen off the bus.", "Assistant: A segmentation fault (core dumped) usually means a bad pointer.", "slurmstepd: error: Detected 1 oom_kill event in StepId=11.0."]  # fmt: skip


@kind
def training_data_full_of_errors(i):
    """The trainer prints decoded samples every few steps, and the corpus is forum posts about crashed jobs; the run itself finishes."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    t = j.startup(launcher=False)
    for _ in range(i.r.randrange(6, 14)):
        t = j.steps(t, 3, ranks=[0])
        j.add(t, 0, f"{comma(t)} INFO {j.script}:261 sample batch[0] decoded ({i.r.randrange(100, 900)} tokens): <|begin|>\n{i.r.choice(SAMPLES)}\n<|end|>")  # fmt: skip
    t = j.steps(t, 9, ranks=[0])
    j.done(t)
    i.put("train.log", j.single())
    i.say("healthy", None, "text of the corpus, and the run finished", never=["CUDA out of memory", "fallen off the bus", "No module named 'torch'", "oom_kill event"])  # fmt: skip


@kind
def training_data_error_text_then_real_one(i):
    """The same printed samples, but the run dies: a tokenizer worker of one rank raises, the samples' errors are not ours."""
    j = Job(i, nodes=1, ppn=8, style="plain")
    v = j.pick(1)
    t = j.startup(launcher=False)
    for _ in range(i.r.randrange(5, 9)):
        t = j.steps(t, 3, ranks=[0])
        j.add(t, 0, f"{comma(t)} INFO {j.script}:261 sample batch[0] decoded ({i.r.randrange(100, 900)} tokens): <|begin|>\n{i.r.choice(SAMPLES)}\n<|end|>")  # fmt: skip
    t = j.steps(t, 2, ranks=[0])
    line = f"UnicodeDecodeError: 'utf-8' codec can't decode byte 0x{i.r.randrange(128, 192):x} in position {i.r.randrange(9000)}: invalid start byte"
    died(j, t, v, line, ("/workspace/data/tok.py", 66, "read", "text = raw.decode()"))
    i.put("train.log", j.single())
    i.say(ANY_FOUND, "UnicodeDecodeError", "our own traceback, under our own rank", rank=v, host=j.hosts[0], never=["CUDA out of memory", "fallen off the bus", "No module named 'torch'", "oom_kill event"])  # fmt: skip
