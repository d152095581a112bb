"""An HTTP connection that does not wait for ever for a request to begin, or to be told whole."""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

_HEADERS_S = 30.0


class PatientProtocol(H11Protocol):
    """uvicorn's, which would wait for ever for a client that says nothing, or its headers bit by bit."""

    _impatience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; go on waiting if it was not yet a request."""
        super().data_received(data)
        if self._between_requests() and not self.transport.is_closing():
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _between_requests(self) -> bool:
        upgraded = self.transport.get_protocol() is not self
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return not upgraded and (cycle is None or cycle.response_complete)

    def _wait(self) -> None:
        if self._impatience is None:
            self._impatience = self.loop.call_later(_HEADERS_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None
