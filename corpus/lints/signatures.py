"""C2xx: a signature parses, tells its failure apart, and its modifiers make sense."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from corpus.lints.base import (
    EntryFile,
    Finding,
    KeyPath,
    Knowledge,
    at,
    entry_rule,
    fired_texts,
    fixed,
    parsed,
    signatures,
    texts_of,
)
from corpus.lints.words import is_everyday, letters, split_words
from corpus.model import Signature
from corpus.signature import Part, scan_literal

MIN_SCAN_LETTERS = 12
"""Fixed letters and digits that a signature of the global scan needs."""
MIN_CANDIDATE_LETTERS = 4
"""What a signature needs that is tried on proposed entries only."""
MIN_SCAN_LITERAL = 5
"""Letters and digits of the one part by which the scan finds a signature."""
MIN_CONTEXT_LETTERS = 5
"""Letters and digits below which a context has to be delimited."""
MAX_ANY = 4
"""More `{any}` than this bridge so much that unrelated lines match."""
LEVELS = frozenset({"TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"})


@entry_rule(
    "C201",
    "signature text does not parse",
    why="it can never match.",
    mend="use the placeholders of corpus/README.md; a literal { is written {{.",
)
def texts_parse(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Text, lines, contexts and all-clear line are in the signature language."""
    for index, signature in signatures(file):
        for where, text in texts_of(signature):
            result = parsed(text)
            if isinstance(result, str):
                yield at(file, ("signature", index, *where), f"`{signature.name}`: {result}")


def _parsed_texts(file: EntryFile) -> Iterator[tuple[KeyPath, Signature, str]]:
    """The firing texts of an entry that parse, with their key."""
    for index, signature in signatures(file):
        for where, text in fired_texts(signature):
            if not isinstance(parsed(text), str):
                yield ("signature", index, *where), signature, text


def _first_texts(file: EntryFile) -> Iterator[tuple[KeyPath, Signature, str]]:
    """The texts that start a hit: of `lines`, one line may be short if another is long."""
    for index, signature in signatures(file):
        texts = [(where, text) for where, text in fired_texts(signature) if not isinstance(parsed(text), str)]
        if texts:
            where, text = max(texts, key=lambda item: letters("".join(fixed(item[1]))))
            yield ("signature", index, *where), signature, text


