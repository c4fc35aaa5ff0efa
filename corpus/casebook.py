"""The corpus against its own logs: own cases, all pairs, healthy logs, mutations.

Own cases: each [[log]] fires exactly the signatures that it names. All pairs:
every entry over every other entry's logs; an uninvited hit is a bug or a
declared `also_fires`. Healthy: nothing fires. Mutations: one literal word
altered silences a signature, wrapping its line in launcher, time, colour, JSON
or container prefixes does not. `python -m corpus test` and pytest run the same.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus.head import Head, SignatureHead, head_data, head_from
from corpus.match import AtomHit, Hit, Matcher
from corpus.model import Entry, HarmlessLine, LogCase
from corpus.reader import CorpusFiles
from corpus.record import Record, read_records
from corpus.signature import Pattern, fixed_parts

HARMLESS = "harmless"
"""Name of harmless.toml among the entries in a report."""

_STEP = re.compile(r"\b(?:step|iter|iteration|global_step|it)\b[ \t:=\[#/]*(\d+)", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that does not hold, with the lines that show it."""

    entry: str
    case: str
    problem: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        shown = "".join(f"\n    {line}" for line in self.details)
        return f"{self.entry} / {self.case}: {self.problem}{shown}"


def head_of(entry: Entry) -> Head:
    """The head of an entry that was just read."""
    return head_from(head_data(entry.model_dump(mode="json", by_alias=True, exclude_none=True)))


def records_of(text: str) -> list[Record]:
    """The records of a log text, numbered from 1."""
    lines = text.encode().split(b"\n")
    return [record for number, line in enumerate(lines, start=1) for record in read_records(line, number)]


def progress_lines(records: Iterable[Record]) -> list[int]:
    """Lines on which a step counter went up, for signatures that `unbroken` binds to its standing still."""
    lines, last = [], -1
    for record in records:
        found = _STEP.search(record.message)
        if found is not None and int(found.group(1)) > last >= 0:
            lines.append(record.number)
        if found is not None:
            last = int(found.group(1))
    return lines


def _resolve(matcher: Matcher, records: Sequence[Record]) -> list[Hit]:
    found = matcher.scan_records(records)
    return matcher.resolve(found, progress={0: progress_lines(records)}).hits


# ------------------------------------------------------------------------------------------ own cases


@dataclass(frozen=True)
class EntryCases:
    """One entry with the matcher of its own signatures, candidate tier included."""

    entry: Entry
    head: Head
    matcher: Matcher

    @classmethod
    def of(cls, entry: Entry) -> EntryCases:
        """Compile the signatures of one entry."""
        head = head_of(entry)
        live = head._replace(status="draft") if head.status == "retired" else head
        return cls(entry, live, Matcher([live], with_candidates=True, with_broad=True))

    def run(self, case: LogCase) -> Failure | None:
        """Try one log of the entry; None when it fires exactly what it names."""
        records = records_of(case.text)
        hits = _resolve(self.matcher, records)
        fired = {hit.signature for hit in hits}
        # A shorter wording inside a longer one of the same entry is hidden by it; naming both is right too.
        missing = [name for name in case.fires if name not in fired and not self._fires_alone(name, records)]
        unexpected = sorted(fired - set(case.fires))
        if not missing and not unexpected:
            return None
        said = [f"does not fire {', '.join(missing)}"] if missing else []
        said += [f"fires {', '.join(unexpected)} uninvited"] if unexpected else []
        details = [self._explain(name, records) for name in missing]
        details += [f"line {h.record.number}: {h.record.raw[:160]}" for h in hits if h.signature in unexpected]
        return Failure(self.entry.id, case.name, " and ".join(said), tuple(details))

    def _signature(self, name: str) -> SignatureHead | None:
        return next((signature for signature in self.head.signatures if signature.name == name), None)

    def _fires_alone(self, name: str, records: Sequence[Record]) -> bool:
        signature = self._signature(name)
        if signature is None:
            return False
        matcher = Matcher([self.head._replace(signatures=(signature,))], with_candidates=True, with_broad=True)
        return bool(_resolve(matcher, records))

    def _explain(self, name: str, records: Sequence[Record]) -> str:
        """Why a signature is silent: the first part that no line holds, or the context that refused."""
        signature = self._signature(name)
        if signature is None:
            return f"{name}: no signature has this name"
        matcher = Matcher([self.head._replace(signatures=(signature,))], with_candidates=True, with_broad=True)
        unmet = matcher.resolve(matcher.scan_records(records), progress={0: progress_lines(records)}).unmet
        if unmet:
            return f"{name}: line {unmet[0].record.number} matches, but {unmet[0].reason}"
        for text in signature.texts:
            if not any(Pattern(text).search(record.text) for record in records):
                return f"{name}: {_first_absent(text, records)}"
        absent = self._absent_literal(matcher, signature, records)
        if absent:
            return f"{name}: the scan looks for `{absent}` with these very blanks; write them as the log has them"
        return f"{name}: its lines match, but not in their order, distance or at its level"

    def _absent_literal(self, matcher: Matcher, signature: SignatureHead, records: Sequence[Record]) -> str:
        """A scan literal of the signature that no record holds as it is spelt."""
        for text in signature.texts:
            atom = matcher.atom(text)
            mine = (i for i in range(len(matcher.literals)) if atom in matcher.atoms_of(i))
            literals = [matcher.literals[i].decode() for i in mine]
            if literals and not any(literal in record.text for literal in literals for record in records):
                return literals[0]
        return ""


