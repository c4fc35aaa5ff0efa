"""The kept session: whole or not at all, private, bounded, and free of clocks."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from assistant.chat import session as sessions
from assistant.chat.session import Session, SessionError, Tick, Turn, from_json, load, save, start, to_json
from assistant.verdict import Diagnosis


def full(diagnosis: Diagnosis) -> Session:
    turn = Turn("how?", "so.", "confirm", "cuda-oom", ("cuda-oom#check-1",))
    return start(diagnosis).with_turn(turn, pending="how?").with_tick("cuda-oom#check-1", Tick("confirms", "line"))


def test_round_trip(story: tuple[str, Diagnosis], tmp_path: Path) -> None:
    before = full(story[1])
    place = save(before, tmp_path / "deep" / "session.json")
    assert load(place) == before


def test_the_default_place_follows_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRSTFAULT_STATE_DIR", str(tmp_path / "state"))
    assert load() is None
    save(Session(focus=("cuda-oom",)))
    assert (tmp_path / "state" / "session.json").is_file()
    assert load() == Session(focus=("cuda-oom",))


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    place = save(Session(), tmp_path / "new" / "session.json")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


def test_a_failed_write_leaves_the_old_one_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = save(Session(focus=("cuda-oom",)), tmp_path / "session.json")

    def broken(_: Session) -> str:
        raise OSError("no space")

    monkeypatch.setattr(sessions, "to_json", broken)
    with pytest.raises(OSError, match="no space"):
        save(Session(), place)
    assert load(place) == Session(focus=("cuda-oom",))
    assert [path.name for path in tmp_path.iterdir()] == ["session.json"]


def test_timings_are_not_kept(stories: dict[str, Diagnosis]) -> None:
    one = stories["xid-79"].model_copy(update={"timings_ms": {"total": 1.0}})
    other = stories["xid-79"].model_copy(update={"timings_ms": {"total": 2.0}})
    assert to_json(start(one)) == to_json(start(other))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema": "firstfault.session/9"}', '{"schema": "firstfault.session/1"}', "null"]
)
def test_a_broken_session_is_a_sentence(tmp_path: Path, text: str) -> None:
    place = tmp_path / "session.json"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(SessionError, match="cannot be read"):
        load(place)


def test_an_unknown_verdict_is_refused(stories: dict[str, Diagnosis]) -> None:
    data = json.loads(to_json(start(stories["healthy"])))
    data["diagnosis"]["status"] = "fine"
    with pytest.raises(SessionError):
        from_json(json.dumps(data))


def test_it_stays_small(stories: dict[str, Diagnosis], monkeypatch: pytest.MonkeyPatch) -> None:
    diagnosis = stories["xid-79"]
    first = diagnosis.findings[0]
    many = first.model_copy(update={"evidence": first.evidence * 400})
    large = start(diagnosis.model_copy(update={"findings": (many, *diagnosis.findings[1:]), "initiating": None}))
    monkeypatch.setattr(sessions, "MAX_BYTES", 60_000)
    text = to_json(large)
    assert len(text) < 60_000
    kept = from_json(text).diagnosis
    assert kept is not None
    assert len(kept.findings[0].evidence) == sessions.KEPT_EVIDENCE
    monkeypatch.setattr(sessions, "MAX_BYTES", 10)
    assert from_json(to_json(large)).diagnosis is None


def test_turns_are_bounded() -> None:
    session = Session()
    for number in range(sessions.MAX_TURNS + 5):
        session = session.with_turn(Turn(f"q{number}", "x" * 9_000, "why", f"e{number % 12}"))
    assert len(session.turns) == sessions.MAX_TURNS
    assert session.turns[-1].question == f"q{sessions.MAX_TURNS + 4}"
    assert len(session.turns[0].answer) == sessions.MAX_TEXT
    assert len(session.focus) == 8
    assert session.focus[0] == session.turns[-1].entry


def test_a_place_that_cannot_be_written_is_no_failure(
    stories: dict[str, Diagnosis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("a file where a directory should be", encoding="utf-8")
    monkeypatch.setenv("FIRSTFAULT_STATE_DIR", str(tmp_path / "state"))
    sessions.remember(stories["healthy"])
    assert load() is None
