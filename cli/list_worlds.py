"""`subworlds list`: the worlds there are, and whether each can start."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from ..scenarios.certificate import Standing
from ..scenarios.errors import ScenarioError
from ..scenarios.manager import ScenarioManager
from ..scenarios.pack import Catalog
from ..scenarios.task import ScenarioEntry
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
    standings: dict[Standing, int]
    """How many tasks have each standing with certification."""
    error: str | None = None
    """Why it cannot start."""

    def to_json(self) -> dict[str, Any]:
        """As a JSON object; `error` only where there is one."""
        row: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "tools": self.tools,
            "tasks": self.tasks,
            "standings": self.standings,
        }
        return row if self.error is None else {**row, "error": self.error}


def list_worlds(worlds: Worlds, *, start: bool, as_json: bool) -> None:
    """List every world; start it once, or take the word of an index for how many tools it has.

    Args:
        start: start those as well of which there is an index.

    Raises:
        BadInput: unreadable packs.
        CommandFailed: some worlds cannot start; they are in the list, with the reason.
    """
    catalog = worlds.catalog()
    tell_repairs(catalog)
    rows = _rows(worlds, catalog, start)
    if as_json:
        print(json.dumps([row.to_json() for row in rows], indent=2, ensure_ascii=False))
    else:
        screen().print(_table(rows))
    broken = [row for row in rows if row.error is not None]
    if broken:
        reasons = "\n".join(str(row.error) for row in broken)
        raise CommandFailed(f"{reasons}\n{len(broken)} of {counted(len(rows), 'world')} cannot start.")


def _rows(worlds: Worlds, catalog: Catalog, start: bool) -> list[WorldRow]:
    entries = catalog.scenario_entries.values()
    to_start = [entry for entry in entries if start or entry.tools is None]
    started = asyncio.run(_start(worlds, catalog, to_start)) if to_start else {}
    return [started.get(entry.name) or _row(catalog, entry, entry.tools) for entry in entries]


async def _start(worlds: Worlds, catalog: Catalog, entries: Iterable[ScenarioEntry]) -> dict[str, WorldRow]:
    slots = asyncio.Semaphore(_AT_ONCE)
    async with worlds.running(catalog) as manager:

        async def row(entry: ScenarioEntry) -> WorldRow:
            async with slots:
                return await _started_row(manager, catalog, entry)

        return {row.name: row for row in await asyncio.gather(*map(row, entries))}


async def _started_row(manager: ScenarioManager, catalog: Catalog, entry: ScenarioEntry) -> WorldRow:
    try:
        return _row(catalog, entry, len(await manager.tools(entry.name)))
    except ScenarioError as error:
        return _row(catalog, entry, None, str(error))


def _row(catalog: Catalog, entry: ScenarioEntry, tools: int | None, error: str | None = None) -> WorldRow:
    tasks = catalog.entries_of(entry.name)
    standings = Counter[Standing](catalog.standing(task.id) for task in tasks)
    return WorldRow(entry.name, entry.title, tools, len(tasks), dict(standings), error)


def _table(rows: list[WorldRow]) -> Table:
    table = Table("world", "title", box=None, pad_edge=False, header_style="bold")
    table.add_column("tools", justify="right")
    table.add_column("tasks", justify="right")
    table.add_column("certified")
    for row in rows:
        tools = "broken" if row.tools is None else str(row.tools)
        table.add_row(row.name, row.title, tools, str(row.tasks), _certified(row))
    return table


def _certified(row: WorldRow) -> str:
    """`all`, or how many tasks have which standing."""
    if row.standings.keys() == {"certified"}:
        return "all"
    if row.standings.keys() <= {"unknown"}:
        return "unknown"
    return ", ".join(f"{count} {standing}" for standing, count in sorted(row.standings.items()))
