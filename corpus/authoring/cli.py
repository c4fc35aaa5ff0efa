"""The command line of `python -m corpus`: each verb imports what it needs, calls it, chooses an exit code.

0 clean · 1 findings · 2 usage · 4 the corpus cannot be read
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from corpus.errors import FirstfaultError, Problem

_EXIT_CODES = "Exit codes: 0 clean, 1 findings, 2 usage, 4 the corpus cannot be read."
CLEAN, FINDINGS, USAGE, UNREADABLE = 0, 1, 2, 4
ROOT = Path(__file__).resolve().parent.parent
"""The corpus that comes with the program."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except FirstfaultError as error:
        _err(str(error).rstrip())
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLEAN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m corpus", description="Write entries and keep them honest.", epilog=_EXIT_CODES
    )
    parser.add_argument("--corpus", type=Path, default=ROOT, metavar="DIR", help="another corpus directory")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    new = verbs.add_parser("new", help="write the skeleton of an entry")
    new.add_argument("family")
    new.add_argument("id")
    new.add_argument("--kind", choices=("failure", "class", "wrapper"), default="failure")
    new.add_argument("--from", dest="row", type=Path, metavar="ROW.jsonl", help="fill it from a research row")
    new.set_defaults(run=_new)

    lint = verbs.add_parser("lint", help="coded checks, each with why and how to mend")
    lint.add_argument("ids", nargs="*", metavar="ID", help="report these entries or families only")
    lint.add_argument("--explain", action="store_true", help="say why each code exists and how to mend it")
    lint.set_defaults(run=_lint)

    test = verbs.add_parser("test", help="own cases, all pairs, healthy logs, mutations")
    test.add_argument("ids", nargs="*", metavar="ID", help="test these entries only")
    test.set_defaults(run=_test)

    show = verbs.add_parser("show", help="print an entry")
    show.add_argument("id")
    show.set_defaults(run=_show)

    stats = verbs.add_parser("stats", help="coverage, and the generated tables of README.md")
    _check_or_write(stats)
    stats.set_defaults(run=_stats)

    diff = verbs.add_parser("diff", help="what changed between two revisions, and the version it asks for")
    diff.add_argument("before", metavar="A", help="git revision or corpus directory")
    diff.add_argument("after", metavar="B", nargs="?", default="", help="the same; the working tree if left out")
    diff.set_defaults(run=_diff)

    schema = verbs.add_parser("schema", help="the JSON Schema of entry files, for editors")
    _check_or_write(schema)
    schema.set_defaults(run=_schema)
    return parser


def _out(text: str) -> None:
    sys.stdout.write(text + "\n")


def _err(text: str) -> None:
    sys.stderr.write(text + "\n")


def _check_or_write(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="exit 1 if the committed file is stale")
    group.add_argument("--write", action="store_true", help="rewrite the committed file")


def shown(path: str) -> str:
    """A path as a person at this directory would type it."""
    try:
        return str(Path(path).resolve().relative_to(Path.cwd()))
    except ValueError:
        return path


def _print_problems(problems: Sequence[Problem]) -> None:
    for problem in problems:
        _out(f"{shown(problem.path)}:{problem.line}: {problem.code} {problem.message}")


def _new(options: argparse.Namespace) -> int:
    from corpus.authoring.skeleton import write_skeleton

    path = write_skeleton(options.corpus, options.family, options.id, options.kind, options.row)
    _out(shown(str(path)))
    _err(f"Fill it in, then: python -m corpus lint {options.id} && python -m corpus test {options.id}")
    return CLEAN


def _lint(options: argparse.Namespace) -> int:
    from corpus.lint import all_codes, lint_corpus

    report = lint_corpus(options.corpus, _stems(options.corpus, options.ids))
    _print_problems(report.problems)
    if options.explain:
        found = {problem.code for problem in report.problems}
        for code, title, why, mend in all_codes():
            if code in found:
                _out(f"\n{code} {title}\n  why:  {why}\n  mend: {mend}")
    waived = f", {report.waived} waived" if report.waived else ""
    _err(f"{len(report.problems)} problems in {report.entries} entries{waived}.")
    return FINDINGS if report.problems else CLEAN


def _test(options: argparse.Namespace) -> int:
    from corpus.casebook import run_all
    from corpus.reader import scan_corpus

    ids = _stems(options.corpus, options.ids)
    start = time.perf_counter()
    files = scan_corpus(options.corpus)
    unread = [problem for problem in files.problems if not ids or Path(problem.path).stem in ids]
    _print_problems(unread)
    number = 0
    for kind, failure in run_all(files, ids):
        number += 1
        _out(f"{kind}: {failure}")
    cases = sum(len(entry.log) for entry in files.entries if not ids or entry.id in ids)
    spent = time.perf_counter() - start
    _err(f"{number} failures in {cases} cases, {len(files.healthy)} healthy logs ({spent:.1f} s).")
    if unread:
        return UNREADABLE
    return FINDINGS if number else CLEAN


def _stems(root: Path, names: Sequence[str]) -> list[str]:
    """Ids for what a person typed (ids, aliases, file names); UnknownEntryError for what has no file."""
    from corpus.authoring.finding import find_file

    return [find_file(root, name).stem for name in names]


def _show(options: argparse.Namespace) -> int:
    from corpus.authoring.finding import find_file

    sys.stdout.write(find_file(options.corpus, options.id).read_text(encoding="utf-8"))
    return CLEAN


def _stats(options: argparse.Namespace) -> int:
    from corpus.authoring.tables import coverage, refresh
    from corpus.reader import read_corpus

    files = read_corpus(options.corpus)
    if options.check or options.write:
        return _settle(options, "stats", *refresh(files))
    _out(coverage(files))
    return CLEAN


def _schema(options: argparse.Namespace) -> int:
    from corpus.authoring.schema import SCHEMA_FILE, entry_schema

    path = options.corpus / SCHEMA_FILE
    text = entry_schema()
    if options.check or options.write:
        return _settle(options, "schema", path, text)
    sys.stdout.write(text)
    return CLEAN


def _settle(options: argparse.Namespace, verb: str, path: Path, text: str) -> int:
    """Compare a generated text with its committed file, or write it."""
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if old == text:
        return CLEAN
    if options.check:
        _out(f"{shown(str(path))} is stale; run `python -m corpus {verb} --write`.")
        return FINDINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    _out(shown(str(path)))
    return CLEAN


def _diff(options: argparse.Namespace) -> int:
    from corpus.authoring.changes import compare, report
    from corpus.authoring.revisions import entries_at

    before = entries_at(options.before, options.corpus)
    after = entries_at(options.after, options.corpus)
    _out(report(compare(before, after)))
    return CLEAN
