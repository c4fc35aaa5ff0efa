"""The compiled form answers what the heads say, reads only what is asked for, and refuses what is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from corpus.atoms import BuiltTable
from corpus.catalogue import Catalogue, compile_corpus
from corpus.compiled import CompiledFile
from corpus.errors import CorpusError
from corpus.head import Head
from corpus.match import Matcher
from corpus.wording import BuiltWording
from index.nearmiss import NearMissIndex
from tests.heads import records


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    """The bundled corpus, read from a compiled file."""
    return Catalogue.load(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture
def compiled(good: Path) -> Path:
    """The compiled form of the small corpus of the tests."""
    path = good.parent / "compiled"
    path.write_bytes(compile_corpus(good))
    return path


def live(catalogue: Catalogue) -> list[Head]:
    """The heads that a scan looks for."""
    return [head for head in catalogue.heads.values() if head.status != "retired" and not head.broad]


def test_broad_classes_are_known_without_the_other_heads(bundled: Catalogue) -> None:
    assert bundled.broad == sorted(head for head in bundled.heads.values() if head.broad) != []


def test_the_tables_are_those_that_the_heads_give(bundled: Catalogue) -> None:
    table = bundled.table
    assert table is not None
    built = BuiltTable(live(bundled), bundled.literals)
    assert list(table.texts) == built.texts
    assert list(table.literals) == built.literals
    assert table.key == built.key
    for literal in range(len(built.literals)):
        assert table.literals[literal] == built.literals[literal]
        assert table.atoms_of(literal) == built.atoms_of(literal)
    for atom in range(len(built.texts)):
        assert table.texts[atom] == built.texts[atom]
        assert list(table.literals_of(atom)) == list(built.literals_of(atom))
        mine, theirs = table.uses_of(atom), built.uses_of(atom)
        assert [(use.head, use.signature) for use in mine] == [(use.head, use.signature) for use in theirs]
    places = [use.place for atom in range(len(built.texts)) for use in table.uses_of(atom)]
    order = [use.place for atom in range(len(built.texts)) for use in built.uses_of(atom)]
    assert sorted(range(len(places)), key=places.__getitem__) == sorted(range(len(order)), key=order.__getitem__)


def test_a_matcher_of_the_tables_finds_what_one_of_the_heads_finds(bundled: Catalogue) -> None:
    log = records(
        "NVRM: Xid (PCI:0000:8a:00): 79, pid=1, GPU has fallen off the bus.\n"
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.25 GiB is free."
    )
    results = []
    for matcher in (Matcher.of(bundled), Matcher(bundled.heads.values(), bundled.literals)):
        resolution = matcher.resolve(matcher.scan_records(log))
        results.append([(hit.entry, hit.signature, hit.record.number, hit.atom) for hit in resolution.hits])
    assert results[0] == results[1] and len(results[0]) >= 2


def test_what_was_not_asked_for_is_not_read(compiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    original = CompiledFile._read
    monkeypatch.setattr(
        CompiledFile, "_read", lambda self, start, stop: (read.append(stop - start), original(self, start, stop))[1]
    )
    catalogue = Catalogue([CompiledFile(compiled, "test")])
    assert catalogue.digest and not read
    assert catalogue.heads.get("no-such-entry") is None
    ids_only = sum(read)
    head = catalogue.heads[next(iter(catalogue.heads))]
    assert head is catalogue.heads[head.id]
    assert sum(read) - ids_only < compiled.stat().st_size / 8


@pytest.mark.parametrize("but_wrappers", [True, False])
def test_near_misses_of_the_compiled_words_are_those_of_the_heads(bundled: Catalogue, *, but_wrappers: bool) -> None:
    lines = [
        "NVRM: Xid (PCI:0000:8a:00): 79, pid=1, GPU has dropped off the bus.",
        "CUDA out of memory. Tried to reserve 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB",
        "srun: error: node-b: task 3: Exited with exit status 1",
        "Watchdog caught collective operation delay: WorkNCCL(SeqNum=7, OpType=ALLREDUCE)",
    ]
    wording = BuiltWording(bundled.heads.values())
    found = NearMissIndex.of(bundled, but_wrappers=but_wrappers).search(lines, limit=40)
    assert found == NearMissIndex(wording, but_wrappers=but_wrappers).search(lines, limit=40)
    assert found
    wrappers = {head.id for head in bundled.heads.values() if head.kind == "wrapper"}
    assert not but_wrappers or wrappers.isdisjoint(near.entry for near in found)


def test_leaving_wrappers_out_is_as_if_they_were_not_there(bundled: Catalogue) -> None:
    others = BuiltWording(head for head in bundled.heads.values() if head.kind != "wrapper")
    lines = ["srun: error: node-b: task 3: Exited with code 1", "ChildFailedError: train.py failed on rank 3"]
    without = NearMissIndex(BuiltWording(bundled.heads.values()), but_wrappers=True)
    assert without.search(lines, limit=20) == NearMissIndex(others).search(lines, limit=20)


def test_the_heads_are_a_mapping_in_the_order_of_the_files(bundled: Catalogue) -> None:
    heads = bundled.heads
    assert list(heads) == sorted(heads) and len(heads) == len(list(heads))
    assert [head.id for head in heads.values()] == list(heads)
    assert dict(heads.items()) == dict(heads)
    assert "no-such-entry" not in heads


def test_heads_read_one_by_one_stay_with_their_ids(compiled: Path) -> None:
    catalogue = Catalogue([CompiledFile(compiled, "the test's")])
    entries = list(catalogue.heads)
    for entry in reversed(entries):
        assert catalogue.heads[entry].id == entry
    assert [head.id for head in catalogue.heads.values()] == entries
    assert all(key == head.id for key, head in catalogue.heads.items())


@pytest.mark.parametrize("damage", ["empty", "cut", "longer", "other form", "no JSON"])
def test_a_damaged_file_is_refused(compiled: Path, damage: str) -> None:
    data = compiled.read_bytes()
    compiled.write_bytes(
        {
            "empty": b"",
            "cut": data[:-100],
            "longer": data + b"{}\n",
            "other form": data.replace(b'"form":', b'"form":1', 1),
            "no JSON": b"x" + data[1:],
        }[damage]
    )
    with pytest.raises(CorpusError, match="delete that file"):
        CompiledFile(compiled, str(compiled))


def test_a_damaged_cache_is_made_anew(good: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    before = Catalogue.load(good, cache_dir=cache)
    (file,) = cache.glob("corpus-*")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert dict(Catalogue.load(good, cache_dir=cache).heads) == dict(before.heads)
    assert file.read_bytes() == whole


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed there")
def test_the_file_may_be_removed_while_it_is_in_use(compiled: Path) -> None:
    part = CompiledFile(compiled, "test")
    compiled.unlink()
    assert part.head(0).id == part.ids[0]
    assert part.body(part.ids[0]) is not None
    assert part.body("no-such-entry") is None


@pytest.mark.parametrize("change", ["touch", "add", "remove", "harmless"])
def test_a_changed_directory_is_compiled_again(good: Path, tmp_path: Path, change: str) -> None:
    cache = tmp_path / "cache"
    Catalogue.load(good, cache_dir=cache)
    entry = next(good.glob("entries/*/*.toml"))
    if change == "touch":
        os.utime(entry, ns=(1, 1))
    elif change == "add":
        name = entry.stem + "-2"
        entry.with_name(f"{name}.toml").write_text(
            entry.read_text("utf-8").replace(f'id = "{entry.stem}"', f'id = "{name}"'), encoding="utf-8"
        )
    elif change == "remove":
        entry.unlink()
    else:
        (good / "harmless.toml").unlink()
    Catalogue.load(good, cache_dir=cache)
    assert len(list(cache.glob("corpus-*"))) == 2


def test_an_entry_of_an_overlay_takes_the_place_of_the_bundled_one(good: Path, compiled: Path) -> None:
    part = CompiledFile(compiled, "test")
    both = Catalogue([part, CompiledFile(compile_corpus(good), "overlay")])
    assert both.overridden == tuple(part.ids)
    assert list(both.heads) == list(part.ids)
    assert both.table is None  # what the tables number differs
    assert Matcher.of(both).literals == Matcher.of(Catalogue([part])).literals[:]
