"""`subworlds list`: the worlds there are, and whether each can start."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from ..scenarios.errors import ScenarioError
from ..scenarios.manager import ScenarioManager
from ..scenarios.pack import Catalog
from ..scenarios.task import Scenario
from .failure import CommandFailed
from .screen import counted, screen
from .worlds import Worlds, tell_repairs

_AT_ONCE = 2
"""Worlds started at the same time to ask for their tools."""


@dataclass(frozen=True, slots=True)
class WorldRow:
    """One world in the list."""

    name: str
    title: str
    tools: int | None
    """None where the world cannot start."""
    tasks: int
    error: str | None = None
    """Why it cannot start."""

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; `error` only where there is one."""
        row = {"name": self.name, "title": self.title, "tools": self.tools, "tasks": self.tasks}
        return row if self.error is None else {**row, "error": self.error}


def list_worlds(worlds: Worlds, *, as_json: bool) -> None:
    """Start every world once and list it.

    Raises:
        BadInput: unreadable packs.
        CommandFailed: some worlds cannot start; they are in the list, with the reason.
    """
    catalog = worlds.catalog()
    tell_repairs(catalog)
    rows = asyncio.run(_rows(worlds, catalog))
    if as_json:
        print(json.dumps([row.to_json() for row in rows], indent=2, ensure_ascii=False))
    else:
        screen().print(_table(rows))
    broken = [row for row in rows if row.error is not None]
    if broken:
        reasons = "\n".join(str(row.error) for row in broken)
        raise CommandFailed(f"{reasons}\n{len(broken)} of {counted(len(rows), 'world')} cannot start.")


async def _rows(worlds: Worlds, catalog: Catalog) -> list[WorldRow]:
    slots = asyncio.Semaphore(_AT_ONCE)
    async with worlds.running(catalog) as manager:

        async def row(scenario: Scenario) -> WorldRow:
            async with slots:
                return await _row(manager, catalog, scenario)

        return await asyncio.gather(*map(row, catalog.scenarios.values()))


async def _row(manager: ScenarioManager, catalog: Catalog, scenario: Scenario) -> WorldRow:
    tasks = len(catalog.tasks_of(scenario.name))
    try:
        tools = len(await manager.tools(scenario.name))
    except ScenarioError as error:
        return WorldRow(scenario.name, scenario.title, None, tasks, str(error))
    return WorldRow(scenario.name, scenario.title, tools, tasks)


def _table(rows: list[WorldRow]) -> Table:
    table = Table("world", "title", box=None, pad_edge=False, header_style="bold")
    table.add_column("tools", justify="right")
    table.add_column("tasks", justify="right")
    for row in rows:
        table.add_row(row.name, row.title, "broken" if row.tools is None else str(row.tools), str(row.tasks))
    return table
