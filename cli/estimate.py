"""`subworlds estimate`: which options of train_grpo.py a GPU's memory is enough for, and where it goes."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from math import isfinite
from typing import Any

from rich.console import Console
from rich.table import Table

from ..training.fitting import Wishes, alternatives, best, words_of
from ..training.gpu_memory import GIB, GPUS, Bill, Plan, Vllm
from ..training.model_shapes import ModelShape, UnknownModel, shape_of
from .failure import BadInput, CommandFailed
from .screen import screen


@dataclass(frozen=True, slots=True)
class EstimateOptions:
    """What to reckon with."""

    model: str
    gpu: str | None
    memory_gib: float | None
    wishes: Wishes


def estimate(options: EstimateOptions, *, as_json: bool) -> None:
    """Print the bill of the best plan, and its command line.

    Raises:
        BadInput: no such model or GPU, or options that do not go together.
        CommandFailed: nothing fits; the bill of what comes nearest was printed.
    """
    name, memory = _gpu(options)
    shape = _shape(options.model)
    _check(options.wishes)
    plan, bill = best(shape, options.wishes, memory)
    if as_json:
        print(json.dumps(_document(options.model, name, shape, plan, bill), indent=2))
    else:
        _print(screen(), options.model, name, shape, plan, bill)
    if not bill.fits:
        raise CommandFailed(_refusal(options, shape, memory, bill))


def _gpu(options: EstimateOptions) -> tuple[str, float]:
    """Its name for people, and its bytes."""
    if (options.gpu is None) == (options.memory_gib is None):
        raise BadInput("say either --gpu NAME or --memory GIB")
    if options.memory_gib is not None:
        if not isfinite(options.memory_gib):
            raise BadInput(f"--memory {options.memory_gib}: a number of GiB")
        return "this GPU", options.memory_gib * GIB
    name = (options.gpu or "").upper()
    if name not in GPUS:
        raise BadInput(
            f"--gpu {options.gpu}: known are {', '.join(GPUS)}; of another, give its --memory in GiB"
        )
    return name, float(GPUS[name])


def _shape(model: str) -> ModelShape:
    if model == "tiny":
        raise BadInput("--model tiny has under a million parameters: it is trained anywhere, without a GPU")
    try:
        return shape_of(model)
    except UnknownModel as error:
        raise BadInput(f"--model: {error}") from error


def _check(wishes: Wishes) -> None:
    episodes = wishes.tasks_per_step * wishes.num_generations
    wrong: dict[str, bool] = {
        "--load-in-4bit: weights in 4 bit cannot be trained; leave out --lora-rank 0": (
            wishes.four_bit and wishes.lora_rank == 0
        ),
        "--load-in-4bit goes with --vllm-mode off: vLLM would be given weights that an adapter was merged "
        "into in 4 bit": wishes.four_bit and wishes.vllm not in (None, Vllm.OFF),
        f"--micro-batch {wishes.micro_batch}: --tasks-per-step times --num-generations, {episodes}, must be "
        "a multiple of it": wishes.micro_batch is not None and episodes % wishes.micro_batch != 0,
    }
    for sentence, is_so in wrong.items():
        if is_so:
            raise BadInput(sentence)


def _print(console: Console, model: str, gpu: str, shape: ModelShape, plan: Plan, bill: Bill) -> None:
    console.print(
        f"{model}, {shape.parameters / 1e9:.2f} billion parameters, on {gpu}, {_gib(bill.memory)}\n"
    )
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for item in bill.items:
        table.add_row(item.name, _gib(item.size), item.note)
    table.add_row("left", _gib(bill.left), "")
    console.print(table)
    console.print(f"\n{'fits:' if bill.fits else 'does not fit; nearest is:'}")
    console.print(shlex.join(words_of(model, plan)), soft_wrap=True)
    if plan.vllm is Vllm.SERVER:
        console.print("with `trl vllm-serve` on another GPU: see docs/training.md")


def _gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB"


def _refusal(options: EstimateOptions, shape: ModelShape, memory: float, bill: Bill) -> str:
    """Why nothing fits, and what would."""
    why = bill.short or (
        f"it takes {_gib(memory - bill.left)}, and a twentieth of {_gib(memory)} must be left over"
    )
    others = [
        shlex.join(words_of(options.model, plan))
        + (" (and a second such GPU for vLLM)" if plan.vllm is Vllm.SERVER else " (generates slowly)")
        for plan, _ in alternatives(shape, options.wishes, memory)
    ]
    return f"{why}." + "".join(f"\nThis would fit: {other}" for other in others)


def _document(model: str, gpu: str, shape: ModelShape, plan: Plan, bill: Bill) -> dict[str, Any]:
    return {
        "model": model,
        "parameters": shape.parameters,
        "gpu": gpu,
        "memory_gib": round(bill.memory / GIB, 2),
        "fits": bill.fits,
        "items": [
            {"name": item.name, "gib": round(item.size / GIB, 2), "note": item.note} for item in bill.items
        ],
        "left_gib": round(bill.left / GIB, 2),
        "command": words_of(model, plan),
    }
