"""The signature language: placeholders, delimiters, optional segments, and time that stays linear."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corpus import signature
from corpus.errors import SignatureError
from corpus.placeholders import ANY_LIMIT, KINDS, full_match
from corpus.signature import MAX_STARTS, Condition, Pattern, fixed_parts, parse, scan_literal

TYPED = [kind for kind in KINDS if kind != "any"]
EXAMPLES = [(name, text) for name, kind in KINDS.items() for text in kind.accepts]
COUNTEREXAMPLES = [(name, text) for name, kind in KINDS.items() for text in kind.refuses]
REDACTIONS = ("xxxxxx", "[***]", "***", "<host>", "[REDACTED]")

words = st.text(st.sampled_from("abcdefgXYZ09_.:'\"()[]<>|=+*?^$\\/-é"), min_size=1, max_size=12)
literals = st.lists(words, min_size=1, max_size=6).map(" ".join).filter(lambda text: "{" not in text)
blanks = st.text(st.sampled_from(" \t\u00a0"), min_size=1, max_size=4)


def match(text: str, line: str) -> signature.Match | None:
    return Pattern(text).search(line)


# ------------------------------------------------------------------------------------ placeholders


@pytest.mark.parametrize(("kind", "value"), EXAMPLES)
def test_a_placeholder_takes_its_examples(kind: str, value: str) -> None:
    assert full_match(kind, value)


@pytest.mark.parametrize(("kind", "value"), EXAMPLES)
def test_and_takes_them_whole_inside_a_line(kind: str, value: str) -> None:
    found = match(f"before <{{v:{kind}}}> after", f"12:00 before <{value}> after 7")
    assert found is not None and found.captures["v"].text == value


@pytest.mark.parametrize(("kind", "value"), COUNTEREXAMPLES)
def test_a_placeholder_refuses_its_counterexamples(kind: str, value: str) -> None:
    assert not full_match(kind, value)


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("redaction", REDACTIONS)
def test_every_placeholder_takes_redactions_and_says_so(kind: str, redaction: str) -> None:
    found = match(f"value {{v:{kind}}} end", f"value {redaction} end")
    assert found is not None
    assert found.captures["v"].text == redaction
    # A word such as xxxxxx may be a name as well; it is marked all the same.
    assert found.captures["v"].redacted


def test_an_ordinary_value_is_not_marked_redacted() -> None:
    found = match("rank {r:int} left", "rank 7 left")
    assert found is not None and not found.captures["r"].redacted


def test_closed_lists_take_their_members_only() -> None:
    text = "got {sig:name=SIGKILL|SIGTERM} ({code:int=-9|-15})"
    assert match(text, "got SIGKILL (-9)") is not None
    assert match(text, "got SIGSEGV (-9)") is None
    assert match(text, "got SIGTERM (-91)") is None


# ------------------------------------------------------------------------------------ literals


@given(literals)
def test_a_literal_matches_itself(text: str) -> None:
    assert match(text, text) is not None


@given(literals, st.data())
def test_any_run_of_blanks_matches_any_run_of_blanks(text: str, data: st.DataObject) -> None:
    line = re.sub(" ", lambda _: data.draw(blanks), text)
    assert match(text, line) is not None


@given(literals, st.sampled_from(["[rank3]: ", "2026-11-12 04:18:11 ", "(pid=7) ", "| ", "x='"]))
def test_a_literal_is_found_behind_a_prefix(text: str, prefix: str) -> None:
    assert match(text, prefix + text) is not None


@given(literals)
def test_case_matters(text: str) -> None:
    swapped = text.swapcase()
    assume(swapped != text)
    assert match(text, swapped) is None


@given(st.integers(0, 10**6), st.integers(0, 9), st.integers(0, 9))
def test_numbers_are_delimited_at_both_ends(number: int, before: int, after: int) -> None:
    text = f"Xid (PCI): {number}"
    assert match(text, f"Xid (PCI): {number}, pid=1") is not None
    assert match(text, f"Xid (PCI): {number}{after}") is None
    assert match(f"{number} retries", f"{before}{number} retries") is None
    assert match("code {c:int} here", f"code {number} here") is not None


def test_words_are_delimited_at_the_start() -> None:
    assert match("link down", "uplink down") is None
    assert match("link down", "the link downed") is not None
    assert match("Error: link", "'msg\\nError: link'") is not None


@given(literals.filter(lambda text: "}" not in text), literals)
def test_braces_are_written_twice(before: str, after: str) -> None:
    text = f"{before} {{{{ {after}"
    assert match(text, f"{before} {{ {after}") is not None
    assert match(text, f"{before} {after}") is None


@given(words, words, words)
def test_optional_segments_may_be_there_or_not(first: str, middle: str, last: str) -> None:
    text = f"{first} {{?{middle} ?}}{last}"
    assert match(text, f"{first} {middle} {last}") is not None
    assert match(text, f"{first} {last}") is not None


def test_the_longest_alternative_wins() -> None:
    found = match("rank {r:int}{? on {h:host}?} left", "rank 3 on node-b left")
    assert found is not None and found.captures["h"].text == "node-b"


def test_any_is_lazy_and_bounded() -> None:
    text = "begin {any} end 7"
    assert match(text, "begin " + "x" * (ANY_LIMIT - 2) + " end 7") is not None
    assert match(text, "begin " + "x" * (ANY_LIMIT + 2) + " end 7") is None
    found = match("a ({what:any}) b", "a (one) b (two) b")
    assert found is not None and found.captures["what"].text == "one"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must not be empty"),
        ("{any} failed", "stands at an end"),
        ("failed {any}", "stands at an end"),
        ("a {any}{any} b", "two `{any}` in a row"),
        ("a {b b", "no placeholder"),
        ("a {b:number}", "unknown placeholder kind `number`"),
        ("a {x:int} {x:int}", "stands twice"),
        ("a {?b", "not closed"),
        ("{?a?}{?b?}{?c?}{?d?}{?e?}f", "at most 4"),
    ],
)
def test_what_the_language_does_not_allow(text: str, says: str) -> None:
    with pytest.raises(SignatureError, match=re.escape(says)):
        parse(text)


# ------------------------------------------------------------------------------------ scan literal


@given(literals)
def test_the_scan_literal_of_a_literal_is_in_it(text: str) -> None:
    assert scan_literal(text) in text


def test_the_scan_literal_is_outside_optional_segments() -> None:
    text = "short {?a very long optional part that is not always there ?}{n:int} common part"
    assert scan_literal(text) == "common part"
    assert fixed_parts(text) == ["short", "common part"]


def test_a_shared_part_yields_to_one_that_tells_apart() -> None:
    text = "NVRM: Xid (PCI:{pci}): 79, GPU has fallen"
    assert scan_literal(text, frozenset({"NVRM: Xid (PCI:"})) == "): 79, GPU has fallen"


# ------------------------------------------------------------------------------------ conditions


@pytest.mark.parametrize(
    ("condition", "output", "line"),
    [
        ("SRAM Uncorrectable : {n:int} > 0", "SRAM Correctable : 4\nSRAM Uncorrectable    : 2", 2),
        ("SRAM Uncorrectable : {n:int} > 0", "SRAM Uncorrectable : 0", None),
        ("free {n:float} <= 1.5", "free 1.5", 1),
        ("free {n:float} < 1.5", "free 1.5", None),
        ("count {n:int} == 1000", "count 1,000", 1),
        ("count {n:int} != 8", "count 8\ncount 7", 2),
        ("Link state : DOWN", "Link state : UP\nLink state : DOWN", 2),
    ],
)
def test_conditions_name_the_deciding_line(condition: str, output: str, line: int | None) -> None:
    assert Condition(condition).deciding_line(output) == line


# ------------------------------------------------------------------------------------ linear time


class Counting:
    """A compiled chunk that counts how often it is searched."""

    def __init__(self, compiled: re.Pattern[str], counts: list[int]) -> None:
        self.compiled, self.counts = compiled, counts

    def search(self, text: str, position: int = 0) -> re.Match[str] | None:
        self.counts.append(position)
        return self.compiled.search(text, position)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("begin {any} middle {any} end", "begin middle begin middle "),
        ("a {x:int} b {any} c {y:float} d", "a 1 b c 2.5 "),
        ("open( {any} ) failed {any} done", "open( ) failed "),
    ],
)
def test_a_mebibyte_of_near_matches_is_passed_a_bounded_number_of_times(
    text: str, near: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = Pattern(text)
    counts: list[int] = []
    chunks = [[Counting(chunk, counts) for chunk in choice] for choice in pattern._chunks]
    monkeypatch.setitem(pattern.__dict__, "_chunks", chunks)
    assert pattern.search(near * ((1 << 20) // len(near))) is None
    assert len(counts) <= MAX_STARTS * sum(len(choice) for choice in chunks)


def repeats(node: Any, depth: int = 0) -> list[tuple[int, int]]:
    """(upper bound, nesting depth) of every repetition in a parsed pattern."""
    found = []
    for operator, argument in node:
        name = str(operator)
        if name.endswith("REPEAT"):
            found.append((int(argument[1]), depth))
            found += repeats(argument[2], depth + 1)
        elif name == "BRANCH":
            found += [item for branch in argument[1] for item in repeats(branch, depth)]
        elif name == "SUBPATTERN":
            found += repeats(argument[3], depth)
        elif name.startswith("ASSERT"):
            found += repeats(argument[1], depth)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_placeholder_repeats_without_bound(kind: str) -> None:
    parser = re._parser  # type: ignore[attr-defined]  # the only parser of the re module
    found = repeats(parser.parse(KINDS[kind].pattern))
    assert all(bound <= 4096 for bound, _ in found), found
    assert all(depth <= 1 for _, depth in found), "a repetition of a repetition of a repetition"
