"""A server of our own, for commands that play: the real one, on a free port, while a `with` block lasts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace

from ..envs.app import ServerSettings
from ..envs.server import Server, listen
from ..scenarios.pack import Catalog
from .failure import CommandFailed
from .worlds import Worlds


@contextmanager
def hosted(worlds: Worlds, catalog: Catalog, *, warm: bool = False) -> Generator[str]:
    """Serve `catalog` on a thread of its own; yields the URL.

    Args:
        warm: for many episodes of each world.

    Raises:
        CommandFailed: worlds cannot be confined here, or the server could not start.
    """
    worlds.require_sandbox()
    server = Server(
        catalog, ServerSettings(manager=replace(worlds.manager_settings(), warm=warm), judge=worlds.judge)
    )
    ready: Future[str] = Future()
    thread = threading.Thread(target=_serve, args=(server, ready), name="subworlds-server")
    thread.start()
    try:
        yield ready.result()
    finally:
        server.should_exit = True
        thread.join()


def _serve(server: Server, ready: Future[str]) -> None:
    try:
        asyncio.run(server.run_on(listen("127.0.0.1", 0), ready.set_result))
    finally:
        if not ready.done():
            ready.set_exception(CommandFailed("the server could not start; its log above says why"))
