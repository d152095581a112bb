"""`subworlds show`: one world, its tools and its tasks. Never a solution, an answer or a check."""

from __future__ import annotations

import asyncio
import json
from textwrap import fill
from typing import Any

from rich.console import Console
from rich.text import Text

from ..scenarios.errors import ScenarioError
from ..scenarios.pack import Catalog
from ..scenarios.task import Scenario, TaskEntry
from ..scenarios.tool import Tool
from .failure import CommandFailed
from .screen import WIDTH, counted, screen
from .worlds import Worlds, find_scenario

_STYLES = {"certified": "green", "failed": "bold red"}
_INDENT = " " * 4


def show_world(worlds: Worlds, name: str, *, as_json: bool) -> None:
    """Start the world once and show it.

    Raises:
        BadInput: unreadable packs, or no such world.
        CommandFailed: the world cannot start.
    """
    catalog = worlds.catalog()
    scenario = find_scenario(catalog, name)
    tasks = catalog.entries_of(scenario.name)
    tools = asyncio.run(_tools(worlds, catalog, scenario))
    if as_json:
        print(json.dumps(_to_json(catalog, scenario, tools, tasks), indent=2, ensure_ascii=False))
    else:
        _print(screen(), catalog, scenario, tools, tasks)


async def _tools(worlds: Worlds, catalog: Catalog, scenario: Scenario) -> tuple[Tool, ...]:
    async with worlds.running(catalog) as manager:
        try:
            return await manager.tools(scenario.name)
        except ScenarioError as error:
            raise CommandFailed(str(error)) from error


def _to_json(
    catalog: Catalog, scenario: Scenario, tools: tuple[Tool, ...], tasks: tuple[TaskEntry, ...]
) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "title": scenario.title,
        "description": scenario.description,
        "tools": [
            {"name": tool.name, "description": tool.description, "arguments": tool.input_schema}
            for tool in tools
        ],
        "tasks": [
            {
                "id": task.id,
                "prompt": task.prompt,
                "difficulty": task.difficulty,
                "split": task.split,
                "tags": list(task.tags),
                "standing": catalog.standing(task.id),
            }
            for task in tasks
        ],
    }


def _print(
    console: Console,
    catalog: Catalog,
    scenario: Scenario,
    tools: tuple[Tool, ...],
    tasks: tuple[TaskEntry, ...],
) -> None:
    console.print(Text(f"{scenario.title} ({scenario.name})", style="bold"))
    console.print(scenario.description)
    console.print(Text(f"\n{counted(len(tools), 'tool')}", style="bold"))
    for tool in tools:
        console.print(Text(_signature(tool), style="cyan"))
        console.print(_indented(tool.description))
    console.print(Text(f"\n{counted(len(tasks), 'task')}", style="bold"))
    for task in tasks:
        about = ", ".join(filter(None, (task.difficulty, task.split, *task.tags)))
        console.print(Text.assemble((task.id, "cyan"), (f"  {about}", "dim"), _mark(catalog, task)))
        console.print(_indented(task.prompt))


def _mark(catalog: Catalog, task: TaskEntry) -> tuple[str, str]:
    """What certification says of a task, with a style; nothing where nobody asked it."""
    standing = catalog.standing(task.id)
    return ("", "") if standing == "unknown" else (f"  {standing}", _STYLES.get(standing, "yellow"))


def _signature(tool: Tool) -> str:
    """The tool as one calls it; what may be left out in brackets: `renew_loan(loan_id, [days])`."""
    required = tool.input_schema.get("required", [])
    names = [name if name in required else f"[{name}]" for name in tool.input_schema.get("properties", {})]
    return f"{tool.name}({', '.join(names)})"


def _indented(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(
        fill(line, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT) for line in lines if line
    )
