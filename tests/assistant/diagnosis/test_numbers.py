"""A loss that is not finite, in whatever form a trainer prints it."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.pipeline import diagnose
from assistant.reports import text
from assistant.verdict import Diagnosis
from tests.heads import catalogue_of, head, signature

CATALOGUE = catalogue_of(
    head("loss-nan", signature("Loss is nan, stopping training"), slows=True, family="numerics"),
    head("oom", signature("CUDA out of memory")),
)


def read(tmp_path: Path, log: str) -> Diagnosis:
    (tmp_path / "job.log").write_text(log)
    return diagnose([str(tmp_path / "job.log")], catalogue=CATALOGUE)


FORMS = {
    "plain": "step {n} loss {v}",
    "colon": "step: {n}  loss: {v}  grad_norm: 0.4",
    "equals": "Epoch 0: 10%|#         | {n}/100 [00:01<01:39, 1.00s/it, loss={v}]",
    "lightning": "Epoch 0: 10%|#         | {n}/100 [00:01<01:39, 1.00s/it, train_loss={v}.0]",
    "trainer": "{{'loss': {v}, 'learning_rate': 1e-05, 'epoch': 0.{n}}}",
    "trainer-quoted": "{{'loss': '{v}', 'learning_rate': '1e-05', 'epoch': '0.{n}'}}",
    "json": '{{"step": {n}, "loss": {v}}}',
    "keras": "{n}/100 ━━━━ 5s 50ms/step - accuracy: 0.1 - loss: {v}",
    "stamped": "[2026-11-30 12:00:{n}] iteration {n}/1000 train loss = {v}",
}


def log_of(form: str, *values: str) -> str:
    return "".join(FORMS[form].format(n=20 + at, v=value) + "\n" for at, value in enumerate(values))


@pytest.mark.parametrize("value", ["nan", "NaN"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(tmp_path: Path, form: str, value: str) -> None:
    found = read(tmp_path, log_of(form, "2.3", "2.2", value, value))
    assert found.status == "degraded"
    first = found.initiating
    assert first is not None
    assert first.entry is not None
    assert (first.entry.id, first.evidence[0].line, first.count) == ("loss-nan", 3, 2)
    assert "not finite from here on, in 2 step lines" in first.because
    assert "spoils its numbers" in text.render(found)


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (log_of("plain", "2.3", "nan"), 2),
        (log_of("plain", "nan"), 1),
        (log_of("plain", "2.3", "inf", "inf"), 2),
        ("step 1 loss 2.0 grad_norm 1.0\nstep 2 loss 2.1 grad_norm nan\nstep 3 loss 2.1 grad_norm nan\n", 2),
        (log_of("plain", "2.3", "nan", "nan") + "ValueError: probability tensor contains nan\n", 2),
        ("[rank0]: step 5 loss 2\n[rank1]: step 5 loss nan\n[rank0]: step 6 loss 2\n[rank1]: step 6 loss nan\n", 2),
    ],
    ids=["last", "only", "infinite", "norm", "before-an-error", "one-rank"],
)
def test_what_lasts_is_a_fault(tmp_path: Path, log: str, line: int) -> None:
    first = read(tmp_path, log).initiating
    assert first is not None
    assert (first.entry and first.entry.id, first.evidence[0].line) == ("loss-nan", line)


@pytest.mark.parametrize(
    "log",
    [
        log_of("plain", "2.3", "nan", "2.2", "2.1"),
        "step 0 loss nan\n",
        log_of("plain", "2.3", "inf"),
        "step 1 loss 2.0 grad_norm 1.0\nstep 2 loss 2.1 grad_norm inf\n",
        "step 1 loss 2.0 val_loss nan\nstep 2 loss 2.1 val_loss nan\n",
        "step 1 loss 2.0 best loss inf\nstep 2 loss 2.1 best loss inf\n",
        "{'eval_loss': nan, 'epoch': 0.1}\n{'eval_loss': nan, 'epoch': 0.2}\n",
        "the loss nan handler was registered\nglobal step 3 is near\n",
        "step 1 loss nano 3\nstep 2 loss information 4\n",
    ],
    ids=["got-over", "first", "one-inf", "one-norm", "validation", "best", "evaluation", "prose", "words"],
)
def test_what_passes_or_is_no_training_loss_is_none(tmp_path: Path, log: str) -> None:
    assert read(tmp_path, log).findings == ()


def test_a_signature_says_more_than_the_numbers(tmp_path: Path) -> None:
    first = read(tmp_path, log_of("plain", "2.3", "nan", "nan") + "Loss is nan, stopping training\n").initiating
    assert first is not None
    assert first.evidence[0].signature is not None


@pytest.mark.parametrize(
    "step",
    [
        "step {n} loss 2.0 aux_loss nan kl_loss: 0.1",
        "step {n} lm_loss: 2.0 | moe_loss: nan | grad_norm: 1.0",
        "step {n} d_loss nan g_loss 1.2",
        "step {n} loss 2.0 load balancing loss: nan",
        "evaluating: step {n} loss nan",
        "[eval] step {n} loss nan",
        "step {n} validation: loss nan",
    ],
)
def test_a_part_that_was_never_finite_and_an_evaluation_are_no_fault(tmp_path: Path, step: str) -> None:
    assert read(tmp_path, "".join(step.format(n=n) + "\n" for n in range(9))).findings == ()


@pytest.mark.parametrize(
    ("step", "finite"),
    [
        ("step {n} loss 2.0 aux_loss {v}", "0.1"),
        ("step {n} loss {v} aux_loss 0.1", "nan"),
        ("step {n} lm_loss: {v} | moe_loss: 0.1", "nan"),
        ("step {n} loss {v} aux_loss nan", "2.0"),
        ("step {n} loss 2.0 aux_loss nan grad_norm {v}", "1.0"),
        ("step {n} d_loss nan g_loss {v}", "1.2"),
    ],
)
def test_a_part_that_was_finite_and_the_whole_are_a_fault(tmp_path: Path, step: str, finite: str) -> None:
    values = [finite] * 4 + ["nan"] * 4
    first = read(tmp_path, "".join(step.format(n=n, v=v) + "\n" for n, v in enumerate(values))).initiating
    assert first is not None
    assert first.evidence[0].line == (1 if finite == "nan" else 5)


@pytest.mark.parametrize("files", [1, 4])
def test_other_ranks_steps_do_not_make_one_rank_recover(tmp_path: Path, files: int) -> None:
    lines: list[list[str]] = [[] for _ in range(files)]
    for n in range(240):
        step, rank = divmod(n, 4)
        value = "nan" if rank == 2 and step >= 10 else "2.0"
        lines[rank % files].append(f"2026-11-30 1{n // 60}:{n % 60:02}:00 [rank{rank}] INFO step {step} loss {value}\n")
    for number, written in enumerate(lines):
        (tmp_path / f"rank{number}.log").write_text("".join(written))
    found = diagnose([str(tmp_path)], catalogue=CATALOGUE)
    assert [(one.role, one.ranks, one.count) for one in found.findings] == [("initiating", (2,), 50)]
    assert found.findings[0].evidence[0].line == (43 if files == 1 else 11)


@pytest.mark.parametrize(
    ("norms", "losses", "blamed"),
    [
        (("nan", "nan", "nan"), ("2.0", "1.9", "1.8"), False),
        (("1.0", "nan", "nan"), ("2.0", "1.9", "1.8"), True),
        (("nan", "nan", "nan"), ("2.0", "nan", "nan"), True),
        (("nan", "nan", "nan"), ("nan", "nan", "nan"), True),
    ],
)
def test_a_norm_that_never_was_a_number_beside_a_finite_loss_is_no_fault(
    tmp_path: Path, norms: tuple[str, ...], losses: tuple[str, ...], blamed: bool
) -> None:
    log = "".join(
        f"2026-11-30 09:00:{n:02d} INFO step {n} loss {loss} grad_norm: {norm}\n"
        for n, (norm, loss) in enumerate(zip(norms, losses, strict=True))
    )
    assert (read(tmp_path, log).initiating is not None) is blamed
