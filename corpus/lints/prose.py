"""C503 to C509: prose is the entry's own, binds its values, and says something."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from corpus.lints.base import (
    EntryFile,
    Finding,
    KeyPath,
    Knowledge,
    at,
    corpus_rule,
    entry_rule,
    fired_texts,
    parsed,
)
from corpus.lints.fields import commands, free_texts, prose
from corpus.lints.words import FILLER, sentences, skeleton, words
from corpus.model import Entry, Family
from corpus.reader import SourceFile

MIN_WORDS = 6
"""Shorter sentences ("Drain the node.") may stand in many entries."""
MIN_QUESTION_WORDS = 9
"""Questions are what people ask, and they ask alike."""
MIN_NEAR_WORDS = 8
NEAR = 0.85
"""Share of equal words from which two sentences count as near-twins."""
COMMON_VALUES = frozenset(
    {
        "rank", "host", "pid", "path", "pod", "namespace", "node", "jobid", "container", "image", "checkpoint", "user",
    }
)  # fmt: skip
"""Values that a reading of the log gives without a placeholder of the entry."""
VERBATIM = frozenset({"module", "stdin", "string", "lambda", "locals", "unknown", "unk", "pad", "eos", "none", "nil"})
"""Words that software itself prints in angle brackets."""

AnyFile = SourceFile[Entry] | SourceFile[Family]
_TODO = re.compile(r"""(?:^|["' ])TODO(?:[ "/]|$)""")
_VALUE = re.compile(r"<([a-z][a-z0-9_-]*)>")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of prose and where it stands."""

    file: AnyFile
    where: KeyPath
    text: str
    bones: tuple[str, ...]


def _sentences(knowledge: Knowledge) -> list[Sentence]:
    files: tuple[AnyFile, ...] = (*knowledge.files.family_files, *knowledge.files.entry_files)
    return [
        Sentence(file, where, text, skeleton(text))
        for file in files
        for where, field in prose(file.value)
        for text in sentences(field)
        if len(text.split()) >= (MIN_QUESTION_WORDS if where[-1] == "q" else MIN_WORDS)
    ]


def _all_sentences(knowledge: Knowledge) -> list[Sentence]:
    found: list[Sentence] = knowledge.cached("sentences", lambda: _sentences(knowledge))
    return found


def _report(twin: Sentence, first: Sentence, what: str) -> Finding:
    where = f"{first.file.path.name}:{first.file.lines.line(first.where)}"
    return at(twin.file, twin.where, f"{what} {where}: `{_short(twin.text)}`")


def _short(text: str) -> str:
    return text if len(text) <= 90 else text[:87] + "..."


@corpus_rule(
    "C503",
    "the same sentence in two files",
    why="text that holds for both belongs to the family; copied text is true of neither.",
    mend="say what is true of this failure only, or move the sentence to families/<family>.toml.",
)
def no_shared_sentence(knowledge: Knowledge) -> Iterator[Finding]:
    """No sentence stands in two entries, or in an entry and its family."""
    first: dict[tuple[str, ...], Sentence] = {}
    for sentence in _all_sentences(knowledge):
        key = tuple(words(sentence.text))
        other = first.setdefault(key, sentence)
        if other.file is not sentence.file:
            yield _report(sentence, other, "the same sentence as")


@corpus_rule(
    "C504",
    "the same sentence twice in one entry",
    why="a reader who meets a sentence again stops reading.",
    mend="keep the better place.",
)
def no_repeated_sentence(knowledge: Knowledge) -> Iterator[Finding]:
    """Within a file no sentence stands twice."""
    first: dict[tuple[object, ...], Sentence] = {}
    for sentence in _all_sentences(knowledge):
        key = (sentence.file.path, *words(sentence.text))
        other = first.setdefault(key, sentence)
        if other is not sentence:
            yield at(
                sentence.file,
                sentence.where,
                f"said already on line {other.file.lines.line(other.where)}: `{_short(sentence.text)}`",
            )


