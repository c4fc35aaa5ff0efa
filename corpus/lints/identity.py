"""C1xx: an entry is what its name and its folder say."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.lints.base import EntryFile, Finding, Knowledge, at, corpus_rule, entry_rule
from corpus.model import FAMILIES


@entry_rule(
    "C101",
    "id differs from the file's name",
    why="links, `show` and reviews find an entry by its file name.",
    mend="rename the file, or write its stem as `id`.",
)
def id_is_stem(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """The id is the stem of the file."""
    if file.value.id != file.name:
        yield at(file, ("id",), f"id is `{file.value.id}`, but the file is named `{file.name}.toml`.")


@entry_rule(
    "C102",
    "family differs from the folder, or is unknown",
    why="the family's introduction, FAQ and checks are added to the entry when it is shown.",
    mend="move the file, or write the folder's name as `family`.",
)
def family_is_folder(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """The family is the folder and one that the corpus knows."""
    family, folder = file.value.family, file.path.parent.name
    if family != folder:
        yield at(file, ("family",), f"family is `{family}`, but the file lies in `{folder}/`.")
    elif family not in FAMILIES and family not in knowledge.families:
        yield at(file, ("family",), f"no family `{family}`; known: {', '.join(FAMILIES)}.")


@corpus_rule(
    "C103",
    "an id or alias stands for two entries",
    why="`show NAME` and links must lead to exactly one entry.",
    mend="keep the name in the entry that is about it and take it out of the other.",
)
def names_are_unique(knowledge: Knowledge) -> Iterator[Finding]:
    """No id and no alias is used twice."""
    owners: dict[str, EntryFile] = {}
    for file in knowledge.files.entry_files:
        if file.value.id in owners:
            yield at(file, ("id",), f"id `{file.value.id}` is also that of {owners[file.value.id].path}.")
        owners.setdefault(file.value.id, file)
    for file in knowledge.files.entry_files:
        for index, alias in enumerate(file.value.aliases):
            if alias in owners:
                other = owners[alias].value.id
                whose = "this entry itself" if other == file.value.id else f"entry `{other}`"
                yield at(file, ("aliases", index), f"alias `{alias}` already names {whose}.")
            owners.setdefault(alias, file)


@entry_rule(
    "C104",
    "replaced_by without retirement, or to nowhere",
    why="who asks for a withdrawn entry is led to its successor.",
    mend='set status = "retired" and name an existing entry, or drop `replaced_by`.',
)
def successor_exists(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Only retired entries have a successor, and it exists and is not retired itself."""
    successor = file.value.replaced_by
    if successor is None:
        return
    known = knowledge.by_id.get(successor)
    if file.value.status != "retired":
        yield at(file, ("replaced_by",), f"status is `{file.value.status}`; only retired entries are replaced.")
    elif known is None:
        yield at(file, ("replaced_by",), f"no entry `{successor}`.")
    elif known.value.status == "retired":
        yield at(file, ("replaced_by",), f"`{successor}` is retired too; name the entry that holds today.")


@corpus_rule(
    "C105",
    "family file missing or misnamed",
    why="what holds for every entry of a family is written once, in its file.",
    mend="write families/<family>.toml with that id.",
)
def family_files(knowledge: Knowledge) -> Iterator[Finding]:
    """Each family that has entries has a file, and each family file bears its own id."""
    for family in knowledge.files.family_files:
        if family.value.id != family.name:
            yield at(family, ("id",), f"id is `{family.value.id}`, but the file is `{family.name}.toml`.")
    missing: set[str] = set()
    for file in knowledge.files.entry_files:
        name = file.value.family
        is_new = name in FAMILIES and name not in knowledge.families and name not in missing
        if is_new and name not in knowledge.unread:
            missing.add(name)
            yield at(file, ("family",), f"families/{name}.toml does not exist.")
