"""The reader's own values in prose and commands."""

from __future__ import annotations

import pytest

from assistant.values import fill, fill_command, job_ids, values_of
from assistant.verdict import Diagnosis, EntryRef, EvidenceLine, Finding, SourceInfo


def test_values_come_from_evidence_then_place(stories: dict[str, Diagnosis]) -> None:
    first = stories["xid-79"].initiating
    assert first is not None
    assert values_of(first) == {
        "pci": "0000:8a:00", "pid": "55182", "process": "python", "host": "node-b", "node": "node-b",
    }  # fmt: skip


def test_redacted_and_ambiguous_values_stay_open() -> None:
    line = EvidenceLine(source="a", line=1, text="x", captures={"pci": "xxxxxx", "path": "<path>", "key": "[***]"})
    finding = Finding(id="f1", role="initiating", strength="verified", ranks=(1, 2), hosts=("a", "b"), evidence=(line,))
    assert values_of(finding) == {}
    assert fill("the card at <pci> of rank <rank>", values_of(finding)) == "the card at <pci> of rank <rank>"


def test_fill() -> None:
    values = {"pci": "0000:8a:00", "rank": "5"}
    assert fill("rank <rank> at <pci>, <other>, <Not>", values) == "rank 5 at 0000:8a:00, <other>, <Not>"


@pytest.mark.parametrize("hostile", ["$(reboot)", "a; rm -rf /", "`id`", "a b", "-rf", "a'b", "x\ny", "a|b", ""])
def test_a_command_takes_only_plain_words(hostile: str) -> None:
    assert fill_command("kill <pid>", {"pid": hostile}) == "kill <pid>"
    assert fill("see <pid>", {"pid": hostile}) == f"see {hostile}"


@pytest.mark.parametrize("plain", ["55182", "0000:8a:00.0", "/data/run-1/ckpt_3.pt", "node-b.cluster", "user@host"])
def test_a_command_takes_the_usual_values(plain: str) -> None:
    assert fill_command("look <path>", {"path": plain}) == f"look {plain}"


# ---- the job's number


def finding(text: str, *, entry: str = "slurm-time-limit", **captures: str) -> Finding:
    line = EvidenceLine(source="job.log", line=7, text=text, captures=captures)
    ref = EntryRef(id=entry, title="T", family="f", reviewed="2026-11-30")
    return Finding(id="f1", role="initiating", strength="verified", entry=ref, evidence=(line,))


@pytest.mark.parametrize(
    "made",
    [
        finding("slurmstepd: error: *** JOB 4711 ON n1 CANCELLED ***"),
        finding("slurmstepd: error: *** STEP 4711.0 ON n1 CANCELLED ***", id="4711.0"),
        finding("a line", entry="other", job_id="4711"),
        finding("export SLURM_JOB_ID=4711", entry="other"),
        finding("JobId=4711 JobName=x", entry="other"),
    ],
)
def test_the_jobs_number_has_many_names(made: Finding) -> None:
    assert values_of(made)["jobid"] == "4711"
    assert fill_command("sacct -j <jobid>", values_of(made)) == "sacct -j 4711"


@pytest.mark.parametrize(
    "made",
    [
        finding("Job 12 of JOB 4711", entry="other"),
        finding("the job 12 of 40", entry="other"),
        finding("no number", entry="other", id="17"),
    ],
)
def test_without_one_number_the_place_stays_open(made: Finding) -> None:
    assert "jobid" not in values_of(made)


def test_the_jobs_number_of_another_line_or_of_the_file_serves() -> None:
    first = finding("a fault", entry="other")
    second = finding("*** JOB 4711 ON n1 CANCELLED ***").model_copy(update={"id": "f2"})
    both = Diagnosis(status="identified", initiating=first, findings=(first, second))
    assert values_of(first) == {}
    assert values_of(first, both) == {"jobid": "4711"}
    named = Diagnosis(status="inconclusive", sources=(SourceInfo(path="logs/slurm-815.out"),))
    assert job_ids(named) == {"815": "verdict#run"}


def test_what_the_run_is_called_serves_where_the_finding_does_not_say() -> None:
    names = {"jobid": "4711", "pod": "w-1", "namespace": "ml", "node": "n9", "host": "n9"}
    bare = finding("a fault", entry="other")
    assert values_of(bare, names=names) == names
    assert values_of(bare.model_copy(update={"hosts": ("n1",)}), names=names) == {**names, "node": "n1", "host": "n1"}
    assert values_of(bare.model_copy(update={"hosts": ("n1", "n2")}), names=names).keys() == {
        "jobid",
        "pod",
        "namespace",
    }
    assert "jobid" not in values_of(finding("Job 12 of JOB 4712", entry="other"), names=names)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("NVRM: Xid (PCI:0000:5d:00): 74, pid=55182, NVLink: fatal", {"pci": "0000:5d:00", "pid": "55182"}),
        ("GPU 00000000:8A:00.0 is lost", {"pci": "00000000:8A:00.0"}),
        ("0000:5d:00 and 0000:5e:00", {}),
        ("12:41:58.123 at 2026:01:01", {}),
        ("node-b:41020:41077 [3] NCCL WARN failed", {"pid": "41020"}),
        # A path is not taken by its shape: by `<path>` most commands mean the log.
        ("OSError: No space left on device: '/mnt/ckpt/step_10/model.pt'", {}),
        ("failed (exitcode: 1) local_rank: 0 (pid: 48801) of binary: /opt/venv/bin/python", {}),
    ],
)
def test_what_stands_once_on_the_deciding_line_is_meant(text: str, values: dict[str, str]) -> None:
    assert values_of(finding(text, entry="other")) == values


@pytest.mark.parametrize(
    ("command", "filled"),
    [
        ("kubectl describe pod <pod>", "kubectl -n ml describe pod p-0"),
        ("kubectl logs <pod> --previous | tail -5", "kubectl -n ml logs p-0 --previous | tail -5"),
        ("kubectl get pods; kubectl get events", "kubectl -n ml get pods; kubectl -n ml get events"),
        ("kubectl get pod p -n other", "kubectl get pod p -n other"),
        ("kubectl get pods -A | grep x", "kubectl get pods -A | grep x"),
        ("kubectl get pod <pod> -n <namespace>", "kubectl get pod p-0 -n ml"),
        ("kubectl describe node <node>", "kubectl describe node <node>"),
        ("kubectl drain n1 --ignore-daemonsets", "kubectl drain n1 --ignore-daemonsets"),
        ("kubectl get nodes -o wide; kubectl get pvc", "kubectl get nodes -o wide; kubectl -n ml get pvc"),
        ("kubectl apply -f job.yaml", "kubectl apply -f job.yaml"),
        ("kubectl get pod -o jsonpath='{.a|b}' x", "kubectl -n ml get pod -o jsonpath='{.a|b}' x"),
        ("echo mykubectl get pods", "echo mykubectl get pods"),
    ],
)
def test_a_known_namespace_stands_in_commands(command: str, filled: str) -> None:
    once = fill_command(command, {"namespace": "ml", "pod": "p-0"})
    assert once == filled and fill_command(once, {"namespace": "ml", "pod": "p-0"}) == filled


def test_no_namespace_is_made_up_nor_taken_unsafe() -> None:
    assert fill_command("kubectl get pods", {}) == "kubectl get pods"
    assert fill_command("kubectl get pods", {"namespace": "a;rm -rf /"}) == "kubectl get pods"
