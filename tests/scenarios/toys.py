"""Toy worlds built in code, and managers that play them."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subworlds.scenarios.manager import ManagerSettings, ScenarioManager
from subworlds.scenarios.session import Session, SessionLimits
from subworlds.scenarios.task import JSON, Scenario, Statement
from subworlds.scenarios.tool import FailureKind

CLOCK = datetime(2026, 3, 1, 9, 0, 0, tzinfo=UTC)
SETTINGS = ManagerSettings(limits=SessionLimits(call_timeout_s=10.0))

SCHEMA = (
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, made_at TEXT DEFAULT CURRENT_TIMESTAMP)",
    "CREATE TABLE stamps (id INTEGER PRIMARY KEY, source TEXT NOT NULL, value TEXT,"
    " made_at TEXT DEFAULT CURRENT_TIMESTAMP, day_before TEXT DEFAULT (date('now', '-1 day')))",
)
SEED = ("INSERT INTO notes (text) VALUES ('milk')", "INSERT INTO notes (text) VALUES ('bread')")


def make_scenario(
    app: str, *, name: str = "toy", schema: Sequence[str] = SCHEMA, seed: Sequence[str] = SEED, **others: Any
) -> Scenario:
    """A scenario over two small tables, with this app."""
    return Scenario(
        name=name,
        title=name,
        description="",
        schema=statements(schema, "schema.sql"),
        seed=statements(seed, "seed.sql"),
        app_source=app,
        app_file="app.py",
        clock=CLOCK,
        **others,
    )


def statements(written: Sequence[str | Statement], file: str) -> tuple[Statement, ...]:
    """Statements, as if each that is a text stood on a line of its own."""
    return tuple(
        Statement(statement, file, line) if isinstance(statement, str) else statement
        for line, statement in enumerate(written, 1)
    )


def toy() -> Scenario:
    """The toy world: see toy_app.py."""
    return make_scenario(Path(__file__).with_name("toy_app.py").read_text())


class Worlds:
    """A manager and the scenarios it knows."""

    def __init__(self, scenarios: Iterable[Scenario], settings: ManagerSettings) -> None:
        self.scenarios = {scenario.name: scenario for scenario in scenarios}
        self.manager = ScenarioManager(self.scenarios.__getitem__, settings)

    def add(self, scenario: Scenario) -> str:
        """Make a scenario known under a name of its own, and return the name."""
        name = f"{scenario.name}-{len(self.scenarios)}"
        self.scenarios[name] = replace(scenario, name=name)
        return name

    async def start(self, scenario: Scenario | str = "toy", **how: Any) -> Session:
        """Start a session. It is closed with the manager at the latest."""
        name = scenario if isinstance(scenario, str) else self.add(scenario)
        return await self.manager.start_session(name, **how)


@asynccontextmanager
async def open_worlds(*scenarios: Scenario, settings: ManagerSettings = SETTINGS) -> AsyncGenerator[Worlds]:
    """A manager of one's own, over these scenarios (the toy, if none is named)."""
    worlds = Worlds(scenarios or (toy(),), settings)
    async with worlds.manager:
        yield worlds


async def ask(session: Session, tool: str, /, **arguments: JSON) -> JSON:
    """Call a tool that is expected to answer."""
    outcome = await session.call(tool, arguments)
    assert outcome.failure is None, outcome.failure
    return outcome.result


async def fail(session: Session, tool: str, /, **arguments: JSON) -> tuple[FailureKind, str]:
    """Call a tool that is expected to fail; its kind of failure and the message."""
    outcome = await session.call(tool, arguments)
    assert outcome.failure is not None, outcome.result
    return outcome.failure.kind, outcome.failure.message


def dump(database: Path) -> list[str]:
    """A database as SQL, as any SQLite reads it."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return list(connection.iterdump())


def rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    """What a query finds in a database."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a tool's schema lists."""
    return dict(schema["properties"])


def hold(pid: int) -> int:
    """A descriptor of a process, which stays readable for good once the process has ended."""
    return os.pidfd_open(pid)


async def gone(descriptor: int) -> None:
    """Wait until a held process has ended, and let go of it."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
