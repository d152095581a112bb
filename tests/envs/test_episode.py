"""Playing episodes over the network, as a trainer does."""

from __future__ import annotations

import asyncio
import json

import pytest

from subworlds.envs import ErrorType, ServerError, SubworldsEnv
from subworlds.envs.models import Done


@pytest.fixture
async def env(server_url: str):  # noqa: ANN201 - an async generator of SubworldsEnv
    async with SubworldsEnv(base_url=server_url) as client:
        yield client


async def test_gold_calls_complete_the_task_and_earn_one(env: SubworldsEnv) -> None:
    reset = await env.reset(scenario="kiosk", task="kiosk/sell-apples", seed=7)
    assert reset.observation.prompt == "A customer takes three apples. Ring them up."
    assert (await env.call_tool("sell", good_id=1, quantity=3)).observation.result == {"sale_id": 2}
    result = await env.done()
    verdict = result.observation.verdict
    assert (result.done, result.reward, verdict.outcome) == (True, 1.0, "complete")
    assert {(change.table, change.kind) for change in verdict.receipt.made} == {
        ("goods", "update"),
        ("sales", "insert"),
    }
    assert not verdict.receipt.missing
    assert not verdict.receipt.collateral


async def test_doing_nothing_is_incomplete_and_the_receipt_names_what_is_missing(env: SubworldsEnv) -> None:
    await env.reset(task="kiosk/sell-apples")
    result = await env.done()
    assert (result.reward, result.observation.verdict.outcome) == (0.0, "incomplete")
    assert {change.table for change in result.observation.verdict.receipt.missing} == {"goods", "sales"}


async def test_a_change_nobody_asked_for_is_collateral_and_fails_the_task(env: SubworldsEnv) -> None:
    await env.reset(task="kiosk/sell-apples")
    await env.call_tool("sell", good_id=1, quantity=3)
    await env.call_tool("sell", good_id=2)
    verdict = (await env.done()).observation.verdict
    assert verdict.outcome == "incomplete"
    assert {change.table for change in verdict.receipt.collateral} == {"goods", "sales"}


@pytest.mark.parametrize(
    ("answer", "reward"),
    [("70", 1.0), ("It costs 70 cents.", 1.0), ("50", 0.0), ("50 or 70", 0.0), (None, 0.0)],
)
async def test_a_question_is_scored_by_its_answer(
    env: SubworldsEnv, answer: str | None, reward: float
) -> None:
    await env.reset(task="kiosk/price-of-pear")
    assert (await env.done(answer)).reward == reward


@pytest.mark.parametrize("task", ["kiosk/sell-pear-by-sql", "kiosk/sell-pear-by-code"])
async def test_every_verifier_kind_tells_done_from_not_done(env: SubworldsEnv, task: str) -> None:
    await env.reset(task=task)
    assert (await env.done()).reward == 0.0
    await env.reset(task=task)
    await env.call_tool("sell", good_id=2)
    assert (await env.done()).reward == 1.0


@pytest.mark.parametrize("task", ["broken-verifier", "endless-verifier", "forging-verifier", "broken-gold"])
async def test_a_verifier_that_breaks_makes_the_episode_invalid_not_failed(
    env: SubworldsEnv, task: str
) -> None:
    await env.reset(task=f"kiosk/{task}")
    await env.call_tool("sell", good_id=2)
    result = await env.done()
    assert (result.done, result.reward, result.observation.verdict.outcome) == (True, None, "verifier_error")


async def test_a_crashed_world_answers_typed_and_makes_the_episode_invalid(env: SubworldsEnv) -> None:
    await env.reset(task="kiosk/sell-apples")
    for tool in ("crash", "list_goods"):
        assert (await env.call_tool(tool)).observation.error.error_type is ErrorType.WORLD_CRASHED
    result = await env.done()
    assert (result.reward, result.observation.verdict.outcome) == (None, "world_error")
    await env.reset(task="kiosk/sell-apples")
    assert (await env.call_tool("list_goods")).observation.error is None


@pytest.mark.parametrize("name", ["done", "verify", "reset", "step", "state", "close", "no_such_tool"])
async def test_control_words_are_unknown_tools_like_any_other(env: SubworldsEnv, name: str) -> None:
    await env.reset(task="kiosk/sell-apples")
    error = (await env.call_tool(name)).observation.error
    assert error.error_type is ErrorType.TOOL_NOT_FOUND
    assert error.message.replace(name, "X") == "there is no tool 'X' in this world"
    assert (await env.state()).phase == "playing"


async def test_failures_of_tools_are_typed_and_say_why(env: SubworldsEnv) -> None:
    await env.reset(task="kiosk/sell-apples")
    expected = [
        ("sell", {"good_id": "one"}, ErrorType.INVALID_ARGUMENTS, "good_id"),
        ("sell", {"good_id": 1, "colour": "red"}, ErrorType.INVALID_ARGUMENTS, "colour"),
        ("sell", {}, ErrorType.INVALID_ARGUMENTS, "good_id"),
        ("sell", {"good_id": 3}, ErrorType.TOOL_FAILED, "only 0 left"),
        ("trip", {}, ErrorType.TOOL_FAILED, "tripped"),
        ("nap", {"seconds": 60}, ErrorType.TIMEOUT, "nap"),
    ]
    for tool, arguments, error_type, text in expected:
        error = (await env.call_tool(tool, **arguments)).observation.error
        assert error.error_type is error_type
        assert text in error.message
    assert (await env.call_tool("get_price", good_id=1)).observation.result == 50


