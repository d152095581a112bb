"""`subworlds demo`: what this is, in one screen. Two agents play a task in every built-in world."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from ..envs.client import SubworldsEnv
from ..scenarios.pack import Catalog
from ..scenarios.task import Scenario, Task
from ..training.agents import EpisodeRecord, NoopAgent, play_episode
from .episode_view import end_line, receipt_lines, step_line
from .failure import CommandFailed
from .hosting import hosted
from .screen import counted, indented, screen
from .scripted import gold_agent
from .worlds import Worlds

_FEW = 3
"""Calls or rows shown of an episode."""

_SHOWN_WHOLE = 2
"""Worlds whose episodes are shown call by call; of the others, the outcome."""

_NEXT = """\
subworlds list                        the worlds there are
subworlds show {scenario:<22} its tools and tasks
subworlds run {task}
                                      one episode, step by step
subworlds serve                       a server for your own agents and trainers
"""


@dataclass(frozen=True, slots=True)
class _Pair:
    """One task, played by both agents."""

    scenario: Scenario
    task: Task
    gold: EpisodeRecord
    noop: EpisodeRecord


def demo(worlds: Worlds) -> None:
    """Play and show.

    Raises:
        CommandFailed: a solved task was not rewarded, or an idle agent was.
    """
    catalog = worlds.catalog()
    console = screen()
    tasks = [_task_to_show(catalog, scenario) for scenario in catalog.scenarios]
    with hosted(worlds, catalog) as url:
        pairs = asyncio.run(_play_all(url, catalog, tasks))
        _print(console, url, pairs)
    _require_sense(pairs)


def _task_to_show(catalog: Catalog, scenario: str) -> Task:
    """A short one that changes something, if there is one."""
    solved = [task for task in catalog.tasks_of(scenario) if task.solution is not None]
    return min(solved, key=lambda task: ("write" not in task.tags, abs(len(task.solution or ()) - 3)))


async def _play_all(url: str, catalog: Catalog, tasks: list[Task]) -> list[_Pair]:
    async with SubworldsEnv(base_url=url) as env:
        return [
            _Pair(
                catalog.scenario(task.scenario),
                task,
                gold=await play_episode(env, task.id, gold_agent(task)),
                noop=await play_episode(env, task.id, NoopAgent()),
            )
            for task in tasks
        ]


def _print(console: Console, url: str, pairs: list[_Pair]) -> None:
    console.print(
        f"One server at {url} wraps {counted(len(pairs), 'small world')}, each a SQLite database with "
        "tools over it. An agent is told a task, calls tools, and is paid for what it leaves in the "
        "database. A receipt says why."
    )
    for pair in pairs[:_SHOWN_WHOLE]:
        _print_title(console, pair)
        _print_episode(console, "the gold agent knows the solution", pair.gold)
        _print_episode(console, "the noop agent does nothing", pair.noop)
    for pair in pairs[_SHOWN_WHOLE:]:
        _print_title(console, pair)
        line = Text.assemble("gold agent: ", _outcome(pair.gold), "   noop agent: ", _outcome(pair.noop))
        console.print(indented(line))
    seconds = sum(record.seconds for pair in pairs for record in (pair.gold, pair.noop))
    console.print(
        f"\n{counted(2 * len(pairs), 'episode')}, each in a fresh sandboxed process, in {seconds:.2f} s. "
        "Try next:\n"
    )
    console.print(_NEXT.format(scenario=pairs[0].scenario.name, task=pairs[0].task.id), end="")


def _print_title(console: Console, pair: _Pair) -> None:
    console.print(Text(f"\n{pair.scenario.title} · {pair.task.id}", style="bold cyan"))
    console.print(f"“{pair.task.prompt}”")


def _outcome(record: EpisodeRecord) -> Text:
    reward = "none" if record.reward is None else f"{record.reward:.2f}"
    return Text(f"reward {reward} {record.outcome}", style="green" if record.outcome == "complete" else "red")


def _print_episode(console: Console, title: str, record: EpisodeRecord) -> None:
    console.print(Text(title, style="dim"))
    lines = (
        *_few(list(map(step_line, record.steps)), "calls"),
        end_line(record),
        *_few(list(receipt_lines(record)), "rows"),
    )
    for line in lines:
        console.print(indented(line), no_wrap=True, overflow="ellipsis")


def _few(lines: list[Text], things: str) -> Iterator[Text]:
    yield from lines[:_FEW]
    if len(lines) > _FEW:
        yield Text(f"… {len(lines) - _FEW} more {things}")


def _require_sense(pairs: list[_Pair]) -> None:
    wrong = [
        f"{p.task.id}: gold is {p.gold.outcome}: {p.gold.reason}"
        for p in pairs
        if p.gold.outcome != "complete"
    ]
    wrong += [
        f"{p.task.id}: noop is {p.noop.outcome}: {p.noop.reason}"
        for p in pairs
        if p.noop.outcome != "incomplete"
    ]
    if wrong:
        raise CommandFailed("\n".join(wrong))
