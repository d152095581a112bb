"""What memory is reckoned to hold, beside what transformers, peft and torch say of the same models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Qwen3Config, Qwen3ForCausalLM, Qwen3MoeConfig

from subworlds.training import train_grpo
from subworlds.training.gpu_memory import GIB, Plan, Vllm, bill_of, layer_bytes
from subworlds.training.model_shapes import QWEN3, ModelShape, UnknownModel, shape_of

PUBLISHED = {
    "Qwen/Qwen3-0.6B": 0.6,
    "Qwen/Qwen3-1.7B": 1.7,
    "Qwen/Qwen3-4B": 4.0,
    "Qwen/Qwen3-8B": 8.2,
    "Qwen/Qwen3-14B": 14.8,
    "Qwen/Qwen3-32B": 32.8,
    "Qwen/Qwen3-30B-A3B": 30.5,
}
"""Billions of parameters, as the models' cards say."""


def config_of(shape: ModelShape) -> Any:
    common: dict[str, Any] = {
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "tie_word_embeddings": shape.tied,
    }
    if not shape.experts:
        return Qwen3Config(**common, intermediate_size=shape.intermediate)
    return Qwen3MoeConfig(
        **common,
        moe_intermediate_size=shape.intermediate,
        num_experts=shape.experts,
        num_experts_per_tok=shape.experts_per_token,
    )


def bodiless(shape: ModelShape) -> Any:
    """The model as transformers makes it, of tensors without content."""
    models: Any = AutoModelForCausalLM
    with torch.device("meta"):
        return models.from_config(config_of(shape), dtype=torch.bfloat16)


@pytest.mark.parametrize("shape", QWEN3.values(), ids=lambda shape: shape.name)
def test_parameters_are_those_that_transformers_lays_out(shape: ModelShape) -> None:
    model = bodiless(shape)
    assert shape.parameters == sum(each.numel() for each in model.parameters())
    assert shape.linear_parameters == sum(
        module.weight.numel()
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and name != "lm_head"
    )
    assert shape.parameters / 1e9 == pytest.approx(PUBLISHED[shape.name], abs=0.06)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B"])
def test_adapter_is_the_one_that_peft_adds(name: str) -> None:
    config = LoraConfig(r=16, target_modules="all-linear", task_type="CAUSAL_LM")
    adapted = get_peft_model(bodiless(QWEN3[name]), config)
    trained = sum(each.numel() for each in adapted.parameters() if each.requires_grad)
    assert QWEN3[name].adapter_parameters(16) == trained


@pytest.mark.parametrize("rank", [0, 8])
def test_layer_keeps_what_was_reckoned(rank: int) -> None:
    """Counted with hooks on what autograd saves of a real layer, under autocast and with a padding mask."""
    shape = ModelShape("a-layer", 1, 256, 8, 2, 768, tied=True, head_dim=64, vocabulary=64)
    kept, tokens, length = kept_by_a_layer(shape, rank)
    masked = layer_bytes(shape, full=not rank) + 2 * length  # the mask, in 16 bit
    assert masked <= kept / tokens <= 1.02 * masked


def kept_by_a_layer(shape: ModelShape, rank: int) -> tuple[int, int, int]:
    """Bytes, the tokens of the batch, and their number in each row."""
    rows, length = 2, 200
    number = torch.float32 if not rank else torch.bfloat16
    model: Any = Qwen3ForCausalLM(config_of(shape)).to(number)
    layer, rotary = model.model.layers[0], model.model.rotary_emb
    if rank:
        get_peft_model(model, LoraConfig(r=rank, target_modules="all-linear", task_type="CAUSAL_LM"))
    stream = torch.randn(rows, length, shape.hidden, dtype=number, requires_grad=True)
    positions = rotary(stream, torch.arange(length)[None].expand(rows, length))
    mask = torch.ones(rows, 1, length, length, dtype=torch.bool).tril()
    saved: dict[int, Any] = {}

    def save(tensor: Any) -> Any:
        saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16),
    ):
        layer(stream, attention_mask=mask, position_embeddings=positions)
    of_tokens = [each for each in saved.values() if rows * length in each.shape or length in each.shape[1:3]]
    sizes = [each.untyped_storage().nbytes() for each in of_tokens if each.dtype != torch.bool]
    turned = 2 * sum(each.untyped_storage().nbytes() for each in positions[:1])
    return sum(sizes) - turned, rows * length, length


