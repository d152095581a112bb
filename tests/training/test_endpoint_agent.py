"""A model behind an OpenAI-compatible endpoint plays episodes on a real server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from subworlds.envs import SubworldsEnv
from subworlds.training import EpisodeRecord, play_episode
from subworlds.training.chat_endpoint import ChatEndpoint, EndpointSettings, Fault
from subworlds.training.endpoint_agent import EndpointAgent
from subworlds.training.exposure import Exposure
from subworlds.training.limits import Cut, Limits

from ..verifiers.judge_server import JudgeServer, Reply, judge_server
from .shopkeeper import LOOK, SELL, answers, calls, shopkeeper

APPLES = "kiosk/sell-apples"


@pytest.fixture
async def env(server_url: str) -> AsyncIterator[SubworldsEnv]:
    async with SubworldsEnv(base_url=server_url) as client:
        yield client


async def played(
    env: SubworldsEnv,
    server: JudgeServer,
    *,
    task: str = APPLES,
    exposure: Exposure = Exposure.FULL,
    limits: Limits | None = None,
    most_tokens: int | None = None,
    **settings: Any,
) -> EpisodeRecord:
    asked = replace(EndpointSettings(server.url, "keeper", first_wait_s=0.01), **settings)
    async with ChatEndpoint(asked) as endpoint:
        agent = EndpointAgent(endpoint, exposure, limits, most_tokens=most_tokens)
        return await play_episode(env, task, agent)


async def test_model_solves_a_task_and_its_tokens_are_counted(env: SubworldsEnv) -> None:
    with judge_server(answering=shopkeeper) as server:
        record = await played(env, server, key="sk-secret", temperature=0.5)
    assert (record.agent, record.outcome, record.reward) == ("openai:keeper", "complete", 1.0)
    assert [step.tool for step in record.steps] == ["list_goods", "sell"]
    first, last = server.requests[0], server.requests[-1]
    assert {"list_goods", "sell"} <= {tool["function"]["name"] for tool in first["tools"]}
    assert (first["model"], first["temperature"], server.keys[0]) == ("keeper", 0.5, "Bearer sk-secret")
    assert [each["role"] for each in last["messages"]] == [
        *("system", "user", "assistant", "tool", "assistant", "tool")
    ]
    assert json.loads(last["messages"][3]["content"]) == record.steps[0].result
    assert (record.account.turns, record.account.read_tokens, record.account.written_tokens) == (3, 300, 16)
    assert "sk-secret" not in json.dumps(record.to_json())


async def test_several_calls_of_one_turn_are_answered_in_order(env: SubworldsEnv) -> None:
    with judge_server(calls(LOOK, SELL), answers("Done.")) as server:
        record = await played(env, server)
    assert record.outcome == "complete"
    told = server.requests[-1]["messages"][-2:]
    assert [each["tool_call_id"] for each in told] == ["id-0", "id-1"]
    assert "sale_id" in told[1]["content"]


async def test_call_that_breaks_the_format_is_told_to_the_model_and_counted(env: SubworldsEnv) -> None:
    broken = [calls(("sell", '{"good_id": 1,')), calls(("sell", "[]")), calls(("sell", '{"good_id": NaN}'))]
    with judge_server(*broken, calls(SELL), answers("Done.")) as server:
        record = await played(env, server)
    assert (record.outcome, record.account.malformed, len(record.steps)) == ("complete", 3, 1)
    messages = server.requests[-1]["messages"]
    assert messages[3]["content"].startswith("error: invalid_tool_call: not JSON")
    assert messages[2]["tool_calls"][0]["function"]["arguments"] == "{}"  # endpoints parse it again
    assert record.account.transcript[2]["tool_calls"][0]["arguments"] == '{"good_id": 1,'


async def test_call_broken_beyond_the_endpoints_parser_is_the_models_mistake(env: SubworldsEnv) -> None:
    with judge_server(answers('<tool_call>{"name": </tool_call>'), calls(SELL), answers("Done.")) as server:
        record = await played(env, server)
    assert (record.outcome, record.account.malformed) == ("complete", 1)
    assert server.requests[1]["messages"][-1]["role"] == "user"


async def test_endpoint_that_passes_calls_on_as_text_is_not_scored(env: SubworldsEnv) -> None:
    with judge_server(answers('<tool_call>{"name": "list_goods"}</tool_call>')) as server:
        record = await played(env, server)
    assert (record.valid, record.reward, record.fault) == (False, None, Fault.UNREADABLE)
    assert "tool-call parser" in record.reason


async def test_meta_tools_reach_the_world(env: SubworldsEnv) -> None:
    sell = ("call_tool", {"name": SELL[0], "arguments": SELL[1]})
    with judge_server(calls(("list_tools", {})), calls(sell), answers("Done.")) as server:
        record = await played(env, server, exposure=Exposure.META)
    assert record.outcome == "complete"
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == ["list_tools", "call_tool"]
    assert "sell(good_id: integer" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("reply", "fault", "hopeless"),
    [
        (Reply(503, {"error": "busy"}), Fault.OVERLOADED, False),
        (Reply(429, {}, {"retry-after": "0"}), Fault.OVERLOADED, False),
        (Reply(401, {"error": "no key sk-secret"}), Fault.REFUSED, True),
        (Reply(404, {"error": "no such model"}), Fault.REFUSED, True),
        (Reply(400, {"error": "bad"}), Fault.REFUSED, False),
        (Reply(200, b"<html>"), Fault.UNREADABLE, False),
        (Reply(200, {"choices": []}), Fault.UNREADABLE, False),
        (Reply(hang=True), Fault.TIMEOUT, False),
    ],
)
async def test_failing_endpoint_leaves_the_episode_without_a_score(
    env: SubworldsEnv, reply: Reply, fault: Fault, hopeless: bool
) -> None:
    with judge_server(calls(LOOK), reply) as server:
        record = await played(env, server, key="sk-secret", retries=1, timeout_s=0.5)
    assert (record.valid, record.reward, record.outcome, record.fault) == (False, None, None, fault)
    assert record.failure.hopeless is hopeless
    assert len(record.steps) == 1
    assert "sk-secret" not in record.reason
    assert "keeper at http://" in record.reason


async def test_endpoint_that_is_not_there_is_unreachable(env: SubworldsEnv) -> None:
    nobody = JudgeServer("http://127.0.0.1:9/v1", [])
    assert (await played(env, nobody, retries=0)).fault == Fault.UNREACHABLE


async def test_failure_that_passes_costs_nothing(env: SubworldsEnv) -> None:
    replies = [Reply(500, {}), calls(SELL), Reply(200, b"<html>"), answers("Done.")]
    with judge_server(*replies) as server:
        record = await played(env, server)
    assert (record.reward is not None, record.outcome) == (True, "complete")


async def test_limits_end_an_episode_and_it_is_scored(env: SubworldsEnv) -> None:
    for reply, limits, cut in (
        (calls(LOOK), Limits(turns=3), Cut.TURNS),
        (calls(LOOK, LOOK), Limits(calls=5), Cut.CALLS),
        (answers("I think", "length"), Limits(), Cut.TOKENS),
    ):
        with judge_server(reply) as server:
            record = await played(env, server, limits=limits)
        assert (record.outcome, record.account.cut) == ("incomplete", cut)


async def test_conversation_that_outgrows_the_context_is_scored_as_it_stands(env: SubworldsEnv) -> None:
    full = Reply(400, {"error": {"code": "context_length_exceeded"}})
    with judge_server(calls(SELL), full) as server:
        record = await played(env, server)
    assert (record.outcome, record.account.cut) == ("complete", Cut.TOKENS)
    with judge_server(full) as server:
        record = await played(env, server)
    assert (record.valid, record.fault) == (False, Fault.CONTEXT_FULL)


async def test_limit_of_tokens_is_said_by_the_name_that_the_endpoint_knows(env: SubworldsEnv) -> None:
    def modern(body: dict[str, Any]) -> Reply:
        return (
            Reply(400, {"error": "max_tokens is not supported"}) if "max_tokens" in body else shopkeeper(body)
        )

    with judge_server(answering=modern) as server:
        record = await played(env, server, most_tokens=64)
    assert record.outcome == "complete"
    assert [body.get("max_completion_tokens") for body in server.requests] == [None, 64, 64, 64]


def test_settings_that_cannot_work_are_refused() -> None:
    for url, model, key in (("kiosk", "m", None), ("ftp://x/v1", "m", None), ("http://x", "", None)):
        with pytest.raises(ValueError, match=r"URL|empty"):
            EndpointSettings(url, model, key)
    with pytest.raises(ValueError, match="header"):
        EndpointSettings("http://x/v1", "m", "k\ney")
    assert "sk-1" not in repr(EndpointSettings("http://x/v1", "m", "sk-1"))
