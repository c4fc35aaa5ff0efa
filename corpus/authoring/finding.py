"""From an id or alias that a person typed to its file."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from corpus.errors import CorpusError, UnknownEntryError
from corpus.head import HARMLESS_NAME


def find_file(root: Path, name: str) -> Path:
    """The file of an entry (or family) by id or alias; UnknownEntryError names the nearest one."""
    paths = {path.stem: path for path in sorted(root.glob("families/*.toml"))}
    paths |= {path.stem: path for path in root.glob(HARMLESS_NAME)}
    paths |= {path.stem: path for path in sorted(root.glob("entries/*/*.toml"))}
    if not paths:
        raise CorpusError(f"`{root}` holds no entries.", "Name another directory with --corpus.")
    stem = Path(name).stem if name.endswith(".toml") else name
    if stem in paths:
        return paths[stem]
    alias = re.compile(rf"^aliases = \[[^\]]*\"{re.escape(stem)}\"", re.MULTILINE)
    for path in paths.values():
        # Read as text: a file that is no TOML yet can be found as well.
        if alias.search(path.read_text(encoding="utf-8", errors="replace")):
            return path
    near = difflib.get_close_matches(stem, paths, n=1, cutoff=0.5)
    hint = f"Did you mean `{near[0]}`?" if near else "`python -m corpus stats` counts what there is."
    raise UnknownEntryError(f"No entry has the id `{name}`.", hint)
