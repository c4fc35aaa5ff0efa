#!/usr/bin/env python3
"""Train the encoder of this field: a stock sentence encoder, shown which words belong to which failure.

    scripts/train_encoder.py FOLDER --out FOLDER [--epochs 1] [--seed 7]

FOLDER is a SentenceTransformer folder (modules.json, model.safetensors). Needs torch and sentence-transformers
beside firstfault's own packages; two cores take about an hour and a half. What comes out is exported for the program by
scripts/export_encoder.py.

Each step draws questions of different entries (asks, questions of the FAQ, symptoms, masked excerpts) and a passage
of each one's entry: the passages of the other questions are what it must not find (InfoNCE, both ways). Half of the
batches come from one family, where the wrong answers lie near; beside each question stands a passage of an entry that
`confused_with` names or that the untrained encoder takes for it. Passages of entries linked by `related` or
`causes` never count as wrong.

Nothing but the corpus is trained on. The questions of split `dev` say when to stop and how much of the training to
keep: the weights that ship are a mean of trained and stock ones, which answers questions unlike the trained ones
better than either. Split `test` is not read.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from corpus.catalogue import Catalogue  # noqa: E402
from index.evaluate import first_relevant  # noqa: E402
from index.passages import Passage, entry_passages  # noqa: E402

QUESTIONS = ROOT / "tests" / "evaluation" / "questions.jsonl"
ANSWERING = {"title": 2, "ask": 4, "summary": 3, "mechanism": 1, "symptom": 1, "faq": 2, "narrows": 1, "observe": 1}
"""Kinds of passage that may answer, with how often each is drawn."""
BATCH = 48
TEMPERATURE = 0.05
RATE = 4e-5
QUESTION_TOKENS, PASSAGE_TOKENS = 40, 88
CONFUSED = 12
"""So many of the entries nearest to an entry's questions are drawn from as wrong answers."""
SIGNATURES = 2
"""Printed lines of an entry that are trained on: logs are found by their words, questions need the training."""
KEPT = (0.6, 0.8, 1.0)
"""Shares of the trained weights that are tried on the development questions."""
_PLACEHOLDER = re.compile(r"\{\??[^{}]*\??\}")


@dataclass(frozen=True)
class Example:
    """A question and the entry that answers it."""

    entry: str
    question: str


class Material:
    """What the corpus says, cut for training."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Read all entries that are not retired."""
        self.examples: list[Example] = []
        self.passages: dict[str, list[Passage]] = {}
        self.family: dict[str, str] = {}
        self.kin: dict[str, set[str]] = defaultdict(set)
        self.confused: dict[str, list[str]] = defaultdict(list)
        for entry, head in sorted(catalogue.heads.items()):
            if head.status == "retired":
                continue
            body = catalogue.body(entry)
            self.family[entry] = head.family
            self.passages[entry] = [item for item in entry_passages(body) if item.kind in ANSWERING]
            self.examples += [Example(entry, text) for text in _questions(body)]
            for other in (*body.get("related", []), *body.get("causes", [])):
                self.kin[entry].add(other)
                self.kin[other].add(entry)
            self.confused[entry] += [item["id"] for item in body.get("confused_with", [])]

    def answer(self, example: Example, rnd: random.Random) -> str:
        """A passage of the example's entry, never the question itself."""
        choice = [item for item in self.passages[example.entry] if item.text != example.question]
        choice = choice or self.passages[example.entry]
        return rnd.choices(choice, [ANSWERING[item.kind] for item in choice])[0].encoded_text


def _questions(body: Mapping[str, Any]) -> Iterator[str]:
    yield from body.get("asks", [])
    yield from (item["q"] for item in body.get("faq", []))
    yield from (item["seen"] for item in body.get("symptom", []))
    for signature in body.get("signature", [])[:SIGNATURES]:
        text = " ".join(signature.get("lines") or [signature["text"]])
        yield " ".join(_PLACEHOLDER.sub(" ", text).split())


def batches(material: Material, rnd: random.Random) -> Iterator[list[Example]]:
    """All examples in batches without two of one entry; every second batch of one family where it lasts."""
    mixed = list(material.examples)
    rnd.shuffle(mixed)
    half = len(mixed) // 2
    near = sorted(mixed[:half], key=lambda item: material.family[item.entry])
    made = [*_distinct(near), *_distinct(mixed[half:])]
    rnd.shuffle(made)
    yield from made


