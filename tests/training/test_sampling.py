"""Turns of several conversations, sampled with a memory: exact, and nothing is read twice."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM
from transformers.cache_utils import Cache

from subworlds.training.limits import Limits
from subworlds.training.memory import Memory
from subworlds.training.rollout import Rollout, RolloutSettings
from subworlds.training.sampling import Sampler, Written

from .conftest import APPLES, PEAR, MakeTrainer, prompts

PADDING, ENDS = 0, [1, 2, 3]
TURN = 40
PROMPTS = {4: [5, 6, 7], 7: [5, 6, 7], 9: [8] * 30, 2: [9, 10]}
TOLD = {4: [20, 21], 7: [22] * 9, 9: [23], 2: [24, 25, 26]}


class Plain:
    """Stands where a trainer would."""

    def __init__(self, *, temperature: float = 1.0, **sampling: Any) -> None:
        config: Any = GenerationConfig
        usual = {"do_sample": True, "top_k": 0, "pad_token_id": PADDING, "eos_token_id": ENDS}
        self.temperature = temperature
        self.generation_config = config(**{**usual, **sampling}, temperature=temperature)
        self.args = SimpleNamespace(generation_kwargs=None)
        self.processing_class = SimpleNamespace(pad_token_id=PADDING)
        self.accelerator = SimpleNamespace(
            device=torch.device("cpu"), state=SimpleNamespace(deepspeed_plugin=None)
        )


@pytest.fixture
def model() -> Any:
    config: Any = Qwen3Config
    small = config(
        vocab_size=40,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        tie_word_embeddings=True,
        initializer_range=0.3,
    )
    torch.manual_seed(3)  # pyright: ignore[reportUnknownMemberType]
    return Qwen3ForCausalLM(small)


def play(sampler: Sampler, turns: int = 3) -> tuple[dict[int, list[int]], list[tuple[int, int, Written]]]:
    """A conversation of some turns for each prompt; one of them ends after the first.

    Returns: the conversations, and each turn with its conversation's number and the place where it begins.
    """
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    memory, contexts, written = Memory(), {number: list(ids) for number, ids in PROMPTS.items()}, []
    live = list(contexts)
    for turn in range(turns):
        said = sampler.write({number: contexts[number] for number in live}, TURN, memory)
        for number, each in zip(live, said, strict=True):
            written.append((number, len(contexts[number]), each))
            contexts[number] = contexts[number] + each.ids + TOLD[number][turn:]
        live = [number for number in live if number != 9]
    return contexts, written


def assert_exact(model: Any, temperature: float, contexts: Mapping[int, Sequence[int]], written: Any) -> None:
    assert len({len(each.ids) for _, _, each in written}) > 2  # they are ragged
    for number, begin, each in written:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([contexts[number]])).logits[0, begin - 1 :]
        again = torch.log_softmax(logits[: len(each.ids)] / temperature, dim=-1)
        found = again.gather(-1, torch.tensor(each.ids)[:, None])[:, 0].tolist()
        assert each.logprobs == pytest.approx(found, abs=1e-5)
        assert each.ids[-1] in ENDS or len(each.ids) == TURN
        assert not set(ENDS) & set(each.ids[:-1])


@pytest.mark.parametrize(
    "trainer",
    [Plain(), Plain(temperature=0.7), Plain(top_k=8), Plain(top_p=0.8, min_p=0.01)],
    ids=["plain", "temperature", "top_k", "top_p"],
)
def test_what_is_sampled_with_a_memory_is_what_the_model_thinks(model: Any, trainer: Plain) -> None:
    contexts, written = play(Sampler(trainer, model))
    assert_exact(model, trainer.temperature, contexts, written)


def test_an_adapter_is_sampled_from_too(model: Any) -> None:
    adapted: Any = get_peft_model(
        model, LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False)
    )
    contexts, written = play(Sampler(Plain(), adapted))
    assert_exact(adapted, 1.0, contexts, written)


def test_the_likeliest_turns_are_the_same_with_and_without_a_memory(model: Any) -> None:
    trainer = Plain(do_sample=False)
    with_memory, without = Sampler(trainer, model), Sampler(trainer, model)
    without._remembers = False  # pyright: ignore[reportPrivateUsage]
    assert play(with_memory)[0] == play(without)[0]


def test_further_wishes_are_for_a_whole_turn(model: Any) -> None:
    """With a least length, and an end that would come sooner without it."""
    trainer = Plain(min_new_tokens=20)
    trainer.args.generation_kwargs = {"min_new_tokens": 20}
    _, written = play(Sampler(trainer, model))
    assert min(len(each.ids) for _, _, each in written) >= 20


def test_every_token_is_read_once(model: Any) -> None:
    """A prompt that two begin with too, and nothing again that was there a turn before."""
    read: list[int] = []
    model.model.embed_tokens.register_forward_hook(lambda _, given, __: read.append(given[0].numel()))
    sampler, memory = Sampler(Plain(suppress_tokens=ENDS), model), Memory()
    contexts = {4: [5, 6, 7] * 40, 7: [5, 6, 7] * 40}
    said = sampler.write(contexts, 8, memory)
    assert sum(read) == 120 + 2 * 8
    read.clear()
    told = {
        number: contexts[number] + each.ids + [12] * 5 for number, each in zip(contexts, said, strict=True)
    }
    sampler.write(told, 8, memory)
    assert sum(read) == 2 * (1 + 5 + 7)


def test_a_conversation_that_began_anew_is_read_anew(model: Any) -> None:
    """As when an episode is played a second time under its number."""
    sampler, memory = Sampler(Plain(do_sample=False), model), Memory()
    sampler.write({4: [5, 6, 7] * 5}, TURN, memory)
    fresh = {4: [9, 10] * 8}
    assert sampler.write(fresh, TURN, memory) == sampler.write(fresh, TURN, Memory())


def test_nothing_is_remembered_after_a_batch(server_url: str, make_trainer: MakeTrainer) -> None:
    limits = Limits(turns=4, turn_tokens=40, tokens=400, context=1_000)
    with Rollout(RolloutSettings((server_url,), limits=limits)) as rollout:
        rollout(prompts(APPLES, PEAR), make_trainer(rollout))
        gc.collect()
        assert not [each for each in gc.get_objects() if issubclass(type(each), Cache | Memory)]
