#!/usr/bin/env python3
"""Seeded generator of whole incidents, log files as they lie on disk, with ground truth.

    scripts/make_incidents.py OUT_DIR [--seed N] [--kinds a,b] [--list]

Writes OUT_DIR/<kind>/logs/... (what the tool under test is given) and OUT_DIR/<kind>/truth.json
(what it must find; it stands outside logs/). The same seed gives identical bytes. `--list` prints
every kind with what it proves. Hosts, ranks, world sizes, clocks, pids and steps vary with the seed.

truth.json: kind, seed, inputs, status (one, or a list of acceptable ones), line (literal that
evidence[0] of the initiating finding contains, null where no line may be initiating), line_alt
(other lines of the same fault that are as good), source (file below logs/, null: not checked), rank
with rank_checked, host with host_checked, suspects with suspects_checked, owner (null: not checked),
never_blame (literals that must not be the initiating evidence), covered (false: invented on purpose,
so `identified` is wrong), independent (literals of further faults that must not be lost, not be
initiating), why.

Written from what real software prints; the kinds in incident_kinds/field_*.py by an author who had read the
code under test, all others without sight of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from incident_kinds import KINDS, Inc


# ---------------------------------------------------------------- command line
def build(name, seed):
    """One incident of a seed."""
    inc = Inc(name, seed)
    KINDS[name][0](inc)
    return inc


def main(argv=None):
    """Command line."""
    ap = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("out", nargs="?", type=Path, metavar="OUT_DIR")
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--kinds", help="comma-separated; default all")
    ap.add_argument("--list", action="store_true", help="print kinds and what each proves")
    a = ap.parse_args(argv)
    if a.list:
        for n, (_, p) in KINDS.items():
            print(f"{n}\t{p}")
        return 0
    if a.out is None:
        ap.error("OUT_DIR is needed")
    names = a.kinds.split(",") if a.kinds else list(KINDS)
    bad = [n for n in names if n not in KINDS]
    if bad:
        ap.error(f"unknown kinds: {', '.join(bad)}")
    for n in names:
        inc = build(n, a.seed)
        for path, data in inc.files.items():
            f = a.out / n / "logs" / path
            f.parent.mkdir(parents=True, exist_ok=True)
            f.write_bytes(data)
        (a.out / n / "truth.json").write_text(
            json.dumps(inc.truth, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
