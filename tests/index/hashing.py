"""A deterministic encoder without a model: words hashed into a vector."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from index.tokens import tokenize

if TYPE_CHECKING:
    from numpy.typing import NDArray


class HashingEncoder:
    """Texts that share words are near; counts what it was asked, and stops where a test wants it to."""

    form = "hashing"
    max_tokens = 256

    def __init__(self, name: str = "hashing", revision: str = "1", dimension: int = 64, fails_at: int = -1) -> None:
        self.name = name
        self.revision = revision
        self.dimension = dimension
        self.encoded: list[str] = []
        self._fails_at = fails_at

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if len(self.encoded) == self._fails_at:
                raise KeyboardInterrupt
            self.encoded.append(text)
            for word in tokenize(text):
                place = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
                vectors[row, place % self.dimension] += 1
            vectors[row] /= max(float(np.linalg.norm(vectors[row])), 1e-9)
        return vectors
