"""Many sessions alive at once: the memory they take, and calls among them."""

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
