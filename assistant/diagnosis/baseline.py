"""A failed run beside one that went well: what only the failed one printed, and where the two part.

Nothing here is proof of a cause: a new line is a lead, and the verdict stands
on its own. Lines that a finding quotes already are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from assistant.diagnosis.templates import Familiar, Seen, Templates, read_templates
from assistant.logs.sources import Source, expand
from assistant.verdict import Baseline, Diagnosis, Line, NewLine
from corpus.errors import FirstfaultError
from corpus.record import read_records

MOST_NEW: Final = 200
"""New blocks kept in the result."""
MOST_AHEAD: Final = 5
"""Lines shown of how the good run went on."""


def compare(paths: Sequence[str], good_paths: Sequence[str], diagnosis: Diagnosis) -> Baseline:
    """Hold the failed run against a good one; raises FirstfaultError (exit 2) when either can't be read again."""
    if "-" in paths:
        raise FirstfaultError("--baseline reads the failed run twice, and a pipe can't be.", "Save it to a file first.")
    failed, good = expand(paths)[0], expand(good_paths)[0]
    try:
        return _compare(failed, good, tuple(good_paths), diagnosis)
    except OSError as error:
        raise FirstfaultError(f"The comparison stopped: {error.strerror or error}.", "Run it again.") from error


def _compare(
    failed: Sequence[Source], good: Sequence[Source], good_paths: tuple[str, ...], diagnosis: Diagnosis
) -> Baseline:
    bad, fine = read_templates(failed), read_templates(good)
    familiar = Familiar(fine)
    quoted = {(line.source, line.line) for finding in diagnosis.all_findings() for line in finding.evidence}
    new, blocks = [], _new_blocks(bad, familiar)
    for first, size in blocks:
        if (failed[first.source].path, first.line) not in quoted:
            new.append(NewLine(line=_line(failed, first), count=first.count, lines=size))
    ours = _telling(failed, diagnosis)
    theirs = _counterpart(ours, good)
    common, ahead = (None, ()) if theirs is None else _parting(ours, theirs, (failed, bad), (good, fine))
    return Baseline(
        paths=good_paths,
        lines=fine.lines,
        templates=len(fine.seen),
        new=tuple(new[:MOST_NEW]),
        new_total=len(new),
        last_common=common,
        went_on=ahead,
        sampled=bool(bad.left_out or fine.left_out),
    )


def _new_blocks(bad: Templates, familiar: Familiar) -> list[tuple[Seen, int]]:
    """The first line of each run of new lines, with its number of lines; in order of source and line."""
    fresh = sorted(
        (seen for template, seen in bad.seen.items() if template not in familiar),
        key=lambda seen: (seen.source, seen.line),
    )
    blocks: list[tuple[Seen, int]] = []
    last: Seen | None = None
    for seen in fresh:
        if last is not None and seen.source == last.source and seen.line == last.line + 1:
            blocks[-1] = (blocks[-1][0], blocks[-1][1] + 1)
        else:
            blocks.append((seen, 1))
        last = seen
    return blocks


def _parting(
    ours: Source, theirs: Source, failed: tuple[Sequence[Source], Templates], good: tuple[Sequence[Source], Templates]
) -> tuple[Line | None, tuple[Line, ...]]:
    """The last milestone that both reached, and how the good run went on; of one pair of sources that belong together."""
    bad, fine = _alone(ours, *failed), _alone(theirs, *good)
    shared = [template for template in bad.seen if template in fine.seen]
    if not shared:
        return None, ()
    order = list(fine.seen)
    reached = Familiar(bad)
    rest = order[order.index(shared[-1]) + 1 :]
    ahead = [fine.seen[template] for template in rest if template not in reached][:MOST_AHEAD]
    return _line([ours], bad.seen[shared[-1]]), tuple(_line([theirs], seen) for seen in ahead)


def _alone(source: Source, sources: Sequence[Source], read: Templates) -> Templates:
    """The templates of one source; it is read again only where it was read together with others."""
    return read if len(sources) == 1 else read_templates([source])


def _telling(failed: Sequence[Source], diagnosis: Diagnosis) -> Source:
    """The source with the first fault, else the largest."""
    first = diagnosis.initiating
    named = first.evidence[0].source if first is not None and first.evidence else ""
    found = next((source for source in failed if source.path == named), None)
    return found or max(failed, key=lambda source: source.size_hint or 0)


def _counterpart(ours: Source, good: Sequence[Source]) -> Source | None:
    """The only source of the good run, or the one of the same name."""
    if len(good) == 1:
        return good[0]
    name = PurePath(ours.path).name
    same = [source for source in good if PurePath(source.path).name == name]
    return same[0] if len(same) == 1 else None


def _line(sources: Sequence[Source], seen: Seen) -> Line:
    record = next(iter(read_records(seen.text.encode("utf-8", "replace"), seen.line)), None)
    return Line(
        source=sources[seen.source].path,
        line=seen.line,
        text=seen.text,
        rank=record.rank if record else None,
        host=record.host if record else None,
    )
