"""C8xx: what harmless.toml quiets is really noise, and never the line that decides a failure."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.casebook import deciding_records, records_of
from corpus.lints.base import EntryFile, Finding, KeyPath, Knowledge, at, corpus_rule, fixed, parsed, texts_of
from corpus.lints.provenance import imprecision
from corpus.lints.signatures import any_misuse
from corpus.lints.words import is_everyday, letters, split_words
from corpus.model import HarmlessFile, HarmlessLine, LogCase
from corpus.reader import SourceFile
from corpus.signature import Pattern

MIN_LETTERS = 12
"""Fixed letters and digits that a harmless line needs."""

Quieted = tuple[int, EntryFile, LogCase, int]
"""A harmless line by its index, and the entry, log and line number of the log that it would quiet."""


def _lines(knowledge: Knowledge) -> Iterator[tuple[SourceFile[HarmlessFile], int, HarmlessLine]]:
    file = knowledge.files.harmless_file
    if file is not None:
        yield from ((file, index, line) for index, line in enumerate(file.value.line))


@corpus_rule(
    "C801",
    "harmless line does not parse",
    why="it quiets nothing.",
    mend="use the placeholders of corpus/README.md; a literal { is written {{.",
)
def harmless_texts_parse(knowledge: Knowledge) -> Iterator[Finding]:
    """`text` and `unless` are in the signature language, and no `{any}` in them bridges too much."""
    for file, index, line in _lines(knowledge):
        for key, text in (("text", line.text), ("unless", line.unless)):
            result = parsed(text) if text is not None else ()
            reason = result if isinstance(result, str) else next(filter(None, map(any_misuse, result)), "")
            if reason:
                yield at(file, ("line", index, key), f"`{text}`: {reason.rstrip('.')}.")


@corpus_rule(
    "C802",
    "harmless line is too unspecific",
    why="a short or everyday text also stands in lines that matter, and would hide them.",
    mend="quote more of the line.",
)
def harmless_lines_are_specific(knowledge: Knowledge) -> Iterator[Finding]:
    """A harmless line has as many fixed letters as a signature of the scan, and a word of its own."""
    for file, index, line in _lines(knowledge):
        if isinstance(parsed(line.text), str):
            continue
        words = split_words(" ".join(fixed(line.text)))
        number = letters("".join(fixed(line.text)))
        if number < MIN_LETTERS:
            message = f"`{line.text}` has {number} fixed letters and digits; {MIN_LETTERS} are needed."
            yield at(file, ("line", index, "text"), message)
        elif all(is_everyday(word) for word in words):
            yield at(file, ("line", index, "text"), f"`{line.text}` consists of everyday words: {' '.join(words)}.")


@corpus_rule(
    "C803",
    "source of a harmless line is not precise",
    why="that a frightening line is harmless is a claim, and a claim needs its proof.",
    mend='write repo = "owner/name" with path, or artifact = "pypi:torch==2.8.0" with its version.',
)
def harmless_sources_are_precise(knowledge: Knowledge) -> Iterator[Finding]:
    """Repositories are owner/name, artifacts name their version."""
    for file, index, line in _lines(knowledge):
        for position, source in enumerate(line.source):
            reason = imprecision(source)
            if reason:
                yield at(file, ("line", index, "source", position), f"{reason}.")


@corpus_rule(
    "C804",
    "harmless line would quiet a failure",
    why="the deciding line of a failure is the last that may be called noise.",
    mend="quote more of the harmless line, or delete it and say in the entry when it is none.",
)
def harmless_spares_failures(knowledge: Knowledge) -> Iterator[Finding]:
    """No harmless line matches where a failure entry's signature stands in its firing logs."""
    for index, entry, case, number in _quieted(knowledge):
        if entry.value.kind == "failure":
            yield _at_text(
                knowledge, index, f"`{entry.value.id}` is decided by line {number} of its log `{case.name}`."
            )


@corpus_rule(
    "C805",
    "harmless line and class entry do not agree",
    why="quieting a class or wrapper is a decision, not an accident of the wording.",
    mend="name the entry in `allows`, or quote more of the harmless line.",
)
def harmless_names_classes(knowledge: Knowledge) -> Iterator[Finding]:
    """A quieted class or wrapper stands in `allows`, and what stands there exists and is one."""
    for index, entry, case, number in _quieted(knowledge):
        line = knowledge.files.harmless[index]
        if entry.value.kind != "failure" and entry.value.id not in line.allows:
            message = f"it quiets `{entry.value.id}` on line {number} of its log `{case.name}`, which `allows` omits."
            yield _at_text(knowledge, index, message)
    for file, index, line in _lines(knowledge):
        for position, name in enumerate(line.allows):
            known = knowledge.by_id.get(name)
            where: KeyPath = ("line", index, "allows", position)
            if known is None and name not in knowledge.unread:
                yield at(file, where, f"no entry has the id `{name}`.")
            elif known is not None and known.value.kind == "failure":
                yield at(file, where, f"`{name}` is a failure; only classes and wrappers can be quieted.")


@corpus_rule(
    "C806",
    "harmless line stands twice",
    why="of two explanations of one line a reader gets either.",
    mend="keep the better one.",
)
def harmless_lines_differ(knowledge: Knowledge) -> Iterator[Finding]:
    """No two harmless lines have one text, and none matches the sample of an earlier one."""
    file = knowledge.files.harmless_file
    earlier: list[HarmlessLine] = []
    for index, line in enumerate(knowledge.files.harmless if file is not None else ()):
        pattern = None if isinstance(parsed(line.text), str) else Pattern(line.text)
        for other in earlier:
            same = line.text == other.text
            if same or (pattern is not None and other.sample is not None and pattern.search(other.sample)):
                yield _at_text(knowledge, index, f"it is also that of `{other.text}`.")
                break
        earlier.append(line)


def _at_text(knowledge: Knowledge, index: int, message: str) -> Finding:
    file = knowledge.files.harmless_file
    assert file is not None
    return at(file, ("line", index, "text"), message)


def _quieted(knowledge: Knowledge) -> list[Quieted]:
    """Every place of a firing log where both a signature of its entry and a harmless line stand."""
    found: list[Quieted] = knowledge.cached("quieted", lambda: list(_find_quieted(knowledge)))
    return found


def _find_quieted(knowledge: Knowledge) -> Iterator[Quieted]:
    patterns = [(i, Pattern(h.text)) for _, i, h in _lines(knowledge) if not isinstance(parsed(h.text), str)]
    for file in knowledge.files.entry_files:
        signatures = file.value.signature
        if any(isinstance(parsed(text), str) for one in signatures for _, text in texts_of(one)):
            continue  # C201
        for case in file.value.log if patterns else ():
            records = records_of(case.text) if case.fires else []
            # The signatures are tried only where a harmless line stands at all: this is quick, that is not.
            if any(pattern.search(record.text) for _, pattern in patterns for record in records):
                deciding = deciding_records(file.value, case)
                for index, pattern in patterns:
                    hit = next((record for record in deciding if pattern.search(record.text)), None)
                    if hit is not None:
                        yield index, file, case, hit.number
