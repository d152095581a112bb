"""`subworlds bench`: how fast this is, beside a process from nothing and an environment that does nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any, cast

import httpx

from ..envs.client import ConnectionLost, ServerError
from ..scenarios.errors import ScenarioError
from ..scenarios.manager import ServerFull
from ..scenarios.pack import Catalog
from ..scenarios.session import WorldCrashed
from ..scenarios.task import ToolCall
from .benchmarks.confinement import measure_confinement
from .benchmarks.episodes import measure_episodes
from .benchmarks.figures import Figures
from .benchmarks.growth import measure_count, measure_sizes, media
from .benchmarks.levels import measure_level
from .benchmarks.plan import FULL, QUICK, Plan
from .benchmarks.report import Report
from .benchmarks.rows import build_rows
from .benchmarks.server_process import ServerOptions
from .benchmarks.subject import Subject, choose_subject
from .benchmarks.verification import measure_verdicts
from .failure import BadInput, CommandFailed
from .screen import screen
from .worlds import Worlds, find_scenario

_FAILURES = (ScenarioError, WorldCrashed, ServerFull, ServerError, ConnectionLost, httpx.HTTPError)


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What to measure, and how often."""

    scenario: str | None = None
    """None: the first that has what it takes."""
    read_tool: str | None = None
    """A tool that changes nothing; None: one of a gold solution."""
    read_arguments: str = "{}"
    """Its arguments, a JSON object."""
    sessions: int | None = None
    """A further number of live sessions to measure."""
    quick: bool = False
    """Few repetitions: a look, not a measurement."""


def bench(worlds: Worlds, options: BenchOptions, *, as_json: bool) -> None:
    """Measure and print. Everything it started has ended when it returns or raises.

    Raises:
        BadInput: unreadable packs, or nothing in them to measure.
        CommandFailed: something failed while it was measured.
    """
    read = _read_call(options)
    worlds.require_sandbox()
    catalog = worlds.catalog()
    if options.scenario is not None:
        find_scenario(catalog, options.scenario)
    report = _run(_measure(worlds, catalog, options.scenario, read, _plan(options)))
    if as_json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        report.print_on(screen())


def _run(work: Coroutine[Any, Any, Report]) -> Report:
    """Run to the end, or until SIGTERM or Ctrl-C; either way what was started is ended first.

    Raises:
        CommandFailed: what was measured failed.
    """

    async def until_told_to_stop() -> Report:
        task = asyncio.ensure_future(work)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await task

    try:
        return asyncio.run(until_told_to_stop())
    except asyncio.CancelledError:
        sys.exit(128 + signal.SIGTERM)
    except _FAILURES as error:
        raise CommandFailed(f"the benchmark broke off: {error}") from error


async def _measure(
    worlds: Worlds, catalog: Catalog, scenario: str | None, read: ToolCall | None, plan: Plan
) -> Report:
    options = _server_options(worlds)
    async with worlds.running(catalog) as manager:
        subject = await choose_subject(catalog, manager, scenario, read)
        tell(f"verdicts on {subject.task.id}")
        verdicts = await measure_verdicts(manager, subject, plan)
    tell("episodes: ours, the floor and the baseline in turns")
    compared = await measure_episodes(subject, options, plan)
    ours = {**compared.ours, **verdicts, **await _measure_ours(subject, options, plan)}
    return Report(subject, plan, media(), tuple(build_rows(plan, media(), replace(compared, ours=ours))))


async def _measure_ours(subject: Subject, options: ServerOptions, plan: Plan) -> Figures:
    figures: Figures = {}
    for sessions in plan.levels:
        tell(f"{sessions} live sessions")
        figures |= await measure_level(sessions, subject, options, plan)
    for medium in media():
        tell(f"databases of several sizes, {medium.file_system}")
        figures |= await measure_sizes(options, plan, medium)
    for scenarios in plan.scenario_counts:
        tell(f"{scenarios} scenarios loaded")
        figures |= await measure_count(options, plan, scenarios)
    tell("confinement")
    return figures | await measure_confinement(plan)


def _server_options(worlds: Worlds) -> ServerOptions:
    return ServerOptions(
        packs=tuple(str(pack) for pack in worlds.packs),
        allow_unconfined=worlds.allow_unconfined,
        allow_lost_rows=worlds.allow_lost_rows,
    )


def _plan(options: BenchOptions) -> Plan:
    plan = QUICK if options.quick else FULL
    if options.sessions is None or options.sessions in plan.levels:
        return plan
    return replace(plan, levels=(*plan.levels, options.sessions))


def _read_call(options: BenchOptions) -> ToolCall | None:
    if options.read_tool is None:
        return None
    return ToolCall(options.read_tool, _json_object(options.read_arguments))


def _json_object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise BadInput(f"--read-arguments is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadInput(f"--read-arguments must be a JSON object such as '{{\"id\": 3}}', not {text}")
    return cast(dict[str, Any], value)


def tell(progress: str) -> None:
    """Say on stderr what goes on."""
    print(f"bench: {progress}", file=sys.stderr, flush=True)
