"""The lexical channel: BM25 over the words of all passages.

bm25s holds the scores as a sparse matrix. It is imported when an index is
built, loaded or asked (0.2 s), never on the way of a diagnosis that literals
decide.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from index.errors import BrokenIndexError
from index.tokens import query_words, tokenize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scores = NDArray[np.float32]

K1 = 1.2
B = 0.6
"""Less than the usual 0.75: a long example log is not less of an answer than a title."""
_FORM = 1
_META = "lexical.json"


class LexicalIndex:
    """BM25 over texts, which are known by their position."""

    def __init__(self, engine: Any, vocabulary: dict[str, int], count: int) -> None:
        """Take a filled bm25s engine; use `build` or `load`."""
        self._engine = engine
        self._vocabulary = vocabulary
        self.count = count

    @classmethod
    def build(cls, texts: Sequence[str]) -> LexicalIndex:
        """Index these texts; their order is their numbering."""
        vocabulary: dict[str, int] = {}
        rows = [[vocabulary.setdefault(word, len(vocabulary)) for word in tokenize(text) or [""]] for text in texts]
        engine = _engine()
        if rows:
            # The engine takes ids with the vocabulary; bars off, or they draw over a terminal.
            engine.index((rows, vocabulary), show_progress=False, create_empty_token=False)
        return cls(engine, vocabulary, len(rows))

    def scores(self, query: str) -> Scores:
        """The score of every text, float32 of shape (count,); 0 where no word of the query stands."""
        import numpy as np

        # Each word once: a log that repeats a line is not a stronger question.
        words = dict.fromkeys(word for word in query_words(query) if word in self._vocabulary)
        if not words or not self.count:
            return np.zeros(self.count, dtype=np.float32)
        ids = [self._vocabulary[word] for word in words]
        found: Scores = np.asarray(self._engine.get_scores_from_ids(ids), dtype=np.float32)
        return found

    def holders(self, word: str) -> NDArray[np.int32] | None:
        """The numbers of the texts in which a word stands, None for a word that none has."""
        number = self._vocabulary.get(word)
        if number is None:
            return None
        rows = self._engine.scores
        found: NDArray[np.int32] = rows["indices"][rows["indptr"][number] : rows["indptr"][number + 1]]
        return found

    def save(self, folder: Path) -> None:
        """Write the index into a folder that exists."""
        if self.count:
            self._engine.save(str(folder), show_progress=False)
        meta = {"form": _FORM, "count": self.count, "vocabulary": list(self._vocabulary)}
        (folder / _META).write_text(json.dumps(meta, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> LexicalIndex:
        """Read an index that `save` wrote; raises BrokenIndexError."""
        try:
            meta = json.loads((folder / _META).read_text(encoding="utf-8"))
            if meta["form"] != _FORM:
                raise ValueError(f"form {meta['form']}")
            engine = _engine(folder if meta["count"] else None)
            vocabulary = {word: number for number, word in enumerate(meta["vocabulary"])}
            count = int(meta["count"])
        except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
            raise BrokenIndexError(
                f"the word index in `{folder}` cannot be read ({error}).", "Type `firstfault index build`."
            ) from error
        if count and len(engine.scores["indptr"]) - 1 < len(vocabulary):
            raise BrokenIndexError(f"the word index in `{folder}` is cut off.", "Type `firstfault index build`.")
        return cls(engine, vocabulary, count)


def _engine(folder: Path | None = None) -> Any:
    import bm25s

    # It logs every step at DEBUG through a logger that prints by itself.
    logging.getLogger("bm25s").setLevel(logging.ERROR)
    if folder is not None:
        return bm25s.BM25.load(str(folder), load_corpus=False, load_vocab=False)
    return bm25s.BM25(method="lucene", k1=K1, b=B)