def _first_absent(text: str, records: Sequence[Record]) -> str:
    for part in fixed_parts(text):
        wanted = " ".join(part.split())
        if not any(wanted in " ".join(record.text.split()) for record in records):
            return f"no line holds `{part}`"
    return f"all its words are there, but a placeholder of `{text}` does not fit"


def run_own_cases(entry: Entry) -> Iterator[Failure]:
    """All logs of one entry that do not do what they say."""
    cases = EntryCases.of(entry)
    for case in entry.log:
        failure = cases.run(case)
        if failure is not None:
            yield failure


# ------------------------------------------------------------------------------------------ all pairs


class Gallery:
    """All entries in one matcher, as the scan uses them."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = [entry for entry in entries if entry.status != "retired"]
        heads = [head_of(entry) for entry in self.entries]
        self.matcher = Matcher(heads)
        self.with_broad = Matcher(heads, with_broad=True)

    def run_pairs(self, ids: Iterable[str] = ()) -> Iterator[Failure]:
        """Uninvited hits on the logs of all entries; with `ids`, those that touch one of these.

        Broad classes give way to whatever else stands on a line: they are no guests, and on what they fire everybody is welcome.
        """
        chosen = set(ids)
        for entry in self.entries:
            for case in entry.log:
                if not (entry.broad and case.fires):
                    yield from self._run_pair(entry, case, chosen)

    def _run_pair(self, entry: Entry, case: LogCase, chosen: set[str]) -> Iterator[Failure]:
        by_entry: dict[str, list[Hit]] = defaultdict(list)
        for hit in _resolve(self.matcher, records_of(case.text)):
            by_entry[hit.entry].append(hit)
        for other, hits in sorted(by_entry.items()):
            is_asked = not chosen or entry.id in chosen or other in chosen
            if other == entry.id or other in case.also_fires or not is_asked:
                continue
            details = [f"{hit.signature} on line {hit.record.number}: {hit.record.raw[:160]}" for hit in hits[:3]]
            yield Failure(entry.id, case.name, f"`{other}` fires uninvited", tuple(details))
        for other in case.also_fires:
            if other not in by_entry and (not chosen or entry.id in chosen):
                yield Failure(entry.id, case.name, f"also_fires names `{other}`, which stays silent")

    def run_healthy(self, paths: Iterable[Path]) -> Iterator[Failure]:
        """Everything that fires on logs of runs that went well."""
        for path in paths:
            records = records_of(path.read_text(encoding="utf-8", errors="replace"))
            for hit in _resolve(self.with_broad, records):
                details = (f"line {hit.record.number}: {hit.record.raw[:160]}",)
                yield Failure(hit.entry, path.name, f"`{hit.signature}` fires on a healthy log", details)


# ------------------------------------------------------------------------------------------ mutations

WRAPPERS: dict[str, Callable[[str], str]] = {
    "torchrun rank": lambda line: f"[rank3]: {line}",
    "torchrun tee": lambda line: f"[default5]:{line}",
    "srun label": lambda line: f"12: {line}",
    "mpirun tag": lambda line: f"[1,7]<stderr>:{line}",
    "iso time": lambda line: f"2026-11-12T04:18:11.902Z {line}",
    "python logging": lambda line: f"2026-11-12 04:18:11,902 - trainer - ERROR - {line}",
    "glog": lambda line: f"E1112 04:18:11.902134  2210 service.cc:418] {line}",
    "syslog": lambda line: f"Nov 12 04:18:11 gpu-node-07 kernel: [482113.640021] {line}",
    "colour": lambda line: f"\x1b[31m{line}\x1b[0m",
    "CRI": lambda line: f"2026-11-12T04:18:11.902134561Z stderr F {line}",
    "JSON lines": lambda line: json.dumps({"ts": "2026-11-12T04:18:11Z", "level": "error", "msg": line}),
    "docker JSON": lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": "2026-11-12T04:18:11Z"}),
    "Ray worker": lambda line: f"(train_fn pid=4121, ip=10.0.4.7) {line}",
    "vLLM worker": lambda line: f"(EngineCore_DP0 pid=4121) ERROR 11-12 04:18:11 [core.py:812] {line}",
    "pod prefix": lambda line: f"[pod/trainer-0/main] {line}",
    "carriage return": lambda line: f"step 10: 45%|####   |\r{line}\r",
    "CRLF": lambda line: f"{line}\r",
}
"""What launchers and platforms put around a line."""


def run_mutations(entry: Entry) -> Iterator[Failure]:
    """Signatures that survive an altered word, or that a prefix silences."""
    cases = EntryCases.of(entry)
    for case in entry.log:
        tried: set[int] = set()
        for found in cases.matcher.scan_records(records_of(case.text)) if case.fires else ():
            if found.atom not in tried:
                tried.add(found.atom)
                text = cases.matcher.texts[found.atom]
                yield from _altered(cases, case, found, text)
                yield from _wrapped(cases, case, found, text)


def _altered(cases: EntryCases, case: LogCase, found: AtomHit, text: str) -> Iterator[Failure]:
    """Alter each literal word of a hit in turn; the signature must fall silent there."""
    certain = {word for part in fixed_parts(text) for word in _WORD.findall(part)}
    pattern = Pattern(text)
    line = found.record.text
    for word in _WORD.finditer(line, found.start, found.end):
        if word.group() not in certain or line.count(word.group(), found.start, found.end) > 1:
            continue
        altered = line[: word.start()] + _alter(word.group()) + line[word.end() :]
        match = pattern.search(altered)
        if match is not None and match.start <= word.start() < match.end:
            problem = f"still matches `{text[:60]}` with `{word.group()}` altered"
            yield Failure(cases.entry.id, case.name, problem, (altered[:200],))


def _alter(word: str) -> str:
    """The word with its middle letter replaced, as a typo or another version would."""
    middle = len(word) // 2
    letter = "q" if word[middle].lower() != "q" else "z"
    return word[:middle] + (letter.upper() if word[middle].isupper() else letter) + word[middle + 1 :]


def _wrapped(cases: EntryCases, case: LogCase, found: AtomHit, text: str) -> Iterator[Failure]:
    """Wrap the message of a hit in every prefix; the signature must still be found."""
    plain = found.record.text[_unprefixed(found) :]
    pattern = Pattern(text)
    for name, wrap in WRAPPERS.items():
        records = read_records(wrap(plain).encode(), found.record.number)
        if not any(pattern.search(record.text) for record in records):
            yield Failure(cases.entry.id, case.name, f"`{text[:60]}` is hidden by: {name}", (wrap(plain)[:200],))


def _unprefixed(found: AtomHit) -> int:
    """Where the message of a record starts, but never behind the start of the match."""
    text, message = found.record.text, found.record.message
    start = text.rfind(message) if message else 0
    return min(max(start, 0), found.start)


# ------------------------------------------------------------------------------------------ harmless lines


def deciding_records(entry: Entry, case: LogCase) -> list[Record]:
    """The records of a firing log on which the entry's signatures stand."""
    hits = _resolve(EntryCases.of(entry).matcher, records_of(case.text)) if case.fires else []
    return list({hit.record.number: hit.record for hit in hits}.values())


