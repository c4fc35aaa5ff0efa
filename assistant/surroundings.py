"""What stands around a fault in its log: the reader's own line of code, and what was printed just before.

A Python traceback names every call; a reader wants the deepest one that is in
code of theirs, not in a library's. It is looked for in the traceback that ends
in the deciding line, then in those chained below it (the first exception of a
chain is often raised and caught inside one library).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from assistant.verdict import CodeFrame, Diagnosis, EvidenceLine, Finding, Line

if TYPE_CHECKING:
    from assistant.diagnosis.reading import Run
    from corpus.record import Record

MOST_BEFORE: Final = 3
"""Lines before the first fault that are kept."""
REACH: Final = 400
"""Records that are looked at above and below a deciding line."""
_TRACEBACK: Final = "Traceback (most recent call last)"
_GAP: Final = 6
"""Lines of a message that may stand between its first one, which ends the traceback, and the deciding one."""
_CHAIN_GAP: Final = 40
"""Lines from an exception to the traceback that is chained to it."""
_FRAME: Final = re.compile(
    r'^(?:[|+ ]{0,20})?File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,7})(?:,? in (?P<name>\S.{0,200}))?$'
)
_CHAINED: Final = re.compile(r"^(?:During handling of the above exception|The above exception was the direct cause)")
_CURRENT: Final = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+ .*\(most recent call first\)")
_GOES_ON: Final = re.compile(r":$|NCCL error in")
"""An exception whose message is known to go on below."""
_MARKS: Final = re.compile(r"^[\^~ ]+$")

_LIBRARY: Final = re.compile(
    r"(?:^|/)(?:site|dist)-packages/|(?:^|/)lib(?:64)?/python\d[\d.]*/|(?:^|/)python\d[\d.]*/lib/|\\[Ll]ib\\"
    r"|^<|(?:^|/)\.?s?bin/[^/]*$|\.(?:pyx|pxi|pyc|so)$|(?:^|/)_bazel|\.runfiles/|/pex/|\.zip/"
)
_FRAMEWORKS: Final = re.compile(
    r"(?:^|/)(?:torch|torchvision|torchaudio|torchgen|transformers|accelerate|deepspeed|vllm|sglang|ray|jax|jaxlib|flax"
    r"|tensorflow|keras|lightning|pytorch_lightning|lightning_fabric|megatron|tensorrt_llm|triton|xformers|flash_attn"
    r"|sgl_jax|llamafactory|datasets|diffusers|peft|trl|composer|fairscale|fairseq|nemo|apex|torchtitan|torchtune|text_generation_server"
    r"|lmdeploy|optimum|litgpt|verl|numpy|scipy|pandas|fsspec|s3fs|gcsfs|webdataset|wandb|mlflow|triton_python_backend_utils"
    r")/(?!(?:.*/)?(?:examples?|scripts|recipes|projects)/)"
)
"""Packages that are also run from a checkout, where no `site-packages` tells them; their example scripts are the
reader's."""


def is_own(file: str) -> bool:
    """Whether a file of a traceback is the reader's code: no library, no interpreter, no launcher."""
    return _LIBRARY.search(file) is None and _FRAMEWORKS.search(file) is None


def with_surroundings(diagnosis: Diagnosis, run: Run) -> Diagnosis:
    """The diagnosis with the reader's line of code beside each finding, and what came before the first fault."""
    around = {finding.id: _around(finding, run, diagnosis) for finding in diagnosis.all_findings()}
    if not any(around.values()):
        return diagnosis

    def enriched(finding: Finding) -> Finding:
        found = around.get(finding.id)
        return finding.model_copy(update=found) if found else finding

    first = diagnosis.initiating
    return diagnosis.model_copy(
        update={
            "initiating": enriched(first) if first is not None else None,
            "findings": tuple(enriched(finding) for finding in diagnosis.findings),
            "independent": tuple(enriched(finding) for finding in diagnosis.independent),
        }
    )


def _around(finding: Finding, run: Run, diagnosis: Diagnosis) -> dict[str, object]:
    """The parts of a finding that this module adds; empty where the logs give none."""
    if not finding.evidence or finding.role == "unrelated":
        return {}
    decides = finding.evidence[0]
    at = _place(decides, run)
    if at is None:
        return {}
    source, position = at
    records = run.sources[source].records
    found: dict[str, object] = {}
    frame = _own_frame(records, position)
    if frame is not None:
        found["code"] = _code(frame, records, decides, run, source)
    if diagnosis.initiating is not None and finding.id == diagnosis.initiating.id:
        found["before"] = tuple(_line(record, decides, run, source) for record in _before(records, position))
    return {key: value for key, value in found.items() if value}


def _place(line: EvidenceLine, run: Run) -> tuple[int, int] | None:
    """Source and position of a line among the decoded records."""
    if line.source not in run.paths:
        return None
    source = run.paths.index(line.source)
    records = run.sources[source].records
    position = bisect_left(records, line.line, key=lambda record: record.number)
    if position == len(records) or records[position].number != line.line:
        return None
    return source, position


# ------------------------------------------------------------------------------------------- code