def test_plan_is_what_the_script_does_unless_told_otherwise() -> None:
    plan, args = Plan(), train_grpo.Args()
    assert plan.lora_rank == args.lora_rank
    assert plan.four_bit == args.load_in_4bit
    assert plan.tasks_per_step == args.tasks_per_step
    assert plan.num_generations == args.num_generations
    assert plan.micro_batch == args.micro_batch or args.num_generations
    assert plan.context == args.context
    assert plan.vllm_memory == args.vllm_memory


def test_lora_trades_optimizer_for_adapter_and_4_bit_halves_twice() -> None:
    shape = QWEN3["Qwen/Qwen3-8B"]
    sizes = {
        name: {item.name: item.size / GIB for item in bill_of(shape, plan, 80 * GIB).items}
        for name, plan in {
            "full": Plan(vllm=Vllm.OFF),
            "lora": Plan(lora_rank=32, vllm=Vllm.OFF),
            "small": Plan(lora_rank=32, four_bit=True, vllm=Vllm.OFF),
        }.items()
    }
    assert sizes["full"]["weights, 32 bit"] == pytest.approx(30.5, abs=0.1)
    assert sizes["full"]["optimizer (AdamW)"] == pytest.approx(61.0, abs=0.1)
    assert sizes["lora"]["weights, 16 bit"] == pytest.approx(15.3, abs=0.1)
    assert sizes["lora"]["its optimizer (AdamW)"] < 1
    assert 4.5 < sizes["small"]["weights, 4 bit"] < 6.5  # embeddings stay in 16 bit


def test_cache_needs_room_for_one_whole_episode() -> None:
    shape, plan = QWEN3["Qwen/Qwen3-0.6B"], Plan(lora_rank=16, micro_batch=1)
    enough = bill_of(shape, plan, 40 * GIB)
    assert enough.fits
    assert enough.at_once > 1
    tight = bill_of(shape, plan, 12 * GIB)
    assert not tight.fits
    assert "with one episode of 16,384 tokens it needs" in tight.short


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "qwen/qwen3-8b", "Qwen3-8B", "Qwen/Qwen3-8B-Base"])
def test_model_is_known_by_its_name(name: str) -> None:
    assert shape_of(name) is QWEN3["Qwen/Qwen3-8B"]


@pytest.mark.parametrize("name", ["Qwen/Qwen3-4B", "Qwen/Qwen3-30B-A3B"])
def test_shape_is_read_from_a_folder(name: str, tmp_path: Path) -> None:
    config_of(QWEN3[name]).save_pretrained(tmp_path)
    found = shape_of(str(tmp_path))
    assert found.parameters == QWEN3[name].parameters
    assert found.adapter_parameters(8) == QWEN3[name].adapter_parameters(8)


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        (None, "", "has no config.json"),
        ("adapter_config.json", "{}", "It has a LoRA adapter: give its base"),
        ("config.json", "{", "cannot be read"),
        ("config.json", '{"model_type": "llama"}', "it is of a llama, and only Qwen3"),
        ("config.json", '{"model_type": "no-such-model"}', "cannot be read"),
        ("config.json", '{"model_type": "qwen3_moe", "decoder_sparse_step": 2}', "some have none"),
        ("config.json", '{"model_type": "qwen3", "num_hidden_layers": "many"}', "cannot be read"),
    ],
)
def test_folder_without_a_qwen3_says_so(tmp_path: Path, file: str | None, content: str, told: str) -> None:
    if file:
        (tmp_path / file).write_text(content)
    with pytest.raises(UnknownModel) as refused:
        shape_of(str(tmp_path))
    assert told in str(refused.value)
