"""One batched generation for every live conversation, by whichever backend the trainer has.

Each returns the model's own tokens with their log-probabilities under the sampling temperature, as TRL itself
computes them: of the distribution that was sampled from.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from trl.models import utils as trl_models

from .memory import Memory
from .processes import Processes
from .sampling import Sampler, Written

_unwrapped: Any = getattr(trl_models, "unwrap_model_for_generation")  # noqa: B009 - it is half typed


def generate(
    trainer: Any, contexts: Mapping[int, list[int]], most_tokens: int, memory: Memory
) -> list[Written]:
    """Let the trainer's model go on with every context.

    Args:
        trainer: a GRPOTrainer. With vLLM (colocated or served) its weights are in sync when a rollout starts.
        contexts: token ids, of any lengths, by the number of their conversation.
        most_tokens: the most that a turn may have.
        memory: of the earlier turns of the same conversations, under the same weights; this one is added.
            vLLM has its own.
    """
    if not contexts:
        return []
    if trainer.use_vllm:
        return _by_vllm(trainer, list(contexts.values()), most_tokens)
    with _unwrapped(
        trainer.model_wrapped,
        trainer.accelerator,
        gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
        generation_kwargs=trainer.generation_kwargs,
    ) as model:
        return Sampler(trainer, model).write(contexts, most_tokens, memory)


def _by_vllm(trainer: Any, contexts: Sequence[list[int]], most_tokens: int) -> list[Written]:
    asked = _as_many_as_others(trainer, contexts)
    with _limited(trainer.vllm_generation, most_tokens):
        _, written, logprobs, _ = trainer.vllm_generation.generate(
            prompts=asked, images=None, num_generations=1
        )
    return [
        Written(list(ids), [float("nan") if first[0] is None else first[0] for first in of_token])
        for ids, of_token in zip(written, logprobs, strict=True)
    ][: len(contexts)]


def _as_many_as_others(trainer: Any, contexts: Sequence[list[int]]) -> list[list[int]]:
    """`contexts`, filled up with what nobody will read to as many as other processes have.

    TRL sends all processes' contexts to a vLLM server together, and takes it that each process has as many.
    """
    if trainer.vllm_mode != "server" or trainer.accelerator.num_processes == 1:
        return list(contexts)
    most = max(Processes.current().gather([len(contexts)]))
    return [*contexts, *[contexts[0][:1]] * (most - len(contexts))]


@contextmanager
def _limited(generation: Any, most_tokens: int) -> Generator[None]:
    """TRL's limit is for a whole completion; ours is for a turn of it."""
    whole = generation.max_completion_length
    generation.max_completion_length = min(whole, most_tokens)
    try:
        yield
    finally:
        generation.max_completion_length = whole
