"""The three forms of a verdict, against goldens and against what must never happen."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant import reports
from assistant.reports import _words as words
from assistant.reports import markdown, text
from assistant.verdict import Attempt, Diagnosis, EvidenceLine, Finding, Line, RunInfo, SourceInfo, Suspect

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("width", [40, 80, 140])
def test_text_golden(story: tuple[str, Diagnosis], width: int, golden: Any) -> None:
    name, diagnosis = story
    golden.check(f"{name}-{width}.txt", text.render(diagnosis, width=width))


def test_text_golden_with_context(stories: dict[str, Diagnosis], golden: Any) -> None:
    def around(source: str, line: int, count: int) -> list[tuple[int, str]]:
        return [(number, f"line {number} of {source}\x1b[31m") for number in range(line - count, line + count + 1)]

    shown = text.render(stories["xid-79"], width=100, context=2, lines_around=around)
    golden.check("xid-79-context.txt", shown)
    assert "> 812  " in shown


def test_json_golden(story: tuple[str, Diagnosis], golden: Any) -> None:
    name, diagnosis = story
    shown = reports.render("json", diagnosis)
    golden.check(f"{name}.json", shown)
    assert Diagnosis.model_validate_json(shown) == diagnosis
    assert next(iter(json.loads(shown))) == "schema"


def test_json_of_what_is_no_unicode_text() -> None:
    diagnosis = Diagnosis(status="inconclusive", sources=(SourceInfo(path="bad\udcffname.log"),))
    shown = reports.render("json", diagnosis)
    assert shown.isascii()
    assert json.loads(shown)["sources"][0]["path"] == "bad\udcffname.log"
    assert list(json.loads(shown)) == list(json.loads(reports.render("json", Diagnosis(status="healthy"))))
    assert "bad\\udcffname.log" in reports.render("text", diagnosis)


def test_markdown_golden(story: tuple[str, Diagnosis], golden: Any) -> None:
    name, diagnosis = story
    golden.check(f"{name}.md", reports.render("markdown", diagnosis))


@pytest.mark.parametrize("width", [40, 50, 59, 60, 80, 100, 120, 140])
def test_no_row_is_wider_than_the_page(story: tuple[str, Diagnosis], width: int) -> None:
    shown = text.render(story[1], width=width)
    too_wide = [row for row in shown.splitlines() if len(row) > width and "$ " not in row]
    assert too_wide == []


def test_a_narrow_page_puts_labels_above_and_breaks_no_word(stories: dict[str, Diagnosis]) -> None:
    rows = text.render(stories["xid-79"], width=40).splitlines()
    assert rows[0] == "IDENTIFIED"
    assert "INITIATING" in rows
    assert max(map(len, rows)) > 36
    words = set(" ".join(text.render(stories["xid-79"], width=140).split()).split())
    prose = [row for row in rows[rows.index("OWNER") :] if "$ " not in row]
    assert [word for row in prose for word in row.split() if word not in words] == []


def test_a_command_is_never_wrapped(stories: dict[str, Diagnosis]) -> None:
    shown = text.render(stories["xid-79"], width=40)
    assert "$ scontrol update nodename=node-b state=drain reason='Xid 79 0000:8a:00'\n" in shown


def test_colour_adds_only_colour(story: tuple[str, Diagnosis]) -> None:
    plain = text.render(story[1], width=80)
    coloured = text.render(story[1], width=80, colour=True)
    assert coloured != plain
    assert [row.rstrip() for row in ANSI.sub("", coloured).splitlines()] == plain.splitlines()
    assert "\x1b" not in plain


def test_a_healthy_verdict_is_three_lines(stories: dict[str, Diagnosis]) -> None:
    for width in (80, 140):
        assert len(text.render(stories["healthy"], width=width).splitlines()) == 3
    bare = Diagnosis(status="healthy", run=RunInfo(completed=True), sources=(SourceInfo(path="a.log"),))
    assert text.render(bare).splitlines()[0] == "HEALTHY      No fault: the run finished."


def test_recovered_faults_are_listed_not_blamed(stories: dict[str, Diagnosis]) -> None:
    finding = Finding(
        id="f1", role="recovered", strength="observed", because="Steps go on after it.",
        evidence=(EvidenceLine(source="job.log", line=7, text="nfs: server not responding, still trying"),),
    )  # fmt: skip
    shown = text.render(stories["healthy"].model_copy(update={"findings": (finding,)}))
    assert shown.startswith("HEALTHY")
    assert "RECOVERED" in shown
    assert "INITIATING" not in shown
    assert "OWNER" not in shown


def test_log_text_is_never_markup_nor_control(stories: dict[str, Diagnosis]) -> None:
    for form in ("text", "markdown"):
        shown = reports.render(form, stories["unexplained"])
        assert "\\x1b[31m[bold]type[/bold]\\x1b[0m" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown


def test_symptoms_are_not_given_a_cure(stories: dict[str, Diagnosis]) -> None:
    shown = text.render(stories["symptom-only"])
    assert "INITIATING" not in shown
    assert "FIX" not in shown
    assert "CONFIRM" in shown
    assert "FETCH NEXT" in shown
    assert "$ ssh node-b dmesg -T" in shown


def test_near_miss_stands_above_what_is_expected(stories: dict[str, Diagnosis]) -> None:
    class Signature:
        name = "spec-wording"
        texts = ("TPU Inter-Chip Interconnect ICI link error mesh coordinate link state DOWN",)

    class Head:
        signatures = (Signature,)

    class Catalogue:
        heads = {"tpu-ici-link-error": Head}  # noqa: RUF012

    rows = text.render(stories["unexplained"], Catalogue(), width=140).splitlines()  # type: ignore[arg-type]
    place = next(number for number, row in enumerate(rows) if "link state UP" in row)
    assert rows[place + 1].endswith("expected  " + Signature.texts[0])
    assert "`UP`" in rows[place + 2]
    assert "`DOWN`" in rows[place + 2]


def test_same_story_on_many_ranks_is_told_once() -> None:
    def victim(rank: int) -> Finding:
        return Finding(
            id=f"f{rank + 2}", role="downstream", strength="observed", ranks=(rank,), explained_by=("f1",), count=2,
            evidence=(EvidenceLine(source="job.log", line=rank + 1, text=f"[rank{rank}] broken pipe 0x{rank:x}"),),
        )  # fmt: skip

    diagnosis = Diagnosis(status="symptom-only", findings=tuple(victim(rank) for rank in (0, 1, 2, 5)))
    shown = text.render(diagnosis)
    assert shown.count("broken pipe") == 1
    assert "ranks 0-2,5" in shown
    assert "(8x)" in shown
    assert "f2-4,7 observed" in shown


def test_many_stories_are_counted() -> None:
    findings = tuple(
        Finding(id=f"f{n}", role="downstream", strength="observed",
                evidence=(EvidenceLine(source="a", line=n, text="abcdefghijk"[n]),))
        for n in range(10)
    )  # fmt: skip
    assert "and 4 more: " in text.render(Diagnosis(status="symptom-only", findings=findings))


def test_a_very_long_line_is_cut_around_what_matters() -> None:
    long = "x" * 5000 + " device 0000:8a:00 died " + "y" * 5000
    finding = Finding(
        id="f1", role="initiating", strength="observed",
        evidence=(EvidenceLine(source="a.log", line=1, text=long, captures={"pci": "0000:8a:00"}),),
    )  # fmt: skip
    shown = text.render(Diagnosis(status="unexplained", initiating=finding, findings=(finding,)), width=80)
    assert "0000:8a:00 died" in shown
    assert len(shown.splitlines()) < 20


def test_attempts_are_named_where_there_are_several() -> None:
    earlier = Finding(id="f2", role="initiating", strength="observed", attempt=1, because="It ended attempt 1.",
                      evidence=(EvidenceLine(source="a", line=3, text="x"),))  # fmt: skip
    diagnosis = Diagnosis(
        status="inconclusive", independent=(earlier,), run=RunInfo(attempts=(Attempt(n=1), Attempt(n=2)))
    )
    shown = text.render(diagnosis)
    assert "INDEPENDENT" in shown
    assert "attempt 1" in shown
    assert "2 attempts" in shown


@pytest.mark.parametrize(
    ("numbers", "shown"),
    [((), ""), ((5,), "5"), ((6, 7), "6,7"), ((0, 1, 2, 3, 4, 6, 7), "0-4,6,7"), ((3, 1, 2, 2), "1-3")],
)
def test_ranges(numbers: tuple[int, ...], shown: str) -> None:
    assert words.ranges(numbers) == shown


@given(st.sets(st.integers(0, 10_000), max_size=200))
def test_ranges_say_exactly_the_numbers(numbers: set[int]) -> None:
    parts = [part.split("-") for part in words.ranges(numbers).split(",") if part]
    assert {n for part in parts for n in range(int(part[0]), int(part[-1]) + 1)} == numbers


@pytest.mark.parametrize(
    ("ranks", "hosts", "world", "shown"),
    [
        ((), (), 8, ""),
        ((5,), ("node-b",), 8, "rank 5 on node-b"),
        ((0, 1), (), None, "ranks 0,1"),
        ((0, 1), ("a", "b"), 4, "ranks 0,1"),
        (tuple(range(8)), ("a",), 8, "all 8 ranks"),
        ((), ("a", "b", "c", "d"), None, "a, b and 2 more"),
        ((0,), (), 1, "rank 0"),
    ],
)
def test_who(ranks: tuple[int, ...], hosts: tuple[str, ...], world: int | None, shown: str) -> None:
    assert words.who(ranks, hosts, RunInfo(world_size=world)) == shown


def test_owner_and_restart(stories: dict[str, Diagnosis]) -> None:
    first = stories["xid-79"].initiating
    assert first is not None
    assert words.owner(first) == "the node: drain node-b, do not restart there"
    workload = first.model_copy(
        update={"owner": "workload", "entry": first.entry and first.entry.model_copy(update={"restart": "safe"})}
    )
    assert words.owner(workload) == "the workload: a restart is safe"
    assert words.owner(first.model_copy(update={"entry": None})) == "the node"


def test_times_of_another_day_carry_it(stories: dict[str, Diagnosis]) -> None:
    clock = words.Clock(stories["xid-79"])
    assert clock.show("2026-11-28T12:41:58.123+01:00") == "12:41:58"
    assert clock.show("2026-11-19T02:10:44") == "2026-11-19 02:10:44"
    assert clock.show("after boot") == "after boot"
    assert clock.show(None) == ""


@pytest.mark.parametrize(
    "hostile",
    ["| a | b |", "``` fence ```", "<script>alert(1)</script>", "# title", "[x](http://y)", "a`b", "``"],
)
def test_markdown_shows_log_text_as_text(hostile: str, stories: dict[str, Diagnosis]) -> None:
    line = EvidenceLine(source="a|b`.log", line=1, text=hostile)
    finding = Finding(id="f1", role="initiating", strength="observed", because=hostile, evidence=(line,))
    shown = markdown.render(Diagnosis(status="unexplained", initiating=finding, findings=(finding,)))
    fences = [row for row in shown.splitlines() if re.fullmatch(r"`{3,}(text)?", row)]
    assert len(fences) == 2
    assert fences[0].removesuffix("text") == fences[1]
    prose = shown.split("- Because:")[1].splitlines()[0]
    assert "<script>" not in prose


def test_unexplained_shows_candidates_with_what_is_missing(stories: dict[str, Diagnosis]) -> None:
    shown = text.render(stories["unexplained"], width=100)
    assert "nearest  TPU inter-chip interconnect (ICI) link down (tpu-ici-link-error)" in shown
    assert "lacks `link state DOWN`" in shown


def test_problems_of_sources_are_told_once() -> None:
    source = SourceInfo(path="a.gz", problems=("truncated",))
    once = Diagnosis(status="inconclusive", sources=(source,), warnings=("a.gz: truncated.",))
    assert text.render(once).count("truncated") == 1
    untold = once.model_copy(update={"warnings": ()})
    assert text.render(untold).count("truncated") == 1


@given(st.text(max_size=300), st.integers(50, 160))
def test_any_line_can_be_shown(hostile: str, width: int) -> None:
    line = EvidenceLine(source="a.log", line=1, text=hostile, captures={"x": hostile[:5]})
    finding = Finding(id="f1", role="initiating", strength="observed", because=hostile, evidence=(line,))
    excerpt = (Line(source="a.log", line=1, text=hostile),)
    diagnosis = Diagnosis(
        status="unexplained", initiating=finding, findings=(finding,), unexplained=({"excerpt": excerpt},), # type: ignore[arg-type]
    )  # fmt: skip
    shown = text.render(diagnosis, width=width)
    assert not any(ord(char) < 32 and char != "\n" for char in shown)
    markdown.render(diagnosis)


def test_what_a_borrowed_time_means_is_said_once_and_never_breaks_the_place() -> None:
    def finding(number: int, host: str) -> Finding:
        line = EvidenceLine(source="a.log", line=number, text="x", time="2026-11-30T12:00:00Z", time_inherited=True)
        return Finding(
            id=f"f{number}", role="downstream", strength="observed", hosts=(host,), onset=line.time, evidence=(line,)
        )

    two = Diagnosis(
        status="symptom-only", findings=(finding(1, "n1"), finding(2, "n2").model_copy(update={"role": "unrelated"}))
    )
    shown = text.render(two, width=100)
    assert shown.count("last stamped line") == 1
    assert shown.count("~12:00:00") == 2
    long = text.render(
        Diagnosis(status="symptom-only", findings=(finding(1, "a-host-with-a-long-name.cluster.local"),)), width=80
    )
    assert "a-host-with-a-long-name.cluster.local   ~12:00:00 " in long
    assert "(~: last stamped line)" in long


def test_an_event_without_a_place_is_only_called_so() -> None:
    lost = Diagnosis(status="symptom-only", suspects=(Suspect(reason="unplaced-event", because="no time"),))
    assert "SUSPECTS     an unplaced event\n" in text.render(lost)
    assert "an unplaced event: no time" in reports.render("markdown", lost)
