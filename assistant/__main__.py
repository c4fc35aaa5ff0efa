"""`python -m assistant` is the command `firstfault`."""

from __future__ import annotations

import sys

from assistant.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
