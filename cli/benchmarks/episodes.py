"""Whole episodes: ours, the floor's and the baseline's in turns, so that all meet the same machine."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .baseline import Baseline, open_baseline
from .figures import Figure, Figures, Stopwatch
from .floor import open_floor
from .plan import Plan
from .players import Player, players, spread
from .server_process import ServerOptions, server
from .subject import Subject


@dataclass(frozen=True, slots=True)
class Compared:
    """Figures of the same rows."""

    ours: Figures
    baseline: Figures
    floor: Figures


async def measure_episodes(subject: Subject, options: ServerOptions, plan: Plan) -> Compared:
    """Latencies of one client, of simultaneous resets, and whole episodes per second of a few clients."""
    async with server(options) as (url, _):
        with open_baseline(subject) as baseline:
            single = await _one_client(url, baseline, subject, plan)
            rates = await _rates(url, baseline, subject, plan)
            return Compared(
                {**single.ours, **rates.ours, **await _bursts(url, subject, plan)},
                {**single.baseline, **rates.baseline, **await baseline.memory(plan.baseline_sessions)},
                single.floor,
            )


async def _one_client(url: str, baseline: Baseline, subject: Subject, plan: Plan) -> Compared:
    ours, theirs, least = Stopwatch(), Stopwatch(), Stopwatch()
    script = subject.script(plan.episode_calls)
    async with players(url, 1, subject, ours) as (player,), open_floor(least) as floor:
        await _first_time(player)
        for _ in range(plan.turns):
            for _ in range(plan.episodes):
                await player.episode(script)
            for _ in range(plan.episodes):
                await floor.episode(len(script))
            await baseline.episode(script, theirs)
    return Compared(ours.figures(), theirs.figures(), least.figures())


async def _first_time(player: Player) -> None:
    """What only the first episode pays: building the template, learning what the gold solution reaches."""
    await player.reset("template")
    await player.done("done_first")


async def _rates(url: str, baseline: Baseline, subject: Subject, plan: Plan) -> Compared:
    ours, theirs, unused = 0.0, 0.0, Stopwatch()
    script = subject.script(plan.episode_calls)
    async with players(url, plan.clients, subject, unused) as several:

        async def play(client: int) -> None:
            for _ in range(plan.rounds):
                await several[client].episode(script)

        for _ in range(plan.rate_turns):
            ours += await _seconds(plan.clients, play)
            theirs += await _seconds(plan.clients, lambda _: baseline.episode(script, unused))
    played = plan.clients * plan.rate_turns
    return Compared(
        {"episodes": Figure.once(played * plan.rounds / ours)}, {"episodes": Figure.once(played / theirs)}, {}
    )


async def _seconds(clients: int, play: Callable[[int], Awaitable[None]]) -> float:
    """How long it takes until every client has played."""
    start = time.perf_counter()
    await spread(range(clients), play, at_once=clients)
    return time.perf_counter() - start


async def _bursts(url: str, subject: Subject, plan: Plan) -> Figures:
    watch = Stopwatch()
    async with players(url, plan.burst, subject, watch) as burst:
        for _ in range(plan.bursts):
            await spread(burst, lambda player: player.reset("reset_burst"), at_once=plan.burst)
    return watch.figures()
