"""A live server over the toy world, shared by the tests that play over the network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from subworlds.envs.app import ServerSettings
from subworlds.envs.server import Server, listen
from subworlds.scenarios.manager import ManagerSettings
from subworlds.scenarios.pack import Catalog
from subworlds.scenarios.session import SessionLimits
from subworlds.verifiers.service import VerifierLimits

WORLDS = Path(__file__).parent / "worlds"

Serve: TypeAlias = Callable[[list[Path], ServerSettings], AbstractContextManager[str]]


@contextmanager
def serving(packs: list[Path], settings: ServerSettings) -> Generator[str]:
    """Run a server in a thread for as long as the block lasts; yields its URL."""
    server = Server(Catalog.load(packs), settings)
    ready: Future[str] = Future()

    def run() -> None:
        try:
            asyncio.run(server.run_on(listen("127.0.0.1", 0), ready.set_result))
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    thread = threading.Thread(target=run, name="server")
    thread.start()
    try:
        yield ready.result(60)
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive(), "the server did not stop"


@pytest.fixture(scope="session")
def serve() -> Serve:
    """Starts servers with settings of one's own."""
    return serving


@pytest.fixture(scope="session")
def worlds() -> Path:
    """The folder of the toy worlds: a native pack."""
    return WORLDS


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A server over the toy worlds, with short limits."""
    settings = ServerSettings(
        manager=ManagerSettings(
            capacity=64, limits=SessionLimits(call_timeout_s=1.0, output_characters=10_000)
        ),
        verifier=VerifierLimits(wall_s=2.0),
    )
    with serving([WORLDS], settings) as url:
        yield url
