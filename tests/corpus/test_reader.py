"""The strict reader: every problem of a file at once, each with its line and in the words of TOML."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corpus.errors import CorpusError, EntryFileError
from corpus.model import Entry
from corpus.reader import parse, read_corpus, read_entry, read_family, read_incident, scan_corpus
from corpus.toml_lines import LineIndex

Edit = Callable[[Path, str, str], None]
PUMP = "entries/accelerator-hardware/pump-stalled.toml"


def problems_of(path: Path) -> list[str]:
    with pytest.raises(EntryFileError) as caught:
        read_entry(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [f"{lines[p.line - 1].strip()} => {p.code} {p.message}" for p in caught.value.problems]


def test_a_corpus_is_read_whole(good: Path) -> None:
    files = read_corpus(good)
    assert [entry.id for entry in files.entries] == ["pump-stalled", "valve-closed", "disk-class"]
    assert [family.id for family in files.families] == ["accelerator-hardware", "host-os"]
    assert [file.name for file in files.incident_files] == ["hot-rack"]
    assert [path.name for path in files.healthy] == ["calm.log"]
    pump = files.entries[0]
    assert pump.signature[0].source[0].repo == "acme/acmed"
    assert pump.check[0].sample[0].says == "confirms"


def test_single_files_are_read(good: Path) -> None:
    assert read_family(good / "families/host-os.toml").title == "Host"
    assert read_incident(good / "incidents/hot-rack.toml").initiating == "pump-stalled"


def test_all_problems_come_at_once_with_their_lines(good: Path, edit: Edit) -> None:
    path = good / PUMP
    edit(path, 'severity = "critical"', 'severity = "critcal"')
    edit(path, "reviewed = 2026-11-30", "reviewed = 2026-11-30T10:00:00")
    edit(path, 'tags = ["cooling"]', 'tags = [\n  "cooling",\n  7,\n]')
    edit(path, "text = '''acmed: loop", "txt = 1\ntext = '''acmed: loop")
    edit(path, 'says = "clears"', 'says = "clear"')
    edit(path, 'commit = "0123456789abcdef0123456789abcdef01234567"', 'commit = "main"')
    edit(path, 'q = "Is it my code?"\n', "")
    assert problems_of(path) == [
        "reviewed = 2026-11-30T10:00:00 => C005 `reviewed` is a date with a time; "
        "it must be a date such as 2026-11-30, without quotes.",
        'severity = "critcal" => C006 `severity` is `critcal`; allowed: low, medium, high, critical. '
        "Did you mean `critical`?",
        "7, => C005 `tags[2]` is an integer; it must be a string.",
        "txt = 1 => C003 unknown key `txt` in [[signature]] number 1; did you mean `text`?",
        'source = { repo = "acme/acmed", path = "src/loop.c", commit = "main" } => C006 '
        "`signature[1].source.commit` is `main`; it must be a full commit, 40 hexadecimal digits.",
        'says = "clear" => C006 `check[1].sample[2].says` is `clear`; allowed: confirms, clears, nothing. '
        "Did you mean `clears`?",
        "[[faq]] => C004 key `q` is missing in [[faq]] number 1.",
    ]


def test_a_key_of_the_file_below_a_table_is_sent_up(good: Path, edit: Edit) -> None:
    path = good / PUMP
    edit(path, '[[fix]]\nstep = "Seat', 'prevent_too = 1\nescalate = "Call."\n\n[[fix]]\nstep = "Seat')
    (unknown, misplaced) = problems_of(path)
    assert "unknown key `prevent_too` in [[fix]] number 1; known: step, command, why, undo." in unknown
    assert "move it above the first [table]" in misplaced


@pytest.mark.parametrize(
    ("find", "write", "says"),
    [
        ('restart = "other-node"', "restart = other-node", "text needs quotes"),
        ('restart = "other-node"', 'restart = "\\d"', "put the text between '''"),
        ('restart = "other-node"', 'restart = "a\x1b[0m"', "\\u001b"),
        ('restart = "other-node"', 'restart = "a"\nrestart = "b"', "this key stands twice"),
        ('restart = "other-node"', 'restart "other-node"', "a key is followed by ="),
        ("[verify]", "[decision]", "this table stands twice"),
        ("tach: 4120'''", "tach: 4120", "odd number of ''': a text above is not closed"),
        ("reads zero at no duty\n'''", "reads zero at no duty\n", "the string is not closed"),
    ],
)
def test_toml_errors_are_one_plain_sentence(find: str, write: str, says: str, good: Path, edit: Edit) -> None:
    path = good / PUMP
    edit(path, find, write)
    (problem,) = problems_of(path)
    assert "C002 no TOML: " in problem and says in problem


@pytest.mark.parametrize(
    ("find", "write", "says"),
    [
        ('name = "tachometer"\n', 'name = "tachometer"\nlines = ["a", "b"]\nwithin = 2\n', "either text or lines"),
        ('repo = "acme/acmed", ', "", "exactly one of repo, artifact, urls, spec"),
        ('path = "src/loop.c", ', "", "needs the path of the file"),
        ('why = "a pump that stands at zero duty is parked, not stalled"\n', "", "says why it must stay quiet"),
        ('name = "tachometer"\n', 'name = "tachometer"\nmin_count = "3"\n', "is a string; it must be an integer"),
        ('name = "tachometer"\n', 'name = "tachometer"\nlevel = "ERROR"\n', "is a string; it must be an array"),
        ("[verify]\n", "[[verify]]\n", "is an array; it must be a table"),
        (
            'name = "tachometer"\n',
            'name = "tachometer"\nrequires = [{ text = "x", within = 900 }]\n',
            "`signature[1].requires[1].within` is `900`",
        ),
    ],
)
def test_rules_inside_one_table(find: str, write: str, says: str, good: Path, edit: Edit) -> None:
    path = good / PUMP
    edit(path, find, write)
    (problem,) = problems_of(path)
    assert says in problem


def test_a_file_that_is_not_text_is_named(good: Path) -> None:
    (good / PUMP).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EntryFileError, match="not UTF-8 at byte 0"):
        read_entry(good / PUMP)
    with pytest.raises(EntryFileError, match="No such file"):
        read_entry(good / "entries/x/missing.toml")


def test_the_rest_of_a_corpus_is_read_beside_a_broken_file(good: Path, edit: Edit) -> None:
    edit(good / PUMP, 'kind = "failure"', 'kind = "failing"')
    files = scan_corpus(good)
    assert [entry.id for entry in files.entries] == ["valve-closed", "disk-class"]
    assert [problem.code for problem in files.problems] == ["C006"]
    with pytest.raises(EntryFileError, match="1 problem in the corpus"):
        read_corpus(good)


def test_a_directory_without_entries_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no directory `entries`"):
        read_corpus(tmp_path)


def test_windows_line_ends_change_nothing(good: Path) -> None:
    text = (good / PUMP).read_text(encoding="utf-8")
    unix = parse(text, good / PUMP, Entry).value
    assert parse(text.replace("\n", "\r\n"), good / PUMP, Entry).value == unix


TRICKY = """\
a = 1
"quoted key" = { b = [1, 2], c = "]" }
list = [
  "one",  # ] comment
  [2, 3],
  '''three
''',
]
text = '''
[[log]]
x = 1
'''

