"""Answers: the best FAQ first, then what the entry or the verdict says to the wish, else an honest no.

Everything that is stated comes from a place that is cited; notes in between are
the program's own and state nothing about the failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from assistant.chat import blame, facts, places, sections, story
from assistant.chat.contract import Answer, AnswerLine, Confidence, Intent
from assistant.chat.draft import Draft
from assistant.chat.findings import finding_of
from assistant.chat.followups import follow_ups
from assistant.chat.material import Material
from assistant.chat.ranking import MAYBE, NEAR, SURE, Ranked, Ranker
from assistant.chat.router import Route, about_it
from assistant.chat.search import Search, covers
from assistant.chat.session import Session
from assistant.chat.subject import is_sure, share, substance, without_findings
from assistant.chat.values import conversation_values
from assistant.chat.words import Weights, capital, content, sentences
from assistant.verdict import Diagnosis, Finding

KNOWN: Final = 0.5
"""Share of a question's words that the material must know, else the wish alone decides nothing."""
ELSEWHERE: Final = 0.75
"""Share of a question's words that another entry's passage must have to be asked instead."""
SAME: Final = 0.75
"""From here two questions are the same in other words."""
STAY: Final = 0.2
"""The entry in focus answers unless another one's FAQ is nearer by this much."""
RECENT: Final = 2
"""Turns back in which a reader still sees what was said."""
_NEEDS_CAUSE: Final = frozenset({"fix", "why", "owner", "restart", "hardware", "confirm", "unknown", "what-is"})
_VERDICT_FIRST: Final = frozenset({"rank", "when", "collect"})
"""Wishes where the facts of this run go before what is true of every run."""
_DECISIONS: Final = frozenset({"restart", "resume", "owner", "escalate", "fixed", "confirm", "fix"})
"""Wishes to which another finding's answer may do harm."""
_FAQ_BEHIND: Final = frozenset({"hardware", "resume", "restart", "fix", "owner", "rank"})
"""Wishes behind whose section a FAQ that is like the question still helps."""
_WHOLE: Final = frozenset({"story", "lines", "rank", "when", "collect"})
"""Wishes that the verdict answers even where no entry is known."""


