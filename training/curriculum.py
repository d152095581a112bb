"""Easy tasks first: a level opens when the one before it earns enough, and no open level is ever starved.

    curriculum = Curriculum([card.difficulty for card in tasks])
    callback = CurriculumCallback(curriculum, rollout, {card.id: card.difficulty for card in tasks})
    trainer = CurriculumTrainer(curriculum=curriculum, ..., callbacks=[..., callback])

Which task comes next depends on the seed, on how many came before, and on when levels opened. All of that is
in the checkpoints (curriculum.json), so a run that is resumed draws what it would have drawn.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import Any, cast

from torch.utils.data import Sampler
from transformers import TrainerCallback
from trl.trainer.grpo_trainer import GRPOTrainer

from .played import Played
from .processes import Processes
from .rollout import Rollout

STATE_FILE = "curriculum.json"


class Level(StrEnum):
    """How hard a task is."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


_UNKNOWN = Level.MEDIUM
"""The level of a task that does not say."""


class CurriculumLost(RuntimeError):
    """A checkpoint's curriculum cannot be gone on from."""


@dataclass(frozen=True, slots=True)
class CurriculumSettings:
    """When levels open, and what comes then."""

    threshold: float = 0.30
    """The mean reward of the newest level that opens the next."""
    window: int = 64
    """Episodes of that level, the last ones, that the mean is over. Fewer open nothing."""
    newest: float = 0.6
    """The share of the newest level; the others that are open share the rest evenly."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.newest < 1 or self.window < 1:
            raise ValueError(
                "the newest level's share lies between 0 and 1, the window has one episode at least"
            )


@dataclass(frozen=True, slots=True)
class Opening:
    """A level that was opened."""

    level: Level
    draw: int
    """The first draw that it takes part in."""


@dataclass(slots=True)
class Curriculum:
    """What is open, and why. The same on every process."""

    difficulties: Sequence[str | None]
    """Of the tasks, in the order of the data set."""
    settings: CurriculumSettings = field(default_factory=CurriculumSettings)
    openings: list[Opening] = field(default_factory=list[Opening])
    drawn: int = 0
    """How many tasks were drawn."""
    rewards: deque[float] = field(default_factory=deque[float])
    """Of the newest level, since it opened; the last `window` of them."""
    _tasks: dict[Level, list[int]] = field(default_factory=dict[Level, list[int]], init=False, repr=False)
    """Places in the data set by level, easiest first; levels without a task are not there."""

    def __post_init__(self) -> None:
        """Raises ValueError where there is no task."""
        levels = [_level(difficulty) for difficulty in self.difficulties]
        found = {level: [place for place, each in enumerate(levels) if each is level] for level in Level}
        self._tasks = {level: places for level, places in found.items() if places}
        if not self._tasks:
            raise ValueError("a curriculum needs tasks")
        self.openings = self.openings or [Opening(next(iter(self._tasks)), 0)]

    @property
    def newest(self) -> Level:
        """The level that was opened last."""
        return self.openings[-1].level

    @property
    def mean_reward(self) -> float | None:
        """Of the newest level over the window; None before it has an episode."""
        return fmean(self.rewards) if self.rewards else None

    def learn(self, earned: Sequence[tuple[str | None, float]]) -> None:
        """Take in what episodes earned, each with its task's difficulty; open a level if it is time."""
        self.rewards.extend(reward for difficulty, reward in earned if _level(difficulty) is self.newest)
        while len(self.rewards) > self.settings.window:
            self.rewards.popleft()
        closed = [level for level in self._tasks if level not in {each.level for each in self.openings}]
        passed = self.mean_reward is not None and self.mean_reward > self.settings.threshold
        if closed and passed and len(self.rewards) == self.settings.window:
            self.openings.append(Opening(closed[0], self.drawn))
            self.rewards.clear()

    def draws(self) -> Iterator[int]:
        """Places of tasks in the data set, without an end, from the first draw on."""
        counts: dict[Level, float] = dict.fromkeys(self._tasks, 0.0)
        turns = dict.fromkeys(self._tasks, 0)
        opened, number = 0, 0
        while True:
            shares = self._shares(number)
            if len(shares) != opened:  # what came before does not count
                opened, counts = len(shares), dict.fromkeys(self._tasks, 0.0)
            for level, share in shares.items():
                counts[level] += share
            level = max(shares, key=lambda each: counts[each])
            counts[level] -= 1
            number += 1
            self.drawn = max(self.drawn, number)
            yield self._task(level, turns[level])
            turns[level] += 1

    def figures(self) -> dict[str, float]:
        """For the log: the level (0 easy, 1 medium, 2 hard), and how near the next one is."""
        found = {"curriculum/level": float(list(Level).index(self.newest))}
        return found if self.mean_reward is None else {**found, "curriculum/reward": self.mean_reward}

    def save(self, folder: Path) -> None:
        """Write the state into a checkpoint."""
        state = {
            "tasks": len(self.difficulties),
            "openings": [{"level": each.level, "draw": each.draw} for each in self.openings],
            "drawn": self.drawn,
            "rewards": list(self.rewards),
        }
        (folder / STATE_FILE).write_text(json.dumps(state, indent=1) + "\n")

    def load(self, folder: Path) -> None:
        """Go on from a checkpoint. Raises CurriculumLost where it has none, or one of other tasks."""
        path = folder / STATE_FILE
        try:
            state = json.loads(path.read_text())
            openings = [Opening(Level(each["level"]), int(each["draw"])) for each in state["openings"]]
            tasks, drawn, rewards = int(state["tasks"]), int(state["drawn"]), map(float, state["rewards"])
            self.rewards = deque(rewards)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CurriculumLost(f"{path} cannot be read, so the curriculum cannot go on: {error}") from error
        if (
            tasks != len(self.difficulties)
            or not openings
            or any(each.level not in self._tasks for each in openings)
        ):
            raise CurriculumLost(f"{path} is of other tasks than these; resume with the same packs and split")
        self.openings, self.drawn = openings, drawn

    def _shares(self, draw: int) -> dict[Level, float]:
        """Of each level that is open at a draw, the newest last."""
        open_then = [each.level for each in self.openings if each.draw <= draw]
        if len(open_then) == 1:
            return {open_then[0]: 1.0}
        rest = (1 - self.settings.newest) / (len(open_then) - 1)
        return {**dict.fromkeys(open_then[:-1], rest), open_then[-1]: self.settings.newest}

    def _task(self, level: Level, turn: int) -> int:
        """The tasks of a level come all of them once, in an order of chance, before any comes again."""
        places = list(self._tasks[level])
        round_, place = divmod(turn, len(places))
        random.Random(f"{self.settings.seed}/{level}/{round_}").shuffle(places)
        return places[place]


