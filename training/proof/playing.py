"""Evaluation: many episodes at temperature 1, all of a batch together, through the rollout that trains.

An episode is a line of JSON: what was played, and how it ended. A file is there when all of it is played.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from subworlds.envs.models import TaskCard
from subworlds.training import train_grpo
from subworlds.training.assignments import prompt_of
from subworlds.training.env_server import env_server
from subworlds.training.played import Played
from subworlds.training.rollout import Rollout

_AT_ONCE = 80


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode of an evaluation."""

    task: str
    kind: str
    level: str
    attempt: int
    complete: bool
    reward: float
    """The rubric's, whatever the training paid."""
    calls: int
    malformed: int
    tokens: int
    """That the model wrote."""
    cut: str | None
    valid: bool


def evaluate(args: train_grpo.Args, attempts: int, file: Path) -> None:
    """Play every task of a split `attempts` times.

    Args:
        args: as for training. `split` may be the test split: nothing is learnt here.
        file: where episodes go.
    """
    with env_server(args.pack, capacity=_AT_ONCE + 1) as url:
        tasks = asyncio.run(train_grpo.fetch_tasks(url, None, args))
        tokenizer, model = train_grpo.load_model(args)
        with Rollout(train_grpo.rollout_settings(args, [url], None, None)) as rollout:
            trainer = train_grpo.make_trainer(args, rollout, tasks, tokenizer, model, None)
            order = [(card, attempt) for attempt in range(attempts) for card in tasks]
            lines: list[str] = []
            for start in range(0, len(order), _AT_ONCE):
                batch = order[start : start + _AT_ONCE]
                rollout([prompt_of(card, seed=attempt) for card, attempt in batch], trainer)
                lines += [
                    json.dumps(asdict(_episode(card, attempt, played)))
                    for (card, attempt), played in zip(batch, rollout.latest, strict=True)
                ]
    unfinished = file.with_suffix(".part")
    unfinished.write_text("".join(line + "\n" for line in lines))
    unfinished.rename(file)


def read_episodes(file: Path) -> list[Episode]:
    """The valid ones."""
    found = [Episode(**json.loads(line)) for line in file.read_text().splitlines()]
    return [episode for episode in found if episode.valid]


def _episode(card: TaskCard, attempt: int, played: Played) -> Episode:
    conversation = played.conversation
    return Episode(
        task=card.id,
        kind=card.kind or "",
        level=card.difficulty or "",
        attempt=attempt,
        complete=played.complete,
        reward=played.reward or 0.0,
        calls=played.calls,
        malformed=played.malformed,
        tokens=sum(conversation.mask) if conversation else 0,
        cut=played.cut,
        valid=played.valid,
    )


def mixed_groups(episodes: Sequence[Episode]) -> float:
    """The share of tasks that were solved in some attempts, but not in all: GRPO learns from these."""
    outcomes: dict[str, set[bool]] = {}
    for episode in episodes:
        outcomes.setdefault(episode.task, set()).add(episode.complete)
    return sum(len(each) == 2 for each in outcomes.values()) / len(outcomes)


if __name__ == "__main__":
    evaluate(train_grpo.parse(sys.argv[3:]), int(sys.argv[2]), Path(sys.argv[1]))