[table]
x = \"\"\"
[other] \\" x = 2\"\"\"
y.z = 3

[[log]]
x = 'a = [' # =

[[log.inner]]
k = 1

[[log]]
x = 2

[[log.inner]]
k = 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), "a = 1"),
        (("quoted key",), '"quoted key"'),
        (("quoted key", "b", 1), '"quoted key"'),
        (("list", 0), '"one"'),
        (("list", 1), "[2, 3]"),
        (("list", 2), "'''three"),
        (("text",), "text = "),
        (("table",), "[table]"),
        (("table", "y", "z"), "y.z = 3"),
        (("table", "missing"), "[table]"),
        (("log", 0), "[[log]]"),
        (("log", 0, "x"), "x = 'a"),
        (("log", 1, "x"), "x = 2"),
        (("log", 0, "inner", 0, "k"), "k = 1"),
        (("log", 1, "inner", 0, "k"), "k = 2"),
        (("nowhere",), "a = 1"),
    ],
)
def test_lines_are_found_in_spite_of_strings_that_look_like_toml(path: tuple[str | int, ...], line: str) -> None:
    number = LineIndex(TRICKY).line(path)
    assert TRICKY.splitlines()[number - 1].startswith(line) or line in TRICKY.splitlines()[number - 1]


@pytest.mark.parametrize("kind", ["failure", "wrapper"])
def test_only_a_class_is_broad(good: Path, edit: Edit, kind: str) -> None:
    path = good / PUMP
    edit(path, 'kind = "failure"', f'kind = "{kind}"\nbroad = true')
    (problem,) = problems_of(path)
    assert "only an entry of kind class is broad" in problem
