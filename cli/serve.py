"""`subworlds serve`: one server until it is told to stop.

The server's modules take as long to import as the worlds' processes take to start, so both happen at once:
what is imported here is light, and the rest is in serving.py.
"""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from dataclasses import dataclass, field, replace
from importlib import import_module

from ..sandbox import SandboxError
from ..scenarios.manager import ManagerSettings
from ..scenarios.pack import Catalog
from ..scenarios.session import SessionLimits
from ..verifiers.engine import opened_engine
from .absences import standing_in
from .failure import BadInput, CommandFailed
from .worlds import Worlds, tell_judged, tell_repairs


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where to listen, and how many worlds to keep for how long."""

    host: str
    port: int
    allow_remote: bool
    """Listen on addresses that other machines reach."""
    capacity: int
    idle_timeout_s: float
    prefork: int
    call_timeout_s: float
    public_url: str | None
    weights: str | None = None
    """What each component of the reward is worth; None: the usual."""
    token: str | None = field(default=None, repr=False)
    """What the control plane asks for."""


def serve(worlds: Worlds, options: ServeOptions) -> None:
    """Serve until SIGTERM or SIGINT; then answer what is under way, leave nothing behind, and return.

    Raises:
        BadInput: unreadable packs, or an address that needs --allow-remote.
        CommandFailed: the address is taken, worlds cannot be confined, or the server broke at its start.
    """
    _require_local(options)
    worlds.require_sandbox()
    catalog = worlds.catalog()
    tell_repairs(catalog)
    _tell_withheld(catalog)
    tell_judged(catalog, worlds.judge)
    try:
        asyncio.run(_serve(worlds, catalog, options))
    except SandboxError as error:
        raise CommandFailed(str(error)) from error


async def _serve(worlds: Worlds, catalog: Catalog, options: ServeOptions) -> None:
    importing = asyncio.create_task(asyncio.to_thread(_import_server))
    settings = _manager_settings(worlds, options)
    async with opened_engine(catalog.scenario, settings, judge=worlds.judge) as engine:
        await importing
        from .serving import run

        await run(catalog, engine, options)


def _import_server() -> None:
    """Import serving.py, without the client of OpenAI's API: OpenEnv imports it for a rubric of its own.

    It would take as long as all of FastAPI, and is there again when this returns.
    """
    with standing_in("openai", AsyncOpenAI=object):
        import_module(f"{__package__}.serving")


def _tell_withheld(catalog: Catalog) -> None:
    """Say on stderr which tasks are served only to those who ask for them by id."""
    for task_id in sorted(catalog.withheld):
        print(f"withheld: {task_id}: failed certification; ask for it by id to play it", file=sys.stderr)


def _manager_settings(worlds: Worlds, options: ServeOptions) -> ManagerSettings:
    return replace(
        worlds.manager_settings(),
        warm=True,
        capacity=options.capacity,
        idle_timeout_s=options.idle_timeout_s,
        prefork=options.prefork,
        limits=SessionLimits(call_timeout_s=options.call_timeout_s),
    )


def _require_local(options: ServeOptions) -> None:
    if options.token is None and not options.allow_remote and not _is_loopback(options.host):
        raise BadInput(
            f"--host {options.host} can be reached from other machines, and without a token this server asks "
            "nobody who they are: whoever reaches the port could reset, step and score episodes. Give it a "
            "token (--token-file FILE, or SUBWORLDS_TOKEN), accept the risk (--allow-remote), or leave "
            "--host at 127.0.0.1."
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