def _distinct(examples: Sequence[Example]) -> Iterator[list[Example]]:
    waiting: list[Example] = list(examples)
    while len(waiting) >= BATCH // 2:
        batch: dict[str, Example] = {}
        left = []
        for position, item in enumerate(waiting):
            if len(batch) == BATCH:
                left += waiting[position:]
                break
            if item.entry in batch:
                left.append(item)
            else:
                batch[item.entry] = item
        if len(batch) < BATCH // 2:
            return
        yield list(batch.values())
        waiting = left


class Trainer:
    """A model, its optimiser and the material."""

    def __init__(self, folder: Path, material: Material, *, epochs: int, seed: int) -> None:
        """Load the model; raises OSError when the folder holds none."""
        import torch
        from sentence_transformers import SentenceTransformer

        torch.manual_seed(seed)
        self.torch = torch
        self.model: Any = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        self.stock = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        self.material = material
        self.rnd = random.Random(seed)
        self.steps = epochs * sum(1 for _ in batches(material, random.Random(seed)))
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=RATE, weight_decay=0.01)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimiser, self._rate)
        self.hard: dict[str, list[str]] = {}

    def _rate(self, step: int) -> float:
        warm = max(1, self.steps // 10)
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warm) / max(1, self.steps - warm))))

    def vectors(self, texts: Sequence[str], tokens: int) -> Any:
        """Unit vectors of shape (len(texts), dimension), with gradients when training."""
        features = self.model.tokenizer(
            list(texts), padding=True, truncation=True, max_length=tokens, return_tensors="pt"
        )
        with self.torch.autocast("cpu", dtype=self.torch.bfloat16):
            found = self.model(dict(features))["sentence_embedding"]
        return self.torch.nn.functional.normalize(found.float(), dim=1)

    def encode(self, texts: Sequence[str], tokens: int = PASSAGE_TOKENS) -> Any:
        """The same without gradients, in batches of like length."""
        self.model.eval()
        order = sorted(range(len(texts)), key=lambda position: len(texts[position]))
        found = self.torch.zeros(len(texts), self.model.get_embedding_dimension())
        with self.torch.no_grad():
            for start in range(0, len(order), 64):
                some = order[start : start + 64]
                found[some] = self.vectors([texts[position] for position in some], tokens)
        return found

    def hard_negatives(self) -> dict[str, list[str]]:
        """Of each entry the ones it is taken for: those it names, and the nearest by title, summary and asks."""
        entries = sorted(self.material.passages)
        texts = {entry: self.short(entry) for entry in entries}
        owners = [number for number, entry in enumerate(entries) for _ in texts[entry]]
        vectors = self.encode([text for entry in entries for text in texts[entry]])
        sums = self.torch.zeros(len(entries), vectors.shape[1])
        sums.index_add_(0, self.torch.tensor(owners), vectors)
        means = self.torch.nn.functional.normalize(sums, dim=1)
        nearest = (means @ means.T).topk(CONFUSED + 1, dim=1).indices.tolist()
        hard = {}
        for number, entry in enumerate(entries):
            near = [entries[other] for other in nearest[number] if other != number]
            wrong = [*self.material.confused[entry], *near]
            hard[entry] = [other for other in wrong if other in texts and other not in self.material.kin[entry]]
        return hard

    def short(self, entry: str) -> list[str]:
        """Title, asks and summary of an entry, as they are encoded."""
        return [item.encoded_text for item in self.material.passages[entry] if item.kind in {"title", "ask", "summary"}]

    def step(self, batch: Sequence[Example]) -> float:
        """One step on one batch; returns the loss."""
        torch, rnd = self.torch, self.rnd
        self.model.train()
        right = [self.material.answer(item, rnd) for item in batch]
        wrong = [rnd.choice(self.hard[item.entry] or [item.entry]) for item in batch]
        beside = [rnd.choice(self.short(entry)) for entry in wrong]
        questions = self.vectors([item.question for item in batch], QUESTION_TOKENS)
        passages = self.vectors([*right, *beside], PASSAGE_TOKENS)
        scores = questions @ passages.T / TEMPERATURE
        owners = [item.entry for item in batch] + wrong
        for row, item in enumerate(batch):
            kin = self.material.kin[item.entry] | {item.entry}
            masked = [column for column, owner in enumerate(owners) if column != row and owner in kin]
            scores[row, masked] = -1e4
        targets = torch.arange(len(batch))
        loss = torch.nn.functional.cross_entropy(scores, targets)
        loss = (loss + torch.nn.functional.cross_entropy(scores[:, : len(batch)].T, targets)) / 2
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.schedule.step()
        return float(loss.detach())

    def state(self) -> dict[str, Any]:
        """A copy of the weights as they are."""
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def mix(self, trained: Mapping[str, Any], share: float) -> None:
        """Set the weights to `share` of the trained ones and the rest of the stock ones."""
        mixed = {
            name: value if not value.is_floating_point() else share * value + (1 - share) * self.stock[name]
            for name, value in trained.items()
        }
        self.model.load_state_dict(mixed)


