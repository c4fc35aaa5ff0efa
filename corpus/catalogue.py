"""The compiled catalogue: heads of all entries at once, bodies and families per id.

Parsing a thousand TOML files costs 0.4 s, so a diagnosis never does it: a wheel
ships the compiled form, a checkout keeps it in a cache directory keyed by the
files' names, sizes and times. The form is JSON lines (never pickle): the first
line holds digest, heads, scan literals and the offsets of the bodies that
follow, one a line. No writable cache is no error.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus.cache import write_cached
from corpus.errors import CorpusError, UnknownEntryError
from corpus.head import HARMLESS_NAME, HarmlessHead, Head, head_data, head_from, signature_from
from corpus.signature import fixed_parts, scan_literal

COMPILED_NAME = "_compiled.jsonl"
COMPILED_FORM = 4
"""Version of the compiled form; a change makes old caches useless, not wrong."""
SHARED_BY = 4
"""A fixed part that this many signatures share tells them apart badly."""


@dataclass
class Compiled:
    """One compiled corpus directory in memory."""

    digest: str
    heads: list[Head]
    literals: dict[str, str]
    data: bytes
    offsets: dict[str, list[int]]
    harmless: list[HarmlessHead] = field(default_factory=list)


@dataclass
class Catalogue:
    """All entries that a diagnosis may use; later directories override earlier ones."""

    parts: list[Compiled]
    overlays: tuple[str, ...] = ()
    heads: dict[str, Head] = field(default_factory=dict)
    literals: dict[str, str] = field(default_factory=dict)
    """Scan literal of every signature text."""
    _aliases: dict[str, str] = field(default_factory=dict)
    overridden: tuple[str, ...] = ()
    harmless: tuple[HarmlessHead, ...] = ()
    """Lines that look like errors and are none; a later directory replaces those of the same text."""
    cache_dir: Path | None = None
    """Where compiled forms of this knowledge may be kept."""

    def __post_init__(self) -> None:
        overridden = []
        harmless: dict[str, HarmlessHead] = {}
        for part in self.parts:
            for head in part.heads:
                if head.id in self.heads:
                    overridden.append(head.id)
                self.heads[head.id] = head
            self.literals.update(part.literals)
            harmless.update({line.text: line for line in part.harmless})
        for head in self.heads.values():
            for alias in head.aliases:
                self._aliases.setdefault(alias, head.id)
        self.overridden = tuple(overridden)
        self.harmless = tuple(harmless.values())

    @classmethod
    def load(
        cls, corpus_dir: Path | None = None, *, overlays: Sequence[Path] = (), cache_dir: Path | None = None
    ) -> Catalogue:
        """Load the bundled corpus (or another) and layer the overlays over it.

        Raises CorpusError when a directory holds no entries or a broken file.
        """
        directories = [corpus_dir or bundled_dir(), *overlays]
        parts = [_load_directory(directory, cache_dir) for directory in directories]
        return cls(parts, overlays=tuple(str(path) for path in overlays), cache_dir=cache_dir)

    @property
    def digest(self) -> str:
        """SHA-256 of the knowledge in use, overlays included."""
        if len(self.parts) == 1:
            return self.parts[0].digest
        return hashlib.sha256("".join(part.digest for part in self.parts).encode()).hexdigest()

    def resolve(self, entry_id: str) -> Head:
        """The head of an id or alias; UnknownEntryError names the nearest id."""
        head = self.heads.get(self._aliases.get(entry_id, entry_id))
        if head is not None:
            return head
        known = [*self.heads, *self._aliases]
        asked = re.sub(r"[\s_]+", "-", entry_id.strip().lower())
        begun = sorted((name for name in known if len(asked) > 3 and name.startswith(asked)), key=len)
        near = begun[:1] or difflib.get_close_matches(asked, known, n=1, cutoff=0.5)
        near = near or [name for name in known if asked and asked in name][:1]
        hint = f"Did you mean `{near[0]}`?" if near else "`firstfault list` shows all ids."
        raise UnknownEntryError(f"No entry has the id `{entry_id}`.", hint)

    def body(self, entry_id: str) -> dict[str, Any]:
        """The whole entry as JSON-able data; raises UnknownEntryError."""
        return self._line(self.resolve(entry_id).id)

    def family(self, family_id: str) -> dict[str, Any]:
        """A family's introduction, checks and FAQ; empty when none is written."""
        try:
            return self._line(f"family:{family_id}")
        except KeyError:
            return {}

    def _line(self, key: str) -> dict[str, Any]:
        for part in reversed(self.parts):
            if key in part.offsets:
                start, size = part.offsets[key]
                value = json.loads(part.data[start : start + size])
                assert isinstance(value, dict)
                return value
        raise KeyError(key)


def bundled_dir() -> Path:
    """Where the entries that come with the program lie."""
    return Path(__file__).parent