@dataclass
class Answerer:
    """Answers routed questions from one catalogue and one search."""

    material: Material
    search: Search

    def __post_init__(self) -> None:
        self.ranker = Ranker(self.material, self.search)
        self._told: frozenset[str] = frozenset()

    def answer(self, route: Route, session: Session) -> Answer:
        """The answer to a routed question."""
        recent = [turn for turn in session.turns[-RECENT:] if turn.intent != route.intent]
        self._told = frozenset(place for turn in recent for place in turn.citations)
        if not route.english and not route.named:
            return self._ask_for_english(route, session)
        if route.intent == "blame":
            return self._blame(route, session)
        finding = self._finding(route, session)
        if (told := self._value(route, session, finding)) is not None:
            return told
        if route.narrow:
            return self._narrow(route, session)
        if route.entry is not None and (finding is None or finding.entry is not None):
            return self._from_entry(route, session, finding)
        if finding is not None or session.diagnosis is not None:
            return self._from_verdict(route, session, finding)
        return self._from_corpus(route, session, self._draft(session, None))

    # --------------------------------------------------------------------------------------- parties

    def _finding(self, route: Route, session: Session) -> Finding | None:
        diagnosis = session.diagnosis
        if diagnosis is None:
            return None
        if route.finding is not None:
            return diagnosis.finding(route.finding)
        if route.entry is not None:
            first = diagnosis.initiating
            # Nothing was named yet and the first fault has no entry: the verdict as a whole is meant.
            if not route.named and not session.turns and first is not None and first.entry is None:
                return finding_of(diagnosis, route.entry) if route.intent not in _WHOLE else first
            return finding_of(diagnosis, route.entry)
        return finding_of(diagnosis, None)

    def _draft(self, session: Session, finding: Finding | None) -> Draft:
        values = conversation_values(finding, session.diagnosis)
        entry = finding.entry.id if finding is not None and finding.entry is not None else None
        return Draft(self.material, session.diagnosis, values, entry=entry, told=self._told)

    def _value(self, route: Route, session: Session, finding: Finding | None) -> Answer | None:
        """A value of the log, where the question asks for one."""
        if session.diagnosis is None or not route.english or route.intent == "compare":
            return None
        draft = self._draft(session, finding)
        intent = places.tell(draft, route.question, session.diagnosis, finding)
        if intent is None and not facts.tell(draft, route.question, session.diagnosis, finding):
            return None
        confidence: Confidence = "grounded" if draft.said else "unknown"
        return self._finish(draft, replace(route, intent=intent or "value"), session, None, confidence)

    def _blame(self, route: Route, session: Session) -> Answer:
        """Whether a rank or host is the one."""
        draft = self._draft(session, finding_of(session.diagnosis, None))
        if session.diagnosis is not None:
            blame.tell(draft, session.diagnosis, route.parties)
        return self._finish(draft, route, session, None, "grounded")

    # --------------------------------------------------------------------------------------- entries

    def _from_entry(self, route: Route, session: Session, finding: Finding | None) -> Answer:
        assert route.entry is not None
        if route.intent == "unknown" and route.named and not substance(route):
            route = replace(route, intent="what-is")
        faqs = self.ranker.faqs(without_findings(route.question), route.entries)
        best = self._best_faq(faqs, route, session)
        entry, finding = self._answering(best, route, session, finding)
        draft = self._draft(session, finding)
        about = sections.About(
            entry, self.material.body(entry), without_findings(route.question), finding, route.other, session.ticks
        )
        if not route.english:
            draft.note("Questions are answered in English; this is what the entry says.")
        confidence: Confidence = "grounded"
        if best is not None:
            confidence = "grounded" if is_sure(best, route) else "partial"
            if route.intent in _VERDICT_FIRST and session.diagnosis is not None:
                self._tell(draft, about, route, session.diagnosis)
            if route.intent == "restart":
                draft.say(sections.RESTART[about.body["restart"]], about.at("restart"))
            draft.say(best.answer, best.citation)
            self._support(draft, about, route.intent, best)
        elif not self._is_verdicts(route, session) and (elsewhere := self._elsewhere(route, faqs)) is not None:
            return self._from_another(elsewhere, route, session)
        elif not self._is_verdicts(route, session) and not self._knows(route, session):
            return self._unknown(draft, about, route, session, faqs)
        else:
            confidence = self._by_wish(draft, about, route, session, faqs)
            if not draft.said:
                return self._unknown(draft, about, route, session, faqs)
        # The talk goes on about what it was about, unless the question named another finding.
        aside = route.aside or (entry != route.entry and not route.named)
        return self._finish(draft, replace(route, aside=aside), session, entry, confidence)

    def _best_faq(self, faqs: Sequence[Ranked], route: Route, session: Session) -> Ranked | None:
        """The FAQ that answers, the focus' own unless another is clearly nearer; a named entry speaks for itself."""
        assert route.entry is not None
        if route.intent == "lines" and session.diagnosis is not None:
            return None  # who wants to see lines wants no words
        least = SURE if route.intent in _WHOLE and session.diagnosis is not None else MAYBE
        if not substance(route):
            # Nothing but the wish: the entry's own section answers it, unless the very question is in the FAQ.
            least = SAME if sections.answers(self.material.body(route.entry), route.intent) else SURE
        good = [item for item in faqs if item.score >= least]
        if not good:
            return None
        own = next((item for item in good if item.passage.entry == route.entry), None)
        if route.intent in _DECISIONS:
            # What holds for a consequence may be wrong for the fault that is spoken of: a restart, for one.
            mine = {route.entry, self.material.family_of(route.entry)}
            is_free = route.intent == "fix"
            good = [item for item in good if item.passage.entry in mine or (is_free and item.score >= SAME)]
            if not good:
                return None
        if own is not None and own.score >= good[0].score - STAY:
            return own
        if route.named and not good[0].passage.entry.startswith("family:"):
            return own
        return good[0]

    def _answering(
        self, best: Ranked | None, route: Route, session: Session, finding: Finding | None
    ) -> tuple[str, Finding | None]:
        """The entry that the answer is about: the one in focus, or the one whose FAQ answers."""
        assert route.entry is not None
        owner = best.passage.entry if best is not None else route.entry
        if owner.startswith("family:") or owner == route.entry:
            return route.entry, finding
        return owner, finding_of(session.diagnosis, owner)

    def _support(self, draft: Draft, about: sections.About, intent: Intent, best: Ranked) -> None:
        """Behind a FAQ: a command that confirms or mends, or a passage that fits as well."""
        if best.passage.entry.startswith("family:"):
            sections.no_cause(draft, about)
        if intent == "confirm":
            sections.confirm(draft, about, most=1)
        elif intent == "fix":
            sections.fix(draft, about, most=1)
        elif intent in {"why", "story"} and about.finding is not None and about.finding.evidence:
            draft.quote(about.finding.evidence[0])
        elif draft.has_room and intent not in _DECISIONS and len(content(about.question)) > 1:
            for ranked in self.ranker.passages(about.question, [about.entry])[:1]:
                if ranked.score >= SURE:
                    self._quote_passage(draft, about.question, ranked)

    def _by_wish(
        self, draft: Draft, about: sections.About, route: Route, session: Session, faqs: Sequence[Ranked]
    ) -> Confidence:
        """What the entry or the verdict says to the wish; without a wish the nearest passages."""
        intent = route.intent
        if intent in _NEEDS_CAUSE:
            sections.no_cause(draft, about)
            if intent not in {"what-is", "hardware", "owner"}:
                sections.narrow(draft, about)
        if intent in story.TELLERS and session.diagnosis is not None:
            self._tell(draft, about, route, session.diagnosis)
        if intent in sections.SECTIONS and not (intent == "what-is" and not route.named and substance(route)):
            sections.SECTIONS[intent](draft, about)
        if intent in {"hardware", "owner"}:
            sections.narrow(draft, about)
        if intent == "collect":
            self._collect(draft, about)
        if intent == "unknown" or not draft.said:
            return self._nearest(draft, about, faqs)
        if intent in _FAQ_BEHIND:
            for item in faqs[:3]:
                if item.score >= SURE and item.passage.entry == about.entry and draft.has_room:
                    draft.say(item.answer, item.citation)
                    break
        return "grounded"

    def _tell(self, draft: Draft, about: sections.About, route: Route, diagnosis: Diagnosis) -> None:
        """The verdict's word; an entry that is no finding of it has none of its own."""
        finding, intent = about.finding, route.intent
        if intent == "lines" and route.ranks and story.lines_of(draft, diagnosis, route.ranks):
            return
        if finding is None and intent not in {"story", "rank", "collect"}:
            finding = finding_of(diagnosis, None)
            if finding is not None:
                draft.note(f"{about.entry} is no finding of these logs; this is about {finding.id}.")
        story.TELLERS[intent](draft, diagnosis, finding)

    def _collect(self, draft: Draft, about: sections.About) -> None:
        """What the family says to save before a restart destroys it."""
        family = self.material.family_of(about.entry)
        for number, item in enumerate(self.material.body(family).get("collect", [])[:3], start=1):
            if not draft.has_room:
                return
            place = f"{family}#collect-{number}"
            draft.say(f"{item['what'][:1].upper()}{item['what'][1:]}: {item['why']}", place)
            draft.command(item.get("command"), place)

    def _nearest(self, draft: Draft, about: sections.About, faqs: Sequence[Ranked]) -> Confidence:
        """The passages that are nearest, as far as they are worth quoting."""
        entries = [about.entry]
        ranked = [item for item in self.ranker.passages(about.question, entries) if item.score >= NEAR][:2]
        near = [item for item in faqs if item.score >= MAYBE and item.passage.entry in entries][:1]
        for item in near:
            draft.say(item.answer, item.citation)
        for item in ranked:
            if draft.has_room:
                self._quote_passage(draft, about.question, item)
        best = max((item.score for item in (*near, *ranked)), default=0.0)
        return "grounded" if best >= 0.7 and len(content(about.question)) > 1 else "partial"

    def _quote_passage(self, draft: Draft, question: str, ranked: Ranked) -> None:
        """A passage, of a long one the sentences that share words with the question."""
        passage = ranked.passage
        body = self.material.body(passage.entry)
        if passage.kind in {"check", "fix"}:
            item = body[passage.kind][passage.number - 1]
            more = f"Expect: {item['expect']}" if passage.kind == "check" else capital(item["why"])
            draft.say(f"{sections.ended(item['step'])} {more}", passage.id)
            draft.command(item.get("command"), passage.id)
            return
        pieces = sentences(passage.text)
        if len(pieces) > 3:
            weights, words = Weights.of(pieces), content(question)
            order = sorted(range(len(pieces)), key=lambda at: (-weights.covered(words, content(pieces[at])), at))
            pieces = [pieces[at] for at in sorted(order[:2])]
        draft.say(" ".join(pieces), passage.id)

    def _is_verdicts(self, route: Route, session: Session) -> bool:
        """Whether the verdict answers, whatever words the question uses."""
        return session.diagnosis is not None and route.intent in story.TELLERS

    def _knows(self, route: Route, session: Session) -> bool:
        """Whether the material speaks of what the question is about at all."""
        words = substance(route)
        if not words or route.intent == "compare" or (route.intent == "what-is" and route.named):
            return True
        owners = [owner for owner, _ in self.ranker.owners(route.entries)]
        texts = [passage.encoded_text for owner in owners for passage in self.material.passages(owner)]
        finding = finding_of(session.diagnosis, route.entry)
        texts += [line.text for line in finding.evidence] if finding is not None else []
        known = frozenset().union(*(content(text) for text in texts))
        return len(words & known) / len(words) > KNOWN

    # --------------------------------------------------------------------------------------- the rest

    def _unknown(
        self, draft: Draft, about: sections.About, route: Route, session: Session, faqs: Sequence[Ranked]
    ) -> Answer:
        """The entry does not say; another entry may, and what is nearest."""
        draft.note(f"The entry {about.entry} does not say.")
        near = next((item for item in faqs if item.score > 0.15), None)
        if near is not None:
            draft.say(f"Nearest is: {near.question}", near.citation)
        return self._finish(draft, route, session, about.entry, "unknown")

    def _elsewhere(self, route: Route, faqs: Sequence[Ranked]) -> str | None:
        """Another entry, where it speaks of what the question is about and those under discussion do not."""
        words = substance(route)
        if route.named or len(words) < 2 or (faqs and faqs[0].score >= MAYBE):
            return None
        hits = self.search.search(route.question, k=3)
        if not hits or not covers(hits) or hits[0].entry in route.entries or not self.material.knows(hits[0].entry):
            return None
        there = share(words, hits[0].passage.encoded_text)
        near = self.ranker.passages(route.question, route.entries)[:1]
        here = max((share(words, item.passage.encoded_text) for item in near), default=0.0)
        return hits[0].entry if there >= ELSEWHERE and there > here + 0.15 else None

    def _from_another(self, entry: str, route: Route, session: Session) -> Answer:
        """The answer of an entry that is not under discussion; the talk stays where it is."""
        found = Route(about_it(route.intent), (entry,), True, question=route.question)
        answer = self._from_entry(found, session, finding_of(session.diagnosis, entry))
        note = AnswerLine(text=f"The findings here do not say; {entry} speaks of it.", form="note")
        update = {"answer": f"{note.text}\n{answer.answer}", "lines": (note, *answer.lines), "entry": None}
        return answer.model_copy(update={**update, "confidence": "partial"})

    def _from_verdict(self, route: Route, session: Session, finding: Finding | None) -> Answer:
        """Nothing that an entry covers is in focus: the verdict speaks, then the corpus."""
        diagnosis = session.diagnosis
        assert diagnosis is not None
        draft = self._draft(session, finding)
        if route.intent in story.TELLERS:
            story.TELLERS[route.intent](draft, diagnosis, finding)
        elif finding is not None and finding.entry is None:
            story.unexplained(draft, diagnosis, finding)
            story.collect(draft, diagnosis, finding)
        if not draft.said and story.is_quiet(diagnosis) and route.intent not in {"what-is", "compare"}:
            story.nothing(draft, diagnosis)
            story.collect(draft, diagnosis, finding)
        elif not draft.said:
            return self._from_corpus(route, session, draft)
        return self._finish(draft, route, session, None, "grounded" if route.intent in story.TELLERS else "partial")

    def _from_corpus(self, route: Route, session: Session, draft: Draft) -> Answer:
        """No log is spoken of: the entry that answers best, if one does."""
        hits = self.search.search(route.question, k=3) if substance(route) else []
        if not hits or not covers(hits) or not self.material.knows(hits[0].entry):
            if session.diagnosis is None:
                draft.note(
                    "No diagnosis is kept and no entry answers this. Name a log with --log or an entry with --entry."
                )
            else:
                draft.note("Neither the verdict nor an entry says anything about that.")
            if hits and self.material.knows(hits[0].entry):
                draft.say(f"Nearest is: {self.material.body(hits[0].entry)['title']}", f"{hits[0].entry}#title-1")
            return self._finish(draft, route, session, None, "unknown")
        found = Route(about_it(route.intent), (hits[0].entry,), True, question=route.question, english=route.english)
        answer = self._from_entry(found, session, finding_of(session.diagnosis, found.entry))
        # The question did not name the entry: a guess says so, names the others, and is never more than partial.
        named = [
            f"{self.material.body(hit.entry)['title']} ({hit.entry})" for hit in hits if self.material.knows(hit.entry)
        ]
        others = f" If it is not that: {' or '.join(named[1:])}." if named[1:] else ""
        note = AnswerLine(text=f"Nearest entry: {named[0]}.{others}", form="note")
        update = {"answer": f"{note.text}\n{answer.answer}", "lines": (note, *answer.lines)}
        confidence = "partial" if answer.confidence == "grounded" else answer.confidence
        return answer.model_copy(update={**update, "confidence": confidence})

    def _narrow(self, route: Route, session: Session) -> Answer:
        draft = self._draft(session, None)
        draft.note("No first fault is in these logs, so it may be about either. Which one do you mean?")
        for finding in route.narrow:
            assert finding.entry is not None
            draft.say(f"{finding.id}: {finding.entry.title}", f"verdict#{finding.id}")
        choices = tuple(finding.id for finding in route.narrow)
        return draft.finish(route.question, route.intent, "partial", follow_ups=choices)

    def _ask_for_english(self, route: Route, session: Session) -> Answer:
        draft = self._draft(session, None)
        draft.note("Please ask in English, or name what you mean (an entry, an Xid, an error name); "
                   "entries are written in English.")  # fmt: skip
        return self._finish(draft, route, session, None, "unknown")

    def _finish(
        self, draft: Draft, route: Route, session: Session, entry: str | None, confidence: Confidence
    ) -> Answer:
        about = entry or route.entry
        if confidence == "grounded" and entry is not None and self.material.body(entry)["status"] == "draft":
            confidence = "partial"
        next_ = follow_ups(self.material, session, about, route, [p for line in draft.lines for p in line.citations])
        entry = None if route.aside else entry
        return draft.finish(route.question, route.intent, confidence, entry=entry, follow_ups=next_)
