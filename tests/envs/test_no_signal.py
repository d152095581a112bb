"""Before done, nothing that an agent can see depends on how its task will be judged."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from subworlds.envs import ResetObservation, SubworldsEnv
from subworlds.scenarios.task import RESERVED_TOOL_NAMES

ALIKE = [
    *("kiosk/sell-pear-by-sql", "kiosk/sell-pear-by-code", "kiosk/broken-verifier"),
    *("kiosk/endless-verifier", "kiosk/forging-verifier"),
]
"""Tasks with one prompt and five ways to be judged."""

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_goods", {}),
    ("sell", {"good_id": 2}),
    ("sell", {"good_id": 3}),
    ("sell", {"good_id": "two"}),
    ("get_price", {"good_id": 2}),
    ("trip", {}),
    ("done", {"answer": "70"}),
    ("no_such_tool", {}),
    ("list_goods", {"at_most_cents": 70}),
]


async def seen_by_the_trainer(url: str, task: str) -> list[Any]:
    """All that the control plane says before done, less what names the episode."""
    async with SubworldsEnv(base_url=url) as env:
        reset = (await env.reset(task=task, seed=3)).observation
        seen: list[Any] = [reset.prompt, await env.list_tools()]
        for tool, arguments in CALLS:
            result = await env.call_tool(tool, **arguments)
            seen += [result.reward, result.done, result.observation.model_dump()]
        state = (await env.state()).model_dump()
        seen.append({name: value for name, value in state.items() if name not in ("episode_id", "task")})
        return seen


async def seen_by_the_agent(url: str, task: str) -> list[Any]:
    """All that the agent plane says before done."""
    async with SubworldsEnv(base_url=url) as env:
        reset = (await env.reset(task=task, seed=3)).observation
        async with (
            httpx.AsyncClient(headers={"authorization": f"Bearer {reset.mcp_token}"}) as http,
            streamable_http_client(reset.mcp_url, http_client=http) as (read, write, _),
            ClientSession(read, write) as agent,
        ):
            seen: list[Any] = [await agent.initialize(), (await agent.list_tools()).tools]
            for tool, arguments in CALLS:
                seen.append(await agent.call_tool(tool, arguments))
            return seen


@pytest.mark.parametrize("look", [seen_by_the_trainer, seen_by_the_agent])
async def test_tasks_judged_in_different_ways_look_the_same(look: Any, server_url: str) -> None:
    first, *others = await asyncio.gather(*(look(server_url, task) for task in ALIKE))
    assert len(first) > len(CALLS)
    for other in others:
        assert other == first


async def test_what_was_judged_before_does_not_show(server_url: str) -> None:
    """The first episode of a task and the one after a verdict on it look the same."""
    task = "kiosk/sell-apples"
    before = await seen_by_the_trainer(server_url, task)
    async with SubworldsEnv(base_url=server_url) as env:
        for solved in (True, False):
            await env.reset(task=task)
            if solved:
                await env.call_tool("sell", good_id=1, quantity=3)
            await env.done()
    assert await seen_by_the_trainer(server_url, task) == before


async def test_doing_right_and_doing_wrong_look_the_same(server_url: str) -> None:
    """No reward, no end and no hint comes with the call that completes a task."""
    async with SubworldsEnv(base_url=server_url) as env:
        await env.reset(task="kiosk/sell-apples")
        wrong = await env.call_tool("sell", good_id=2, quantity=1)
        right = await env.call_tool("sell", good_id=1, quantity=3)
        for result in (wrong, right):
            assert (result.reward, result.done) == (None, False)
            assert set(result.observation.result) == {"sale_id"}
        assert wrong.observation.metadata == right.observation.metadata


@pytest.mark.parametrize("name", sorted(RESERVED_TOOL_NAMES))
async def test_a_hidden_name_is_as_unknown_as_any_other(name: str, server_url: str) -> None:
    async with SubworldsEnv(base_url=server_url) as env:
        await env.reset(task="kiosk/sell-apples")
        answers = []
        for asked in (name, "q" * len(name)):
            seen = (await env.call_tool(asked, answer="1")).observation
            seen.tool_name = seen.tool_name.replace(asked, "NAME")
            seen.error.message = seen.error.message.replace(asked, "NAME")
            answers.append(seen)
        assert answers[0] == answers[1]
        assert name not in [tool.name for tool in await env.list_tools()]
        assert (await env.state()).phase == "playing"


async def test_an_unknown_name_never_reaches_the_world(server_url: str) -> None:
    """Hidden or not: the world's clock, which every call moves, stands still."""
    async with SubworldsEnv(base_url=server_url) as env:
        times = []
        for between in ((), ("done",), ("no_such_tool",), tuple(RESERVED_TOOL_NAMES)):
            await env.reset(task="kiosk/sell-apples", seed=3)
            for name in between:
                await env.call_tool(name)
            await env.call_tool("sell", good_id=1, quantity=3)
            (change,) = (
                made for made in (await env.done()).observation.verdict.receipt.made if made.table == "sales"
            )
            times.append(change.after)
        assert all(time == times[0] for time in times)


async def test_the_reset_tells_the_prompt_and_nothing_of_the_check(server_url: str) -> None:
    async with SubworldsEnv(base_url=server_url) as env:
        observation = (await env.reset(task="kiosk/sell-pear-by-sql")).observation
        assert isinstance(observation, ResetObservation)
        told = observation.model_dump_json()
        for secret in ("SELECT", "equals", "may_change", "verify", "solution", "gold"):
            assert secret not in told
        card = (await env.get_task("validation", 0)).model_dump_json()
        for secret in ("SELECT", "equals", "may_change", "verify", "solution", "answer"):
            assert secret not in card
