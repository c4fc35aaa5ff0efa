"""`python -m corpus`: the author's tools."""

from __future__ import annotations

import sys

from corpus.authoring.cli import main

if __name__ == "__main__":
    sys.exit(main())
