"""Scripted agents and the record of an episode."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

import pytest

from subworlds.envs import CallTool, CallToolObservation, Done, ErrorType, SubworldsEnv, Tool
from subworlds.training import GoldAgent, Move, NoEpisode, NoopAgent, play_episode


@pytest.fixture
async def env(server_url: str) -> AsyncIterator[SubworldsEnv]:
    async with SubworldsEnv(base_url=server_url) as client:
        yield client


class CuriousAgent:
    """Looks at the goods for ever, and keeps what it was shown."""

    name = "curious"

    def __init__(self) -> None:
        self.tools: list[str] = []
        self.seen: list[CallToolObservation] = []

    async def begin(self, prompt: str, tools: Sequence[Tool]) -> Move:
        self.tools = [tool.name for tool in tools]
        return CallTool(tool_name="list_goods")

    async def go_on(self, seen: CallToolObservation) -> Move:
        self.seen.append(seen)
        return CallTool(tool_name="list_goods")


SOLUTION = [
    CallTool(tool_name="list_goods"),
    CallTool(tool_name="sell", arguments={"good_id": 1, "quantity": 3}),
]


async def test_gold_agent_plays_its_calls_in_order_and_completes(env: SubworldsEnv) -> None:
    record = await play_episode(env, "kiosk/sell-apples", GoldAgent(SOLUTION, None), seed=3)
    assert [(step.tool, step.arguments) for step in record.steps] == [
        ("list_goods", {}),
        ("sell", {"good_id": 1, "quantity": 3}),
    ]
    assert (record.outcome, record.reward, record.valid, record.seed) == ("complete", 1.0, True, 3)


async def test_noop_agent_calls_nothing_and_earns_nothing(env: SubworldsEnv) -> None:
    record = await play_episode(env, "kiosk/sell-apples", NoopAgent())
    assert (record.steps, record.answer, record.outcome, record.reward) == ((), None, "incomplete", 0.0)


async def test_agent_is_told_the_tools_and_sees_every_answer(env: SubworldsEnv) -> None:
    agent = CuriousAgent()
    record = await play_episode(env, "kiosk/price-of-pear", agent, call_limit=3)
    assert {"list_goods", "sell"} <= set(agent.tools)
    assert [seen.result for seen in agent.seen] == [step.result for step in record.steps]


async def test_endless_agent_is_stopped_at_the_limit_and_scored_without_an_answer(env: SubworldsEnv) -> None:
    record = await play_episode(env, "kiosk/price-of-pear", CuriousAgent(), call_limit=5)
    assert (len(record.steps), record.answer, record.outcome) == (5, None, "incomplete")


async def test_record_of_an_episode_is_json(env: SubworldsEnv) -> None:
    wrong = CallTool(tool_name="sell", arguments={"good_id": "seven"})
    record = await play_episode(env, "kiosk/sell-apples", GoldAgent([wrong, *SOLUTION], "ok"))
    read = json.loads(json.dumps(record.to_json()))
    assert read["steps"][0]["error"]["error_type"] == "invalid_arguments"
    assert "result" in read["steps"][1]
    assert (read["answer"], read["verdict"]["outcome"]) == ("ok", read["outcome"])


async def test_broken_verifier_leaves_no_reward_and_an_invalid_record(env: SubworldsEnv) -> None:
    record = await play_episode(env, "kiosk/broken-verifier", NoopAgent())
    assert (record.reward, record.valid, record.outcome) == (None, False, "verifier_error")


async def test_refused_episode_is_an_exception_with_its_kind(env: SubworldsEnv) -> None:
    with pytest.raises(NoEpisode) as refused:
        await play_episode(env, "kiosk/nothing", NoopAgent())
    assert refused.value.error.error_type is ErrorType.UNKNOWN_TASK


async def test_scripted_agents_are_done_when_asked_again() -> None:
    assert await NoopAgent().go_on(CallToolObservation(tool_name="x")) == Done()
