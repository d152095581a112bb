"""A tiny model that was taught the kiosk, real trainers around it, and turns written by script."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from subworlds.envs import SubworldsEnv, Tool
from subworlds.training import batch
from subworlds.training.assignments import Assignment, assignment_dataset
from subworlds.training.conversation import ChatFormat, Conversation
from subworlds.training.exposure import Exposure, Shown
from subworlds.training.memory import Memory
from subworlds.training.rollout import episode_reward
from subworlds.training.sampling import Written
from subworlds.training.tiny_model import tiny_model, tiny_tokenizer
from subworlds.training.tool_calls import ToolRequest, write_request

APPLES = Assignment("kiosk/sell-apples", "kiosk", "A customer takes three apples. Ring them up.", 0)
PEAR = Assignment(
    "kiosk/price-of-pear", "kiosk", "What does a pear cost, in cents? Answer with the number only.", 0
)
LIST_GOODS = write_request(ToolRequest("list_goods", {}))
SELL_APPLES = write_request(ToolRequest("sell", {"good_id": 1, "quantity": 3}))
SOLUTIONS = {APPLES: [LIST_GOODS, SELL_APPLES, "Done."], PEAR: [LIST_GOODS, "70"]}
_LESSONS = 120


def prompts(*assignments: Assignment) -> list[Any]:
    return [assignment.to_messages() for assignment in assignments]


def stats(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/stats", timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def noted(monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, place: int) -> list[Any]:
    """The argument at a place (0 is the first after `self`) of every call of a method, from now on."""
    arguments: list[Any] = []
    original = getattr(owner, method)

    def note(self: Any, *given: Any) -> Any:
        arguments.append(given[place])
        return original(self, *given)

    monkeypatch.setattr(owner, method, note)
    return arguments


@pytest.fixture(scope="session", autouse=True)
def quiet_trl() -> Iterator[None]:
    """TRL says of `rollout_func` that it is experimental: a warning, and so an error here."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
        yield


@pytest.fixture(scope="session")
def kiosk_tools(server_url: str) -> tuple[Tool, ...]:
    async def ask() -> list[Tool]:
        async with SubworldsEnv(base_url=server_url) as env:
            await env.reset(task=APPLES.task)
            return await env.list_tools()

    return tuple(asyncio.run(ask()))


@pytest.fixture(scope="session")
def goods(server_url: str) -> str:
    """What list_goods answers, as a model is told it."""

    async def ask() -> Any:
        async with SubworldsEnv(base_url=server_url) as env:
            await env.reset(task=APPLES.task)
            return (await env.call_tool("list_goods")).observation.result

    return json.dumps(asyncio.run(ask()))


@pytest.fixture(scope="session")
def tokenizer(kiosk_tools: tuple[Tool, ...], goods: str) -> Any:
    shown = Shown(Exposure.FULL, kiosk_tools).functions or []
    texts = [*map(json.dumps, shown), Shown(Exposure.COMPACT, kiosk_tools).system, goods]
    return tiny_tokenizer(3 * [*texts, *(assignment.prompt for assignment in SOLUTIONS), SELL_APPLES])


@pytest.fixture(scope="session")
def taught(
    tokenizer: Any, kiosk_tools: tuple[Tool, ...], goods: str, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a model that solves the kiosk's tasks often, with compact tools."""
    chat, shown = ChatFormat(tokenizer), Shown(Exposure.COMPACT, kiosk_tools)
    answers = [goods, '{"sale_id": 2}']
    lessons = []
    for assignment, turns in SOLUTIONS.items():
        messages = [
            {"role": "system", "content": shown.system},
            {"role": "user", "content": assignment.prompt},
        ]
        lesson = Conversation(chat.open(messages, shown.functions))
        for turn, answer in zip(turns, [*answers[: len(turns) - 1], None], strict=True):
            ids = [*tokenizer(turn)["input_ids"], chat.end_of_turn]
            lesson.model_said(ids, [0.0] * len(ids))
            if answer is not None:
                lesson.world_said(chat.reply([answer]))
        lessons.append(lesson)
    model = tiny_model(tokenizer, seed=1, hidden=64, layers=2)
    _teach(model, lessons)
    folder = tmp_path_factory.mktemp("taught")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _teach(model: Any, lessons: Sequence[Conversation]) -> None:
    """A few steps of plain supervised learning on what the model should say."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(_LESSONS):
        for lesson in lessons:
            ids = torch.tensor([lesson.context])
            labels = torch.where(torch.tensor([[0] * len(lesson.prompt_ids) + lesson.mask]) == 1, ids, -100)
            model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class MakeTrainer(Protocol):
    """A real GRPOTrainer with the taught model, or with an adapter on it."""

    def __call__(
        self, rollout: Any, *assignments: Assignment, adapter: Any = None, **settings: Any
    ) -> Any: ...


@pytest.fixture
def make_trainer(taught: Path, tmp_path: Path) -> MakeTrainer:
    def make(rollout: Any, *assignments: Assignment, adapter: Any = None, **settings: Any) -> GRPOTrainer:
        config: dict[str, Any] = {
            "per_device_train_batch_size": 4,
            "num_generations": 4,
            "max_completion_length": 400,
            "max_steps": 1,
            "logging_steps": 1,
            "beta": 0.0,
            "learning_rate": 1e-4,
            "use_cpu": True,
            "bf16": False,
            "activation_checkpointing": False,
            "report_to": [],
            "save_strategy": "no",
            "disable_tqdm": True,
            **settings,
        }
        return GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(taught),
            processing_class=AutoTokenizer.from_pretrained(taught),
            reward_funcs=episode_reward,
            args=GRPOConfig(output_dir=str(tmp_path / "trainer"), **config),
            train_dataset=task_dataset_of(assignments or (APPLES, PEAR)),
            rollout_func=rollout,
            peft_config=adapter,
        )

    return make


def task_dataset_of(assignments: Sequence[Assignment]) -> Any:
    return assignment_dataset(assignments)


@dataclass
class Script:
    """Writes turns in the place of a model, and can do something else while it "generates"."""

    tokenizer: Any
    turns: list[list[str]]
    """What the next generations write, one text for each live episode; the last is written for ever."""
    meanwhile: Callable[[], None] = lambda: None

    def __call__(
        self, trainer: Any, contexts: Mapping[int, list[int]], most_tokens: int, memory: Memory
    ) -> list[Written]:
        texts = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        self.meanwhile()
        if len(texts) == 1:
            texts = texts * len(contexts)
        written = []
        for text, _ in zip(texts, contexts, strict=True):
            ids = [*self.tokenizer(text)["input_ids"], self.tokenizer.eos_token_id][:most_tokens]
            written.append(Written(ids, [-1.0] * len(ids)))
        return written


class Write(Protocol):
    """Has these turns written by script: a list for each generation, one text for all or one for each."""

    def __call__(self, *turns: list[str], meanwhile: Callable[[], None] = ...) -> None: ...


@pytest.fixture
def write(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> Write:
    def use(*turns: list[str], meanwhile: Callable[[], None] = lambda: None) -> None:
        monkeypatch.setattr(batch, "generate", Script(tokenizer, list(turns), meanwhile))

    return use


@dataclass
class Clerk:
    """Stands where a trainer would, for rollouts whose turns are written by script."""

    processing_class: Any
    accelerator: Any


@pytest.fixture
def clerk(tokenizer: Any) -> Clerk:
    class Alone:
        num_processes = 1

    return Clerk(tokenizer, Alone())