async def test_output_over_the_limit_is_cut_and_says_so(env: SubworldsEnv) -> None:
    await env.reset(task="kiosk/sell-apples")
    observation = (await env.call_tool("recite")).observation
    assert observation.truncated
    assert "cut" in observation.result
    assert len(observation.result) < 11_000


async def test_a_step_before_reset_and_after_done_is_answered_typed(env: SubworldsEnv) -> None:
    assert (await env.call_tool("list_goods")).observation.error.error_type is ErrorType.NO_EPISODE
    assert (await env.done()).observation.error.error_type is ErrorType.NO_EPISODE
    assert await env.list_tools() == []
    await env.reset(task="kiosk/sell-apples")
    await env.done()
    assert (await env.call_tool("list_goods")).observation.error.error_type is ErrorType.EPISODE_DONE
    again = await env.done()
    assert again.observation.error.error_type is ErrorType.EPISODE_DONE
    assert again.reward is None


@pytest.mark.parametrize(
    ("options", "error_type"),
    [
        ({"task": "kiosk/sell-aples"}, ErrorType.UNKNOWN_TASK),
        ({"scenario": "kiosc"}, ErrorType.UNKNOWN_SCENARIO),
        ({"scenario": "kiosk", "index": 99}, ErrorType.UNKNOWN_TASK),
        ({"split": "nowhere"}, ErrorType.UNKNOWN_TASK),
        ({"split": "train", "index": -1}, ErrorType.UNKNOWN_TASK),
        ({"task": 7}, ErrorType.INVALID_REQUEST),
        ({"index": True}, ErrorType.INVALID_REQUEST),
    ],
)
async def test_a_reset_that_means_no_task_is_answered_typed(
    env: SubworldsEnv, options: dict[str, object], error_type: ErrorType
) -> None:
    observation = (await env.reset(**options)).observation
    assert observation.error.error_type is error_type
    assert observation.prompt is None


async def test_a_task_is_found_by_id_by_scenario_and_index_and_by_split_and_index(env: SubworldsEnv) -> None:
    assert (await env.reset(scenario="kiosk", index=1)).observation.task == "kiosk/price-of-pear"
    assert (await env.reset(split="validation", index=1)).observation.task == "kiosk/sell-pear-by-code"
    card = await env.get_task("validation", 1)
    assert (card.id, card.scenario) == ("kiosk/sell-pear-by-code", "kiosk")
    assert await env.list_splits() == ["train", "validation", "test"]
    assert await env.num_tasks("train") == len(await env.list_tasks("train")) == 2
    with pytest.raises(IndexError):
        await env.get_task("train", 2)


async def test_nothing_an_agent_or_trainer_sees_before_done_holds_gold_or_verifier(env: SubworldsEnv) -> None:
    reset = await env.reset(task="kiosk/price-of-pear")
    seen = [
        reset.observation.model_dump_json(),
        json.dumps([tool.model_dump() for tool in await env.list_tools()]),
    ]
    seen += [card.model_dump_json() for card in await env.list_tasks("train")]
    seen.append((await env.state()).model_dump_json())
    for text in seen:
        assert not any(word in text for word in ('"solution"', '"verify"', '"answer"', "verifiers.py"))
    assert (await env.call_tool("list_goods")).reward is None


async def test_an_invalid_action_is_a_typed_error_and_the_connection_goes_on(env: SubworldsEnv) -> None:
    await env.reset(task="kiosk/sell-apples")
    with pytest.raises(ServerError) as refused:
        await env.step(Done.model_construct(type="win"))
    assert refused.value.code == "VALIDATION_ERROR"
    assert (await env.call_tool("list_goods")).observation.error is None


async def test_calls_at_once_over_one_client_get_their_own_answers(env: SubworldsEnv) -> None:
    await env.reset(task="kiosk/sell-apples")
    results = await asyncio.gather(*(env.call_tool("get_price", good_id=good) for good in (1, 2, 3) * 5))
    assert [result.observation.result for result in results] == [50, 70, 120] * 5


async def test_two_clients_play_worlds_of_their_own(server_url: str) -> None:
    async with SubworldsEnv(base_url=server_url) as one, SubworldsEnv(base_url=server_url) as two:
        await asyncio.gather(one.reset(task="kiosk/sell-apples"), two.reset(task="kiosk/sell-apples"))
        await one.call_tool("sell", good_id=1, quantity=10)
        goods = (await two.call_tool("list_goods")).observation.result
        assert goods[0]["stock"] == 10


def test_the_same_client_plays_without_await(server_url: str) -> None:
    with SubworldsEnv(base_url=server_url).sync() as env:
        prompt = env.reset(task="kiosk/sell-apples").observation.prompt
        assert prompt.startswith("A customer")
        assert [tool.name for tool in env.list_tools()][:2] == ["list_goods", "sell"]
        env.call_tool("sell", good_id=1, quantity=3)
        assert env.done().reward == 1.0
