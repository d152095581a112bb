"""The floor: an OpenEnv environment that does nothing, over the same WebSocket. No environment can be faster.

Run as `python -m subworlds.cli.benchmarks.floor` it is that environment's server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from openenv.core.env_client import EnvClient
from openenv.core.env_server.http_server import HTTPEnvServer
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, ServerMode, State
from openenv.core.generic_client import GenericEnvClient

from ...envs.server import listen
from .children import child
from .figures import Stopwatch
from .stdin import when_stdin_ends


class _Ping(Action):
    text: str = ""


class _Nothing(Environment[Any, Observation, State]):
    """Answers everything at once, natively async."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> Observation:
        return Observation()

    async def step_async(self, action: Any, timeout_s: float | None = None, **options: Any) -> Observation:
        return Observation()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Observation:
        return Observation()

    def step(self, action: Any, timeout_s: float | None = None, **options: Any) -> Observation:
        return Observation()

    @property
    def state(self) -> State:
        return State()


class Floor:
    """One client of the empty environment."""

    def __init__(
        self, env: EnvClient[dict[str, Any], dict[str, Any], dict[str, Any]], watch: Stopwatch
    ) -> None:
        self._env = env
        self._watch = watch

    async def episode(self, calls: int) -> None:
        """A reset and some steps, timed under the rows that they are the floor of."""
        with self._watch.lap("reset"):
            await self._env.reset()
        for _ in range(calls):
            with self._watch.lap("call"):
                await self._env.step({"text": "ping"})


@asynccontextmanager
async def open_floor(watch: Stopwatch) -> AsyncGenerator[Floor]:
    """A running server of the empty environment, and a client."""
    async with child("-m", __name__) as process:
        env: EnvClient[dict[str, Any], dict[str, Any], dict[str, Any]]
        env = GenericEnvClient(base_url=process.first_line)
        async with env:
            yield Floor(env, watch)


def _serve() -> None:
    app = FastAPI()
    HTTPEnvServer(_Nothing, _Ping, Observation, max_concurrent_envs=4).register_routes(
        app, ServerMode.SIMULATION
    )
    running = uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            ws="websockets-sansio",
            ws_ping_interval=None,
            ws_per_message_deflate=False,
        )
    )

    def stop() -> None:
        running.should_exit = True

    when_stdin_ends(stop)
    listener = listen("127.0.0.1", 0)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    asyncio.run(running.serve(sockets=[listener]))


if __name__ == "__main__":
    _serve()
