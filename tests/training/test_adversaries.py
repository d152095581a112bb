"""Nothing pays but doing the task: every adversary on every built-in task, through a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain

import pytest

from subworlds.cli.scripted import gold_agent
from subworlds.envs import CallTool, SubworldsEnv
from subworlds.envs.app import ServerSettings
from subworlds.envs.rubric import PARTIAL
from subworlds.scenarios.pack import BUILTIN_PACKS, Catalog
from subworlds.scenarios.task import Task
from subworlds.training.adversaries import adversaries
from subworlds.training.agents import Agent, EpisodeRecord, NoopAgent, play_episode

_AT_MOST = {
    "noop": 0.0,
    "early-done": 0.0,
    "answer-guessing": 0.0,
    "read-spam": 0.2,
    "spray": 0.2,
    "repeat-write": 0.2,
    "format-only": 0.2,
    "destroy": 0.2,
    "half-gold": PARTIAL,
}
"""The most that each may earn where it does not, by chance, do the whole task."""

WORLDS = sorted(path.parent.name for path in BUILTIN_PACKS.glob("*/scenario.json"))


@pytest.fixture(scope="module")
def builtin_url(serve: Callable[..., AbstractContextManager[str]]) -> Iterator[str]:
    with serve([BUILTIN_PACKS], ServerSettings()) as url:
        yield url


def _agents(task: Task) -> list[Agent]:
    calls = [CallTool(tool_name=call.tool, arguments=dict(call.arguments)) for call in task.solution or ()]
    return [gold_agent(task), NoopAgent(), *adversaries(calls).values()]


async def _play_all(url: str, tasks: Sequence[Task]) -> list[EpisodeRecord]:
    async with SubworldsEnv(base_url=url) as env:
        return [await _play(env, task, place) for task in tasks for place, _ in enumerate(_agents(task))]


async def _play(env: SubworldsEnv, task: Task, place: int) -> EpisodeRecord:
    """One episode; once more where it was invalid, as in an evaluation."""
    record = await play_episode(env, task.id, _agents(task)[place])
    return record if record.valid else await play_episode(env, task.id, _agents(task)[place])


@pytest.fixture(scope="module", params=WORLDS)
def records(request: pytest.FixtureRequest, builtin_url: str) -> list[EpisodeRecord]:
    """Every agent on every task of a world."""
    tasks = Catalog.load([BUILTIN_PACKS]).tasks_of(request.param)

    async def play() -> list[EpisodeRecord]:
        parts = await asyncio.gather(*(_play_all(builtin_url, tasks[start::4]) for start in range(4)))
        return list(chain.from_iterable(parts))

    return asyncio.run(play())


def test_gold_earns_the_most_on_every_task(records: list[EpisodeRecord]) -> None:
    short = {
        record.task: record.reason
        for record in records
        if record.agent == "gold" and record.reward != pytest.approx(1.0)
    }
    assert not short


def test_no_episode_is_invalid(records: list[EpisodeRecord]) -> None:
    assert [(record.task, record.agent, record.reason) for record in records if record.reward is None] == []


@pytest.mark.parametrize("agent", _AT_MOST)
def test_no_adversary_earns_more_than_it_may(records: list[EpisodeRecord], agent: str) -> None:
    over = [
        (record.task, record.reward, record.reason)
        for record in records
        if record.agent == agent
        and record.outcome == "incomplete"
        and (record.reward or 0.0) > _AT_MOST[agent]
    ]
    assert not over


@pytest.mark.parametrize(
    "agent", ["noop", "early-done", "answer-guessing", "read-spam", "format-only", "destroy"]
)
def test_no_adversary_completes_a_task(records: list[EpisodeRecord], agent: str) -> None:
    complete = [record.task for record in records if record.agent == agent and record.outcome == "complete"]
    assert not complete


def test_damage_beside_the_solution_always_costs(records: list[EpisodeRecord]) -> None:
    unpunished = [
        record.task
        for record in records
        if record.agent == "gold-and-damage" and (record.reward or 0.0) > 0.9
    ]
    assert not unpunished


def test_every_complete_episode_earns_more_than_every_incomplete_one(records: list[EpisodeRecord]) -> None:
    complete = [record.reward for record in records if record.outcome == "complete"]
    incomplete = [record.reward for record in records if record.outcome == "incomplete"]
    assert min(reward or 0.0 for reward in complete) > max(reward or 0.0 for reward in incomplete)
