"""What the logs call the job: taken into commands where there is one name, left open where there are two."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("oom", signature("Reason:       OOMKilled")),
    head("back-off", signature("Back-off restarting failed container"), kind="wrapper", role="downstream"),
)
DESCRIBED = """Name:             {pod}
Namespace:        ml-team
Service Account:  default
Node:             gpu-12/10.0.3.12
Containers:
  trainer:
    Image:          repo/trainer:1
    Last State:     Terminated
      Reason:       OOMKilled
Conditions:
  Type   Status
"""


def read(tmp_path: Path, log: str, name: str = "job.log") -> Diagnosis:
    (tmp_path / name).write_text(log)
    return diagnose([str(tmp_path / name)], catalogue=CATALOGUE)


@pytest.mark.parametrize(
    ("log", "names"),
    [
        ("SLURM_JOB_ID=4711\nx\n", {"jobid": "4711"}),
        ("slurmstepd: error: *** JOB 4711 ON n1 CANCELLED AT 2026-11-30T12:00:00 ***\n", {"jobid": "4711"}),
        ("Submitted batch job 4711\nSubmitted batch job 4712\n", {}),
        (
            DESCRIBED.format(pod="train-0"),
            {"pod": "train-0", "namespace": "ml-team", "container": "trainer", "node": "gpu-12"},
        ),
        (DESCRIBED.format(pod="a-0") + DESCRIBED.format(pod="b-0"), {"namespace": "ml-team", "node": "gpu-12"}),
        ("Name:   some-deployment\nStrategy: x\n", {}),
        ("kind: Pod\nmetadata:\n  name: w-1\n  namespace: ml\nspec:\n  nodeName: n9\n", {"pod": "w-1", "namespace": "ml", "node": "n9"}),
        ("[pod/w-1/trainer] step 1\n", {"pod": "w-1", "container": "trainer"}),
        ('kubelet: E0101 pod_workers.go:1] "Error syncing pod" pod="ml/w-1" podUID="1"\n', {"pod": "w-1", "namespace": "ml"}),
        ("Back-off restarting failed container trainer in pod w-1_ml(1f2e3d4c)\n", {"pod": "w-1", "namespace": "ml", "container": "trainer"}),
        ("pods/w-1 is gone, and the job 12 of 40 too\n", {"pod": "w-1"}),
        ("a global job object\n", {}),
    ],
    ids=["variable", "cancelled", "two-jobs", "described", "two-pods", "other-object", "yaml", "stern", "kubelet", "event", "path", "words"],
)  # fmt: skip
def test_names(tmp_path: Path, log: str, names: dict[str, str]) -> None:
    found = read(tmp_path, log).run.names
    found = {kind: name for kind, name in found.items() if kind != "host"}
    assert found == names


@pytest.mark.parametrize(
    ("name", "command"), [("slurm-4711.out", "sacct -j 4711 "), ("slurm-4711_3.out", "sacct -j 4711_3 "), ("job.log", "sacct -j JOBID ")]
)  # fmt: skip
def test_the_file_name_names_the_job(tmp_path: Path, name: str, command: str) -> None:
    (item,) = read(tmp_path, "step 1 loss 2\n", name).fetch_next
    assert (item.command or "").startswith(command)


@pytest.mark.parametrize(
    ("log", "command"),
    [
        (
            "Back-off restarting failed container trainer in pod w-1_ml(1f2e3d4c)\n",
            "kubectl logs w-1 -n ml -c trainer --previous",
        ),
        ("Back-off restarting failed container\n", "kubectl logs POD --previous"),
    ],
)
def test_what_to_fetch_names_the_pod(tmp_path: Path, log: str, command: str) -> None:
    assert command in [item.command for item in read(tmp_path, log).fetch_next]


def test_a_pod_that_just_ends_is_asked_of_kubernetes(tmp_path: Path) -> None:
    log = DESCRIBED.format(pod="train-0").replace("OOMKilled", "Completed")
    (item,) = read(tmp_path, log).fetch_next
    assert (item.command or "").startswith("kubectl describe pod train-0 -n ml-team; kubectl get events -n ml-team ")
