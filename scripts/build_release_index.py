#!/usr/bin/env python3
"""Build the index that a wheel ships, with 16-bit vectors.

    scripts/build_release_index.py [FOLDER] [--out index/release] [--corpus corpus]

The vectors are the bundled encoder's, or SentenceTransformer.encode's with FOLDER (the extra `encoders`): the
folder that the bundled encoder was exported from; the SHA-256 of its weights must be the one on the encoder's
card, because queries are asked with the bundled form. The result is not in git: it belongs to one state of the corpus.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from corpus.catalogue import Catalogue  # noqa: E402
from corpus.errors import FirstfaultError  # noqa: E402
from index.encoder import Encoder, SentenceTransformerEncoder, open_encoder  # noqa: E402
from index.store import build_store, load_store  # noqa: E402


def main() -> int:
    """Encode, write, and load once as a user would."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=ROOT / "index" / "release")
    parser.add_argument("--corpus", type=Path, default=ROOT / "corpus")
    parser.add_argument("--cache", type=Path, help="file of vectors to reuse between runs")
    options = parser.parse_args()
    try:
        bundled = open_encoder()
        source: Encoder = bundled
        if options.folder:
            source = SentenceTransformerEncoder(str(options.folder), name=bundled.name)
        if source.revision != bundled.revision:
            print(f"the weights are {source.revision}, the bundled encoder is {bundled.revision}", file=sys.stderr)
            return 1
        catalogue = Catalogue.load(options.corpus)
        manifest = build_store(options.out, catalogue, source, cache=options.cache, progress=_say, half=True)
        load_store(options.out, catalogue.digest, bundled)
    except FirstfaultError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    size = sum(path.stat().st_size for path in options.out.rglob("*") if path.is_file())
    print(f"\n{options.out}: {manifest.count:,} passages, {size:,} bytes, by {manifest.built_with}")
    return 0


def _say(done: int, total: int) -> None:
    print(f"\r{done:,} of {total:,} passages", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
