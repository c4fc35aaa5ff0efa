"""C4xx: every signature is proved by a log, and every entry knows what must stay quiet."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from corpus.lints.base import EntryFile, Finding, Knowledge, at, entry_rule, parsed, signatures, texts_of


@entry_rule(
    "C401",
    "no firing log",
    why="a signature that was never seen to match is a hope.",
    mend="add a [[log]] in the form the software prints, prefixes included.",
)
def has_firing_log(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Every entry with a signature has a log on which one fires."""
    if file.value.signature and not any(case.fires for case in file.value.log):
        yield at(file, (), "no [[log]] with `fires`.")


@entry_rule(
    "C402",
    "no quiet log",
    why="only the nearest neighbour that must not fire shows how narrow a signature is.",
    mend="add a [[log]] with fires = [] and a `why`.",
)
def has_quiet_log(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Every entry has a log that must stay quiet."""
    if file.value.signature and not any(not case.fires for case in file.value.log):
        yield at(file, (), "no [[log]] with fires = [].")


@entry_rule(
    "C403",
    "signature that no log fires",
    why="it may contain a typo and nobody would notice.",
    mend="add a log, or name the signature in `fires` of the log that holds it.",
)
def signatures_are_fired(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Each signature is fired by at least one log of its entry."""
    fired = {name for case in file.value.log for name in case.fires}
    if not fired:
        return  # C401
    for index, signature in signatures(file):
        if signature.name not in fired:
            yield at(file, ("signature", index, "name"), f"no [[log]] fires `{signature.name}`.")


@entry_rule(
    "C404",
    "log fires an unknown signature",
    why="the case would test nothing.",
    mend="write the name of a [[signature]] of this entry.",
)
def fired_names_exist(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """`fires` names signatures of the entry."""
    known = [signature.name for signature in file.value.signature]
    for index, case in enumerate(file.value.log):
        for position, name in enumerate(case.fires):
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                advice = f" Did you mean `{near[0]}`?" if near else ""
                yield at(file, ("log", index, "fires", position), f"no signature is named `{name}`.{advice}")


@entry_rule(
    "C405",
    "log fires something else than it says",
    why="the signature is wider or narrower than its author thinks.",
    mend="run `python -m corpus test ID`, which shows the line; correct the text or the log.",
)
def own_cases_hold(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Every log fires exactly the signatures that it names."""
    from corpus.casebook import EntryCases

    known = {signature.name for signature in file.value.signature}
    parses = all(not isinstance(parsed(text), str) for _, s in signatures(file) for _, text in texts_of(s))
    if not parses or len(known) != len(file.value.signature):
        return  # C201, C212
    cases = EntryCases.of(file.value)
    for index, case in enumerate(file.value.log):
        if not set(case.fires) <= known:
            continue  # C404
        failure = cases.run(case)
        if failure is not None:
            why = "; ".join(failure.details)
            yield at(file, ("log", index, "name"), f"`{case.name}` {failure.problem}: {why}.")


@entry_rule(
    "C406",
    "two logs with one name or one text",
    why="a failing case is reported by its name.",
    mend="rename one, or drop the copy.",
)
def cases_differ(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Names and texts of an entry's logs differ."""
    names: set[str] = set()
    texts: dict[str, str] = {}
    for index, case in enumerate(file.value.log):
        body = " ".join(case.text.split())
        if case.name in names:
            yield at(file, ("log", index, "name"), f"a second log is named `{case.name}`.")
        elif body in texts:
            yield at(file, ("log", index, "text"), f"the text is that of `{texts[body]}`.")
        elif not body:
            yield at(file, ("log", index, "text"), f"`{case.name}` has no text.")
        names.add(case.name)
        texts.setdefault(body, case.name)
