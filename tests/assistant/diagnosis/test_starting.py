"""A node whose network is not ready yet only starts; one whose network stays away is at fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(head("cni", signature("NetworkReady=false reason:NetworkPluginNotReady message:")))
STARTED = "Nov 30 12:00:01 node-a systemd[1]: Started kubelet: The Kubernetes Node Agent."
NOT_READY = "Nov 30 12:{0} node-a kubelet[15]: E1130 12:{0}.2 15 kubelet.go:2892] NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized"
GOES_ON = "Nov 30 12:{0} node-a kubelet[15]: I1130 12:{0}.2 15 reconciler.go:330] MountVolume started"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([STARTED, *(NOT_READY.format(f"00:{s:02}") for s in (3, 8, 13))], "inconclusive"),
        ([*(NOT_READY.format(f"00:{s:02}") for s in (3, 8, 13)), GOES_ON.format("02:00")], "inconclusive"),
        ([STARTED, *(NOT_READY.format(f"0{m}:03") for m in range(8))], "identified"),
        ([NOT_READY.format("00:03"), NOT_READY.format("00:08"), GOES_ON.format("00:12")], "identified"),
    ],
    ids=["starts", "passed", "persists", "not-known"],
)
def test_a_network_that_is_not_ready_yet(tmp_path: Path, lines: list[str], status: str) -> None:
    (tmp_path / "kubelet.log").write_text("\n".join(lines) + "\n")
    assert diagnose([str(tmp_path)], catalogue=CATALOGUE).status == status
