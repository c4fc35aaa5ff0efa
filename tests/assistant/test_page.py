"""Wrapping, folding and cutting by terminal cells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assistant.reports._page import Page, cells, cut, fold, window, wrap


def test_wrap_breaks_at_blanks() -> None:
    assert wrap("one  two\nthree four", 9) == ["one two", "three", "four"]
    assert wrap("", 9) == []


def test_a_word_longer_than_the_row_is_broken() -> None:
    assert fold("a" * 25, 10) == ["a" * 10, "a" * 10, "a" * 5]


def test_wide_characters_take_two_cells() -> None:
    assert cells("大a") == 3
    assert fold("大大大大", 5) == ["大大", "大大"]
    assert cells("e\u0301") == 1
    assert cut("大大大", 4) == "大…"


@given(st.text(), st.integers(2, 40))
def test_folding_loses_only_blanks(text: str, room: int) -> None:
    rows = fold(text, room)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")
    assert all(cells(row) <= max(room, 2) for row in rows)


@given(st.text(alphabet="ab ", max_size=400), st.integers(20, 60), st.integers(1, 6), st.integers(0, 400))
def test_a_window_keeps_to_its_rows(text: str, room: int, rows: int, focus: int) -> None:
    shown = window(text, room, rows, min(focus, len(text)))
    assert len(shown) <= rows
    assert all(cells(row) <= room for row in shown)


def test_a_window_shows_the_focus() -> None:
    text = "head " * 100 + "NEEDLE " + "tail " * 100
    shown = window(text, 40, 2, text.index("NEEDLE"))
    assert shown[0].startswith("… NEEDLE tail")
    assert shown[-1].endswith("…")
    assert window("short line", 40, 2, 0) == ["short line"]


def test_labels_tags_and_gaps() -> None:
    page = Page(60, colour=False)
    page.gap()
    page.head("LABEL", "text", "tag")
    page.gap()
    page.gap()
    page.head("", "step one is long enough to need a second row here", lead="1. ")
    page.gap()
    assert str(page).splitlines() == [
        "LABEL        text                                        tag",
        "",
        "             1. step one is long enough to need a second row",
        "                here",
    ]


def test_paint_only_with_colour() -> None:
    assert Page(60, colour=False).paint("x", "bold red") == "x"
    assert Page(60, colour=True).paint("x", "bold red") == "\x1b[1;31mx\x1b[0m"
    assert Page(60, colour=True).paint("", "bold") == ""
