"""The prose of the entry pane: overview, fix and FAQ of an entry, and the verdict as a whole."""

from __future__ import annotations

from assistant.reports._rest import states
from assistant.reports._words import (
    called,
    heading,
    headline,
    listing,
    named,
    owner,
    place,
    plural,
    run_facts,
    skew,
    suspected,
    tag,
    title,
    versions,
)  # fmt: skip
from assistant.tui.case import Case, Dossier, Step
from assistant.tui.sheet import BOLD, MUTED, PLACE, Sheet, plain
from assistant.verdict import Finding

OPENING = 2
"""Facts with which a conversation opens; all of them stand in the overview."""


def overview(dossier: Dossier) -> Sheet:
    """What it is, why it is blamed, whose it is, and what happened physically."""
    sheet = Sheet()
    if dossier.finding is not None:
        _of_finding(sheet, dossier.case, dossier.finding)
    body = dossier.body
    if not body:
        return sheet.gap().add("No entry covers this, so there is nothing more to read about it.", style=MUTED)
    draft = "" if body["status"] == "verified" else f"{body['status']} entry, "
    facts = f"{draft}{body['kind']} of {body['component']}; severity {body['severity']}, usually {body['role']}"
    sheet.head("In short").add(dossier.filled(body["summary"])).add(facts, style=MUTED)
    sheet.head("What happens").add(dossier.filled(body.get("mechanism")))
    _points(sheet, "What one notices", [dossier.filled(item) for item in body.get("observe", ())])
    _points(sheet, "Narrowed by", [dossier.filled(item) for item in body.get("narrows", ())])
    if body.get("symptom"):
        sheet.head("What tells the cases apart")
        for item in body["symptom"]:
            sheet.add(dossier.filled(item["seen"]), lead="- ").add(dossier.filled(item["means"]), indent=2, style=MUTED)
    _decision(sheet, dossier)
    _points(sheet, "Affected", body.get("affects", ()))
    return sheet


def _of_finding(sheet: Sheet, case: Case, finding: Finding) -> None:
    where = "   ".join(
        part for part in (place(finding, case.diagnosis.run), case.clock.when_told(finding, always=True)) if part
    )
    sheet.add(f"{heading(finding)}  {where}".rstrip(), style="bold $text-error" if _is_first(finding) else BOLD)
    sheet.add(tag(finding), style=MUTED)
    if finding.evidence:
        sheet.log(finding.evidence[0].place, finding.evidence[0].text)
    if finding.code is not None:
        sheet.add(called(finding.code), lead="your code   ")
    _because(sheet, facts_of(finding))
    sheet.add(finding.refuted_by, lead="refuted by  ")
    if finding.role in {"initiating", "downstream"} and finding.entry is not None:
        sheet.add(owner(finding), lead="owner       ")


def facts_of(finding: Finding) -> list[str]:
    """Why a finding is blamed, fact by fact: one to a row can be read, a row of six cannot."""
    return [fact for fact in finding.because.split("; ") if fact]


def _because(sheet: Sheet, facts: list[str], more: str = "") -> None:
    sheet.add("because" if facts else "", style=MUTED)
    for fact in facts:
        sheet.add(fact, lead="- ")
    sheet.add(more, lead="- ", style=MUTED)


def _is_first(finding: Finding) -> bool:
    return finding.role == "initiating"


def _points(sheet: Sheet, label: str, items: object) -> None:
    texts = [str(item) for item in items] if isinstance(items, list | tuple) else []
    if texts:
        sheet.head(label)
        for text in texts:
            sheet.add(text, lead="- ")


def _decision(sheet: Sheet, dossier: Dossier) -> None:
    decision = dossier.body.get("decision")
    if decision:
        sheet.head("The one control that decides").add(dossier.filled(decision["control"]))
        for key in ("follows_workload", "follows_node", "gone"):
            sheet.add(dossier.filled(decision[key]), lead=f"{key.replace('_', ' ')}: ", indent=2)


