"""Hits of signatures: context, repetition, messages of several lines, containment."""

from __future__ import annotations

import pytest

from corpus.match import Matcher, Resolution
from tests.heads import context, head, records, signature


def resolve(matcher: Matcher, *texts: str, **options: object) -> Resolution:
    found = [hit for source, text in enumerate(texts) for hit in matcher.scan_records(records(text), source)]
    return matcher.resolve(found, **options)  # type: ignore[arg-type]


def fired(matcher: Matcher, *texts: str) -> list[tuple[str, int, int]]:
    return [(hit.entry, hit.source, hit.record.number) for hit in resolve(matcher, *texts).hits]


BUS = "GPU {pci:pci} has fallen off the bus"


def test_a_literal_with_its_values() -> None:
    (hit,) = resolve(Matcher([head("gone", signature(BUS))]), "[rank1]: GPU 0000:3b:00.0 has fallen off the bus.").hits
    assert hit.captures["pci"].text == "0000:3b:00.0"
    assert hit.record.rank == 1


@pytest.mark.parametrize(
    "line",
    [
        "GPU 0000:3b:00.0 had fallen off the bus",
        "GPU has fallen off the bus",
        "gpu 0000:3b:00.0 has fallen off the bus",
    ],
)
def test_one_altered_word_is_silent(line: str) -> None:
    assert not fired(Matcher([head("gone", signature(BUS))]), line)


@pytest.mark.parametrize(
    ("rule", "text", "fires"),
    [
        (context("peer is mlx5_0", 2), "boom went the link\npeer is mlx5_0", True),
        (context("peer is mlx5_0", 2), "boom went the link\nx\nx\npeer is mlx5_0", False),
        (context("peer is mlx5_0", 2), "peer is mlx5_0\nboom went the link", True),
        (context("peer is mlx5_0", "source"), "boom went the link\nx\nx\nx\npeer is mlx5_0", True),
        (context("peer is mlx5_0", 5, "rank"), "[rank1]: boom went the link\n[rank2]: peer is mlx5_0", False),
        (context("peer is mlx5_0", 5, "rank"), "[rank1]: boom went the link\n[rank1]: peer is mlx5_0", True),
        (context("peer is mlx5_0", 5, "rank"), "[rank1]: boom went the link\npeer is mlx5_0", True),
    ],
)  # fmt: skip
def test_required_context(rule: object, text: str, fires: bool) -> None:
    matcher = Matcher([head("link", signature("boom went the link", requires=(rule,)))])
    result = resolve(matcher, text)
    assert bool(result.hits) is fires
    assert bool(result.unmet) is not fires


def test_context_of_the_whole_run_spans_sources() -> None:
    matcher = Matcher([head("link", signature("boom went the link", requires=(context("peer is mlx5_0", "run"),)))])
    assert fired(matcher, "boom went the link", "peer is mlx5_0") == [("link", 0, 1)]
    narrow = Matcher([head("link", signature("boom went the link", requires=(context("peer is mlx5_0", "source"),)))])
    assert not fired(narrow, "boom went the link", "peer is mlx5_0")


def test_excluding_context_refutes_and_says_so() -> None:
    matcher = Matcher([head("link", signature("boom went the link", excludes=(context("this is a drill", 3),)))])
    result = resolve(matcher, "this is a drill\nboom went the link")
    assert not result.hits
    assert "refuted by `this is a drill` within 3 lines" in result.unmet[0].reason


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("first half of it\nsecond half 7", True),
        ("first half of it\nx\nx\nx\nsecond half 7", False),
        ("second half 7\nfirst half of it", False),
    ],
)
def test_messages_of_several_lines(text: str, fires: bool) -> None:
    matcher = Matcher([head("two", signature("first half of it", "second half {n:int}", within=2))])
    hits = resolve(matcher, text).hits
    assert bool(hits) is fires
    assert not fires or hits[0].captures["n"].text == "7"


def test_repetition_and_exact_counts() -> None:
    matcher = Matcher([head("flap", signature("link is flapping now", min_count=3))])
    assert not fired(matcher, "link is flapping now\nlink is flapping now")
    assert len(fired(matcher, "\n".join(["link is flapping now"] * 3))) == 3
    atom = matcher.atom("link is flapping now")
    assert atom is not None
    assert resolve(matcher, "link is flapping now", counts={atom: 9}).hits


