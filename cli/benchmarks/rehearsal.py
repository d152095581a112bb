"""Episodes that a model knows by heart, so that two ways to play them do the same work, token for token.

The model is a real one and computes every token that it reads or writes. Only which token it writes is given:
the next of the conversation that was rehearsed, which is a task's gold solution played on the real server.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList, Qwen3ForCausalLM

from ...training.assignments import Assignment
from ...training.demonstrations import Mix
from ...training.exposure import Exposure, Shown
from ...training.limits import Limits
from ...training.recording import Recording, record, tools_of
from ...training.solutions import NoSolutions, Solution, read_solutions
from ...training.tiny_model import tiny_model, tiny_tokenizer
from ..failure import BadInput, CommandFailed

EXPOSURE = Exposure.COMPACT
LIMITS = Limits(turn_tokens=256)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What is played, and by whom."""

    assignments: tuple[Assignment, ...]
    """Tasks whose gold solutions are known by heart."""
    turns: float
    """Of an episode, on average."""
    tokens: float
    """That the model writes in an episode, on average."""
    tokenizer: Any
    model: Any

    @property
    def parameters(self) -> int:
        """Of the model."""
        return sum(weights.numel() for weights in self.model.parameters())

    def with_larger_model(self) -> Rehearsal:
        """The same, by heart, for a model of 25M parameters. Like any real one it does not fit a cache."""
        config = copy.copy(self.model.config)
        config.hidden_size, config.intermediate_size, config.num_hidden_layers = 512, 1536, 8
        config.num_attention_heads, config.num_key_value_heads, config.head_dim = 8, 2, 64
        config.layer_types = ["full_attention"] * config.num_hidden_layers
        return replace(self, model=_knowing(config, self.model.lines))


async def rehearse(packs: Sequence[Path], url: str, scenario: str | None, tasks: int) -> Rehearsal:
    """Learn the solutions of some tasks, by heart.

    Args:
        packs: what the server at `url` serves.
        scenario: the world to play in; None: any.
        tasks: how many there should be; fewer where the packs have fewer.

    Raises:
        BadInput: no task can be played so.
    """
    try:
        solutions = read_solutions(packs)
    except NoSolutions as error:
        raise BadInput(str(error)) from error
    chosen = [each for each in solutions if scenario in (None, each.scenario)][:tasks]
    if not chosen:
        raise BadInput(f"no task of {scenario or 'these packs'} has a gold solution in the train split")
    tools = await tools_of([url], None, chosen)
    texts = [*map(_text, chosen), *(Shown(EXPOSURE, tuple(known)).system for known in tools.values())]
    tokenizer: Any = tiny_tokenizer(texts)
    recording = Recording((url,), None, EXPOSURE, LIMITS, Mix(0.0, 0.0, 0.0), copies=1)
    recorded = await record(recording, chosen, tools, tokenizer)
    if not recorded.examples:
        raise BadInput(f"no gold solution could be played: {recorded.left_out[0]}")
    played = {example.task for example in recorded.examples}
    written = [sum(example.assistant_masks) for example in recorded.examples]
    turns = [
        sum(1 for message in example.messages if message["role"] == "assistant")
        for example in recorded.examples
    ]
    lines = [example.input_ids for example in recorded.examples]
    return Rehearsal(
        tuple(
            Assignment(each.task, each.scenario, each.prompt, recording.seed)
            for each in chosen
            if each.task in played
        ),
        sum(turns) / len(turns),
        sum(written) / len(written),
        tokenizer,
        _knowing(tiny_model(tokenizer).config, lines),
    )


def _knowing(config: Any, lines: Sequence[list[int]]) -> Any:
    model: Any = Rehearsed(config)
    model.lines = lines
    return model


class Rehearsed(Qwen3ForCausalLM):  # type: ignore[no-untyped-call]  # transformers is half typed
    """Computes as any model of its size does, and writes what it rehearsed."""

    lines: Sequence[list[int]] = ()
    """Whole conversations, in tokens."""

    def generate(self, **options: Any) -> Any:  # type: ignore[override]
        """As every transformers model does.

        Raises:
            CommandFailed: a conversation took another course than it did when it was rehearsed.
        """
        rows = zip(options["input_ids"], options["attention_mask"], strict=True)
        given = [self._rest([int(token) for token in ids[taken == 1]]) for ids, taken in rows]
        processors = [*options.pop("logits_processor", ()), _Prompter(given, options["input_ids"].shape[1])]
        model: Any = super()
        return model.generate(**options, logits_processor=LogitsProcessorList(processors))

    def _rest(self, so_far: list[int]) -> list[int]:
        for line in self.lines:
            if line[: len(so_far)] == so_far:
                return line[len(so_far) :]
        raise CommandFailed("an episode took another course than the same calls took before")


class _Prompter(LogitsProcessor):
    """Leaves one token to choose from. It comes after whatever notes the log-probabilities."""

    def __init__(self, given: Sequence[list[int]], width: int) -> None:
        self._given = [line or [0] for line in given]
        self._width = width

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        place: int = input_ids.shape[1] - self._width
        tokens = [[line[min(place, len(line) - 1)]] for line in self._given]
        only = torch.full_like(scores, -torch.inf)
        return only.scatter(1, torch.tensor(tokens, device=scores.device), 0.0)


def _text(solution: Solution) -> str:
    return "\n".join([solution.prompt, *(json.dumps(call.arguments) for call in solution.calls)])
