"""Encoders: text to vectors of unit length, so that an inner product is a cosine.

The bundled one is the ONNX form of a sentence-transformers model and needs only
onnxruntime and tokenizers: 0.2 s to the first vector, against 5 s through
torch. `SentenceTransformerEncoder` runs any model of that library, behind the
extra `encoders`.

An encoder is identified by its *space*: `name` and `revision` (of the weights
before any conversion). Vectors of one space may be compared, whatever runtime
made them; `form` says which one did.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from index.errors import MissingExtraError, ModelFileError, RetrievalError, UnknownEncoderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

CARD = "card.json"
BUNDLED = "bundled"
"""The name under which the encoder that comes with the program is asked for."""
MAX_WORKERS = 8
"""Threads that encode passages; a query never uses more than one."""
_REINSTALL = "Reinstall firstfault, or make the folder again with scripts/export_encoder.py."


class Encoder(Protocol):
    """What turns texts into vectors."""

    name: str
    revision: str
    """First 12 hex digits of the SHA-256 of the weights; with the name it identifies the vector space."""
    form: str
    """The runtime and precision that computes the vectors."""
    dimension: int
    max_tokens: int
    """Tokens of a text that are read, the two special ones included; the rest is cut off."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of unit length, float32, of shape (len(texts), dimension)."""
        ...


def bundled_folder() -> Path:
    """Where the encoder that comes with the program lies."""
    return Path(__file__).parent / "model"


def open_encoder(spec: str | Path | None = None, *, allow_download: bool = False) -> Encoder:
    """The encoder of a name or folder; the bundled one for None or `bundled`.

    A folder with a card.json is an exported encoder, one with a modules.json a
    SentenceTransformer; any other name is one of the sentence-transformers
    library and is looked for on this machine only, unless `allow_download`.
    Raises UnknownEncoderError, MissingExtraError or ModelFileError.
    """
    if spec is None or str(spec) == BUNDLED:
        return OnnxEncoder(bundled_folder())
    folder = Path(spec)
    if (folder / CARD).is_file():
        return OnnxEncoder(folder)
    if folder.is_dir() and not (folder / "modules.json").is_file():
        raise UnknownEncoderError(
            f"the folder `{folder}` holds no encoder (neither {CARD} nor modules.json).",
            f"Name a SentenceTransformer folder, one made by scripts/export_encoder.py, or `{BUNDLED}`.",
        )
    return SentenceTransformerEncoder(str(spec), allow_download=allow_download)


