"""The server of `subworlds serve`, on an engine that is open already."""

from __future__ import annotations

import signal
from types import FrameType
from urllib.parse import urlsplit

from ..envs.app import ServerSettings
from ..envs.gate import Access
from ..envs.server import CannotListen, Server, listen
from ..scenarios.pack import Catalog
from ..verifiers.engine import Engine
from .failure import CommandFailed
from .screen import counted
from .serve import ServeOptions
from .weights import read_weights


async def run(catalog: Catalog, engine: Engine, options: ServeOptions) -> None:
    """Serve until SIGTERM or SIGINT. Prints one line on stdout when ready.

    Raises:
        BadInput: weights that make no sense.
        CommandFailed: the address is taken, or the server broke at its start.
    """
    settings = ServerSettings(
        manager=engine.manager.settings,
        access=_access(options),
        weights=read_weights(options.weights),
        public_url=options.public_url,
    )
    server = Server(catalog, settings, engine)
    try:
        listener = listen(options.host, options.port)
    except CannotListen as error:
        raise CommandFailed(str(error)) from error
    _stop_by_signal(server)
    await server.run_on(listener, lambda url: print(_ready_line(url, catalog), flush=True))
    if not server.started:
        raise CommandFailed("the server could not start; its log above says why")


def _access(options: ServeOptions) -> Access:
    """A server on the loopback answers to its own names only, so that no web page can reach it by another."""
    public = urlsplit(options.public_url or "").hostname
    return Access(
        token=options.token,
        anyone=options.allow_remote,
        hosts=frozenset(name.lower() for name in (options.host, public) if name),
    )


def _ready_line(url: str, catalog: Catalog) -> str:
    scenarios, tasks = counted(len(catalog.scenarios), "scenario"), counted(len(catalog.served), "task")
    return f"subworlds ready at {url} ({scenarios}, {tasks})"


def _stop_by_signal(server: Server) -> None:
    """Make SIGTERM and SIGINT mean: stop in good order.

    uvicorn takes them over while it serves and raises them again when it has stopped; by then there is
    nothing left to do, and the exit status is 0.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
