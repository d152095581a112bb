"""What a run of train_grpo.py needs of a GPU's memory, item by item, reckoned before anything is loaded.

Every figure follows from what the script, TRL 1.16 and peft do, for the longest episodes that --context
allows: weights that are trained are in float32, those under an adapter in 16 bit, the adapter in float32 (in
16 bit over a 4-bit base); AdamW keeps two numbers for each that is trained; layers are recomputed in the
backward pass, so each keeps its input only; the output layer works in tiles, so that no logits are kept. What
a layer keeps while it is recomputed was counted with torch's hooks on saved tensors, which a test does again.
The workspaces of CUDA and of vLLM are assumptions: WORKSPACE and VLLM_WORKSPACE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from .model_shapes import ModelShape

GIB = 2**30
WORKSPACE = 1.5 * GIB
"""CUDA's own, kernels' buffers, the tiles of the output layer."""
VLLM_WORKSPACE = 1.5 * GIB
"""Of vLLM's share, what is neither weights nor cache."""
MARGIN = 0.05
"""Share of the GPU that must be left, for what allocators lose between blocks."""

_MIB = {"T4": 15_360, "A100-40": 40_960, "A100-80": 81_920, "H100": 81_559, "H200": 143_771}
GPUS: Mapping[str, int] = {name: size * 2**20 for name, size in _MIB.items()}
"""Bytes of each, as nvidia-smi shows them."""

_NF4_BYTES = 0.5 + 4 / 64
"""Of a parameter in 4 bit: half a byte, and a float32 scale for each 64."""


class Vllm(StrEnum):
    """Where text is generated, as --vllm-mode says."""

    COLOCATE = "colocate"
    SERVER = "server"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Plan:
    """The options of train_grpo.py that memory depends on, with the script's defaults."""

    lora_rank: int = 0
    four_bit: bool = False
    tasks_per_step: int = 4
    num_generations: int = 8
    micro_batch: int = 8
    context: int = 16_384
    vllm: Vllm = Vllm.COLOCATE
    vllm_memory: float = 0.35

    @property
    def episodes(self) -> int:
        """Of a step, on one GPU."""
        return self.tasks_per_step * self.num_generations


@dataclass(frozen=True, slots=True)
class Item:
    """Something that takes memory."""

    name: str
    size: float
    """In bytes."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bill:
    """What a plan takes of a GPU."""

    memory: float
    """The GPU's, in bytes."""
    items: tuple[Item, ...]
    short: str = ""
    """What is wrong although the sum may be right; empty where nothing is."""
    at_once: float = float("inf")
    """Whole episodes that colocated vLLM's cache holds."""

    @property
    def left(self) -> float:
        """In bytes; negative where it is too much."""
        return self.memory - sum(item.size for item in self.items)

    @property
    def fits(self) -> bool:
        """With the margin."""
        return not self.short and self.left >= MARGIN * self.memory


def bill_of(shape: ModelShape, plan: Plan, memory: float) -> Bill:
    """Reckon what `plan` takes of a GPU with `memory` bytes."""
    items = (*_resident(shape, plan), _work(shape, plan), Item("CUDA and workspaces", WORKSPACE))
    short = _shortage(shape, plan, memory)
    if plan.vllm is not Vllm.COLOCATE:
        return Bill(memory, items, short)
    at_once = max(0.0, _cache_room(shape, plan, memory)) / cache_bytes(shape) / plan.context
    return Bill(memory, (*items, *_vllm_share(shape, plan, memory, at_once)), short, at_once)


def vllm_needs(shape: ModelShape, context: int) -> float:
    """Bytes that vLLM starts with: its weights and the cache of one whole episode."""
    return 2 * shape.parameters + VLLM_WORKSPACE + context * cache_bytes(shape)


def cache_bytes(shape: ModelShape, of_number: int = 2) -> int:
    """Of the KV cache, for one token."""
    return 2 * shape.layers * shape.keys * of_number


def layer_bytes(shape: ModelShape, *, full: bool) -> int:
    """What one layer keeps of a token while it is recomputed, less the attention mask.

    Args:
        full: whether its weights are trained, so that what goes from layer to layer is in float32.
    """
    keys = (6 if full else 4) * shape.keys
    return (26 if full else 18) * shape.hidden + 14 * shape.attention + keys + 8 * _width(shape)


