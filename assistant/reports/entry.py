"""An entry as text: the sections of its file and what its family adds, in the order in which one needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from assistant.reports._page import Page
from corpus.errors import FirstfaultError

if TYPE_CHECKING:
    from corpus.catalogue import Catalogue

Body = Mapping[str, Any]


class UnknownSectionError(FirstfaultError):
    """An entry has no section of that name."""


def render(
    body: Body,
    family: Body,
    catalogue: Catalogue,
    *,
    sections: Sequence[str] = (),
    width: int = 100,
    colour: bool = False,
) -> str:
    """The whole entry, or only some sections."""
    page = Page(width, colour=colour)
    names = [_known(name) for name in sections]
    if not names:
        _title(page, body)
    for name, (label, draw) in _SECTIONS.items():
        if name in names or (not names and name not in _ON_DEMAND):
            before = len(page)
            draw(page, label, _Material(body, family, catalogue).of(name), catalogue)
            if len(page) == before and name in names:
                page.head(label, "the entry says nothing about this")
            page.gap()
    if not names:
        hidden = " ".join(f"--section {name}" for name in ("family", "log") if name != "family" or family)
        page.head("MORE", f"firstfault show {body['id']} {hidden}", label_style="dim", style="dim")
    return str(page)


class _Material:
    """Finds what a section shows: a key of the entry, or of its family."""

    def __init__(self, body: Body, family: Body, catalogue: Catalogue) -> None:
        self._body = body
        self._family = family
        self._catalogue = catalogue

    def of(self, name: str) -> Any:
        """The value of a section, None where it is empty."""
        if name == "caused_by":
            own = self._body["id"]
            return sorted(head.id for head in self._catalogue.heads.values() if own in head.causes)
        if name == "collect":
            return self._family.get("collect")
        if name == "family":
            return self._family
        return self._body.get(name)


def _title(page: Page, body: Body) -> None:
    page.head("ENTRY", body["title"], body["id"], style="bold")
    proof = "" if body["status"] == "verified" else f"{body['status']}, "
    facts = f"{proof}{body['kind']} of {body['component']}; severity {body['severity']}, usually {body['role']}"
    page.text(facts, style="dim")
    page.text(f"owner: {body['scope']}; restart: {body['restart']}; reviewed {body['reviewed']}", style="dim")
    if body.get("replaced_by"):
        page.text(f"withdrawn; see {body['replaced_by']}")
    page.gap()


def _known(name: str) -> str:
    """The name of a section as typed, spelled in any of the usual ways."""
    key = name.lower().replace("-", "_")
    key = _ALIASES.get(key, key)
    if key in _SECTIONS:
        return key
    import difflib

    close = difflib.get_close_matches(key, [*_SECTIONS, *_ALIASES], n=1, cutoff=0.5)
    hint = f"Did you mean `{close[0]}`?" if close else f"Sections: {', '.join(_SECTIONS)}."
    raise UnknownSectionError(f"No section is called `{name}`.", hint)


def _prose(page: Page, label: str, value: Any, _: Catalogue) -> None:
    if value:
        page.head(label, value)


def _points(page: Page, label: str, value: Any, _: Catalogue) -> None:
    for number, item in enumerate(value or ()):
        page.head("" if number else label, item, lead="- ")


def _pairs(first: str, second: str) -> Callable[[Page, str, Any, Catalogue], None]:
    def draw(page: Page, label: str, value: Any, _: Catalogue) -> None:
        for number, item in enumerate(value or ()):
            page.head("" if number else label, item[first], style="bold")
            page.text(item[second], indent=2)

    return draw


def _steps(page: Page, label: str, value: Any, _: Catalogue) -> None:
    for number, item in enumerate(value or (), start=1):
        page.head(label if number == 1 else "", item["step"], lead=f"{number}. ", style="bold")
        page.command(item.get("command") or "", indent=3)
        for key in ("expect", "why", "undo"):
            page.text(item.get(key) or "", lead=f"{key}: ", indent=3)
        for key in ("confirms", "clears"):
            page.text(", ".join(f"`{text}`" for text in item.get(key) or ()), lead=f"{key}: ", indent=3)


def _collect(page: Page, label: str, value: Any, _: Catalogue) -> None:
    for number, item in enumerate(value or ()):
        page.head("" if number else label, item["what"], lead="- ")
        page.command(item.get("command") or "", indent=2)
        page.text(item["why"], lead="why: ", indent=2)


def _verify(page: Page, label: str, value: Any, _: Catalogue) -> None:
    if value:
        page.head(label, value["expect"])
        page.command(value.get("command") or "")


def _table(page: Page, label: str, value: Any, _: Catalogue) -> None:
    for number, (key, text) in enumerate((value or {}).items()):
        page.head("" if number else label, text, lead=f"{key.replace('_', ' ')}: ")


def _entries(page: Page, label: str, value: Any, catalogue: Catalogue) -> None:
    for number, key in enumerate(value or ()):
        head = catalogue.heads.get(key)
        page.head("" if number else label, f"{key}  {head.title if head else ''}".rstrip())


def _confused(page: Page, label: str, value: Any, catalogue: Catalogue) -> None:
    titled = [(item["id"], item["tell"], catalogue.heads.get(item["id"])) for item in value or ()]
    for number, (key, tell, head) in enumerate(titled):
        page.head("" if number else label, f"{key}  {head.title if head else ''}".rstrip(), style="bold")
        page.text(tell, lead="tell: ", indent=2)


def _signatures(page: Page, label: str, value: Any, _: Catalogue) -> None:
    for number, item in enumerate(value or ()):
        page.head("" if number else label, item["name"], item.get("tier", "scan"), style="bold")
        for text in item.get("lines") or [item["text"]]:
            page.text(text, indent=2)
        for source in item.get("source", ()):
            page.text(_source(source), lead="source: ", indent=4)


def _source(source: Body) -> str:
    if source.get("repo"):
        commit = f" at {source['commit'][:12]}" if source.get("commit") else ""
        return f"{source['repo']} {source['path']}{commit}"
    return source.get("artifact") or source.get("spec") or ", ".join(source.get("urls", ()))


def _references(page: Page, label: str, value: Any, _: Catalogue) -> None:
    for number, item in enumerate(value or ()):
        page.head("" if number else label, item["title"])
        page.raw(item["url"], indent=2, whole=True)


def _logs(page: Page, label: str, value: Any, _: Catalogue) -> None:
    for number, item in enumerate(value or ()):
        fires = ", ".join(item["fires"]) if item["fires"] else f"stays quiet: {item.get('why', '')}"
        page.head("" if number else label, f"{item['name']} ({fires})", style="bold")
        for line in item["text"].strip("\n").splitlines():
            page.raw(line, indent=2, whole=True)


def _family(page: Page, label: str, value: Any, catalogue: Catalogue) -> None:
    if not value:
        return
    page.head(label, value["title"], style="bold")
    page.text(value["introduction"])
    _steps(page, "", value.get("check"), catalogue)
    _pairs("q", "a")(page, "", value.get("faq"), catalogue)


_SECTIONS: Final[dict[str, tuple[str, Callable[[Page, str, Any, Catalogue], None]]]] = {
    "summary": ("SUMMARY", _prose),
    "mechanism": ("MECHANISM", _prose),
    "narrows": ("NARROWED BY", _points),
    "observe": ("OBSERVE", _points),
    "symptom": ("SYMPTOMS", _pairs("seen", "means")),
    "collect": ("COLLECT", _collect),
    "check": ("CONFIRM", _steps),
    "decision": ("CONTROL", _table),
    "fix": ("FIX", _steps),
    "verify": ("FIXED WHEN", _verify),
    "recovery": ("RECOVERY", _prose),
    "escalate": ("ESCALATE", _prose),
    "prevent": ("PREVENT", _points),
    "stack": ("STACKS", _pairs("stack", "advice")),
    "compare": ("COMPARE", _table),
    "faq": ("FAQ", _pairs("q", "a")),
    "confused_with": ("LOOK-ALIKES", _confused),
    "causes": ("CAUSES", _entries),
    "caused_by": ("CAUSED BY", _entries),
    "related": ("RELATED", _entries),
    "affects": ("AFFECTS", _points),
    "signature": ("SIGNATURES", _signatures),
    "reference": ("REFERENCES", _references),
    "asks": ("ASKED AS", _points),
    "tags": ("TAGS", _points),
    "log": ("LOGS", _logs),
    "family": ("FAMILY", _family),
}
_ON_DEMAND: Final = frozenset({"asks", "tags", "log", "family"})
"""Sections that are shown only when they are asked for."""
_ALIASES: Final = {
    "confirm": "check", "checks": "check", "checklist": "check", "symptoms": "symptom", "fixes": "fix",
    "control": "decision", "fixed_when": "verify", "look_alikes": "confused_with", "confused": "confused_with",
    "signatures": "signature", "references": "reference", "logs": "log", "stacks": "stack", "questions": "faq",
    "owner": "escalate", "resume": "recovery",
}  # fmt: skip
