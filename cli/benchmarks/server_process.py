"""The server that is measured, in a process of its own: the real one, as `subworlds serve` runs it.

Run as `python -m subworlds.cli.benchmarks.server_process OPTIONS`, OPTIONS being the JSON of ServerOptions.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ...envs.app import ServerSettings
from ...envs.server import Server, listen
from ...scenarios.manager import ManagerSettings
from ...scenarios.pack import Catalog
from .children import Child, child
from .stdin import when_stdin_ends


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the measured server serves, and how."""

    packs: tuple[str, ...]
    allow_unconfined: bool = False
    allow_lost_rows: bool = False
    capacity: int = 256
    prefork: int = 1
    workspace: str | None = None
    """The only folder to work in; None: what the server chooses for itself."""


@asynccontextmanager
async def server(options: ServerOptions) -> AsyncGenerator[tuple[str, Child]]:
    """A running server: its URL and its process."""
    async with child("-m", __name__, json.dumps(asdict(options))) as process:
        yield process.first_line, process


def _serve(options: ServerOptions) -> None:
    manager = ManagerSettings(
        capacity=options.capacity,
        prefork=options.prefork,
        allow_unconfined=options.allow_unconfined,
        allow_lost_rows=options.allow_lost_rows,
        workspace=None if options.workspace is None else (Path(options.workspace),),
    )
    running = Server(Catalog.load(Path(pack) for pack in options.packs), ServerSettings(manager=manager))

    def stop() -> None:
        running.should_exit = True

    when_stdin_ends(stop)
    asyncio.run(running.run_on(listen("127.0.0.1", 0), lambda url: print(url, flush=True)))


if __name__ == "__main__":
    _serve(ServerOptions(**json.loads(sys.argv[1])))