def development_score(trainer: Trainer, questions: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
    """Recall at 1 and 5 and mean reciprocal rank by titles, asks and summaries alone; words take no part."""
    entries = sorted(trainer.material.passages)
    owners, texts = [], []
    for entry in entries:
        for text in trainer.short(entry):
            owners.append(entry)
            texts.append(text)
    passages = trainer.encode(texts)
    asked = trainer.encode([item["q"] for item in questions])
    scores = asked @ passages.T
    ranks = []
    for row, item in enumerate(questions):
        order = scores[row].argsort(descending=True).tolist()
        ranking = list(dict.fromkeys(owners[number] for number in order))[:50]
        ranks.append(first_relevant(ranking, item["relevant"]))
    total = max(1, len(ranks))
    return (
        sum(rank == 1 for rank in ranks) / total,
        sum(rank is not None and rank <= 5 for rank in ranks) / total,
        sum(1 / rank for rank in ranks if rank) / total,
    )


def main() -> int:
    """Train, look at the development questions, keep the best mixture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a SentenceTransformer folder")
    parser.add_argument("--out", type=Path, required=True, help="folder for the trained encoder")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--look", type=int, default=300, help="steps between two looks at the development questions")
    parser.add_argument("--patience", type=int, default=2, help="looks without gain before it stops")
    parser.add_argument("--trained", type=Path, help="weights of an earlier run: only choose how much of them to keep")
    parser.add_argument("--threads", type=int, help="cores to use (default: all)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    material = Material(Catalogue.load(ROOT / "corpus"))
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    development = [item for item in map(json.loads, lines) if item["split"] == "dev"]
    trainer = Trainer(options.folder, material, epochs=options.epochs, seed=options.seed)
    if options.threads:
        trainer.torch.set_num_threads(options.threads)
    log = [_look("stock", development_score(trainer, development))]
    print(f"{len(material.examples)} questions of {len(material.passages)} entries, {trainer.steps} steps", flush=True)
    if options.trained:
        best, trained = trainer.steps, trainer.torch.load(options.trained, weights_only=True)
    else:
        best, trained = _train(trainer, development, options, log)
        trainer.torch.save(trained, options.out / "trained.pt")
    chosen = max(KEPT, key=lambda share: _try(trainer, trained, share, development, log))
    trainer.mix(trained, chosen)
    trainer.model.save(str(options.out))
    report = {
        "seed": options.seed, "questions": len(material.examples), "entries": len(material.passages),
        "batch": BATCH, "steps": best, "development": len(development), "stopped_on": len(development), "kept": chosen, "log": log,
    }  # fmt: skip
    (options.out / "training.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


def _train(
    trainer: Trainer, development: Sequence[Mapping[str, Any]], options: argparse.Namespace, log: list[dict[str, Any]]
) -> tuple[int, dict[str, Any]]:
    """All epochs, stopped when the development questions gain no more; the best step and its weights."""
    trainer.hard = trainer.hard_negatives()
    best = (-1.0, 0, trainer.state())
    done, waited, started = 0, 0, time.monotonic()
    for _ in range(options.epochs):
        losses: list[float] = []
        for batch in batches(trainer.material, trainer.rnd):
            losses.append(trainer.step(batch))
            done += 1
            if done % 50 == 0:
                mean = sum(losses[-50:]) / len(losses[-50:])
                print(f"step {done}/{trainer.steps} loss {mean:.3f} {time.monotonic() - started:.0f} s", flush=True)
            if done % options.look and done != trainer.steps:
                continue
            scores = development_score(trainer, development)
            log.append(_look(f"step {done}", scores))
            waited = 0 if scores[2] > best[0] else waited + 1
            if not waited:
                best = (scores[2], done, trainer.state())
            elif waited >= options.patience:
                return best[1], best[2]
    return best[1], best[2]


def _try(
    trainer: Trainer,
    trained: Mapping[str, Any],
    share: float,
    development: Sequence[Mapping[str, Any]],
    log: list[dict[str, Any]],
) -> float:
    trainer.mix(trained, share)
    scores = development_score(trainer, development)
    log.append(_look(f"kept {share}", scores))
    return scores[2]


def _look(name: str, scores: tuple[float, float, float]) -> dict[str, Any]:
    found = {"at": name, "recall_1": round(scores[0], 4), "recall_5": round(scores[1], 4), "mrr": round(scores[2], 4)}
    print(json.dumps(found), flush=True)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
