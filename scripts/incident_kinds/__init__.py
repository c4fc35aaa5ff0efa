"""Kinds of generated incidents; importing this package registers them all, in order."""

from __future__ import annotations

from importlib import import_module

from incident_kinds.base import KINDS, Inc

__all__ = ["KINDS", "Inc"]

_MODULES = (
    "launchers",
    "prefixes",
    "packed",
    "hosts",
    "clocks",
    "schedulers",
    "errors",
    "mixed",
    "hangs",
    "field_cluster",
    "field_hangs",
    "field_nodes",
    "unseen_launch",
    "unseen_serving",
    "unseen_nodes",
    "unseen_memory",
    "unseen_accel",
    "unseen_data",
    "unseen_hangs",
    "unseen_forms",
    "unseen_edges",
    "unseen_more",
)

for _name in _MODULES:
    import_module(f"incident_kinds.{_name}")
