"""What the kinds in `unseen_*.py` share: deaths, start-up lines without NCCL, layouts."""

from __future__ import annotations

import json
from datetime import UTC

from incident_kinds.base import S, comma

SILENT = ["symptom-only", "classified", "unexplained"]
QUIET = ["healthy", "inconclusive", "degraded"]
GONE = "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, NCCL version 2.26.2"


def died(j, t, k, exc, where=None, *, tag=True, head=True):
    """A rank ends by this exception at true time `t`."""
    first = f"{comma(j.at(k, t))} ERROR {j.script}:355 unhandled exception in training loop\n" if head else ""
    j.add(t, k, first + j.tb(k, j.frames(*([where] if where else [])), exc, tag=tag))


def per_host(i, j, form="{}.log"):
    """A file per host: its ranks' lines and its launcher's."""
    for n in range(j.nodes):
        lines = [x for e in j.sorted() if e[2] == -1 - n or (e[2] >= 0 and j.node(e[2]) == n) for x in e[3].split("\n")]
        i.put(form.format(j.hosts[n]), lines)


def per_rank(i, j, form="rank_{}.log"):
    """A file per rank."""
    for k in range(j.world):
        i.put(form.format(k), j.of(k))


def survivors_gone(j, t, ranks, host):
    """NCCL's remote error on all these ranks within seconds."""
    for k in ranks:
        j.remote_gone(t + j.us(), k, host)


def epoch_ms(t):
    """Milliseconds since 1970."""
    return int(t.replace(tzinfo=UTC).timestamp() * 1000)


def json_lines(rows):
    """One JSON object a line."""
    return [json.dumps(row, ensure_ascii=False) for row in rows]


def store_timeouts(j, t, ranks, seconds=600):
    """Ranks that waited at the store for somebody who never came."""
    for k in ranks:
        died(j, t + S(seconds) + j.us(), k, f"torch.distributed.DistStoreError: Timed out after {seconds + 1} seconds waiting for clients. {len(ranks)}/{j.world} clients joined.", ("/usr/local/lib/python3.12/dist-packages/torch/distributed/rendezvous.py", 278, "_env_rendezvous_handler", "store = _create_c10d_store("))  # fmt: skip