def run_harmless(lines: Iterable[HarmlessLine]) -> Iterator[Failure]:
    """Harmless lines that do not match their own sample, bare or wrapped, or whose `unless` stands on it."""
    for number, line in enumerate(lines, start=1):
        if line.sample is None:
            continue
        pattern = Pattern(line.text)
        for name, wrap in {"as printed": str.strip, **WRAPPERS}.items():
            text = wrap(line.sample.strip())
            if not any(pattern.search(record.text) for record in read_records(text.encode(), 1)):
                problem = f"`{line.text[:60]}` does not match its sample ({name})"
                yield Failure(HARMLESS, f"line {number}", problem, (text[:200],))
                break
        if line.unless is not None and Pattern(line.unless).search(line.sample):
            problem = f"`{line.text[:60]}` is never harmless: its `unless` stands on the sample itself"
            yield Failure(HARMLESS, f"line {number}", problem, (line.sample[:200],))


# ------------------------------------------------------------------------------------------ everything


def run_all(files: CorpusFiles, ids: Iterable[str] = ()) -> Iterator[tuple[str, Failure]]:
    """Every failure with the kind of test that found it; with `ids`, for these entries."""
    chosen = set(ids)
    entries = [entry for entry in files.entries if not chosen or entry.id in chosen]
    for entry in entries:
        yield from (("case", failure) for failure in run_own_cases(entry))
    if not chosen or HARMLESS in chosen:
        yield from (("harmless", failure) for failure in run_harmless(files.harmless))
    gallery = Gallery(files.entries)
    yield from (("pair", failure) for failure in gallery.run_pairs(chosen))
    for failure in gallery.run_healthy(files.healthy):
        if not chosen or failure.entry in chosen:
            yield "healthy", failure
    for entry in entries:
        yield from (("mutation", failure) for failure in run_mutations(entry))
