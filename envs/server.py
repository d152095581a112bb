"""Runs the application on a socket, from the first ready line to the last answer."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from collections.abc import Callable

import uvicorn

from ..scenarios.pack import Catalog
from ..verifiers.engine import Engine
from .app import Application, ServerSettings
from .gate import MAX_BODY_BYTES
from .patience import PatientProtocol

_DRAIN_TIMEOUT_S = 40.0
_BACKLOG = 2048
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 4))
"""Seconds of silence before the kernel asks whether the other end lives, seconds between asks, and how many.
The other end's kernel answers: a trainer busy for minutes stays connected, a vanished one does not."""


class CannotListen(Exception):
    """The address cannot be listened on; says why and what to do."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket whose connections are kept alive, or found dead, by TCP itself.

    Raises:
        CannotListen: the port is taken, or the address is not ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(
        family, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # named, or asyncio leaves Nagle on
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        listener.setsockopt(socket.IPPROTO_TCP, option, value)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        advice = "choose another with --host and --port (0: any free port)"
        message = f"cannot listen on {host}:{port}: {error}; {advice}"
        raise CannotListen(message) from error
    return listener


class Server(uvicorn.Server):
    """One subworlds server in this process. `run_on` returns when it has stopped and left nothing behind."""

    def __init__(self, catalog: Catalog, settings: ServerSettings, engine: Engine | None = None) -> None:
        """Args:
        engine: as for Application.
        """
        self.application = Application(catalog, settings, engine)
        super().__init__(
            uvicorn.Config(
                self.application.asgi,
                log_level="warning",
                access_log=False,
                http=PatientProtocol,
                ws="websockets-sansio",
                ws_max_size=MAX_BODY_BYTES,
                ws_ping_interval=None,
                ws_per_message_deflate=False,
                timeout_graceful_shutdown=5,
                lifespan="on",
            )
        )
        self._on_ready: Callable[[str], None] = lambda _: None
        self._url = ""
        self._public_url = settings.public_url and settings.public_url.rstrip("/")

    async def run_on(self, listener: socket.socket, on_ready: Callable[[str], None]) -> None:
        """Serve until told to stop (SIGTERM, SIGINT or `should_exit`).

        Args:
            on_ready: called once with the URL, when requests are answered.
        """
        _raise_descriptor_limit()
        host, port = listener.getsockname()[:2]
        self._url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._on_ready = on_ready
        await self.serve(sockets=[listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, then say that we are ready."""
        await super().startup(sockets)
        if self.started:
            self.application.service.base_url = self._public_url or _loopback_for_any(self._url)
            self._on_ready(self._url)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what is under way, then stop as uvicorn does."""
        in_flight = self.application.service.in_flight
        in_flight.stopping = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(in_flight.drained(), _DRAIN_TIMEOUT_S)
        await super().shutdown(sockets)


def _loopback_for_any(url: str) -> str:
    """A URL that can be asked for, where the server listens on every address."""
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _raise_descriptor_limit() -> None:
    """Each live session holds three descriptors of ours; take as many as the system grants."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
