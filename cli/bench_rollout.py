"""`subworlds bench rollout`: batches of episodes for a trainer, beside OpenEnv's way to play them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from ..training.assignments import RolloutError
from ..training.env_server import ServerDidNotStart, env_server
from ..training.machine import describe_machine
from .bench import tell
from .benchmarks.rehearsal import Rehearsal, rehearse
from .benchmarks.rollouts import GROUP, Compared, Steps, compare, train
from .failure import BadInput, CommandFailed
from .screen import screen
from .worlds import Worlds, find_scenario

RATIO_TARGET = 8.0
SHARE_TARGET = 0.05


@dataclass(frozen=True, slots=True)
class RolloutBenchOptions:
    """What to measure, and how often."""

    scenario: str | None = None
    """None: any world that has solutions."""
    episodes: tuple[int, ...] = (16,)
    """Sizes of the batches that are compared."""
    step: int = 64
    """Episodes of a training step."""
    quick: bool = False
    """One round of each: a look, not a measurement."""


@dataclass(frozen=True, slots=True)
class RolloutReport:
    """What one run found."""

    rehearsal: Rehearsal
    compared: tuple[Compared, ...]
    steps: Steps

    def to_json(self) -> dict[str, Any]:
        """One document. It names neither the machine nor any path."""
        return {
            "machine": describe_machine(),
            "tasks": [each.task for each in self.rehearsal.assignments],
            "turns": self.rehearsal.turns,
            "tokens": self.rehearsal.tokens,
            "rollouts": [{**asdict(each), "ratio": each.ratio} for each in self.compared],
            "step": {**asdict(self.steps), "share": self.steps.share},
        }

    def print_on(self, console: Console) -> None:
        """A table for people."""
        table = Table("", box=None, pad_edge=False, header_style="bold")
        for heading in (
            "episodes/s",
            "one by one",
            "better",
            "model s",
            "worlds s",
            "one by one: model s",
            "worlds s",
        ):
            table.add_column(heading, justify="right")
        for each in self.compared:
            ours, other = each.ours, each.one_by_one
            seconds = (ours.generation, ours.rest, other.generation, other.rest)
            table.add_row(
                f"{each.episodes} episodes, {each.parameters / 1e6:.1f}M",
                f"{each.episodes / ours.whole:.1f}",
                f"{each.episodes / other.whole:.1f}",
                f"{each.ratio:.1f}x",
                *(f"{second:.2f}" for second in seconds),
            )
        console.print(table)
        console.print(f"\n{self._about()}")

    def _about(self) -> str:
        steps, rehearsal, machine = self.steps, self.rehearsal, describe_machine()
        return (
            f"A training step of {steps.episodes} episodes takes {steps.whole:.2f} s. The model writes for "
            f"{steps.generation:.2f} s; for {steps.world:.3f} s ({steps.share:.1%}) nothing goes on but the "
            f"worlds; the rest is learning.\n{len(rehearsal.assignments)} tasks; {rehearsal.turns:.1f} turns "
            f"and {rehearsal.tokens:.0f} written tokens an episode, the same both ways: a random model "
            "computes them all, and writes the gold solutions. One by one: OpenEnv's "
            "build_harness_rollout_func, with transformers, on the same server. The step is the "
            f"{rehearsal.parameters / 1e6:.1f}M model's.\n"
            f"On {machine['cores']} cores, Python {machine['python']}. Targets: ≥ {RATIO_TARGET:g}x at 16 "
            f"episodes; ≤ {SHARE_TARGET:.0%} of a step. Ratios travel between machines, seconds do not."
        )


def bench_rollout(worlds: Worlds, options: RolloutBenchOptions, *, as_json: bool) -> None:
    """Measure and print. Everything it started has ended when it returns or raises.

    Raises:
        BadInput: unreadable packs, or nothing in them to measure.
        CommandFailed: something failed while it was measured.
    """
    if wrong := [count for count in (*options.episodes, options.step) if count < GROUP or count % GROUP]:
        raise BadInput(f"{wrong[0]} episodes: batches are groups of {GROUP} episodes of a task")
    worlds.require_sandbox()
    catalog = worlds.catalog()
    if options.scenario is not None:
        find_scenario(catalog, options.scenario)
    try:
        report = _measure(worlds, options)
    except (RolloutError, ServerDidNotStart, OSError) as error:
        raise CommandFailed(f"the benchmark broke off: {error}") from error
    if as_json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        report.print_on(screen())


def _measure(worlds: Worlds, options: RolloutBenchOptions) -> RolloutReport:
    most, rounds = max(*options.episodes, options.step), 1 if options.quick else 3
    with env_server(worlds.packs, capacity=2 * most + 2) as url:
        tell("solutions, learnt by heart")
        rehearsal = asyncio.run(rehearse(worlds.packs, url, options.scenario, most // GROUP))
        compared = [
            _compare(each, url, episodes, rounds)
            for episodes in options.episodes
            for each in (rehearsal, rehearsal.with_larger_model())
        ]
        tell(f"training steps of {options.step} episodes")
        return RolloutReport(rehearsal, tuple(compared), train(rehearsal, url, options.step, rounds))


def _compare(rehearsal: Rehearsal, url: str, episodes: int, rounds: int) -> Compared:
    tell(f"{episodes} episodes, {rehearsal.parameters / 1e6:.1f}M parameters: together, and one by one")
    return compare(rehearsal, url, episodes, rounds)
