"""Candidates against the records: what the scan gives, wrapped lines, near misses."""

from __future__ import annotations

import pytest

from corpus.catalogue import Catalogue
from corpus.errors import UnknownEntryError
from corpus.match import Matcher
from corpus.record import Record
from index.verify import Near, Verified, verify_candidates
from tests.heads import catalogue_of, context, head, records, signature

BUS = head("bus", signature("GPU {pci:pci} has fallen off the bus and {any} is lost for this run", name="bus"))
SHORT = head("short", signature("Bus error", name="short", tier="candidate"))
CONTEXT = head("context", signature("worker was killed", name="killed", requires=(context("out of memory", 3),)))
CLASS = head("class", signature("has fallen off the bus", name="general"), kind="class")
CATALOGUE = catalogue_of(BUS, SHORT, CONTEXT, CLASS)
LINE = "[rank1]: GPU 0000:3b:00.0 has fallen off the bus and the card is lost for this run"


def verify(text: str, *entries: str, catalogue: Catalogue = CATALOGUE) -> list[Verified | Near]:
    return verify_candidates(records(text), entries or tuple(catalogue.heads), catalogue)


def hits(text: str, *entries: str) -> list[tuple[str, int]]:
    return [(item.entry, item.record.number) for item in verify(text, *entries) if isinstance(item, Verified)]


def test_what_is_there_is_verified_with_its_values() -> None:
    (hit, *rest) = verify(LINE, "bus")
    assert isinstance(hit, Verified)
    assert (hit.entry, hit.signature, hit.tier, hit.joined) == ("bus", "bus", "scan", 1)
    assert hit.captures["pci"].text == "0000:3b:00.0"
    assert rest == []


def test_it_gives_what_the_scan_gives() -> None:
    text = f"{LINE}\nworker was killed\n{LINE}\nfoo\nfoo\nout of memory\nworker was killed\nhas fallen off the bus"
    matcher = Matcher(CATALOGUE.heads.values())
    scan = {(h.entry, h.record.number) for h in matcher.resolve(matcher.scan_records(records(text))).hits}
    assert set(hits(text)) == scan


def test_the_candidate_tier_is_tried_and_hides_nothing() -> None:
    longer = head("longer", signature("has fallen off the bus and the card", name="longer", tier="candidate"))
    catalogue = catalogue_of(CLASS, longer, SHORT)
    found = verify(f"{LINE}\nBus error", catalogue=catalogue)
    assert [(item.entry, item.tier) for item in found if isinstance(item, Verified)] == [
        ("class", "scan"), ("longer", "candidate"), ("short", "candidate"),
    ]  # fmt: skip


def test_context_is_checked_and_its_lack_is_a_near_miss() -> None:
    (near,) = verify("worker was killed", "context")
    assert isinstance(near, Near)
    assert "out of memory" in near.reason
    assert near.score == 1
    assert near.record.number == 1


@pytest.mark.parametrize(
    "text",
    [
        "[rank1]: GPU 0000:3b:00.0 has fallen off the bus\nand the card is lost for this run",
        "[rank1]: GPU 0000:3b:00.0 has fallen off the b\nus and the card is lost for this run",
        "[rank1]: GPU 0000:3b:00.0 has fallen off the bus\n  and what is worse for everybody who waits here,\nand the card is lost for this run",
        "[rank1]: GPU 0000:3b:00.0 has fallen off the bus\n[rank1]: and the card is lost for this run",
    ],
)
def test_a_wrapped_line_is_put_together(text: str) -> None:
    (hit,) = verify(text, "bus")
    assert isinstance(hit, Verified)
    assert hit.record.number == 1
    assert hit.joined >= 2


@pytest.mark.parametrize(
    "text",
    [
        "[rank1]: GPU 0000:3b:00.0 has fallen off the bus\n[rank2]: and the card is lost for this run",
        "[rank1]: GPU 0000:3b:00.0 has fallen off the bus\n2026-11-30 12:00:00 and the card is lost for this run",
        "[rank1]: GPU 0000:3b:00.0 has fallen off the bus\n\nand the card is lost for this run",
    ],
)
def test_lines_of_others_are_not_joined(text: str) -> None:
    assert [item for item in verify(text, "bus") if isinstance(item, Verified)] == []


def test_a_line_that_stands_by_itself_is_not_counted_again() -> None:
    assert hits(f"{LINE}\nand more text below it", "bus") == [("bus", 1)]


def test_a_blacked_out_value_is_accepted_and_named() -> None:
    (hit,) = verify(LINE.replace("0000:3b:00.0", "xxxxxx"), "bus")
    assert isinstance(hit, Verified)
    assert hit.redacted == ("pci",)


def test_an_altered_word_is_shown_beside_the_expected_one() -> None:
    (near,) = verify(LINE.replace("fallen", "dropped"), "bus")
    assert isinstance(near, Near)
    assert (near.expected, near.found) == ("fallen", "dropped")
    assert {"bus", "lost"} <= set(near.matched)
    assert 0 < near.score < 1


def test_what_is_far_away_is_neither() -> None:
    assert verify("step 1 loss 2.0") == []


def test_several_sources_are_kept_apart() -> None:
    sources: dict[int, list[Record]] = {3: records("worker was killed"), 7: records("out of memory")}
    assert isinstance(verify_candidates(sources, ["context"], CATALOGUE)[0], Near)
    (hit,) = verify_candidates({3: records(LINE)}, ["bus"], CATALOGUE)
    assert hit.source == 3


def test_a_number_of_times_may_be_given_from_outside() -> None:
    often = head("often", signature("link flapped once more", name="often", min_count=5))
    catalogue = catalogue_of(often)
    (near,) = verify("link flapped once more", catalogue=catalogue)
    assert "1 of 5" in near.reason if isinstance(near, Near) else False
    (hit,) = verify_candidates(
        records("link flapped once more"), ["often"], catalogue, counts={"link flapped once more": 9}
    )
    assert isinstance(hit, Verified)


def test_an_unknown_entry_is_an_error() -> None:
    with pytest.raises(UnknownEntryError):
        verify("x", "no-such-entry")


def test_no_candidates_and_no_records() -> None:
    assert verify_candidates([], ["bus"], CATALOGUE) == []
    assert verify_candidates(records(LINE), [], CATALOGUE) == []
