"""From solutions to demonstrations, played on a real server, to a model that plays."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from datasets import load_from_disk

from subworlds.envs import SubworldsEnv, Tool
from subworlds.training import play_episode, warmup
from subworlds.training.assignments import Assignment
from subworlds.training.conversation import ChatFormat
from subworlds.training.demonstrations import MISTAKES, Habit, Mix, demonstrate
from subworlds.training.exposure import Exposure, Shown
from subworlds.training.limits import Limits
from subworlds.training.local_agent import LocalAgent, LocalModel
from subworlds.training.recording import Recorded, Recording, record
from subworlds.training.solutions import NoSolutions, Solution, read_solutions
from subworlds.training.tool_calls import Malformed, ToolRequest, read_turn

from .conftest import APPLES, LIST_GOODS, PEAR, SELL_APPLES

LOOK, SELL = ToolRequest("list_goods", {}), ToolRequest("sell", {"good_id": 1, "quantity": 3})
SPOILT = Mix(mistakes=1.0, reads=0.5)


def solution(of: Assignment, *calls: ToolRequest, answer: str | None = None) -> Solution:
    return Solution(of.task, of.scenario, of.prompt, "easy", False, calls, answer)


SOLUTIONS = [solution(APPLES, LOOK, SELL), solution(PEAR, LOOK, answer="70")]


async def recorded(
    server_url: str,
    tools: tuple[Tool, ...],
    tokenizer: Any,
    solutions: list[Solution] | None = None,
    **settings: Any,
) -> Recorded:
    made = replace(Recording((server_url,), exposure=Exposure.COMPACT), **settings)
    return await record(made, solutions or SOLUTIONS, {"kiosk": list(tools)}, tokenizer)


def test_solutions_are_read_from_packs_but_not_those_of_the_test_split(worlds: Path) -> None:
    found = read_solutions([worlds])
    assert [(each.task, each.calls, each.answer) for each in found] == [
        (each.task, each.calls, each.answer) for each in SOLUTIONS
    ]
    with pytest.raises(NoSolutions, match="nobody may learn from the test split"):
        read_solutions([worlds], "test")
    with pytest.raises(NoSolutions, match="there is no split 'nope'"):
        read_solutions([worlds], "nope")
    with pytest.raises(NoSolutions, match="is missing"):
        read_solutions([worlds / "none"])


def test_demonstration_without_mistakes_is_the_solution(kiosk_tools: tuple[Tool, ...]) -> None:
    turns = demonstrate(SOLUTIONS[0], kiosk_tools, Exposure.FULL, Mix(0, 0), random.Random(1))
    assert [turn.text for turn in turns] == [LIST_GOODS, SELL_APPLES, "Done."]
    asked = demonstrate(SOLUTIONS[1], kiosk_tools, Exposure.META, Mix(0, 0), random.Random(1))
    assert read_turn(asked[0].text).requests == (ToolRequest("list_tools", {}),)
    assert read_turn(asked[1].text).requests == (
        ToolRequest("call_tool", {"name": "list_goods", "arguments": {}}),
    )
    assert asked[-1].text == "70"


def test_every_mistake_is_put_right_at_once(kiosk_tools: tuple[Tool, ...]) -> None:
    names = {tool.name for tool in kiosk_tools}
    seen: Counter[Habit | None] = Counter()
    for seed in range(40):
        turns = demonstrate(SOLUTIONS[0], kiosk_tools, Exposure.FULL, SPOILT, random.Random(seed))
        for turn, following in pairwise(turns):
            (request, *_) = read_turn(turn.text).requests
            seen[turn.habit] += 1
            match turn.habit:
                case Habit.MALFORMED:
                    assert isinstance(request, Malformed)
                case Habit.WRONG_TOOL:
                    assert request.name not in names
                case Habit.WRONG_ARGUMENT:
                    assert "good_id" not in request.arguments
                case _:
                    continue
            assert following.habit is None
    assert set(seen) == {None, Habit.UNNEEDED_READ, *MISTAKES}
    same = [demonstrate(SOLUTIONS[0], kiosk_tools, Exposure.FULL, SPOILT, random.Random(7)) for _ in range(2)]
    assert same[0] == same[1]


async def test_demonstration_that_asks_does_as_the_expert_says(
    server_url: str, kiosk_tools: tuple[Tool, ...], tokenizer: Any
) -> None:
    found = await recorded(server_url, kiosk_tools, tokenizer, mix=Mix(0, 0, asks=1.0))
    assert (len(found.examples), found.left_out) == (8, [])
    for example in found.examples:
        assert example.complete
        assert "ask_expert(" in tokenizer.decode(example.input_ids)
        advised = [
            (told["content"], following["content"])
            for asked, told, following in zip(
                example.messages, example.messages[1:], example.messages[2:], strict=False
            )
            if asked.get("habit") == Habit.ASKS
        ]
        assert advised
        for advice, following in advised:
            (request,) = read_turn(following).requests
            assert f"Call {request.name} with {json.dumps(request.arguments)}." in advice


async def test_labels_are_the_models_tokens_less_its_mistakes(
    server_url: str, kiosk_tools: tuple[Tool, ...], tokenizer: Any
) -> None:
    found = await recorded(server_url, kiosk_tools, tokenizer, mix=SPOILT, copies=3)
    assert (len(found.examples), found.left_out) == (6, [])
    chat, shown = ChatFormat(tokenizer), Shown(Exposure.COMPACT, kiosk_tools)
    for example in found.examples:
        messages = [
            {"role": "system", "content": shown.system},
            {"role": "user", "content": example.messages[0]["content"]},
        ]
        prompt = chat.open(messages, shown.functions)
        assert example.complete
        assert example.input_ids[: len(prompt)] == prompt
        said = [each for each in example.messages if each["role"] == "assistant"]
        assert any(not each["learn"] for each in said)
        end = tokenizer.eos_token
        written = [
            token for token, mask in zip(example.input_ids, example.assistant_masks, strict=True) if mask
        ]
        assert tokenizer.decode(written) == "".join(each["content"] + end for each in said)
        learned = [token for token in example.labels if token != -100]
        assert tokenizer.decode(learned) == "".join(each["content"] + end for each in said if each["learn"])
        for token, label, mask in zip(
            example.input_ids, example.labels, example.assistant_masks, strict=True
        ):
            assert label in ((-100, token) if mask else (-100,))
        for mistake, told in pairwise(example.messages):
            if mistake.get("learn") is False:
                assert "error: " in told["content"]


async def test_the_same_seed_records_the_same_and_mistakes_can_be_learned(
    server_url: str, kiosk_tools: tuple[Tool, ...], tokenizer: Any
) -> None:
    first = await recorded(server_url, kiosk_tools, tokenizer, mix=SPOILT, learn_mistakes=True)
    again = await recorded(server_url, kiosk_tools, tokenizer, mix=SPOILT, learn_mistakes=True, at_once=1)
    assert first == again
    for example in first.examples:
        assert [int(label != -100) for label in example.labels] == example.assistant_masks


async def test_what_stops_early_does_not_complete_its_task(
    server_url: str, kiosk_tools: tuple[Tool, ...], tokenizer: Any
) -> None:
    found = await recorded(server_url, kiosk_tools, tokenizer, mix=Mix(0, 0, unfinished=1.0))
    assert len(found.examples) == 8
    assert not any(example.complete for example in found.examples)
    assert all(example.habits == ["stops_early"] for example in found.examples)


async def test_what_the_verdict_does_not_bear_out_is_left_out_and_named(
    server_url: str, kiosk_tools: tuple[Tool, ...], tokenizer: Any
) -> None:
    wrong = solution(APPLES, ToolRequest("sell", {"good_id": 2, "quantity": 3}))
    long = solution(PEAR, *[LOOK] * 5, answer="70")
    found = await recorded(
        server_url,
        kiosk_tools,
        tokenizer,
        [wrong, long, SOLUTIONS[0]],
        mix=Mix(0, 0),
        copies=1,
        limits=Limits(turns=4),
    )
    assert [example.task for example in found.examples] == [APPLES.task]
    assert found.left_out == [
        "kiosk/sell-apples: does not complete its task",
        "kiosk/price-of-pear: over the limit of turns",
    ]


async def test_model_that_was_warmed_up_plays(server_url: str, worlds: Path, tmp_path: Path) -> None:
    out = tmp_path / "warm"
    words = ["--model", "tiny", "--tools", "compact", "--env-url", server_url, "--pack", str(worlds)]
    words += ["--copies", "1", "--mistakes", "0", "--reads", "0", "--max-steps", "60"]
    words += ["--batch", "2", "--micro-batch", "2", "--output-dir", str(out)]
    await asyncio.to_thread(warmup.main, warmup.parse(words), None)
    model = LocalModel(out / "final", temperature=0)
    async with model, SubworldsEnv(server_url) as env:
        for task in (APPLES.task, PEAR.task):
            agent = LocalAgent("warm", model, Exposure.COMPACT, Limits(turn_tokens=96))
            assert (await play_episode(env, task, agent)).outcome == "complete"
    lines = [json.loads(line) for line in (out / "demonstrations.jsonl").read_text().splitlines()]
    dataset = load_from_disk(out / "dataset")
    assert [line["input_ids"] for line in lines] == dataset["input_ids"][:]
    assert [line["labels"] for line in lines] == dataset["labels"][:]
    figures = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert figures[0]["loss"] > 5 * figures[-2]["loss"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--split", "test"], "for evaluation only"),
        (["--mistakes", "1.5"], "are shares"),
        (["--unfinished", "0.6", "--slips", "0.6"], "more than 1 together"),
        (["--copies", "0"], "1 at least"),
        (["--batch", "3", "--micro-batch", "2"], "must be a multiple"),
        (["--scenario", "nope"], "none fits"),
        (["--certified-only"], "none fits"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_loaded(
    words: list[str], said: str, worlds: Path, tmp_path: Path
) -> None:
    common = ["--model", "tiny", "--pack", str(worlds), "--output-dir", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as stopped:
        warmup.main(warmup.parse([*common, *words]), None)
    assert said in str(stopped.value)


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        warmup.parse(["--help"])
    assert stopped.value.code == 0
    assert "train_grpo.py --model runs/warm/final" in capsys.readouterr().out
