"""C208 to C210: the conditions of a check parse and judge its samples as they claim."""

from __future__ import annotations

from collections.abc import Iterator

from corpus.errors import SignatureError
from corpus.judging import compares_nothing, judge
from corpus.lints.base import Finding, KeyPath, Knowledge, at, corpus_rule
from corpus.model import Check, Entry, Family
from corpus.reader import SourceFile
from corpus.signature import Condition

CheckedFile = SourceFile[Entry] | SourceFile[Family]


def _checks(knowledge: Knowledge) -> Iterator[tuple[CheckedFile, int, Check]]:
    files: tuple[CheckedFile, ...] = (*knowledge.files.entry_files, *knowledge.files.family_files)
    for file in files:
        for index, check in enumerate(file.value.check):
            yield file, index, check


def condition_problem(text: str) -> str:
    """Why a condition can never be judged, or an empty string."""
    try:
        condition = Condition(text)
        condition.pattern.alternatives  # noqa: B018  parsing raises
    except SignatureError as error:
        return error.message
    if compares_nothing(text):
        return f"`{text}` compares a placeholder that has no name."
    return ""


def _parses(check: Check) -> bool:
    return not any(condition_problem(text) for text in (*check.confirms, *check.clears))


@corpus_rule(
    "C208",
    "condition does not parse",
    why="pasted output would never be judged by it.",
    mend="write a literal with placeholders; a comparison follows a named one: `{n:int} > 0`.",
)
def conditions_parse(knowledge: Knowledge) -> Iterator[Finding]:
    """Conditions are in the signature language, comparisons have a named value."""
    for file, index, check in _checks(knowledge):
        for kind, conditions in (("confirms", check.confirms), ("clears", check.clears)):
            for position, text in enumerate(conditions):
                problem = condition_problem(text)
                if problem:
                    where: KeyPath = ("check", index, kind, position)
                    yield at(file, where, problem)


@corpus_rule(
    "C209",
    "sample is judged otherwise than it says",
    why="a check that misjudges real output sends a person the wrong way.",
    mend="correct the condition, or what the sample says.",
)
def samples_hold(knowledge: Knowledge) -> Iterator[Finding]:
    """Each sample of a check gets the verdict that it claims."""
    for file, index, check in _checks(knowledge):
        if not _parses(check):
            continue
        for position, sample in enumerate(check.sample):
            judgement = judge(check, sample.text)
            if judgement.says != sample.says:
                by = f" by `{judgement.condition}`" if judgement.condition else ""
                where: KeyPath = ("check", index, "sample", position)
                yield at(file, where, f"says `{sample.says}`, but the check judges `{judgement.says}`{by}.")


@corpus_rule(
    "C210",
    "condition of a full entry that no sample tries",
    why="a condition nobody ran on real output is a guess.",
    mend="add [[check.sample]] with output in its true form.",
)
def conditions_are_tried(knowledge: Knowledge) -> Iterator[Finding]:
    """Each condition of a family or a full entry decides at least one sample of its check."""
    for file, index, check in _checks(knowledge):
        if not _parses(check) or getattr(file.value, "depth", "full") != "full":
            continue
        for kind, conditions in (("confirms", check.confirms), ("clears", check.clears)):
            for position, text in enumerate(conditions):
                if not any(Condition(text).deciding_line(sample.text) for sample in check.sample):
                    yield at(file, ("check", index, kind, position), f"no sample fulfils `{text}`.")
