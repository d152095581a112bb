"""One turn of every live conversation, sampled by transformers with a memory of the turns before.

A prompt that several conversations begin with is read once. Conversations whose turn is over are set aside
while the others go on: a turn is written in stretches, and each is begun only by those that still write.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import DynamicCache, LogitsProcessor, LogitsProcessorList
from transformers.cache_utils import DynamicLayer
from trl.distributed import DistributedBackend

from .memory import Memory, Rows, joined

_STRETCH = 16
"""Tokens of the first stretch of a turn; each further one is as long as all before it together."""


@dataclass(slots=True)
class Written:
    """What the model wrote in one turn, with the token that ended it if it ended by itself."""

    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])


class Sampler:
    """A trainer's model, sampled from as its trainer says."""

    def __init__(self, trainer: Any, model: Any) -> None:
        self._model = model
        self._device = trainer.accelerator.device
        self._padding: int = trainer.processing_class.pad_token_id
        self._temperature: float = trainer.temperature
        self._config = copy.copy(trainer.generation_config)
        self._config.use_cache, self._config.cache_implementation = True, None
        tokens: list[int] | int = self._config.eos_token_id
        self._end = {tokens} if isinstance(tokens, int) else set(tokens)
        self._remembers = _has_plain_attention(model) and not _is_sharded(trainer.accelerator)
        self._in_stretches = not trainer.args.generation_kwargs
        """What else is asked of a generation may count the tokens of a whole turn."""

    def write(self, contexts: Mapping[int, list[int]], most_tokens: int, memory: Memory) -> list[Written]:
        """The next turn of every conversation, in their order.

        Args:
            contexts: token ids by the number of the conversation.
            memory: of these conversations; this turn is added.
        """
        if not self._remembers:
            rows = Rows.empty(list(contexts), self._device)
            return self._sample(contexts, rows, most_tokens, remember=False)
        turns = {number: Written() for number in contexts}
        over: list[Rows] = []
        writing: Rows | None = self._opened(contexts, memory)
        while writing is not None:
            so_far = len(turns[writing.numbers[0]].ids)
            stretch = max(_STRETCH, so_far) if self._in_stretches else most_tokens
            texts = {number: contexts[number] + turns[number].ids for number in writing.numbers}
            pieces = self._sample(texts, writing, min(stretch, most_tokens - so_far))
            for number, piece in zip(texts, pieces, strict=True):
                turns[number].ids += piece.ids
                turns[number].logprobs += piece.logprobs
            done, writing = self._parted(writing, turns, most_tokens)
            over += done
        memory.keep(joined(over))
        return list(turns.values())

    def _opened(self, contexts: Mapping[int, list[int]], memory: Memory) -> Rows:
        """A row for every conversation: as it is remembered, or with all but its last token read now."""
        known = memory.recall(contexts)
        numbers = set[int]() if known is None else set(known.numbers)
        new = {number: context for number, context in contexts.items() if number not in numbers}
        parts = [*([known] if known else []), *([self._read(new)] if new else [])]
        return joined(parts)

    def _read(self, contexts: Mapping[int, list[int]]) -> Rows:
        """What several begin with is read once. The token that is sampled after it is of no use."""
        place_of = {
            context: place for place, context in enumerate(dict.fromkeys(map(tuple, contexts.values())))
        }
        rows = Rows.empty(range(len(place_of)), self._device)
        prompts = {place: list(context) for context, place in place_of.items()}
        self._sample(prompts, rows, 1, _without_least(self._config))
        rows.ids = [ids[:-1] for ids in rows.ids]
        rows.taken[:, -1] = False
        (read,) = rows.split([place_of[tuple(context)] for context in contexts.values()])
        read.numbers = list(contexts)
        return read

    def _parted(
        self, rows: Rows, turns: Mapping[int, Written], most_tokens: int
    ) -> tuple[list[Rows], Rows | None]:
        """Those whose turn is over, and those who go on writing."""
        over, writing = list[int](), list[int]()
        for place, number in enumerate(rows.numbers):
            ids = turns[number].ids
            (over if ids[-1] in self._end or len(ids) >= most_tokens else writing).append(place)
        if not writing:
            return [rows], None
        if not over:
            return [], rows
        done, still = rows.split(over, writing)
        return [done], still

    def _sample(
        self,
        contexts: Mapping[int, list[int]],
        rows: Rows,
        most_tokens: int,
        config: Any = None,
        *,
        remember: bool = True,
    ) -> list[Written]:
        """Go on with contexts, whose beginnings `rows` hold; they learn all but the token that comes last."""
        news = [context[len(ids) :] for context, ids in zip(contexts.values(), rows.ids, strict=True)]
        width = max(map(len, news))
        ids = self._tensor([[self._padding] * (width - len(new)) + new for new in news])
        taken = self._tensor([[False] * (width - len(new)) + [True] * len(new) for new in news])
        ids = torch.cat([rows.tokens(self._padding), ids], dim=1)
        taken = torch.cat([rows.taken, taken], dim=1)
        recorder, cache = _Recorder(self._temperature), rows.lend() if remember else None
        config = copy.copy(config or self._config)
        config.max_new_tokens = most_tokens
        out = self._generate(ids, taken, config, recorder, cache)
        written = out[:, ids.shape[1] :]
        logprobs = recorder.finish(written[:, -1:])
        pieces = [self._until_end(*row) for row in zip(written.tolist(), logprobs.tolist(), strict=True)]
        if remember:
            read = written.shape[1] - 1
            lengths = self._tensor([[min(len(piece.ids), read)] for piece in pieces])
            rows.take_back(
                cache,
                [
                    context + piece.ids[:read]
                    for context, piece in zip(contexts.values(), pieces, strict=True)
                ],
                torch.cat([taken, torch.arange(read, device=self._device) < lengths], dim=1),
            )
        return pieces

    def _generate(self, ids: Any, taken: Any, config: Any, recorder: _Recorder, cache: Any) -> Any:
        with torch.no_grad():
            return self._model.generate(
                input_ids=ids,
                attention_mask=taken.long(),
                generation_config=config,
                logits_processor=LogitsProcessorList([recorder]),
                **({} if cache is None else {"past_key_values": cache}),
            )

    def _until_end(self, ids: list[int], logprobs: list[float]) -> Written:
        """A row up to and with its first end token: what follows is padding."""
        length = next((place + 1 for place, token in enumerate(ids) if token in self._end), len(ids))
        return Written(ids[:length], logprobs[:length])

    def _tensor(self, table: Sequence[Sequence[int]]) -> Any:
        return torch.tensor(table, device=self._device)


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


def _without_least(config: Any) -> Any:
    """The same, but a text may be as short as it likes."""
    config = copy.copy(config)
    config.min_new_tokens, config.min_length = None, 0
    return config


def _has_plain_attention(model: Any) -> bool:
    """Whether every layer attends to all tokens: windows and recurrent states know no empty slots."""
    cache: Any = DynamicCache
    return all(type(layer) is DynamicLayer for layer in cache(config=model.config).layers)


def _is_sharded(accelerator: Any) -> bool:
    """Whether all processes must generate in step, however many tokens each of them still needs."""
    backend_of: Any = DistributedBackend
    backend = backend_of(accelerator)
    return bool(backend.is_zero3 or backend.is_fsdp)