def fix(dossier: Dossier) -> Sheet:
    """The cure, the proof that it holds, what to resume from, and when to stop trying."""
    sheet = Sheet()
    body = dossier.body
    if dossier.finding is not None and dossier.finding.role == "downstream":
        sheet.add("This followed from another fault: mend that one first.", style="bold $text-warning").gap()
    for step in dossier.fixes():
        _step(sheet, step)
    verify = body.get("verify")
    if verify:
        sheet.head("Fixed when").add(dossier.filled(verify["expect"])).command(dossier.filled(verify.get("command")))
    for key, label in (("recovery", "Resume from"), ("escalate", "Stop trying when")):
        if body.get(key):
            sheet.head(label).add(dossier.filled(body[key]))
    if body.get("compare"):
        sheet.head("With the fix and without")
        for key, text in body["compare"].items():
            sheet.add(dossier.filled(text), lead=f"{key.replace('_', ' ')}: ")
    for item in body.get("stack", ()):
        sheet.head(item["stack"]).add(dossier.filled(item["advice"]))
    _points(sheet, "So that it stays away", [dossier.filled(item) for item in body.get("prevent", ())])
    return sheet


def _step(sheet: Sheet, step: Step) -> None:
    sheet.add(plain(step.step, BOLD), lead=plain(f"{step.number}. ", BOLD)).command(step.command, indent=3)
    sheet.add(step.why, lead="why: ", indent=3).add(step.undo, lead="undo: ", indent=3)


def faq(dossier: Dossier) -> Sheet:
    """Questions that people ask of this failure, then those of its family."""
    sheet = Sheet()
    for question, answer in dossier.faq():
        sheet.gap().add(question, style=BOLD).add(answer, indent=2)
    return sheet


def verdict(case: Case) -> Sheet:
    """The verdict as a whole: status, suspects, what to fetch, collectives, the run, warnings."""
    diagnosis = case.diagnosis
    sheet = Sheet().add(plain(diagnosis.status.upper(), BOLD)).add(headline(diagnosis))
    for group in diagnosis.collectives[:3]:
        sheet.head(f"Collective {group.group}" + (f", number {group.seq}" if group.seq is not None else ""))
        for members, state in states(group):
            sheet.add(state, lead=f"{named(members)}: ")
    if diagnosis.suspects:
        sheet.head("Suspects")
    for suspect in diagnosis.suspects[:12]:
        sheet.add(suspected(suspect, diagnosis.run), style=BOLD).add(suspect.because, indent=2)
    if diagnosis.fetch_next:
        sheet.head("Fetch next")
    for item in diagnosis.fetch_next:
        sheet.add(item.what, style=BOLD).command(item.command, indent=2).add(item.why, lead="why: ", indent=2)
    _unexplained(sheet, case)
    sheet.head("The run").add(", ".join(run_facts(diagnosis, case.clock))).add(versions(diagnosis.run))
    sheet.add(skew(diagnosis.run), lead="clocks differ: ")
    sheet.add(listing([source.path for source in diagnosis.sources], most=6), lead="read: ", style=PLACE)
    _points(sheet, "Good to know", list(diagnosis.warnings))
    return sheet


def _unexplained(sheet: Sheet, case: Case) -> None:
    if case.diagnosis.run.last_lines:
        sheet.head("The log ends with")
        for line in case.diagnosis.run.last_lines:
            sheet.log(line.place, line.text)
    for item in case.diagnosis.unexplained[:3]:
        sheet.head("No entry for")
        for line in item.excerpt[:8]:
            sheet.log(line.place, line.text)


def welcome(case: Case) -> Sheet:
    """How the conversation opens: what came first, whose it is and why it is blamed; status and headline stand above."""
    diagnosis = case.diagnosis
    sheet = Sheet()
    lead = diagnosis.initiating
    if lead is None:
        sheet.add(headline(diagnosis), style=BOLD)
        for suspect in diagnosis.suspects[:OPENING]:
            sheet.gap().add(suspected(suspect, diagnosis.run), lead="suspect  ", style="bold $text-warning")
            sheet.add(suspect.because, indent=2)
        for item in diagnosis.fetch_next[:1]:
            sheet.gap().add(item.what, lead="fetch next  ").command(item.command, indent=2).add(item.why, indent=2)
        return sheet
    where = "   ".join(part for part in (place(lead, diagnosis.run), case.clock.when(lead)) if part)
    sheet.add(title(lead), style="bold $text-error").add(where)
    if lead.evidence:
        sheet.log(lead.evidence[0].place, lead.evidence[0].text)
    if lead.entry is not None:
        sheet.gap().add(owner(lead), lead="owner    ")
    facts = facts_of(lead)
    more = len(facts) - OPENING
    told = f"{plural(more, 'more fact')} in the entry's overview" if more > 0 else ""
    _because(sheet, facts[:OPENING], told)
    return sheet
