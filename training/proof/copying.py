"""The copy curriculum: strings that come again, and pairs to look up, of words that mean nothing yet.

A model this small, taught demonstrations alone, writes perfect calls with the wrong name in them: 2 % of
names were copied right in a trial. Whoever has first learnt to say again what stands before, and what stood
beside it, copies names from the first demonstration on. These exercises have all words of the tier in them,
those of the test split too, and nothing else of it: no prompt, no tool, no world.

With all words at once nothing happens for hundreds of steps. So it begins with 64 of them, and every time
that the model copies half of a string right there are twice as many: the skill, once there, carries over.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

_NOT_LEARNED = -100
_FIRST_WORDS = 64
_GROWS_AT, _ENDS_AT = 0.5, 0.9
"""Shares of tokens copied right: there are more words, or it is over."""
_LOOK_EVERY = 20


@dataclass(frozen=True, slots=True)
class Exercise:
    """One row for the trainer: token ids, and the ones that the loss counts (-100 elsewhere)."""

    input_ids: list[int]
    labels: list[int]


@dataclass(frozen=True, slots=True)
class CopySettings:
    """How it is practised."""

    most_steps: int = 700
    batch: int = 48
    rate: float = 3e-3
    seed: int = 0


# ---- Exercises ---------------------------------------------------------------------------------------------


def exercises(
    count: int, words: Sequence[int], others: Sequence[int], chance: random.Random
) -> list[Exercise]:
    """`count` exercises, repetition and looking up in turn.

    Args:
        words: token ids of names and numbers.
        others: of all other text; one token in four is of these.
    """
    drawn = _tokens(words, others, chance)
    return [_repeated(drawn, chance) if place % 2 else _looked_up(drawn, chance) for place in range(count)]


def _tokens(words: Sequence[int], others: Sequence[int], chance: random.Random) -> Iterator[int]:
    while True:
        yield chance.choice(others if others and chance.random() < 0.25 else words)


def _repeated(drawn: Iterator[int], chance: random.Random) -> Exercise:
    """A string twice; the second time is learnt, but for its first token."""
    string = [next(drawn) for _ in range(chance.randint(16, 40))]
    shown = [*string, string[0]]
    return Exercise([*shown, *string[1:]], [*[_NOT_LEARNED] * len(shown), *string[1:]])


def _looked_up(drawn: Iterator[int], chance: random.Random) -> Exercise:
    """Pairs, and then their first halves in another order, each to be followed by its second."""
    pairs = list({next(drawn): next(drawn) for _ in range(chance.randint(6, 16))}.items())
    ids = [token for pair in pairs for token in pair]
    labels = [_NOT_LEARNED] * len(ids)
    for key, value in chance.sample(pairs, len(pairs)):
        ids += [key, value]
        labels += [_NOT_LEARNED, value]
    return Exercise(ids, labels)


# ---- Practice ----------------------------------------------------------------------------------------------


def practise(
    model: Any,
    words: Sequence[int],
    others: Sequence[int],
    settings: CopySettings,
    log: Callable[[dict[str, Any]], None],
) -> None:
    """Let the model learn to copy; ends when it can, or after `most_steps`.

    Args:
        model: a causal language model, trained in place.
        words, others: see `exercises`.
        log: told how it goes.
    """
    chance, open_words, right = random.Random(settings.seed), min(_FIRST_WORDS, len(words)), 0.0
    optimizer = torch.optim.AdamW(model.parameters(), settings.rate, betas=(0.9, 0.98), weight_decay=0.0)
    dealt = chance.sample(words, len(words))
    for step in range(1, settings.most_steps + 1):
        whole = open_words == len(words)
        if whole:
            rows = exercises(settings.batch, words, others, chance)
        else:
            drawn = _tokens(dealt[:open_words], (), chance)
            rows = [_repeated(drawn, chance) for _ in range(settings.batch)]
        optimizer.param_groups[0]["lr"] = settings.rate * min(1.0, step / 20)
        right = _learn(model, rows, optimizer)
        if step % _LOOK_EVERY == 0:
            log({"step": step, "words": open_words, "copied": right})
        if whole and right > _ENDS_AT:
            log({"step": step, "words": open_words, "copied": right})
            return
        if right > _GROWS_AT:
            open_words = min(len(words), 2 * open_words)


def _learn(model: Any, rows: Sequence[Exercise], optimizer: Any) -> float:
    """One step. Returns the share of tokens that the model would have written right before it."""
    width = max(len(row.input_ids) for row in rows)
    ids = torch.tensor([[*row.input_ids, *[0] * (width - len(row.input_ids))] for row in rows])
    labels = torch.tensor([[*row.labels, *[_NOT_LEARNED] * (width - len(row.labels))] for row in rows])[:, 1:]
    wanted = labels != _NOT_LEARNED
    with torch.autocast("cpu", torch.bfloat16):
        states = model.model(input_ids=ids).last_hidden_state[:, :-1]
        offered = model.lm_head(states[wanted]).float()
    targets = labels[wanted]
    loss: Any = torch.nn.functional.cross_entropy(offered, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return float((offered.argmax(-1) == targets).float().mean())
