"""The entries of a git revision, a directory, or the working tree, as plain data.

Plain data, because an older revision may not fit today's schema.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from corpus.errors import CorpusError, FirstfaultError

Entries = dict[str, dict[str, Any]]


def entries_at(name: str, root: Path) -> Entries:
    """Entries by id: of a directory, of a git revision, or of `root` for an empty name."""
    if not name:
        return _of_directory(root)
    if Path(name).is_dir():
        return _of_directory(Path(name))
    return _of_revision(name, root)


def _of_directory(root: Path) -> Entries:
    paths = sorted(root.glob("entries/*/*.toml"))
    if not paths:
        raise CorpusError(f"`{root}` holds no entries.", "Name a corpus directory or a git revision.")
    return _parse((str(path), path.read_bytes()) for path in paths)


def _of_revision(revision: str, root: Path) -> Entries:
    command = ["git", "-C", str(root), "archive", "--format=tar", revision, "--", "entries"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise FirstfaultError(f"git cannot be run: {error}.", "Name two directories instead.") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise FirstfaultError(
            f"`{revision}` is neither a directory nor a revision with entries ({said[-1] if said else 'git failed'})."
        )
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        files = [(member.name, archive.extractfile(member)) for member in archive if member.name.endswith(".toml")]
        return _parse((name, file.read()) for name, file in files if file is not None)


def _parse(files: Iterable[tuple[str, bytes]]) -> Entries:
    entries: Entries = {}
    for name, data in files:
        try:
            entry = tomllib.loads(data.decode("utf-8").replace("\r\n", "\n"))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise CorpusError(f"{name} cannot be read: {error}.") from error
        entries[str(entry.get("id", Path(name).stem))] = entry
    return entries