def _level(difficulty: str | None) -> Level:
    return Level(difficulty) if difficulty in list(Level) else _UNKNOWN


class CurriculumSampler(Sampler[int]):
    """The curriculum's draws, repeated as GRPO wants them (see TRL's RepeatSampler)."""

    def __init__(
        self, curriculum: Curriculum, *, prompts: int, generations: int, repeats: int, batches: int
    ) -> None:
        """Args:
        prompts: different tasks in a batch of generation.
        generations: episodes of each.
        repeats: how often a batch is handed out: once for each step that learns from it.
        batches: how many there are.
        """
        self._curriculum = curriculum
        self._prompts = prompts
        self._generations = generations
        self._repeats = repeats
        self._batches = batches

    def __iter__(self) -> Iterator[int]:
        draws = self._curriculum.draws()
        for _ in range(self._batches):
            batch = [next(draws) for _ in range(self._prompts)]
            for _ in range(self._repeats):
                for place in batch:
                    yield from [place] * self._generations

    def __len__(self) -> int:
        return self._batches * self._prompts * self._generations * self._repeats


class CurriculumTrainer(GRPOTrainer):
    """A GRPOTrainer whose tasks come as its curriculum says, and whose log says where it stands."""

    def __init__(self, *args: Any, curriculum: Curriculum, **options: Any) -> None:
        """Args:
        curriculum: over the tasks of the data set, in its order.
        args, options: GRPOTrainer's.
        """
        self.curriculum = curriculum
        super().__init__(*args, **options)  # pyright: ignore[reportUnknownMemberType] - TRL is half typed

    def _get_train_sampler(self, dataset: Any = None) -> Sampler[int]:
        settings, generations = cast("Any", self.args), cast("int", self.num_generations)
        if settings.max_steps <= 0:
            raise ValueError("a curriculum has no epochs: say max_steps")
        prompts = settings.generation_batch_size // generations
        repeats = int(self.num_iterations * settings.steps_per_generation)
        steps = settings.max_steps * settings.gradient_accumulation_steps
        return CurriculumSampler(
            self.curriculum,
            prompts=prompts,
            generations=generations,
            repeats=repeats,
            batches=-(-steps // repeats),  # one epoch is the whole run
        )

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """As GRPOTrainer does, with the curriculum's figures."""
        logs.update(self.curriculum.figures())
        super().log(logs, start_time)


class CurriculumCallback(TrainerCallback):
    """Lets a curriculum learn from every batch of episodes, and keeps it in the checkpoints."""

    def __init__(self, curriculum: Curriculum, rollout: Rollout, difficulty: dict[str, str | None]) -> None:
        """Args:
        rollout: the trainer's.
        difficulty: of each task, by its id.
        """
        self._curriculum = curriculum
        self._rollout = rollout
        self._difficulty = difficulty
        self._seen: tuple[Played, ...] = ()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Of a run that goes on from a checkpoint, load its curriculum."""
        self._seen = self._rollout.latest
        if state.global_step:
            self._curriculum.load(_checkpoint(args, state))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Take in the batch that was played last, of all processes alike, once."""
        latest = self._rollout.latest
        new = latest if latest is not self._seen else ()
        self._seen = latest
        earned = [
            (self._difficulty[each.assignment.task], each.reward)
            for each in new
            if each.valid and each.reward is not None
        ]
        self._curriculum.learn(Processes.current().gather(earned))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Into the checkpoint that was written just now."""
        if state.is_world_process_zero:
            self._curriculum.save(_checkpoint(args, state))


def _checkpoint(args: Any, state: Any) -> Path:
    return Path(args.output_dir) / f"checkpoint-{state.global_step}"