def test_an_all_clear_line_cancels() -> None:
    matcher = Matcher([head("down", signature("port went down hard", cleared_by="port is up again"))])
    assert not fired(matcher, "port went down hard\nport is up again")
    assert fired(matcher, "port is up again\nport went down hard") == [("down", 0, 2)]


def test_unbroken_repetition_ends_with_progress() -> None:
    matcher = Matcher([head("skip", signature("overflow, skipping step", unbroken=True))])
    assert not resolve(matcher, "overflow, skipping step\nstep 2 loss 1", progress={0: [2]}).hits
    assert resolve(matcher, "step 1 loss 1\noverflow, skipping step", progress={0: [1]}).hits


@pytest.mark.parametrize(
    ("line", "fires"),
    [
        ("ERROR cannot reach the head node", True),
        ("INFO cannot reach the head node", False),
        ("cannot reach the head node", True),
    ],
)
def test_levels(line: str, fires: bool) -> None:
    matcher = Matcher([head("reach", signature("cannot reach the head node", level=("ERROR",)))])
    assert bool(fired(matcher, line)) is fires


def test_the_longer_match_hides_the_one_inside_it() -> None:
    short = head("fault", signature("an illegal memory access"))
    longer = head("watchdog", signature("terminated with an illegal memory access"), kind="wrapper")
    line = "thread terminated with an illegal memory access"
    assert fired(Matcher([short, longer]), line) == [("watchdog", 0, 1)]


def test_a_failure_hides_a_class_on_its_record() -> None:
    failure = head("shm-full", signature("failed to extend /dev/shm"))
    general = head("no-space", signature("error: No space left on device"), kind="class")
    line = "failed to extend /dev/shm to 9 bytes, error: No space left on device"
    assert fired(Matcher([failure, general]), line) == [("shm-full", 0, 1)]
    assert fired(Matcher([failure, general]), "cp: error: No space left on device") == [("no-space", 0, 1)]


def test_two_failures_side_by_side_both_stand() -> None:
    entries = [head("one", signature("the first thing broke")), head("two", signature("the second thing broke"))]
    assert {entry for entry, _, _ in fired(Matcher(entries), "the first thing broke; the second thing broke")} == {
        "one",
        "two",
    }


def test_candidate_tier_is_silent_in_the_scan() -> None:
    entry = head("short", signature("lost it", tier="candidate"))
    assert not fired(Matcher([entry]), "we lost it")
    assert fired(Matcher([entry], with_candidates=True), "we lost it") == [("short", 0, 1)]


def test_retired_entries_do_not_match() -> None:
    assert not fired(
        Matcher([head("old", signature("an old wording of it"), status="retired")]), "an old wording of it"
    )


def test_padded_columns_are_found_by_a_word() -> None:
    entry = head("killed", signature("Reason: OOMKilled", aligned=True))
    assert fired(Matcher([entry]), "      Reason:       OOMKilled") == [("killed", 0, 1)]


@pytest.mark.parametrize(
    "line", ['{"msg": "cannot open \\"x\\" for writing"}', "cannot open &quot;x&quot; for writing"]
)
def test_escaped_spellings(line: str) -> None:
    assert fired(Matcher([head("open", signature('cannot open "{name}" for writing'))]), line) == [("open", 0, 1)]


BROAD = head("rule", signature("{exc:name}: {what:any} must be {rule:name}"), kind="class", broad=True)


@pytest.mark.parametrize("kind", ["failure", "class", "wrapper"])
def test_a_broad_class_gives_way_to_every_other_entry_on_the_record(kind: str) -> None:
    """The other one's text is shorter and lies inside: only being broad decides."""
    other = head("other", signature("top_k must be"), kind=kind)
    line = "ValueError: top_k must be positive"
    assert fired(Matcher([BROAD, other], with_broad=True), line) == [("other", 0, 1)]
    assert fired(Matcher([BROAD, other], with_broad=True), "ValueError: top_p must be positive") == [("rule", 0, 1)]


def test_of_two_broad_classes_the_one_with_more_fixed_text_stays() -> None:
    longer = head("divisible", signature("{exc:name}: {what:any} must be divisible by"), kind="class", broad=True)
    line = "ValueError: 36 must be divisible by 8"
    assert fired(Matcher([BROAD, longer], with_broad=True), line) == [("divisible", 0, 1)]


def test_no_scan_looks_for_a_broad_class() -> None:
    assert Matcher([BROAD]).literals == []
    assert not fired(Matcher([BROAD], with_candidates=True), "ValueError: top_k must be positive")
