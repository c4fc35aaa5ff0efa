"""The conversation: takes questions and pastes, gives answers, and keeps the session.

talk = Conversation(catalogue, session, search)
answer = talk.ask("how do I confirm it?")
answer = talk.paste(output_of_nvidia_smi)
save(talk.session)
"""

from __future__ import annotations

from assistant.chat.answers import Answerer
from assistant.chat.checks import judge_paste, kind_of
from assistant.chat.contract import Answer, Confidence, Judgement
from assistant.chat.draft import Draft
from assistant.chat.findings import finding_of, in_focus
from assistant.chat.followups import follow_ups
from assistant.chat.material import Material
from assistant.chat.router import Route, route
from assistant.chat.search import Search, WordSearch
from assistant.chat.sections import ended
from assistant.chat.session import Session, Tick, Turn
from assistant.chat.typed import tidied
from assistant.chat.values import conversation_values
from corpus.catalogue import Catalogue

_SAYS = {
    "confirms": "This confirms {title}",
    "clears": "This clears {title}: the check speaks against it",
    "nothing": "This says nothing about {title}",
}


class Conversation:
    """A talk about one verdict, one entry, or the corpus."""

    def __init__(self, catalogue: Catalogue, session: Session | None = None, search: Search | None = None) -> None:
        """Take the knowledge, the session to go on with, and a search (word overlap without one)."""
        self.material = Material(catalogue)
        self.session = session or Session()
        self.search: Search = search or WordSearch(self.material)
        self._answerer = Answerer(self.material, self.search)

    def say(self, text: str) -> Answer:
        """Whatever a person typed or pasted: a question, or the output of a command."""
        return self.ask(text) if kind_of(text) == "question" else self.paste(text)

    def ask(self, question: str) -> Answer:
        """Answer a question and remember the turn."""
        routed = route(tidied(question), self.session, self.material)
        answer = self._answerer.answer(routed, self.session)
        self._remember(question, answer, pending=routed.question if routed.narrow else "")
        return answer

    def paste(self, output: str, question: str = "") -> Answer:
        """Judge pasted output by the checks under discussion, and tick those that it decides."""
        entries = self._entries(question)
        owners = list(entries)
        owners += [self.material.family_of(entries[0])] if entries else []
        judgements = judge_paste(output, owners, self.material)
        decided = [item for item in judgements if item.says != "nothing"]
        shown = decided[:2] or judgements[:1]
        for item in decided:
            self.session = self.session.with_tick(f"{item.entry}#check-{item.check}", Tick(item.says, item.text[:400]))
        answer = self._judged(output, question, entries, tuple(shown), tuple(judgements))
        self._remember(question or "(output of a command)", answer)
        return answer

    def _entries(self, question: str) -> tuple[str, ...]:
        session = self.session
        focus = session.focus or (in_focus(session.diagnosis) if session.diagnosis else ())
        known = tuple(entry for entry in focus if self.material.knows(entry))
        routed = route(question, session, self.material) if question else None
        return routed.entries if routed is not None and routed.named else known

    def _judged(
        self,
        output: str,
        question: str,
        entries: tuple[str, ...],
        shown: tuple[Judgement, ...],
        judgements: tuple[Judgement, ...],
    ) -> Answer:
        entry = next((item.entry for item in shown if self.material.knows(item.entry)), entries[0] if entries else None)
        finding = finding_of(self.session.diagnosis, entry)
        draft = Draft(
            self.material, self.session.diagnosis, conversation_values(finding, self.session.diagnosis), output, entry
        )
        for item in shown:
            self._tell(draft, item)
        if not shown:
            draft.note(_NOT_JUDGED if entries else "No finding is under discussion, so there is no check to judge by.")
        if not any(item.says != "nothing" for item in shown) and kind_of(output) == "log":
            draft.note("It looks like a log: `firstfault FILE` diagnoses it.")
        routed = Route("paste", entries, question=question)
        next_ = follow_ups(self.material, self.session, entry, routed, ())
        confidence: Confidence = "grounded" if any(item.says != "nothing" for item in shown) else "unknown"
        return draft.finish(
            question, "paste", confidence, entry=entry, follow_ups=next_, judgements=judgements
        )  # fmt: skip

    def _tell(self, draft: Draft, item: Judgement) -> None:
        body = self.material.body(item.entry)
        check = body["check"][item.check - 1]
        place = f"{item.entry}#check-{item.check}"
        verdict = _SAYS[item.says].format(title=body["title"])
        draft.say(f"{verdict}. {ended(check['step'])} Expected: {check['expect']}", place)
        if item.line:
            draft.say(f"Decided by line {item.line}: {item.text.strip()[:200]}", f"paste:{item.line}")

    def _remember(self, question: str, answer: Answer, pending: str = "") -> None:
        turn = Turn(question, answer.answer, answer.intent, answer.entry, tuple(item.id for item in answer.citations))
        self.session = self.session.with_turn(turn, pending=pending)


_NOT_JUDGED = "No check of the findings under discussion judges this output."
