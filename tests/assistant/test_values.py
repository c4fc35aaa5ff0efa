"""The reader's own values in prose and commands."""

from __future__ import annotations

import pytest

from assistant.values import fill, fill_command, values_of
from assistant.verdict import Diagnosis, EvidenceLine, Finding


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
