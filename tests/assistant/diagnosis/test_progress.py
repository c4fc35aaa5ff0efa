"""Step counters of the trainers, and what completion looks like."""

from __future__ import annotations

import pytest

from assistant.diagnosis.progress import is_completion, read_progress
from corpus.record import Record, read_records


def source(*lines: str) -> list[Record]:
    return [record for number, line in enumerate(lines, start=1) for record in read_records(line.encode(), number)]


@pytest.mark.parametrize(
    ("line", "step"),
    [
        (" iteration     120/    5000 | consumed samples: 1 | lm loss: 1.2E+00 |", 120),
        ("[2026-11-30 12:00:00,1] [INFO] [logging.py:96:log_dist] [Rank 0] step=40, skipped=0, lr=[1e-4]", 40),
        ("Training: step 2286 loss=2.10 mfu=21.4% 18.9 s/it", 2286),
        (" 12%|#2        | 120/1000 [00:30<03:40,  4.0it/s]", 120),
        ("Epoch 3 | step 80 | loss 0.4123", 80),
        ("step: 77  loss:  6.1  memory: 40.1GiB", 77),
        ("{'loss': 1.23, 'grad_norm': 0.8, 'epoch': 0.5}", None),
        ('INFO:     10.0.3.20:41300 - "POST /v1/completions HTTP/1.1" 200 OK', None),
    ],
)
def test_marks(line: str, step: int | None) -> None:
    marks = read_progress([source(line)], [set()]).marks
    assert [mark.step for mark in marks] == [step]


@pytest.mark.parametrize(
    "line",
    [
        "max_steps=1000",
        "save_steps: 500",
        "ERROR step 12 loss 3",
        "Some step failed",
        "RuntimeError: step 5 loss nan is not allowed" * 90,
    ],
)
def test_what_is_no_progress(line: str) -> None:
    assert not read_progress([source(line)], [set()]).marks


@pytest.mark.parametrize(
    "message",
    [
        "Training completed",
        "Job pytorch-workers-2 succeeded",
        "{'train_runtime': 12.1}",
        "`Trainer.fit` stopped: `max_epochs=3` reached.",
        "container exited with code 0",
        "1204 passed in 3.2s",
        "Successfully installed torch",
        "# Avg bus bandwidth    : 4.1",
    ],
)
def test_completion(message: str) -> None:
    assert is_completion(message)


@pytest.mark.parametrize(
    "message",
    [
        "Training not completed",
        "Job failed",
        "exited with code 1",
        "wait until training is done if finished",
        "slurmstepd: error: CANCELLED, job completed",
    ],
)
def test_no_completion(message: str) -> None:
    assert not is_completion(message)


@pytest.mark.parametrize(
    ("after", "recovered"),
    [
        (["step 11 loss 1"], False),  # the ranks that had not noticed finish the step under way
        (["step 11 loss 1", "step 12 loss 1"], True),
        (["step 2 loss 1", "step 3 loss 1", "step 4 loss 1"], True),  # restarted from a checkpoint
        ([], False),
    ],
)
def test_lasting_progress(after: list[str], recovered: bool) -> None:
    lines = ["step 9 loss 1", "step 10 loss 1", "boom", *after]
    assert read_progress([source(*lines)], [set()]).goes_on_after(0, 3) is recovered
