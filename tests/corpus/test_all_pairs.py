"""Every entry over every other entry's logs: an uninvited hit is a bug or a declared `also_fires`."""

from __future__ import annotations

from pathlib import Path

from corpus.casebook import Gallery
from corpus.reader import read_corpus, scan_corpus


def test_nothing_fires_uninvited(corpus_dir: Path) -> None:
    failures = list(Gallery(read_corpus(corpus_dir).entries).run_pairs())
    assert failures == [], "\n".join(map(str, failures))


def test_an_uninvited_hit_is_found(good: Path) -> None:
    """Without this, a runner that finds nothing would pass the test above."""
    path = good / "entries/host-os/disk-class.toml"
    text = path.read_text(encoding="utf-8").replace(
        "[rank3]: volume accepted", "acmed: relief valve opened at 7.5 bar\n[rank3]: volume accepted"
    )
    path.write_text(text, encoding="utf-8")
    (failure,) = Gallery(read_corpus(good).entries).run_pairs()
    assert (failure.entry, failure.case) == ("disk-class", "retry")
    assert failure.problem == "`valve-closed` fires uninvited"
    assert "relief on line 1" in failure.details[0]


def test_a_declared_guest_must_come(good: Path) -> None:
    path = good / "entries/host-os/disk-class.toml"
    text = path.read_text(encoding="utf-8").replace("fires = []", 'fires = []\nalso_fires = ["valve-closed"]')
    path.write_text(text, encoding="utf-8")
    (failure,) = Gallery(read_corpus(good).entries).run_pairs()
    assert failure.problem == "also_fires names `valve-closed`, which stays silent"


def test_a_broad_class_is_no_guest_and_bars_nobody(good: Path) -> None:
    """It loses every line that another entry has, so neither its hits nor hits on its lines are bugs."""
    path = good / "entries/host-os/disk-class.toml"
    text = path.read_text(encoding="utf-8").replace(
        "[rank3]: volume accepted", "acmed: relief valve opened at 7.5 bar\n[rank3]: volume accepted"
    )
    path.write_text(text, encoding="utf-8")
    valve = next((good / "entries").glob("*/valve-closed.toml"))
    body = valve.read_text(encoding="utf-8").replace('kind = "failure"', 'kind = "class"\nbroad = true')
    valve.write_text(body, encoding="utf-8")
    entries = scan_corpus(good).entries
    assert list(Gallery(entries).run_pairs()) == []
    log = good / "healthy/calm.log"
    log.write_text("acmed: relief valve opened at 7.5 bar\n", encoding="utf-8")
    assert [failure.entry for failure in Gallery(entries).run_healthy([log])] == ["valve-closed"]
