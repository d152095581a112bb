"""`subworlds serve`: one server until it is told to stop."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import sys
from dataclasses import dataclass, field, replace
from types import FrameType
from urllib.parse import urlsplit

from ..envs.app import ServerSettings
from ..envs.gate import Access
from ..envs.rubric import RubricWeights
from ..envs.server import CannotListen, Server, listen
from ..scenarios.manager import ManagerSettings
from ..scenarios.pack import Catalog
from ..scenarios.session import SessionLimits
from .failure import BadInput, CommandFailed
from .screen import counted
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
    weights: RubricWeights = field(default_factory=RubricWeights)
    """What each component of the reward is worth."""
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
    settings = ServerSettings(
        manager=_manager_settings(worlds, options),
        judge=worlds.judge,
        access=_access(options),
        weights=options.weights,
        public_url=options.public_url,
    )
    server = Server(catalog, settings)
    try:
        listener = listen(options.host, options.port)
    except CannotListen as error:
        raise CommandFailed(str(error)) from error
    _stop_by_signal(server)
    asyncio.run(server.run_on(listener, lambda url: print(_ready_line(url, catalog), flush=True)))
    if not server.started:
        raise CommandFailed("the server could not start; its log above says why")


def _tell_withheld(catalog: Catalog) -> None:
    """Say on stderr which tasks are served only to those who ask for them by id."""
    for task_id in sorted(catalog.withheld):
        print(f"withheld: {task_id}: failed certification; ask for it by id to play it", file=sys.stderr)


def _ready_line(url: str, catalog: Catalog) -> str:
    scenarios, tasks = counted(len(catalog.scenarios), "scenario"), counted(len(catalog.served), "task")
    return f"subworlds ready at {url} ({scenarios}, {tasks})"


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


def _access(options: ServeOptions) -> Access:
    """A server on the loopback answers to its own names only, so that no web page can reach it by another."""
    public = urlsplit(options.public_url or "").hostname
    return Access(
        token=options.token,
        anyone=options.allow_remote,
        hosts=frozenset(name.lower() for name in (options.host, public) if name),
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _stop_by_signal(server: Server) -> None:
    """Make SIGTERM and SIGINT mean: stop in good order.

    uvicorn takes them over while it serves and raises them again when it has stopped; by then there is
    nothing left to do, and the exit status is 0.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