def entry_paths(corpus_dir: Path) -> list[Path]:
    """All entry and family files of a corpus directory, sorted."""
    # By their text: a thousand comparisons of paths cost ten times as much.
    return sorted(corpus_dir.glob("entries/*/*.toml"), key=str) + sorted(corpus_dir.glob("families/*.toml"), key=str)


def corpus_paths(corpus_dir: Path) -> list[Path]:
    """All files of a corpus directory that a diagnosis rests on, sorted: what the compiled form is made of."""
    return [*entry_paths(corpus_dir), *corpus_dir.glob(HARMLESS_NAME)]


def _load_directory(directory: Path, cache_dir: Path | None) -> Compiled:
    shipped = directory / COMPILED_NAME
    if shipped.is_file():
        return _parse(shipped.read_bytes(), str(shipped))
    paths = corpus_paths(directory)
    if not paths:
        raise CorpusError(
            f"`{directory}` holds no entries (entries/<family>/<id>.toml).", "Name another directory with --corpus."
        )
    if cache_dir is None:
        return _parse(compile_corpus(directory), str(directory))
    cached = cache_dir / f"corpus-{_fingerprint(paths, directory)}.jsonl"
    with contextlib.suppress(OSError, CorpusError):
        return _parse(cached.read_bytes(), str(cached))
    data = compile_corpus(directory)
    write_cached(cached, data)
    return _parse(data, str(directory))


def _fingerprint(paths: Iterable[Path], directory: Path) -> str:
    state = hashlib.sha256(f"{COMPILED_FORM} {directory}".encode())
    for path in paths:
        status = path.stat()
        state.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    for source in ("head.py", "catalogue.py", "signature.py", "placeholders.py", "model.py"):
        code = Path(__file__).parent / source
        if code.is_file():
            state.update(f"{source} {code.stat().st_mtime_ns}".encode())
    return state.hexdigest()[:24]


def _parse(data: bytes, where: str) -> Compiled:
    try:
        end = data.index(b"\n")
        header = json.loads(data[:end])
        if header["form"] != COMPILED_FORM:
            raise ValueError(f"form {header['form']}")
        heads = [head_from(item) for item in header["heads"]]
        harmless = [HarmlessHead(*item) for item in header["harmless"]]
        offsets = {key: [start + end + 1, size] for key, (start, size) in header["offsets"].items()}
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"the compiled corpus `{where}` cannot be read ({error}).", "Reinstall firstfault, or delete that file."
        ) from error
    return Compiled(header["digest"], heads, header["literals"], data, offsets, harmless)


def compile_corpus(corpus_dir: Path) -> bytes:
    """Compile a corpus directory; the result is what a wheel ships as `_compiled.jsonl`.

    Raises EntryFileError with every problem of every file that cannot be read.
    """
    from corpus.reader import read_corpus

    files = read_corpus(corpus_dir)
    bodies: dict[str, dict[str, Any]] = {}
    for entry in files.entries:
        bodies[entry.id] = entry.model_dump(mode="json", by_alias=True, exclude_none=True)
    for family in files.families:
        bodies[f"family:{family.id}"] = family.model_dump(mode="json", by_alias=True, exclude_none=True)
    heads = [head_data(body) for key, body in sorted(bodies.items()) if not key.startswith("family:")]
    lines, offsets, position = [], {}, 0
    for key, body in sorted(bodies.items()):
        line = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        offsets[key] = [position, len(line)]
        position += len(line)
        lines.append(line)
    header = {
        "form": COMPILED_FORM,
        "digest": corpus_digest(corpus_dir),
        "literals": choose_literals(*signature_texts(heads)),
        "heads": heads,
        "harmless": [
            [line.text, line.why, line.unless, line.within, scan_literal(line.text)] for line in files.harmless
        ],
        "offsets": offsets,
    }
    return json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" + b"".join(lines)


def corpus_digest(corpus_dir: Path) -> str:
    """SHA-256 over names and contents of all files that a diagnosis rests on."""
    state = hashlib.sha256()
    for path in corpus_paths(corpus_dir):
        state.update(path.relative_to(corpus_dir).as_posix().encode() + b"\0")
        state.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return state.hexdigest()


def signature_texts(heads: Iterable[dict[str, Any]]) -> tuple[set[str], set[str]]:
    """Every text of signatures, contexts and all-clear lines; and those printed in padded columns."""
    texts: set[str] = set()
    aligned: set[str] = set()
    for head in heads:
        for item in head["signatures"]:
            signature = signature_from(item)
            texts.update(signature.all_texts())
            if signature.aligned:
                aligned.update(signature.texts)
    return texts, aligned


def choose_literals(texts: Iterable[str], aligned: Iterable[str] = ()) -> dict[str, str]:
    """The scan literal of each text, chosen so that it tells the texts apart."""
    padded = frozenset(aligned)
    parts = {text: fixed_parts(text) for text in texts}
    frequency = Counter(part for found in parts.values() for part in set(found))
    shared = frozenset(part for part, count in frequency.items() if count >= SHARED_BY)
    return {text: scan_literal(text, shared, aligned=text in padded) for text in sorted(parts)}
