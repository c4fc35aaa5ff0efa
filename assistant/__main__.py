"""`python -m assistant` is the command `firstfault`: what both start with."""

from __future__ import annotations

import sys

INTERRUPTED = 130
"""The exit status of `ExitCode.INTERRUPTED`, which is not yet imported when it is needed here."""


def main() -> int:
    """Run the program; who interrupts it while it is still being loaded gets the status of that and no traceback."""
    try:
        from assistant.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
