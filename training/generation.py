"""One batched generation for every live conversation, by whichever backend the trainer has.

Each returns the model's own tokens with their log-probabilities under the sampling temperature, as TRL itself
computes them: of the distribution that was sampled from.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList
from trl.models import utils as trl_models

from .processes import Processes

_unwrapped: Any = getattr(trl_models, "unwrap_model_for_generation")  # noqa: B009 - it is half typed


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote in one turn, with the token that ended it if it ended by itself."""

    ids: list[int]
    logprobs: list[float]


def generate(trainer: Any, contexts: Sequence[list[int]], most_tokens: int) -> list[Written]:
    """Let the trainer's model go on with every context.

    Args:
        trainer: a GRPOTrainer. With vLLM (colocated or served) its weights are in sync when a rollout starts.
        contexts: token ids, of any lengths.
        most_tokens: the most that a turn may have.
    """
    if not contexts:
        return []
    if trainer.use_vllm:
        return _by_vllm(trainer, contexts, most_tokens)
    return _by_transformers(trainer, contexts, most_tokens)


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


def _by_transformers(trainer: Any, contexts: Sequence[list[int]], most_tokens: int) -> list[Written]:
    padding, end = trainer.processing_class.pad_token_id, set(_end_tokens(trainer))
    width = max(map(len, contexts))
    device = trainer.accelerator.device
    ids = torch.tensor([[padding] * (width - len(each)) + each for each in contexts], device=device)
    attended = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in contexts], device=device)
    recorder = _Recorder(trainer.temperature)
    config = copy.copy(trainer.generation_config)
    config.max_new_tokens = most_tokens
    with (
        _unwrapped(
            trainer.model_wrapped,
            trainer.accelerator,
            gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
            generation_kwargs=trainer.generation_kwargs,
        ) as model,
        torch.no_grad(),
    ):
        out: Any = model.generate(
            input_ids=ids,
            attention_mask=attended,
            generation_config=config,
            logits_processor=LogitsProcessorList([recorder]),
        )
    written: Any = out[:, width:]
    logprobs = recorder.finish(written[:, -1:])
    return [
        _until_end(row, of_row, end) for row, of_row in zip(written.tolist(), logprobs.tolist(), strict=True)
    ]


class _Recorder(LogitsProcessor):
    """Notes the log-probability of each token that is chosen. It comes before the temperature is applied."""

    def __init__(self, temperature: float) -> None:
        self._temperature = temperature
        self._chosen: list[Any] = []
        self._offered: Any = None
        """Log-probabilities of the step under way, of shape (batch, vocabulary)."""

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Note the token chosen last; take what is offered next. Changes nothing."""
        self._note(input_ids[:, -1:])
        self._offered = torch.log_softmax(scores.float() / self._temperature, dim=-1)
        return scores

    def finish(self, last: Any) -> Any:
        """All of them, of shape (batch, tokens), given the tokens chosen at the end, of shape (batch, 1)."""
        self._note(last)
        return torch.cat(self._chosen, dim=1)

    def _note(self, chosen: Any) -> None:
        if self._offered is not None:
            self._chosen.append(self._offered.gather(-1, chosen))


def _until_end(ids: list[int], logprobs: list[float], end: set[int]) -> Written:
    """A row up to and with its first end token: what follows is padding."""
    length = next((place + 1 for place, token in enumerate(ids) if token in end), len(ids))
    return Written(ids[:length], logprobs[:length])


def _end_tokens(trainer: Any) -> list[int]:
    tokens: list[int] | int = trainer.generation_config.eos_token_id
    return [tokens] if isinstance(tokens, int) else tokens
