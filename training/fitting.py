"""Which options of train_grpo.py a GPU's memory is enough for: the best of those that were left open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from .gpu_memory import Bill, Plan, Vllm, bill_of
from .model_shapes import ModelShape

_RANK = 32
_CONTEXTS = (16_384, 8_192)
_ROOM = 4
"""Whole episodes at once: less, and vLLM has them wait for each other."""
_SHARES = tuple(share / 100 for share in (35, 30, 40, 25, 45, 20, 50, 55, 60, 15, 65, 70))
"""The script's own first, then others by their distance from it."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is settled; None is to be found."""

    lora_rank: int | None = None
    four_bit: bool = False
    micro_batch: int | None = None
    context: int | None = None
    vllm: Vllm | None = None
    vllm_memory: float | None = None
    tasks_per_step: int = 4
    num_generations: int = 8


def best(shape: ModelShape, wishes: Wishes, memory: float) -> tuple[Plan, Bill]:
    """The first plan that fits, or else the one that lacks least.

    A long context before a short one, all weights before LoRA; then one whose cache has room for some
    episodes at once before one without, a large micro-batch before a small one, and vLLM's share as near the
    script's own as it can be.
    """
    billed = [(plan, bill_of(shape, plan, memory)) for plan in _plans(wishes)]
    fitting = [each for each in billed if each[1].fits]
    if not fitting:
        return max(billed, key=lambda each: (not each[1].short, each[1].left))
    first = fitting[0][0]
    alike = [each for each in fitting if _kind(each[0]) == _kind(first)]
    return next((each for each in alike if each[1].at_once >= _ROOM), alike[0])


def alternatives(shape: ModelShape, wishes: Wishes, memory: float) -> list[tuple[Plan, Bill]]:
    """What would fit where nothing did: vLLM on a second GPU like this one, or a 4-bit base and no vLLM."""
    elsewhere = replace(wishes, vllm=Vllm.SERVER)
    small = replace(
        wishes, lora_rank=wishes.lora_rank or _RANK, four_bit=True, vllm=Vllm.OFF, tasks_per_step=1
    )
    found = [best(shape, each, memory) for each in (elsewhere, small) if each != wishes]
    return [(plan, bill) for plan, bill in found if bill.fits]


def words_of(model: str, plan: Plan) -> list[str]:
    """The command line of a plan; what is the script's default goes unsaid."""
    usual = Plan()
    words = ["python", "training/train_grpo.py", "--model", model]
    if plan.lora_rank:
        words += ["--lora-rank", str(plan.lora_rank)]
    if plan.four_bit:
        words += ["--load-in-4bit"]
    if plan.tasks_per_step != usual.tasks_per_step:
        words += ["--tasks-per-step", str(plan.tasks_per_step)]
    if plan.num_generations != usual.num_generations:
        words += ["--num-generations", str(plan.num_generations)]
    if plan.micro_batch != plan.num_generations:
        words += ["--micro-batch", str(plan.micro_batch)]
    if plan.context != usual.context:
        words += ["--context", str(plan.context)]
    if plan.context < usual.context:
        words += ["--tools", "compact"]
    if plan.vllm is not Vllm.OFF:
        words += ["--vllm-mode", plan.vllm]
    if plan.vllm is Vllm.COLOCATE and plan.vllm_memory != usual.vllm_memory:
        words += ["--vllm-memory", f"{plan.vllm_memory:g}"]
    return words


def _kind(plan: Plan) -> tuple[int, int]:
    return plan.context, plan.lora_rank


def _plans(wishes: Wishes) -> Iterator[Plan]:
    if wishes.lora_rank is not None:
        ranks: tuple[int, ...] = (wishes.lora_rank,)
    else:
        ranks = (_RANK,) if wishes.four_bit else (0, _RANK)
    mode = wishes.vllm or (Vllm.OFF if wishes.four_bit else Vllm.COLOCATE)
    contexts = (wishes.context,) if wishes.context else _CONTEXTS
    batches = (wishes.micro_batch,) if wishes.micro_batch else _divisors(wishes.num_generations)
    shares = (wishes.vllm_memory,) if wishes.vllm_memory else _SHARES
    for context, rank, batch, share in product(contexts, ranks, batches, shares):
        yield Plan(
            lora_rank=rank,
            four_bit=wishes.four_bit,
            tasks_per_step=wishes.tasks_per_step,
            num_generations=wishes.num_generations,
            micro_batch=batch,
            context=context,
            vllm=mode,
            vllm_memory=share,
        )


def _divisors(number: int) -> tuple[int, ...]:
    return tuple(part for part in range(number, 0, -1) if number % part == 0)