class OnnxEncoder:
    """An encoder exported by scripts/export_encoder.py, run by onnxruntime.

    Texts are run one by one: what a text is padded to then never depends on its
    neighbours, so a vector is the same whether it is built alone or in a batch.
    Batches would not be faster: sorted by length, 4 texts at once took 0.96 of
    the time of one by one and 16 took 1.2, for the matrix products of one text
    keep a core busy. Neither would int8 arithmetic by blocks (MatMulNBits).
    """

    def __init__(self, folder: Path) -> None:
        """Read the card and look at the files; raises ModelFileError.

        The model is loaded with the first text, so that whoever only compares
        the encoder with an index, or never asks it, does not wait for it.
        """
        card = read_card(folder)
        try:
            self.name = str(card["name"])
            self.revision = str(card["source"]["sha256"])[:12]
            self.form = f"onnxruntime {card['model']['weights']} {card['model']['sha256'][:8]}"
            self.dimension = int(card["dimension"])
            self.max_tokens = int(card["max_tokens"])
            model, tokenizer = folder / card["model"]["file"], folder / "tokenizer.json"
            size = int(card["model"]["bytes"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the card `{folder / CARD}` lacks {error}.", _REINSTALL) from error
        for path in (model, tokenizer):
            if not path.is_file():
                raise ModelFileError(f"the encoder's file `{path}` is missing.", _REINSTALL)
        if model.stat().st_size != size:
            # A checkout without its large files leaves a pointer of a hundred bytes here.
            found = model.stat().st_size
            raise ModelFileError(f"`{model}` has {found} bytes, its card says {size}.", _REINSTALL)
        self._paths = model, tokenizer
        self._loaded: tuple[Any, Any] | None = None
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of unit length, float32, of shape (len(texts), dimension).

        The first call loads the model; raises ModelFileError or MissingExtraError.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        self._parts()
        if len(texts) == 1:
            return self._one(texts[0])
        with ThreadPoolExecutor(min(MAX_WORKERS, os.cpu_count() or 1)) as pool:
            return np.concatenate(list(pool.map(self._one, texts)))

    def load_soon(self) -> None:
        """Load the model in a thread, while an index is read; what is wrong with it is said by `encode`."""

        def load() -> None:
            with contextlib.suppress(RetrievalError):
                self._parts()

        threading.Thread(target=load, name="encoder").start()

    def _one(self, text: str) -> Vectors:
        import numpy as np

        tokenizer, session = self._parts()
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        vectors: Vectors = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
        return vectors

    def _parts(self) -> tuple[Any, Any]:
        """Tokenizer and session, loaded once."""
        with self._lock:
            if self._loaded is None:
                model, tokenizer = self._paths
                self._loaded = _load_tokenizer(tokenizer, self.max_tokens), _load_session(model)
            return self._loaded


def read_card(folder: Path) -> dict[str, Any]:
    """The card of an exported encoder; raises ModelFileError when it is missing or no JSON."""
    path = folder / CARD
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelFileError(f"the encoder's file `{path}` is missing.", _REINSTALL) from error
    except (OSError, ValueError) as error:
        raise ModelFileError(f"the encoder's file `{path}` cannot be read ({error}).", _REINSTALL) from error
    if not isinstance(card, dict):
        raise ModelFileError(f"the encoder's file `{path}` is no card.", _REINSTALL)
    return card


def _load_tokenizer(path: Path, max_tokens: int) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtraError("the package `tokenizers` is not installed.", "Reinstall firstfault.") from error
    try:
        tokenizer = Tokenizer.from_file(str(path))
    # The library raises plain Exception for a file that it cannot parse.
    except Exception as error:
        raise ModelFileError(f"`{path}` cannot be read ({error}).", _REINSTALL) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=max_tokens)
    return tokenizer


def _load_session(path: Path) -> Any:
    # From 1.32 on onnxruntime sends events to its maker and keeps a device id in the cache folder, unless this stands
    # in the environment before the library is loaded. Nothing may leave the machine.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError("the package `onnxruntime` is not installed.", "Reinstall firstfault.") from error
    options = onnxruntime.SessionOptions()
    # One thread a query: under contention a second one costs more than it gives.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    # The errors of onnxruntime have no common base below Exception.
    except Exception as error:
        raise ModelFileError(f"`{path}` cannot be loaded ({str(error)[:200]}).", _REINSTALL) from error


class SentenceTransformerEncoder:
    """Any model of the sentence-transformers library, from a folder or by name."""

    def __init__(self, spec: str, *, name: str = "", allow_download: bool = False, batch_size: int = 32) -> None:
        """Load the model on the CPU; `name` is what an index calls it (the last part of `spec`).

        Raises MissingExtraError without the library, and UnknownEncoderError
        when the model is not on this machine.
        """
        try:
            with _without_bars():
                from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtraError(
                f"the encoder `{spec}` needs the sentence-transformers library.",
                "Type `pip install 'firstfault[encoders]'`.",
            ) from error
        try:
            with _without_bars():
                self._model: Any = SentenceTransformer(spec, device="cpu", local_files_only=not allow_download)
        # Hub, safetensors, config and JSON errors share no base class.
        except Exception as error:
            raise UnknownEncoderError(
                f"no encoder `{spec}` is known, and none can be loaded from this machine.",
                f"Name a SentenceTransformer folder, or leave --encoder away for the {BUNDLED} one.",
            ) from error
        self.name = name or Path(spec).name
        self.revision = _weights_digest(Path(spec)) or _parameters_digest(self._model)
        self.form = "SentenceTransformer.encode float32"
        self.dimension = int(self._model.encode(["a"], show_progress_bar=False).shape[1])
        self.max_tokens = int(self._model.max_seq_length or 512)
        self._batch_size = batch_size

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of unit length, float32, of shape (len(texts), dimension)."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors: Vectors = self._model.encode(
            list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
        ).astype(np.float32)
        return vectors


def _weights_digest(folder: Path) -> str:
    """The revision of a SentenceTransformer folder; empty for a name."""
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    if not files:
        return ""
    state = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                state.update(block)
    return state.hexdigest()[:12]


def _parameters_digest(model: Any) -> str:
    """The revision of a model that was loaded by name: over its parameters, as they lie in memory."""
    state = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        state.update(name.encode() + tensor.cpu().contiguous().float().numpy().tobytes())
    return state.hexdigest()[:12]


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep the library's progress bars and notices off a terminal that draws something else."""
    wanted = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TQDM_DISABLE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
