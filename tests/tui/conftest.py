"""A small knowledge of five entries, one incident, and an app that runs on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from assistant.tui.app import FirstfaultApp
from assistant.tui.services import Demo, Services, Start
from corpus.catalogue import Catalogue
from tests.tui.driver import HERE, INCIDENT, Driver, FakeConversation


@pytest.fixture(autouse=True)
def _colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual takes NO_COLOR out of the environment; whatever happens here, later tests find it again."""
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.delenv("NO_COLOR")


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return Catalogue.load(HERE / "knowledge")


@pytest.fixture
def talk() -> FakeConversation:
    return FakeConversation()


@pytest.fixture
def services(catalogue: Catalogue, talk: FakeConversation) -> Services:
    demos = (Demo("xid79-node-b", "A GPU of node-b falls off the bus", INCIDENT.parent, (INCIDENT.name,)),)
    return Services(lambda: catalogue, lambda _: talk, lambda: demos, version="0")


@pytest.fixture
def opened(services: Services) -> Callable[..., AbstractAsyncContextManager[Driver]]:
    @asynccontextmanager
    async def run(
        size: tuple[int, int] = (140, 40), start: Start | None = None, **changes: Any
    ) -> AsyncIterator[Driver]:
        app = FirstfaultApp(replace(services, **changes), start)
        async with app.run_test(size=size, notifications=True) as pilot:
            yield Driver(app, pilot)

    return run
