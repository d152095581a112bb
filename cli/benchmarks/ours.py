"""The real server and the real client, measured from the client's side."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, islice

from .children import Child, generations, memory_mib
from .figures import Figure, Figures, Stopwatch
from .plan import MEMORY_CALLS, Plan
from .players import Player, players, spread
from .server_process import ServerOptions, server
from .subject import Step, Subject

_SESSIONS = 3
"""The generation of the sessions below the server: zygote, template, session."""


async def measure_episodes(subject: Subject, options: ServerOptions, plan: Plan) -> Figures:
    """Latencies of one client, of simultaneous resets, and whole episodes per second of a few clients."""
    async with server(options) as (url, _):
        return {
            **await _one_client(url, subject, plan),
            **await _bursts(url, subject, plan),
            **await _throughput(url, subject, plan),
        }


async def measure_level(sessions: int, subject: Subject, options: ServerOptions, plan: Plan) -> Figures:
    """Memory of so many live sessions, and the latency of calls among them."""
    _raise_descriptor_limit()
    async with (
        server(replace(options, capacity=sessions + 1)) as (url, process),
        players(url, sessions, subject, watch := Stopwatch()) as live,
    ):
        await spread(live, _open, at_once=plan.in_flight)
        memory = {f"memory_listed_{sessions}": _memory_per_session(process)}
        await spread(live, lambda player: _use(player, subject), at_once=plan.in_flight)
        memory[f"memory_used_{sessions}"] = _memory_per_session(process)
        memory[f"memory_all_{sessions}"] = _memory_of_all(process, sessions)
        rate = await _load(live, sessions, subject, plan)
        return {**memory, **rate, f"call_among_{sessions}": watch.figures()["call_among"]}


async def _one_client(url: str, subject: Subject, plan: Plan) -> Figures:
    watch = Stopwatch()
    script = subject.script(plan.episode_calls)
    async with players(url, 1, subject, watch) as (player,):
        await player.reset("template")
        await player.list_tools()
        await player.done("done_first")
        for _ in range(plan.episodes):
            await player.episode(script)
    return watch.figures()


async def _bursts(url: str, subject: Subject, plan: Plan) -> Figures:
    watch = Stopwatch()
    async with players(url, plan.burst, subject, watch) as burst:
        for _ in range(plan.bursts):
            await spread(burst, lambda player: player.reset("reset_burst"), at_once=plan.burst)
    return watch.figures()


async def _throughput(url: str, subject: Subject, plan: Plan) -> Figures:
    script = subject.script(plan.episode_calls)

    async def play(player: Player) -> None:
        for _ in range(plan.rounds):
            await player.episode(script)

    async with players(url, plan.clients, subject, Stopwatch()) as several:
        start = time.perf_counter()
        await spread(several, play, at_once=plan.clients)
        elapsed = time.perf_counter() - start
    return {"episodes": Figure.once(plan.clients * plan.rounds / elapsed)}


async def _load(live: Sequence[Player], sessions: int, subject: Subject, plan: Plan) -> Figures:
    """Calls of all sessions in turn, a few under way at any moment; each is timed by its player."""
    read = Step(subject.read, writes=False)
    start = time.perf_counter()
    await spread(
        islice(cycle(live), plan.load_calls),
        lambda player: player.call(read, "call_among"),
        at_once=plan.in_flight,
    )
    return {f"rate_among_{sessions}": Figure.once(plan.load_calls / (time.perf_counter() - start))}


async def _open(player: Player) -> None:
    await player.reset("reset_open")
    await player.list_tools()


async def _use(player: Player, subject: Subject) -> None:
    for step in subject.script(MEMORY_CALLS):
        await player.call(step, "call")


def _memory_per_session(process: Child) -> Figure:
    """The mean over the session processes (the one in reserve included)."""
    sessions = generations(process.pid)[_SESSIONS]
    return Figure.once(memory_mib(sessions) / len(sessions))


def _memory_of_all(process: Child, sessions: int) -> Figure:
    """Server, zygotes, template and sessions, divided by the sessions."""
    everybody = [pid for generation in generations(process.pid) for pid in generation]
    return Figure.once(memory_mib(everybody) / sessions)


def _raise_descriptor_limit() -> None:
    """Each client holds a socket of ours; take as many as the system grants."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
