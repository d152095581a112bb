"""An expert that some episodes may ask: what it says, what it costs, and when it goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from subworlds.envs import Tool
from subworlds.training import train_grpo
from subworlds.training.chat_endpoint import EndpointSettings
from subworlds.training.expert_mix import AdaptiveMix, Counselling, FixedMix, Phase
from subworlds.training.experts import Consultation, Expert, ExpertFailed, GoldExpert, Made, ModelExpert
from subworlds.training.exposure import Exposure
from subworlds.training.limits import Limits
from subworlds.training.played import Played
from subworlds.training.rollout import Rollout, RolloutSettings
from subworlds.training.solutions import Solution
from subworlds.training.tool_calls import ToolRequest, write_request

from ..verifiers.judge_server import Reply, judge_server, says_text
from .conftest import APPLES, LIST_GOODS, PEAR, SELL_APPLES, Clerk, Write, prompts

LOOK, SELL = ToolRequest("list_goods", {}), ToolRequest("sell", {"good_id": 1, "quantity": 3})
GOLD = GoldExpert(
    [
        Solution(APPLES.task, "kiosk", APPLES.prompt, "easy", True, (LOOK, SELL), None),
        Solution(PEAR.task, "kiosk", PEAR.prompt, "easy", True, (LOOK,), "70"),
    ]
)
ASK = write_request(ToolRequest("ask_expert", {"question": "What now?"}))
FAILING_SALE = write_request(ToolRequest("sell", {"good": 1}))


def counselling(expert: Expert = GOLD, ratio: float = 1.0) -> Counselling:
    made = Counselling(expert, FixedMix(ratio))
    made.open = True
    return made


def play(server_url: str, clerk: Clerk, offered: Counselling, *assignments: Any) -> list[Played]:
    settings = RolloutSettings((server_url,), exposure=Exposure.COMPACT, limits=Limits(), offer=offered.offer)
    with Rollout(settings) as rollout:
        played: list[Played] = rollout(prompts(*(assignments or (APPLES,))), clerk)["episode"]
    return played


def consultation(*made: Made, task: str = APPLES.task) -> Consultation:
    return Consultation(task, APPLES.prompt, (), made, "What now?")


async def test_gold_expert_says_the_first_call_that_has_not_been_made() -> None:
    assert await GOLD.advise(consultation()) == "Call list_goods with {}."
    sold = Made(SELL, "{}", True)
    assert await GOLD.advise(consultation(sold)) == "Call list_goods with {}."
    assert "Call sell" in await GOLD.advise(consultation(Made(LOOK, "[]", True), Made(SELL, "no", False)))
    assert await GOLD.advise(consultation(sold, Made(LOOK, "[]", True))) == "All is done. Say so."
    assert (
        await GOLD.advise(consultation(Made(LOOK, "[]", True), task=PEAR.task)) == "All is done. Answer: 70"
    )
    with pytest.raises(ExpertFailed):
        await GOLD.advise(consultation(task="kiosk/other"))


async def test_model_expert_sees_task_tools_calls_and_criteria() -> None:
    tool = Tool(name="sell", description="Sell a good.", input_schema={"type": "object"})
    case = Consultation(APPLES.task, APPLES.prompt, (tool,), (Made(SELL, "only 2 left", False),), "Why?")
    with judge_server(says_text("<think>hm</think> Look first.")) as server:
        expert = ModelExpert(EndpointSettings(server.url, "sage", "sk-e"), {APPLES.task: "Three are sold."})
        assert await expert.advise(case) == "Look first."
    for part in (APPLES.prompt, "Sell a good.", "only 2 left", "Why?", "Three are sold."):
        assert part in server.case
    assert server.keys == ["Bearer sk-e"]


def test_advice_is_told_masked_and_helps(server_url: str, clerk: Clerk, write: Write) -> None:
    write([ASK], [LIST_GOODS], [FAILING_SALE], [ASK], [SELL_APPLES], ["Done."])
    (episode,) = play(server_url, clerk, counselling())
    counsel, conversation = episode.counsel, episode.conversation
    assert (episode.complete, episode.calls) == (True, 5)
    assert (counsel.asked, counsel.blind, counsel.recovered) == (2, 1, 1)
    told = [token for token, mine in zip(conversation.ids, conversation.mask, strict=True) if not mine]
    said = [token for token, mine in zip(conversation.ids, conversation.mask, strict=True) if mine]
    decode = clerk.processing_class.decode
    assert 'Call sell with {"good_id": 1, "quantity": 3}.' in decode(told)
    assert "Call sell" not in decode(said)
    assert "ask_expert(question: string)" in decode(conversation.prompt_ids)
    assert counselling().shaping(episode) == pytest.approx(0.05 - 0.05)


def test_who_is_offered_no_expert_finds_no_such_tool(server_url: str, clerk: Clerk, write: Write) -> None:
    write([ASK], ["Done."])
    alone, offered = play(server_url, clerk, counselling(ratio=0.5), APPLES, APPLES)
    decode = clerk.processing_class.decode
    assert (alone.counsel, offered.counsel.asked) == (None, 1)
    assert "ask_expert" not in decode(alone.conversation.prompt_ids)
    assert "tool_not_found" in decode(alone.conversation.ids)


def test_shaping_pays_for_working_alone_and_not_for_asking_blindly(
    server_url: str, clerk: Clerk, write: Write
) -> None:
    offered = counselling()
    write([LIST_GOODS], [SELL_APPLES], ["Done."])
    assert offered.shaping(play(server_url, clerk, offered)[0]) == pytest.approx(0.10)
    write([ASK], [ASK], [ASK], ["Done."])
    (lazy,) = play(server_url, clerk, offered)
    assert (lazy.complete, lazy.counsel.blind) == (False, 3)
    assert offered.shaping(lazy) == pytest.approx(-0.10)
    write([ASK], [ASK], [LIST_GOODS], [SELL_APPLES], ["Done."])
    (led,) = play(server_url, clerk, offered)
    assert led.complete
    assert (led.reward or 0.0) + offered.shaping(led) > 0.20  # above all that is incomplete


def test_expert_that_fails_costs_the_agent_nothing(server_url: str, clerk: Clerk, write: Write) -> None:
    write([ASK], [LIST_GOODS], [SELL_APPLES], ["Done."])
    with judge_server(Reply(401, {})) as server:
        expert = ModelExpert(EndpointSettings(server.url, "sage"))
        (episode,) = play(server_url, clerk, counselling(expert))
    assert (episode.complete, episode.counsel.failed, episode.counsel.asked) == (True, 1, 0)
    assert counselling().shaping(episode) == pytest.approx(0.10)
    assert "the expert is not available" in clerk.processing_class.decode(episode.conversation.ids)


def test_question_must_be_a_text(server_url: str, clerk: Clerk, write: Write) -> None:
    write([write_request(ToolRequest("ask_expert", {"question": 7}))], ["Done."])
    (episode,) = play(server_url, clerk, counselling())
    assert episode.counsel.asked == 0
    assert "invalid_arguments" in clerk.processing_class.decode(episode.conversation.ids)


def test_offers_are_spread_evenly_and_none_is_made_before_training() -> None:
    for ratio, offers in ((0.0, 0), (0.1, 4), (0.5, 20), (0.8, 32), (1.0, 40)):
        offered = [counselling(ratio=ratio).offer(number, APPLES) for number in range(40)]
        assert sum(each is not None for each in offered) == offers
        assert all(
            abs(sum(each is not None for each in offered[start : start + 10]) - 10 * ratio) < 1
            for start in range(0, 40, 10)
        )
    assert Counselling(GOLD, FixedMix(1.0)).offer(0, APPLES) is None


def test_phases_follow_the_format_errors_down_and_up_again() -> None:
    mix = AdaptiveMix(window=2)
    seen = []
    for rate in (0.88, 0.88, 0.62, 0.5, 0.4, 0.31, 0.31, 0.37, 0.37, 0.5, 0.5, 0.9, 0.9):
        mix.learn(rate)
        seen.append((mix.phase, mix.ratio))
    scaffold, balanced, independence = (Phase.SCAFFOLD, 0.8), (Phase.BALANCED, 0.5), (Phase.INDEPENDENCE, 0.1)
    assert seen == [
        *[scaffold] * 3,
        *[balanced] * 3,
        *[independence] * 3,  # 0.37 is within the margin
        *[balanced] * 2,
        *[scaffold] * 2,
    ]
    with pytest.raises(ValueError, match="share"):
        FixedMix(1.5)


@pytest.fixture
def grpo(server_url: str, taught: Path, worlds: Path, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Runs train_grpo.py with the taught model on the kiosk."""

    def run(*words: str) -> list[dict[str, Any]]:
        common = [
            "--model",
            str(taught),
            "--env-url",
            server_url,
            "--pack",
            str(worlds),
            "--tools",
            "compact",
        ]
        common += ["--tokens", "400", "--turn-tokens", "40", "--turns", "4", "--context", "1200"]
        common += [
            "--tasks-per-step",
            "2",
            "--num-generations",
            "2",
            "--show-every",
            "0",
            "--report-to",
            "none",
        ]
        common += ["--output-dir", str(tmp_path / "run"), "--save-steps", "1", "--skip-zero-shot"]
        train_grpo.main(train_grpo.parse([*common, *words]), None)
        return [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]

    return run