def _own_frame(records: Sequence[Record], at: int) -> int | None:
    """Position of the deepest frame of the reader's own code, None where no traceback names one."""
    for frames in _tracebacks(records, at):
        for position in frames:
            found = _FRAME.match(records[position].message)
            if found is not None and is_own(found["file"]):
                return position
    return None


def _tracebacks(records: Sequence[Record], at: int) -> Iterator[list[int]]:
    """Positions of the frames, deepest first: of the traceback that ends here, of a crash dump, of chained ones."""
    yield _frames_above(records, at)
    yield _frames_of_dump(records, at)
    while (end := _chained(records, at)) is not None:
        yield _frames_above(records, end)
        at = end


def _is_bare(record: Record) -> bool:
    return record.time is None and record.level is None and not any(record.stream)


def _same_stream(record: Record, other: Record) -> bool:
    return record.stream == other.stream


def _frames_above(records: Sequence[Record], at: int) -> list[int]:
    """Frames between a traceback's head and the exception that ends it, the last printed (deepest) first."""
    decides = records[at]
    frames: list[int] = []
    message = [decides]
    for position in range(at - 1, max(-1, at - REACH), -1):
        record = records[position]
        is_head = _TRACEBACK in record.message
        # A logger stamps only the head of a traceback; the bare lines below belong to it.
        if not _same_stream(record, decides) and not (is_head and _is_bare(decides)):
            continue
        if is_head:
            return frames
        if _FRAME.match(record.message) is not None:
            if not frames and not _is_message(message):
                return []
            frames.append(position)
        elif record.message and not record.indent and not _MARKS.match(record.message):
            if frames:
                return frames
            message.append(record)
            if len(message) > _GAP:
                return []
    return frames


def _is_message(lines: Sequence[Record]) -> bool:
    """Whether lines below a frame, the last one first, are the message of one exception."""
    decides = lines[0]
    return (
        len(lines) == 1
        or (decides.indent > 0 and decides.level is None)
        or _GOES_ON.search(lines[-1].message) is not None
    )


def _frames_of_dump(records: Sequence[Record], at: int) -> list[int]:
    """Frames of the thread that crashed, as faulthandler prints them below its headline: the deepest first already."""
    if not records[at].message.startswith("Fatal Python error"):
        return []
    frames: list[int] = []
    is_current = False
    for position in range(at + 1, min(len(records), at + REACH)):
        record = records[position]
        if not _same_stream(record, records[at]):
            continue
        if _CURRENT.match(record.message):
            if is_current:
                break
            is_current = record.message.startswith("Current")
        elif is_current and _FRAME.match(record.message):
            frames.append(position)
        elif is_current and not record.message:
            break
    return frames


def _chained(records: Sequence[Record], at: int) -> int | None:
    """The exception that ends the next traceback of a chain, None where none is chained to this one."""
    stream = [
        position
        for position in range(at + 1, min(len(records), at + REACH))
        if _same_stream(records[position], records[at])
    ]
    link = next((n for n, at_ in enumerate(stream[:_CHAIN_GAP]) if _CHAINED.match(records[at_].message)), None)
    if link is None:
        return None
    is_inside = False
    for position in stream[link:]:
        record = records[position]
        if _TRACEBACK in record.message:
            is_inside = True
        elif is_inside and record.message and not record.indent and not _FRAME.match(record.message):
            return position
    return None


def _code(position: int, records: Sequence[Record], decides: EvidenceLine, run: Run, source: int) -> CodeFrame:
    record = records[position]
    found = _FRAME.match(record.message)
    assert found is not None
    below = _next_of_stream(records, position)
    code = below.message if below is not None and below.indent > record.indent else ""
    if _FRAME.match(code) or _MARKS.match(code):
        code = ""
    return CodeFrame(
        file=found["file"], line=int(found["line"]), function=found["name"] or "", code=code[:400],
        at=_line(record, decides, run, source),
    )  # fmt: skip


def _next_of_stream(records: Sequence[Record], position: int) -> Record | None:
    following = records[position + 1 : position + 1 + _CHAIN_GAP]
    return next((record for record in following if _same_stream(record, records[position])), None)


# ------------------------------------------------------------------------------------------- before


def _before(records: Sequence[Record], at: int) -> list[Record]:
    """The last lines of the same stream before the block of a record; of any where the stream has none."""
    begins = _begin(records, at)
    above = [record for record in records[max(0, begins - REACH) : begins] if record.message.strip()]
    own = [record for record in above if _same_stream(record, records[at])]
    return (own or above)[-MOST_BEFORE:]


def _begin(records: Sequence[Record], at: int) -> int:
    """Where the traceback begins that ends in a record, or the one in whose message it stands; the record where none does."""
    begins = at
    while frames := _frames_above(records, at):
        begins = frames[-1]
        above = range(begins - 1, max(-1, begins - REACH), -1)
        begins = next((position for position in above if _TRACEBACK in records[position].message), begins)
        at = begins - 1  # a worker's traceback is the message of the exception that carries it
        if at < 0:
            break
    return begins


def _line(record: Record, decides: EvidenceLine, run: Run, source: int) -> Line:
    return Line(
        source=decides.source,
        line=record.number,
        text=run.raw_line(source, record.number) or record.raw,
        rank=record.rank,
        host=record.host,
    )
