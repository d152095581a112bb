"""How a reset grows: with the size of the database, the medium it lies on, the number of loaded scenarios."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from ...envs.client import SubworldsEnv
from ..failure import CommandFailed
from .figures import Figures, Stopwatch
from .generated import write_scenario
from .plan import Plan
from .server_process import ServerOptions, server

_SMALL_MB = 0.1


@dataclass(frozen=True, slots=True)
class Medium:
    """A place for databases."""

    name: str
    folder: str
    file_system: str


def media() -> tuple[Medium, ...]:
    """Memory, where there is /dev/shm, and the temporary folder."""
    shared, temporary = "/dev/shm", tempfile.gettempdir()
    found = [Medium("disk", temporary, _file_system(temporary))]
    if os.access(shared, os.W_OK):
        found.insert(0, Medium("memory", shared, _file_system(shared)))
    return tuple(found)


def size_row(megabytes: float, medium: Medium) -> str:
    """The row of resets with a database of this size."""
    return f"reset_{megabytes:g}mb_{medium.name}"


def count_row(scenarios: int) -> str:
    """The row of resets among so many loaded scenarios."""
    return f"reset_among_{scenarios}_scenarios"


async def measure_sizes(options: ServerOptions, plan: Plan, medium: Medium) -> Figures:
    """Resets with databases of each size. No sessions in reserve, so that each waits for its copy."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory(prefix="subworlds-bench-") as folder:
        tasks = {
            size: write_scenario(Path(folder), f"size_{n}", size) for n, size in enumerate(plan.database_mb)
        }
        served = replace(options, packs=(folder,), prefork=0, workspace=medium.folder)
        async with server(served) as (url, _), SubworldsEnv(base_url=url) as env:
            for size, task in tasks.items():
                await _resets(env, task, watch, size_row(size, medium), plan.growth_resets)
    return watch.figures()


async def measure_count(options: ServerOptions, plan: Plan, scenarios: int) -> Figures:
    """Resets of one scenario where so many are loaded."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory(prefix="subworlds-bench-") as folder:
        tasks = [
            write_scenario(Path(folder), f"one_of_many_{number}", _SMALL_MB) for number in range(scenarios)
        ]
        async with server(replace(options, packs=(folder,))) as (url, _), SubworldsEnv(base_url=url) as env:
            await _resets(env, tasks[-1], watch, count_row(scenarios), plan.growth_resets)
    return watch.figures()


async def _resets(env: SubworldsEnv, task: str, watch: Stopwatch, row: str, times: int) -> None:
    """Reset again and again. The first, which builds the scenario's template, is not counted."""
    await env.reset(task=task)
    for _ in range(times):
        with watch.lap(row):
            result = await env.reset(task=task)
        if result.observation.error is not None:
            raise CommandFailed(f"a reset failed while it was measured: {result.observation.error}")
        await env.call_tool("get_note", note_id=1)


def _file_system(folder: str) -> str:
    """The type of the file system that holds `folder`: the mount with the longest matching path."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    holding = [(path, kind) for path, kind in mounts if Path(folder).is_relative_to(path)]
    return max(holding, key=lambda mount: len(mount[0]), default=("", "unknown"))[1]