def test_training_with_expert_and_curriculum_is_logged_and_resumed(grpo: Any, tmp_path: Path) -> None:
    words = ["--expert", "gold", "--curriculum"]
    (first, *_) = grpo(*words, "--max-steps", "1")
    assert (first["curriculum/level"], first["expert/phase"]) == (0, 0)
    assert first["expert/ratio"] == pytest.approx(0.8)
    assert "expert/scaffold/success_rate" in first
    assert "rewards/expert_shaping/mean" in first
    kept = tmp_path / "run/checkpoint-1"
    assert json.loads((kept / "expert.json").read_text())["phase"] == "scaffold"
    curriculum = json.loads((kept / "curriculum.json").read_text())
    assert len(curriculum["rewards"]) == 4
    state = {**curriculum, "openings": [{"level": "easy", "draw": 0}], "rewards": [0.1, 0.2]}
    (kept / "curriculum.json").write_text(json.dumps(state))
    (kept / "expert.json").write_text(json.dumps({"phase": "independence", "rates": [0.1]}))
    figures = grpo(*words, "--max-steps", "2", "--resume")
    second = next(each for each in figures if each["step"] == 2)
    assert (second["expert/phase"], second["expert/ratio"]) == (2, pytest.approx(0.1))
    again = json.loads((tmp_path / "run/checkpoint-2/curriculum.json").read_text())
    assert again["rewards"][:2] == [0.1, 0.2]
    assert len(again["rewards"]) == 6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--expert", "sage"], "there are none, gold and openai:MODEL"),
        (["--expert", "gold", "--expert-mix", "much"], "'adaptive', or a number"),
        (["--expert", "openai:sage", "--expert-url", "sage"], "URL"),
        (["--expert", "gold", "--split", "test"], "for evaluation only"),
    ],
)
def test_expert_that_cannot_be_is_refused(grpo: Any, words: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        grpo(*words)
    assert said in str(stopped.value)
