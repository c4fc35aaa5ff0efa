"""Build hook: compiles the corpus into the wheel as corpus/_compiled.jsonl, and looks at the index that ships.

hatchling runs it for every wheel (see [tool.hatch.build.targets.wheel.hooks.custom] in
pyproject.toml); it is not meant to be started by hand. An editable install is left alone: a
checkout compiles its corpus at run time and keeps the result in the user's cache.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileCorpus(BuildHookInterface[Any]):
    """Adds the compiled corpus to a wheel without writing into the source tree."""

    PLUGIN_NAME = "custom"

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is put together; a broken corpus fails the build."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="firstfault-build-")
        name, data = _compile(Path(self.root))
        _check_release(Path(self.root) / "index" / "release", data)
        compiled = Path(self._folder.name) / name
        compiled.write_bytes(data)
        build_data["force_include"][str(compiled)] = f"corpus/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary file once it is in the wheel."""
        if self._folder is not None:
            self._folder.cleanup()


def _check_release(folder: Path, compiled: bytes) -> None:
    """A wheel without an index is fine, the first question builds one; one with that of another corpus is not."""
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        return
    digest = json.loads(compiled.partition(b"\n")[0])["digest"]
    if json.loads(manifest.read_bytes())["corpus"] != digest:
        raise SystemExit(f"{folder} belongs to another corpus: run scripts/build_release_index.py, or remove it.")


def _compile(root: Path) -> tuple[str, bytes]:
    """File name and content, by the compiler of this tree, not of a firstfault that is installed."""
    sys.path.insert(0, str(root))
    try:
        catalogue = importlib.import_module("corpus.catalogue")
        return catalogue.COMPILED_NAME, catalogue.compile_corpus(root / "corpus")
    finally:
        sys.path.remove(str(root))