def _width(shape: ModelShape) -> int:
    """Of the feed-forward net that a token goes through; experts get copies of their input as well."""
    chosen = shape.experts_per_token
    return chosen * (shape.intermediate + shape.hidden // 2) if chosen else shape.intermediate


def _resident(shape: ModelShape, plan: Plan) -> tuple[Item, ...]:
    """What stays from step to step."""
    if not plan.lora_rank:
        count = shape.parameters
        return (
            Item("weights, 32 bit", 4 * count),
            Item("gradients", 4 * count),
            Item("optimizer (AdamW)", 8 * count),
        )
    adapter, number = shape.adapter_parameters(plan.lora_rank), 2 if plan.four_bit else 4
    held = shape.linear_parameters
    base = 2 * (shape.parameters - held) + _NF4_BYTES * held if plan.four_bit else 2 * shape.parameters
    return (
        Item(f"weights, {'4' if plan.four_bit else '16'} bit", base),
        Item(f"LoRA adapter, rank {plan.lora_rank}", number * adapter),
        Item("its gradients", number * adapter),
        Item("its optimizer (AdamW)", 2 * number * adapter),
    )


def _work(shape: ModelShape, plan: Plan) -> Item:
    """What comes and goes in a step: learning, or generating where vLLM does not do that."""
    learning = _activations(shape, plan)
    if plan.vllm is not Vllm.OFF:
        return learning
    number = 2 if plan.lora_rank else 4
    size = plan.episodes * plan.context * cache_bytes(shape, number)
    cache = Item("KV cache", size, f"{plan.episodes} episodes of {plan.context:,} tokens")
    return max(learning, cache, key=lambda item: item.size)


def _activations(shape: ModelShape, plan: Plan) -> Item:
    """Of one forward and backward pass: layers' inputs, one layer in full, its gradients on the way back."""
    full, tokens = not plan.lora_rank, plan.micro_batch * plan.context
    stream = (4 if full else 2) * shape.hidden
    passing = 6 * _width(shape) + 20 * shape.hidden
    mask = 3 * plan.context  # as booleans, and in 16 bit for the kernel
    size: float = tokens * (shape.layers * stream + layer_bytes(shape, full=full) + passing + mask)
    if full:  # autocast's copies of the weights, and the output layer's gradient before it is added
        size += 2 * shape.parameters + 4 * shape.vocabulary * shape.hidden
    episodes = f"{plan.micro_batch} episode{'s' if plan.micro_batch > 1 else ''}"
    return Item("activations", size, f"{episodes} of {plan.context:,} tokens, layers recomputed")


def _vllm_share(shape: ModelShape, plan: Plan, memory: float, at_once: float) -> tuple[Item, ...]:
    note = f"{int(at_once * plan.context):,} tokens: {at_once:.1f} whole episodes at once"
    return (
        Item("vLLM: weights, 16 bit", 2 * shape.parameters),
        Item("vLLM: workspace", VLLM_WORKSPACE),
        Item("vLLM: KV cache", max(0.0, _cache_room(shape, plan, memory)), note),
    )


def _cache_room(shape: ModelShape, plan: Plan, memory: float) -> float:
    return plan.vllm_memory * memory - 2 * shape.parameters - VLLM_WORKSPACE


def _shortage(shape: ModelShape, plan: Plan, memory: float) -> str:
    """What is wrong with vLLM's memory, wherever it runs."""
    needs = vllm_needs(shape, plan.context)
    if plan.vllm is Vllm.COLOCATE and needs > plan.vllm_memory * memory:
        return (
            f"vLLM's share is {plan.vllm_memory * memory / GIB:.1f} GiB; with one episode of "
            f"{plan.context:,} tokens it needs {needs / GIB:.1f} GiB"
        )
    if plan.vllm is Vllm.SERVER and needs > 0.9 * memory:
        return f"vLLM needs {needs / GIB:.1f} GiB on its own GPU, if that has as much memory as this one"
    return ""