@entry_rule(
    "C202",
    "signature is too short for its tier",
    why="a short literal stands in lines that have nothing to do with the failure.",
    mend='quote more of the line, add `requires`, or set tier = "candidate".',
)
def long_enough(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Fixed letters and digits reach the minimum of the tier."""
    for where, signature, text in _first_texts(file):
        number = letters("".join(fixed(text)))
        least = _least(signature)
        if number < least:
            yield at(
                file,
                where,
                f"`{signature.name}` has {number} fixed letters and digits; tier {signature.tier} needs {least}.",
            )


@entry_rule(
    "C203",
    "signature has no distinctive word",
    why="lines made of everyday words (`failed`, `error`, `timeout`) are printed for a hundred reasons.",
    mend="quote the part that names the component or the condition.",
)
def distinctive(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """At least one fixed word is not an everyday one; several together may do for a whole phrase.

    A broad class is made of such words, and is asked only about the deciding line of a block that nothing else covers.
    """
    if file.value.broad:
        return
    for where, signature, text in _first_texts(file):
        found = split_words(" ".join(fixed(text)))
        if _least(signature) == MIN_SCAN_LETTERS <= letters("".join(fixed(text))) and all(map(is_everyday, found)):
            yield at(file, where, f"`{signature.name}` consists of everyday words: {' '.join(found)}.")


@entry_rule(
    "C204",
    "scan literal is an everyday word",
    why="the scan would stop at every such line of a gigabyte.",
    mend="make one fixed part longer, for example by a typed placeholder in place of `{any}`.",
)
def scan_literal_is_rare(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """The longest fixed part by which the scan finds the text is rare enough; for a broad class it never looks."""
    if file.value.broad:
        return
    for where, signature, text in _parsed_texts(file):
        least, number = _least(signature), letters("".join(fixed(text)))
        # Those codes speak of the text already; one that `requires` backs may be short, and is looked for all the same.
        is_reported = number < least or (
            least == MIN_SCAN_LETTERS and all(map(is_everyday, split_words(" ".join(fixed(text)))))
        )
        if signature.tier != "scan" or is_reported:
            continue
        literal = scan_literal(text)
        is_everyday_word = letters(literal) < MIN_SCAN_LETTERS and all(map(is_everyday, split_words(literal)))
        if letters(literal) < MIN_SCAN_LITERAL or is_everyday_word:
            yield at(file, where, f"`{signature.name}` would be looked for by `{literal}`.")


def _least(signature: Signature) -> int:
    """Fixed letters and digits that a text needs: few where a context backs it, or where no scan looks for it."""
    return MIN_SCAN_LETTERS if signature.tier == "scan" and not signature.requires else MIN_CANDIDATE_LETTERS


@entry_rule(
    "C215",
    "context stands inside other words",
    why="`ray` stands in `array` and `npu` in `input`, so the context is nearly always there and guards nothing.",
    mend="quote more, or what delimits the word where it is printed: `/ray/`, `torch_npu`.",
)
def contexts_are_words(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """A context of few letters is delimited on both sides."""
    for index, signature in signatures(file):
        for kind, contexts in (("requires", signature.requires), ("excludes", signature.excludes)):
            for position, context in enumerate(contexts):
                parts = fixed(context.text) if not isinstance(parsed(context.text), str) else ()
                text = "".join(parts)
                is_open = len(parts) == 1 and (text[:1].isalnum() or text[-1:].isalnum())
                if is_open and letters(text) < MIN_CONTEXT_LETTERS:
                    where: KeyPath = ("signature", index, kind, position, "text")
                    yield at(file, where, f"`{signature.name}`: `{context.text}` stands in other words as well.")


@entry_rule(
    "C207",
    "`{any}` where it bridges too much",
    why="an {any} before a mere dot, or the fifth of a text, matches almost anything.",
    mend="use a typed placeholder, or cut the text after the last distinctive part.",
)
def any_is_bounded(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """An `{any}` stands between fixed text, and there are few of them."""
    for index, signature in signatures(file):
        for where, text in texts_of(signature):
            alternatives = parsed(text)
            if isinstance(alternatives, str):
                continue
            reason = next((said for said in map(any_misuse, alternatives) if said), "")
            if reason:
                yield at(file, ("signature", index, *where), f"`{signature.name}`: {reason}.")


def any_misuse(parts: tuple[Part, ...]) -> str:
    """Why an `{any}` of this alternative bridges too much, or nothing."""
    places = [index for index, part in enumerate(parts) if part.kind == "any"]
    if len(places) > MAX_ANY:
        return f"{len(places)} `{{any}}` in one text; at most {MAX_ANY}"
    for place in places:
        end = next((index for index in places if index > place), len(parts))
        fixed = "".join(part.literal for part in parts[place + 1 : end])
        is_closing = any(mark in fixed for mark in "'\")]}`>")
        if letters(fixed) == 0 and not is_closing and not any(part.kind for part in parts[place + 1 : end]):
            return f"after `{{any}}` only `{fixed}` follows, which says nothing"
    return ""


@entry_rule(
    "C211",
    "modifier without effect",
    why="a modifier that does nothing hides what the author meant.",
    mend="see the field's line in corpus/README.md, or drop it.",
)
def modifiers_work(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """`within` goes with `lines`, `unbroken` with `min_count`, levels are known ones."""
    for index, signature in signatures(file):
        here: KeyPath = ("signature", index)
        if signature.within is not None and not signature.lines:
            yield at(file, (*here, "within"), f"`{signature.name}`: `within` without `lines`.")
        for position, level in enumerate(signature.level):
            if level not in LEVELS:
                known = ", ".join(sorted(LEVELS))
                yield at(file, (*here, "level", position), f"`{signature.name}`: level `{level}`; known: {known}.")
        if signature.cleared_by is not None and signature.cleared_by in dict(fired_texts(signature)).values():
            yield at(file, (*here, "cleared_by"), f"`{signature.name}` is cleared by its own text.")
        firing = {text for _, text in fired_texts(signature)}
        for position, context in enumerate(signature.excludes):
            if context.text in firing:
                where = (*here, "excludes", position, "text")
                yield at(file, where, f"`{signature.name}` excludes its own text, so it never fires.")
        for position, context in enumerate(signature.requires):
            # Where the text stands, that stands as well: it guards nothing, and only makes a short text pass.
            if any(context.text in text for text in firing):
                where = (*here, "requires", position, "text")
                yield at(file, where, f"`{signature.name}` requires `{context.text}`, which is part of its own text.")


@entry_rule(
    "C212",
    "signature name used twice in one entry",
    why="`fires` and the evidence of a verdict name signatures.",
    mend="give each its own name.",
)
def names_differ(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Within an entry each signature has its own name."""
    seen: set[str] = set()
    for index, signature in signatures(file):
        if signature.name in seen:
            yield at(file, ("signature", index, "name"), f"a second signature is named `{signature.name}`.")
        seen.add(signature.name)


@entry_rule(
    "C213",
    "backslash before a quote",
    why="between ''' a backslash is a backslash, so the text waits for one that is never printed.",
    mend="a text that ends in a quote is written '''... end'''', with four quotes.",
)
def no_escaped_quote(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """No firing text ends in an escaped single quote."""
    for index, signature in signatures(file):
        for where, text in fired_texts(signature):
            if text.endswith("\\'"):
                yield at(file, ("signature", index, *where), f"`{signature.name}` ends in `\\'`.")


@entry_rule(
    "C214",
    "placeholders touch",
    why="where one ends and the next begins is a guess, and every guess is tried on a long line.",
    mend="put the fixed text between them that the program prints, or use one placeholder for both.",
)
def placeholders_are_apart(file: EntryFile, knowledge: Knowledge) -> Iterator[Finding]:
    """Between two placeholders stands fixed text."""
    for index, signature in signatures(file):
        for where, text in texts_of(signature):
            alternatives = parsed(text)
            if isinstance(alternatives, str):
                continue
            pairs = (pair for parts in alternatives for pair in pairwise(parts))
            touching = next(((one, other) for one, other in pairs if one.kind and other.kind), None)
            if touching is not None:
                said = f"`{{{touching[0].kind}}}` touches `{{{touching[1].kind}}}`"
                yield at(file, ("signature", index, *where), f"`{signature.name}`: {said}.")
