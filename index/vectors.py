"""Vectors that were computed before, so that a passage is encoded once.

One SQLite file, keyed by the vector space and the digest of the encoded text.
Each batch is a transaction: a build that is killed loses at most one batch.
The file is a cache; a damaged one is thrown away, an unwritable one is done
without.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

KEEP = 4
"""The cache may hold this many times the vectors of the last build before old ones go."""
_ASK = 500
"""Digests in one question; SQLite allows 999 variables in old builds."""


class VectorCache:
    """Vectors by space and digest; a context manager."""

    def __init__(self, path: Path | None) -> None:
        """Open or create the file; None keeps nothing."""
        self._database = _open(path) if path is not None else None

    def __enter__(self) -> VectorCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._database is not None:
            self._database.close()

    def get(self, space: str, digests: Sequence[str], dimension: int) -> dict[str, Vectors]:
        """The known ones of these digests, each a float32 vector of that dimension."""
        import numpy as np

        known: dict[str, Vectors] = {}
        if self._database is None:
            return known
        wanted = list(dict.fromkeys(digests))
        for start in range(0, len(wanted), _ASK):
            some = wanted[start : start + _ASK]
            marks = ",".join("?" * len(some))
            with contextlib.suppress(sqlite3.Error):
                rows = self._database.execute(
                    f"SELECT digest, vector FROM vectors WHERE space = ? AND digest IN ({marks})", [space, *some]
                )
                for digest, blob in rows:
                    if len(blob) == dimension * 4:
                        known[digest] = np.frombuffer(blob, dtype="<f4")
        return known

    def put(self, space: str, digests: Iterable[str], vectors: Vectors) -> None:
        """Keep these vectors, in one transaction."""
        if self._database is None:
            return
        rows = [
            (space, digest, vector.astype("<f4").tobytes()) for digest, vector in zip(digests, vectors, strict=True)
        ]
        with contextlib.suppress(sqlite3.Error), self._database:
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def prune(self, space: str, digests: Sequence[str]) -> None:
        """Forget old vectors of a space once they are many times more than those in use."""
        if self._database is None:
            return
        with contextlib.suppress(sqlite3.Error), self._database:
            (count,) = self._database.execute("SELECT COUNT(*) FROM vectors WHERE space = ?", [space]).fetchone()
            if count > KEEP * max(1, len(digests)):
                self._database.execute("CREATE TEMP TABLE used (digest TEXT PRIMARY KEY)")
                self._database.executemany("INSERT OR IGNORE INTO used VALUES (?)", [(item,) for item in digests])
                self._database.execute(
                    "DELETE FROM vectors WHERE space = ? AND digest NOT IN (SELECT digest FROM used)", [space]
                )
                self._database.execute("DROP TABLE used")


def _open(path: Path) -> sqlite3.Connection | None:
    for attempt in range(2):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(path, timeout=5, check_same_thread=False)
            try:
                database.execute("PRAGMA synchronous = NORMAL")
                database.execute(
                    "CREATE TABLE IF NOT EXISTS vectors"
                    " (space TEXT, digest TEXT, vector BLOB, PRIMARY KEY (space, digest)) WITHOUT ROWID"
                )
            except sqlite3.Error:
                database.close()
                raise
            return database
        except sqlite3.DatabaseError as error:
            # Damaged, not merely locked or unwritable: start again with an empty one.
            if attempt or isinstance(error, sqlite3.OperationalError):
                return None
            with contextlib.suppress(OSError):
                path.unlink()
        except OSError:
            return None
    return None