@corpus_rule(
    "C505",
    "near-identical sentences in two files",
    why="a number or a name exchanged makes no new knowledge.",
    mend="say what differs, or move what is common to the family.",
)
def no_near_twin(knowledge: Knowledge) -> Iterator[Finding]:
    """No two sentences differ in a few words only."""
    seen: dict[tuple[str, ...], list[Sentence]] = defaultdict(list)
    for sentence in _all_sentences(knowledge):
        if len(sentence.bones) < MIN_NEAR_WORDS:
            continue
        keys = {("head", *sentence.bones[:5]), ("tail", *sentence.bones[-5:]), ("sum", *_longest(sentence.bones))}
        others = {id(other): other for key in keys for other in seen[key] if other.file is not sentence.file}
        twin = next((other for other in others.values() if _is_near(sentence, other)), None)
        if twin is not None:
            yield _report(sentence, twin, "nearly the sentence of")
        for key in keys:
            seen[key].append(sentence)


def _longest(bones: tuple[str, ...]) -> list[str]:
    """The longest words, by which sentences with another start and end are found."""
    return sorted(sorted(set(bones), key=lambda word: (-len(word), word))[:5])


def _is_near(one: Sentence, other: Sentence) -> bool:
    if words(one.text) == words(other.text):
        return False  # C503
    matcher = difflib.SequenceMatcher(None, one.bones, other.bones, autojunk=False)
    return matcher.real_quick_ratio() >= NEAR and matcher.quick_ratio() >= NEAR and matcher.ratio() >= NEAR


@entry_rule(
    "C506",
    "value that no signature binds",
    why="`<value>` is replaced by what the user's log says; an unbound one stays a riddle.",
    mend="name the placeholder in a signature ({pci:pci}), or use a word in capitals.",
)
def values_are_bound(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Every `<value>` is captured by a signature or is one that each log gives."""
    known = set(COMMON_VALUES | VERBATIM)
    for signature in file.value.signature:
        for _, text in fired_texts(signature):
            alternatives = parsed(text)
            if not isinstance(alternatives, str):
                known.update(part.name for parts in alternatives for part in parts if part.name)
    for where, text in (*free_texts(file.value), *commands(file.value)):
        for name in dict.fromkeys(_VALUE.findall(text)):
            if name not in known:
                yield at(file, where, f"`<{name}>` is bound by no signature.")


@corpus_rule(
    "C507",
    "filler phrase",
    why="the reader has ten seconds; a phrase that fits every failure wastes them.",
    mend="say the fact, the number, the command; or drop the sentence.",
)
def no_filler(knowledge: Knowledge) -> Iterator[Finding]:
    """No phrase of the short list of fillers stands in prose."""
    files: tuple[AnyFile, ...] = (*knowledge.files.family_files, *knowledge.files.entry_files)
    pattern = re.compile("|".join(rf"\b{re.escape(phrase)}" for phrase in FILLER), re.IGNORECASE)
    for file in files:
        for where, text in free_texts(file.value):
            found = pattern.search(text)
            if found is not None:
                yield at(file, where, f"`{found.group()}` is filler.")


@entry_rule(
    "C512",
    "text still to be written",
    why="a skeleton is no knowledge.",
    mend="replace every TODO of the skeleton, or drop its table.",
)
def nothing_left_to_do(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """No TODO of the skeleton is left anywhere in the file."""
    for number, line in enumerate(file.text.splitlines(), start=1):
        if _TODO.search(line):
            yield Finding(file.path, number, "a TODO is left.")


@entry_rule(
    "C509",
    "title repeats the id",
    why="the title is the sentence a person reads in a list.",
    mend="write what happened in plain words, with the code in brackets.",
)
def title_says_more(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """The title has a word that the id does not have."""
    if set(words(file.value.title.replace("-", " "))) <= set(file.value.id.split("-")):
        yield at(file, ("title",), f"`{file.value.title}` repeats the id.")


@entry_rule(
    "C511",
    "question asked twice",
    why="`asks` and FAQ questions are what retrieval compares a person's words with.",
    mend="drop one, or ask something else.",
)
def questions_differ(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Within an entry no ask and no FAQ question stands twice."""
    seen: dict[tuple[str, ...], KeyPath] = {}
    asked: list[tuple[KeyPath, str]] = [(("asks", index), text) for index, text in enumerate(file.value.asks)]
    asked += [(("faq", index, "q"), item.q) for index, item in enumerate(file.value.faq)]
    for where, text in asked:
        key = tuple(words(text))
        # Two long FAQ questions with one text are C504's finding.
        if key in seen and not (where[0] == seen[key][0] == "faq" and len(key) >= MIN_QUESTION_WORDS):
            yield at(file, where, f"asked already on line {file.lines.line(seen[key])}: `{_short(text)}`")
        seen.setdefault(key, where)
