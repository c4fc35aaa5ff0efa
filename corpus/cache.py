"""Files that only save time: written atomically, done without where they cannot be."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

KEPT = 4
"""Files of one kind that are kept: of the last corpora in use."""


def write_cached(path: Path, data: bytes) -> None:
    """Write beside and rename, then drop the oldest files of the same kind (`kind-key.suffix`); no error is raised."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
        kind = path.name.partition("-")[0]
        for stale in sorted(path.parent.glob(f"{kind}-*{path.suffix}"), key=lambda old: old.stat().st_mtime)[:-KEPT]:
            stale.unlink(missing_ok=True)
