"""What the platform tells of one pod explains nothing of another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.diagnosis.window import is_sibling
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("evicted", signature("The node was low on resource"), family="scheduler-platform", causes=("backoff",)),
    head("backoff", signature("Back-off restarting failed container"), family="scheduler-platform", kind="wrapper", role="downstream"),
)  # fmt: skip
TABLE = "LAST SEEN   TYPE      REASON    OBJECT     MESSAGE\n"


def rows(evicted: str, backoff: str = "train-0") -> str:
    return (
        f"{TABLE}3m   Warning   Evicted   pod/{evicted}   The node was low on resource: memory.\n"
        f"2m   Warning   BackOff   pod/{backoff}   Back-off restarting failed container main in pod {backoff}_ml(aaaa)\n"
    )


def verdict(folder: Path, **files: str) -> Diagnosis:
    for name, text in files.items():
        (folder / name.replace("_", "-").replace("--", ".")).write_text(text)
    return diagnose([str(folder)], catalogue=CATALOGUE)


def roles(result: Diagnosis) -> dict[str, str]:
    return {finding.entry.id: finding.role for finding in result.findings if finding.entry}


@pytest.mark.parametrize(
    ("pod", "role"), [("train-0", "downstream"), ("train-1", "downstream"), ("notebook-7", "unrelated")]
)
def test_in_a_table_of_events_alone(tmp_path: Path, pod: str, role: str) -> None:
    assert roles(verdict(tmp_path, events__txt=rows(pod))) == {"evicted": "initiating", "backoff": role}


def test_beside_the_log_of_the_pod_another_ones_events_are_not_even_suspected(tmp_path: Path) -> None:
    result = verdict(tmp_path, train_0__log="2026-11-30 09:00:00 INFO step 1 loss 2\n", events__txt=rows("notebook-7"))
    assert roles(result) == {"backoff": "downstream", "evicted": "unrelated"}
    assert result.initiating is None and not result.suspects


@pytest.mark.parametrize(("pod", "role"), [("train-0", "initiating"), ("other-5", "unrelated")])
def test_a_description_of_another_pod_than_the_lines_name(tmp_path: Path, pod: str, role: str) -> None:
    described = f"Name:             {pod}\nNamespace:        ml\nMessage:  The node was low on resource: memory.\n"
    log = "2026-11-30 09:00:00 Back-off restarting failed container main in pod train-0_ml(aaaa)\n"
    assert roles(verdict(tmp_path, job__log=log, describe__txt=described))["evicted"] == role


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("train-0", "train-1", True),
        ("train-0", "other-1", False),
        ("web-7d4b9c5f6d-x2kqp", "web-7d4b9c5f6d-zz9wl", True),
        ("train-x2kqp", "train-zz9wl", True),
        ("train-x2kqp", "other-zz9wl", False),
        ("train-0", "train-0", True),
    ],
)
def test_members_of_one_job(one: str, other: str, same: bool) -> None:
    assert is_sibling(one, other) is same
