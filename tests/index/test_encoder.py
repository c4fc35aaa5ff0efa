"""The bundled encoder, and what is said when an encoder cannot be had."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from index.encoder import OnnxEncoder, bundled_folder, open_encoder
from index.errors import MissingExtraError, ModelFileError, UnknownEncoderError

CARD = json.loads((bundled_folder() / "card.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    return OnnxEncoder(bundled_folder())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    shutil.copytree(bundled_folder(), folder)
    return folder


def test_the_card_says_what_lies_there() -> None:
    for part in ("model", "tokenizer"):
        path = bundled_folder() / CARD[part]["file"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == CARD[part]["sha256"]
    assert (bundled_folder() / "LICENSE").is_file()
    assert "export_encoder.py" in CARD["command"]
    assert len(CARD["source"]["sha256"]) == 64


def test_the_card_proves_parity() -> None:
    rankings = CARD["parity"]["rankings"]
    assert set(rankings) >= {"release index, entries", "own index, entries"}
    for label, figures in rankings.items():
        assert figures["top_1"] >= (0.98 if label.endswith("entries") else 0.97)
        assert figures["top_5"] >= 0.95


def test_vectors_have_unit_length(encoder: OnnxEncoder) -> None:
    vectors = encoder.encode(["GPU has fallen off the bus", "", "x" * 5_000])
    assert vectors.shape == (3, encoder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_meaning_is_near(encoder: OnnxEncoder) -> None:
    query, near, far = encoder.encode(["the card vanished from the machine", "GPU disappeared", "the disk is full"])
    assert query @ near > query @ far


def test_encoding_leaves_nothing_outside_of_the_program(tmp_path: Path) -> None:
    """onnxruntime keeps a device id in the cache folder as soon as its telemetry is on."""
    code = "from index.encoder import open_encoder; open_encoder().encode(['a query'])"
    root = Path(__file__).resolve().parents[2]
    environment = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_vector_does_not_depend_on_its_neighbours(encoder: OnnxEncoder) -> None:
    texts = ["short", "a much longer text about a collective that timed out on rank 3 after ten minutes"]
    together = encoder.encode(texts)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(encoder.encode([text])[0], vector)


def test_no_texts_give_no_vectors(encoder: OnnxEncoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_opening_loads_no_model() -> None:
    code = (
        "import sys; from index.encoder import open_encoder; open_encoder();"
        "print(sorted({'onnxruntime', 'tokenizers', 'numpy', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("spec", [None, "bundled", bundled_folder(), str(bundled_folder())])
def test_the_bundled_encoder_has_these_names(spec: str | Path | None) -> None:
    assert open_encoder(spec).revision == CARD["source"]["sha256"][:12]


@pytest.mark.parametrize("name", ["card.json", "tokenizer.json", CARD["model"]["file"]])
def test_a_missing_file_is_named(name: str, copy: Path) -> None:
    (copy / name).unlink()
    with pytest.raises(ModelFileError, match="is missing") as error:
        OnnxEncoder(copy)
    assert name in str(error.value)
    assert error.value.exit_code == 4
    assert error.value.hint


def test_a_pointer_in_place_of_the_model_is_noticed(copy: Path) -> None:
    (copy / CARD["model"]["file"]).write_text("version https://git-lfs.github.com/spec/v1", encoding="utf-8")
    with pytest.raises(ModelFileError, match="its card says"):
        OnnxEncoder(copy)


@pytest.mark.parametrize("name", ["tokenizer.json", CARD["model"]["file"]])
def test_a_damaged_file_is_named_with_the_first_text(name: str, copy: Path) -> None:
    path = copy / name
    path.write_bytes(b"\x00" * path.stat().st_size)
    with pytest.raises(ModelFileError) as error:
        OnnxEncoder(copy).encode(["a"])
    assert name in str(error.value)
    # Loaded in a thread, it is said by the first text all the same.
    ahead = OnnxEncoder(copy)
    ahead.load_soon()
    with pytest.raises(ModelFileError):
        ahead.encode(["a"])


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"name": "x"}'])
def test_a_damaged_card_is_named(content: str, copy: Path) -> None:
    (copy / "card.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"card\.json"):
        OnnxEncoder(copy)


def test_a_folder_without_an_encoder(tmp_path: Path) -> None:
    with pytest.raises(UnknownEncoderError, match=r"modules\.json") as error:
        open_encoder(tmp_path)
    assert error.value.exit_code == 2


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra is installed")
def test_without_the_extra_the_command_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'firstfault\[encoders\]'") as error:
        open_encoder("some-model")
    assert error.value.exit_code == 2


@pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs the extra `encoders`")
@pytest.mark.filterwarnings("ignore")
def test_an_unknown_name_is_not_looked_for_on_the_network() -> None:
    with pytest.raises(UnknownEncoderError, match="no encoder `nobody/no-such-model`"):
        open_encoder("nobody/no-such-model")
