"""Two runs that differ in one thing, and a failed run beside a good one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant.cli.main import main
from assistant.comparison import SCHEMA_PATH, Changed, Control, schema_text
from assistant.diagnosis.baseline import compare
from assistant.diagnosis.control import compare_runs
from assistant.diagnosis.pipeline import Options, diagnose
from assistant.diagnosis.templates import Familiar, read_templates, template_of
from assistant.logs.sources import expand
from corpus.errors import FirstfaultError
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("oom", signature("CUDA out of memory. Tried to allocate {size:size}"), scope="workload"),
    head("bus", signature("NVRM: Xid (PCI:{pci:pci}): 79,"), scope="node"),
)
OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


def steps(count: int, host: str = "node-a", end: str = "") -> str:
    lines = [
        f"2026-11-30T12:{n // 60:02d}:{n % 60:02d} {host} train[7]: step {n} loss {9 / n:.3f}"
        for n in range(1, count + 1)
    ]
    return "\n".join([*lines, *([end] if end else [])]) + "\n"


def control(tmp_path: Path, before: str, after: str, changed: Changed | None = None) -> Control:
    paths = []
    for name, text in (("before.log", before), ("after.log", after)):
        (tmp_path / name).write_text(text)
        paths.append(str(tmp_path / name))
    first, second = (diagnose([path], catalogue=CATALOGUE) for path in paths)
    return compare_runs(first, second, CATALOGUE, before_paths=paths[:1], after_paths=paths[1:], changed=changed)


DONE = "training completed successfully"


@pytest.mark.parametrize(
    ("after", "changed", "outcome"),
    [
        (steps(90, "node-b", DONE), "node", "follows-node"),
        # By its entry it is of the workload: that another node was taken is not what made it go.
        (steps(90, "node-b", DONE), None, "gone"),
        (steps(90, "node-a", DONE), None, "gone"),
        (steps(90, "node-a", DONE), "fix", "gone"),
        (steps(90, "node-a", DONE), "input", "follows-workload"),
        (steps(60, "node-b", OOM), "node", "follows-workload"),
        (steps(60, "node-a", OOM), "input", "follows-node"),
        (steps(60, "node-b", OOM), "input", "undecided"),
        (steps(60, "node-a", OOM), "fix", "repeats"),
        (steps(60, "node-a", OOM), None, "repeats"),
        (steps(20, "node-a", DONE), "fix", "undecided"),
        (steps(20, "node-a"), "fix", "undecided"),
        (steps(20, "node-a", "ValueError: no such tokenizer"), "fix", "undecided"),
        (steps(90, "node-a", "ValueError: no such tokenizer"), "fix", "other-fault"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_outcome_depends_on_what_was_changed(tmp_path: Path, after: str, changed: Changed | None, outcome: str) -> None:
    assert control(tmp_path, steps(60, "node-a", OOM), after, changed).outcome == outcome


KERNEL = "2026-11-30T12:01:01 {host} kernel: NVRM: Xid (PCI:0000:8a:00): 79, pid=1, GPU has fallen off the bus."


@pytest.mark.parametrize(("world", "outcome"), [("", "follows-node"), ("world_size: 16", "gone")])
def test_another_node_is_read_off_the_hosts_for_a_run_of_the_same_size(
    tmp_path: Path, world: str, outcome: str
) -> None:
    failed = "world_size: 8\n" + steps(60, "node-a", KERNEL.format(host="node-a"))
    found = control(tmp_path, failed, f"{world}\n" + steps(90, "node-b", DONE))
    assert found.outcome == outcome


def test_a_node_that_was_not_changed_is_noticed(tmp_path: Path) -> None:
    failed = steps(60, "node-a", KERNEL.format(host="node-a"))
    assert control(tmp_path, failed, failed, "node").outcome == "repeats"
    moved = steps(60, "node-b", KERNEL.format(host="node-b"))
    found = control(tmp_path, failed, moved, "node")
    assert (found.outcome, "node-a" in found.because, "node-b" in found.because) == ("follows-workload", True, True)
    assert control(tmp_path, failed, moved, "input").outcome == "undecided"


def test_nothing_to_look_for_is_said(tmp_path: Path) -> None:
    found = control(tmp_path, steps(9, end=DONE), steps(9, end=DONE))
    assert found.outcome == "undecided" and "no first fault" in found.because


def test_a_fault_without_an_entry_is_known_by_its_template(tmp_path: Path) -> None:
    line = "RuntimeError: shard {} of {} is missing from /data/{}/x.arrow"
    before, after = (steps(30, end=line.format(*words)) for words in ((7, 64, "a"), (12, 80, "b")))
    assert control(tmp_path, before, after, "fix").outcome == "repeats"


def test_one_clean_run_is_not_called_proof(tmp_path: Path) -> None:
    found = control(tmp_path, steps(60, "node-a", OOM), steps(90, "node-a", DONE), "fix")
    assert any("comes and goes" in note for note in found.not_proved)


@pytest.mark.parametrize("changed", [None, "fix", "nothing"])
def test_what_was_changed_is_asked_for_where_nobody_said_it(tmp_path: Path, changed: Changed | None) -> None:
    found = control(tmp_path, steps(60, "node-a", OOM), steps(90, "node-a", DONE), changed)
    asked = [note for note in found.not_proved if f"{tmp_path}/after.log --changed node" in note]
    assert len(asked) == (changed is None)
    told = {None: "do not tell what was changed", "fix": "the fix was applied", "nothing": "nothing was changed"}
    assert told[changed] in found.because


def test_schema_file_is_fresh() -> None:
    assert SCHEMA_PATH.read_text(encoding="utf-8") == schema_text(), "run `python -m assistant.schema`"


def test_verb_prints_both_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.log").write_text(steps(60, "node-a", OOM))
    (tmp_path / "b.log").write_text(steps(90, "node-b", DONE))
    pair = [str(tmp_path / "a.log"), str(tmp_path / "b.log")]
    assert main(["control", *pair, "--changed", "node"]) == 0
    shown = capsys.readouterr().out
    assert "stays with the node" in shown and "a.log:61" in shown
    assert main(["control", *pair, "--changed", "node", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["outcome"], data["changed"]) == ("firstfault.control/1", "follows-node", "node")
    assert data["before"]["entry"]["id"] == "cuda-oom" and data["after"]["completed"] is True
    assert main(["control", pair[0], str(tmp_path / "none.log")]) == 2
    assert "none.log" in capsys.readouterr().err


# ---- baseline


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("step 12 loss 0.51", "step 9 loss 12.4", True),
        ("10:00:01 saved /ckpt/run1/iter_10", "11:59:59 saved /ckpt/run22/iter_2000", True),
        ("ptr 0x7ffd12ab id 3f2a9c81", "ptr 0x5500aa id 99b1c0ff", True),
        ("step 12 loss 0.51", "step 12 loss nan", False),
        ("loaded shard 3 ok", "loaded shard 3 FAILED", False),
    ],
)
def test_templates_mask_what_varies_and_nothing_else(one: str, other: str, *, same: bool) -> None:
    assert (template_of(one) == template_of(other)) is same


def test_a_name_with_a_number_is_familiar_and_a_new_word_is_not(tmp_path: Path) -> None:
    (tmp_path / "ok.log").write_text(
        "pod train-1-x joined\nbar  10%|\u2588\u2588   | 1/9\rbar 100%|\u2588\u2588\u2588| 9/9\n"
    )
    known = Familiar(read_templates(expand([str(tmp_path / "ok.log")])[0]))
    assert template_of("pod eval-77-y joined") in known
    assert template_of("bar  55%|\u2588  | 5/9") in known
    assert template_of("pod train-1-x refused") not in known


def test_new_lines_and_the_parting(tmp_path: Path) -> None:
    good = steps(40) + "saving checkpoint at step 40\n" + steps(40) + "evaluating on 4096 samples\ntraining finished\n"
    bad = (
        steps(40) + "saving checkpoint at step 40\n" + steps(9) + "WARNING: slow tokenizer in use\n" + steps(9, end=OOM)
    )
    for name, text in (("ok.log", good), ("bad.log", bad)):
        (tmp_path / name).write_text(text)
    paths, fine = [str(tmp_path / "bad.log")], (str(tmp_path / "ok.log"),)
    found = diagnose(paths, catalogue=CATALOGUE, options=Options(baseline=fine)).baseline
    assert found is not None and found.last_common is not None
    assert [(item.line.line, item.line.text) for item in found.new] == [(51, "WARNING: slow tokenizer in use")]
    assert found.last_common.text == "saving checkpoint at step 40"
    assert [line.text for line in found.went_on] == ["evaluating on 4096 samples", "training finished"]


def test_a_good_run_beside_itself_has_nothing_new(tmp_path: Path) -> None:
    (tmp_path / "ok.log").write_text(steps(40, end=DONE))
    path = str(tmp_path / "ok.log")
    found = compare([path], [path], diagnose([path], catalogue=CATALOGUE))
    assert (found.new, found.went_on, found.new_total) == ((), (), 0)


def test_a_run_in_another_encoding_is_the_same_run(tmp_path: Path) -> None:
    (tmp_path / "ok.log").write_text(steps(40, end=DONE))
    (tmp_path / "wide.log").write_text(steps(40, end=DONE), encoding="utf-16")
    result = diagnose([str(tmp_path / "wide.log")], catalogue=CATALOGUE)
    assert compare([str(tmp_path / "wide.log")], [str(tmp_path / "ok.log")], result).new == ()


def test_a_pipe_cannot_be_read_twice(tmp_path: Path) -> None:
    (tmp_path / "ok.log").write_text(steps(4))
    result = diagnose([str(tmp_path / "ok.log")], catalogue=CATALOGUE)
    with pytest.raises(FirstfaultError, match="twice"):
        compare(["-"], [str(tmp_path / "ok.log")], result)


def test_baseline_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ok.log").write_text(steps(40, end=DONE))
    (tmp_path / "bad.log").write_text(steps(30) + "WARNING: slow tokenizer in use\n" + OOM + "\n")
    assert main([str(tmp_path / "bad.log"), "--baseline", str(tmp_path / "ok.log")]) == 0
    shown = capsys.readouterr().out
    assert "BASELINE" in shown and "slow tokenizer" in shown and "training completed" in shown
