"""`subworlds run`: one whole episode through a real server, shown step by step."""

from __future__ import annotations

import asyncio
import json
from contextlib import nullcontext

from rich.console import Console
from rich.text import Text

from ..envs.client import AccessDenied, ServerError, SubworldsEnv
from ..scenarios.task import Task
from ..training.agents import Agent, EpisodeRecord, NoEpisode, play_episode
from .episode_view import components_line, end_line, receipt_lines, step_line
from .failure import CommandFailed
from .hosting import hosted
from .players import Player
from .screen import indented, screen
from .worlds import Worlds, find_task


def run_task(
    worlds: Worlds,
    task_id: str,
    player: Player,
    *,
    seed: int,
    url: str | None,
    token: str | None = None,
    as_json: bool,
) -> None:
    """Play one episode and show it.

    Args:
        player: who plays.
        url: a running server's, or None for one of our own.
        token: the running server's control token.

    Raises:
        BadInput: unreadable packs, no such task, no gold solution to play, or no such model.
        CommandFailed: no episode, no server, or an episode that cannot be scored.
    """
    record = _play(worlds, task_id, player, seed, url, token)
    if as_json:
        print(json.dumps(record.to_json(), indent=2, ensure_ascii=False))
    else:
        _print(screen(), record)
    if not record.valid:
        raise CommandFailed(f"the episode cannot be scored: {record.reason}")


def _print(console: Console, record: EpisodeRecord) -> None:
    console.print(Text.assemble((record.task, "bold cyan"), f"  {record.agent} agent, seed {record.seed}"))
    console.print(f"{record.prompt}\n")
    for step in record.steps:
        console.print(indented(step_line(step)), no_wrap=True, overflow="ellipsis")
    for line in (end_line(record), components_line(record), *receipt_lines(record)):
        console.print(indented(line))


def _play(
    worlds: Worlds, task_id: str, player: Player, seed: int, url: str | None, token: str | None
) -> EpisodeRecord:
    if url is not None and not player.needs_solution:  # the server alone must know the task
        return asyncio.run(_play_on(url, task_id, player, None, seed, token))
    catalog = worlds.catalog()
    task = find_task(catalog, task_id)
    player.require_solution(task)
    with nullcontext(url) if url is not None else hosted(worlds, catalog) as server:
        return asyncio.run(_play_on(server, task.id, player, task, seed, token))


async def _play_on(
    url: str, task_id: str, player: Player, task: Task | None, seed: int, token: str | None
) -> EpisodeRecord:
    async with player.ready() as make_agent:
        return await play_on(url, task_id, make_agent(task), seed, token)


async def play_on(url: str, task_id: str, agent: Agent, seed: int, token: str | None = None) -> EpisodeRecord:
    """Play one episode on the server at `url`.

    Raises:
        CommandFailed: it cannot be reached, refused the episode, or broke.
    """
    try:
        async with SubworldsEnv(base_url=url, token=token) as env:
            return await play_episode(env, task_id, agent, seed=seed)
    except NoEpisode as error:
        raise CommandFailed(f"{url} gave no episode: {error}") from error
    except AccessDenied as error:
        raise CommandFailed(
            f"{error}\nGive its token with --token-file FILE or in SUBWORLDS_TOKEN."
        ) from error
    except (OSError, ServerError) as error:
        raise CommandFailed(
            f"no episode on {url}: {error}\nIs it a subworlds server? `subworlds serve` starts one."
        ) from error
