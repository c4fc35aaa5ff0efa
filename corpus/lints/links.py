"""C6xx: links lead somewhere, and the causal graph has a direction."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from corpus.lints.base import EntryFile, Finding, KeyPath, Knowledge, at, corpus_rule, entry_rule
from corpus.model import Entry


def links_of(entry: Entry) -> Iterator[tuple[KeyPath, str]]:
    """Every id that an entry names, with its key."""
    for kind, ids in (("causes", entry.causes), ("related", entry.related)):
        for index, target in enumerate(ids):
            yield (kind, index), target
    for index, confusion in enumerate(entry.confused_with):
        yield ("confused_with", index, "id"), confusion.id
    for index, case in enumerate(entry.log):
        for position, target in enumerate(case.also_fires):
            yield ("log", index, "also_fires", position), target


@entry_rule(
    "C601",
    "link to no entry",
    why="a person who follows it finds nothing.",
    mend="name an existing id (`python -m corpus show ID`), or write the missing entry.",
)
def links_exist(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Each linked id exists; an alias is no id."""
    for where, target in links_of(file.value):
        if target in knowledge.by_id or target in knowledge.unread:
            continue
        if target in knowledge.aliases:
            yield at(file, where, f"`{target}` is an alias; write its id `{knowledge.aliases[target]}`.")
            continue
        near = difflib.get_close_matches(target, knowledge.by_id, n=1, cutoff=0.75)
        advice = f" Did you mean `{near[0]}`?" if near else ""
        yield at(file, where, f"`{_kind(where)}` names `{target}`, which is no entry.{advice}")


def _kind(where: KeyPath) -> str:
    return str(next(step for step in reversed(where) if isinstance(step, str) and step != "id"))


@corpus_rule(
    "C602",
    "cycle in `causes`",
    why="the causal graph decides which fault came first; in a circle none did.",
    mend="remove the edge that points from effect to cause.",
)
def causes_are_acyclic(knowledge: Knowledge) -> Iterator[Finding]:
    """Following `causes` never leads back; each cycle is reported once."""
    state: dict[str, int] = {}
    for start in sorted(knowledge.by_id):
        yield from _visit(start, [], state, knowledge)


def _visit(here: str, trail: list[str], state: dict[str, int], knowledge: Knowledge) -> Iterator[Finding]:
    if state.get(here) == 2 or here not in knowledge.by_id:
        return
    if state.get(here) == 1:
        circle = [*trail[trail.index(here) :], here]
        if len(circle) > 2:  # a self link is C604
            file = knowledge.by_id[here]
            index = file.value.causes.index(circle[1])
            yield at(file, ("causes", index), f"cycle in causes: {' -> '.join(circle)}.")
        return
    state[here] = 1
    for target in knowledge.by_id[here].value.causes:
        yield from _visit(target, [*trail, here], state, knowledge)
    state[here] = 2


@entry_rule(
    "C603",
    "one-sided confused_with between full entries",
    why="whoever lands on the wrong one of two look-alikes must be told as well.",
    mend="add the mirror [[confused_with]] with its own tell.",
)
def confusion_is_mutual(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Two full entries name each other or neither names the other."""
    if file.value.depth != "full":
        return
    for index, confusion in enumerate(file.value.confused_with):
        other = knowledge.by_id.get(confusion.id)
        if other is None or other is file or other.value.depth != "full":
            continue
        if file.value.id not in {mirror.id for mirror in other.value.confused_with}:
            where = ("confused_with", index, "id")
            yield at(file, where, f"`{confusion.id}` does not name `{file.value.id}` in return.")


@entry_rule(
    "C604",
    "link to itself, or the same link twice",
    why="`related` is for what is neither cause nor look-alike; doubled links are noise.",
    mend="drop the weaker of the two links.",
)
def links_are_distinct(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """No link leads to the entry itself, none stands twice or under two heads."""
    seen: dict[str, str] = {}
    for where, target in links_of(file.value):
        kind = _kind(where)
        if target == file.value.id:
            yield at(file, where, f"`{kind}` names the entry itself.")
        elif kind != "also_fires":
            if seen.get(target) == kind or (target in seen and "related" in {kind, seen[target]}):
                yield at(file, where, f"`{target}` stands in `{seen[target]}` and again in `{kind}`.")
            seen.setdefault(target, kind)


@entry_rule(
    "C605",
    "link to a retired entry",
    why="a retired entry is not shown; the link would lead through its successor.",
    mend="name the successor.",
)
def links_are_current(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """No link leads to a withdrawn entry, unless this one is withdrawn itself."""
    if file.value.status == "retired":
        return
    for where, target in links_of(file.value):
        other = knowledge.by_id.get(target)
        if other is not None and other.value.status == "retired":
            successor = other.value.replaced_by
            advice = f"; write `{successor}`" if successor else ""
            yield at(file, where, f"`{target}` is retired{advice}.")


@corpus_rule(
    "C606",
    "incident names no entry or no log",
    why="an incident that expects the impossible tests nothing.",
    mend="name existing entries, and logs that lie beside the incident's file.",
)
def incidents_hold_together(knowledge: Knowledge) -> Iterator[Finding]:
    """Ids and log files of every incident exist, and an identified one says what was first."""
    for file in knowledge.files.incident_files:
        incident = file.value
        named: list[tuple[KeyPath, str]] = []
        if incident.initiating is not None:
            named.append((("initiating",), incident.initiating))
        for kind in ("downstream", "unrelated"):
            named += [((kind, i), target) for i, target in enumerate(getattr(incident, kind))]
        for where, target in named:
            if target not in knowledge.by_id and target not in knowledge.unread:
                yield at(file, where, f"`{where[0]}` names `{target}`, which is no entry.")
        for index, source in enumerate(incident.sources):
            if not (file.path.parent / source).exists():
                yield at(file, ("sources", index), f"`{source}` does not lie beside this file.")
        if incident.status in {"identified", "degraded"} and incident.initiating is None:
            yield at(file, ("status",), f"status `{incident.status}` needs `initiating`.")
