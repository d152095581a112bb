"""The server's ASGI application: OpenEnv's routes, every session's MCP endpoint, and a page of numbers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fastapi import FastAPI
from openenv.core.env_server.http_server import HTTPEnvServer
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import ConcurrencyConfig, ServerMode

from ..scenarios.manager import ManagerSettings
from ..scenarios.pack import Catalog
from ..verifiers.engine import Engine, opened_engine
from ..verifiers.judge import JudgeSettings
from ..verifiers.service import VerifierLimits
from .agent_plane import AgentPlane
from .client import ENVIRONMENT
from .environment import SubworldsEnvironment
from .episode import EpisodeService
from .gate import Access, Gate
from .models import ResetObservation, StepObservation, SubworldsAction, SubworldsState
from .rubric import RubricWeights


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How one server behaves. Read once, at the entry point."""

    manager: ManagerSettings = field(default_factory=ManagerSettings)
    verifier: VerifierLimits = field(default_factory=VerifierLimits)
    judge: JudgeSettings | None = None
    """The model that decides judged tasks."""
    access: Access = field(default_factory=Access)
    weights: RubricWeights = field(default_factory=RubricWeights)
    """What each component of the reward is worth."""
    public_url: str | None = None
    """How agents reach the server, where that is not the address it listens on (a proxy, a container)."""


class Application:
    """The parts of one server, wired together. `asgi` is what uvicorn runs."""

    def __init__(self, catalog: Catalog, settings: ServerSettings, engine: Engine | None = None) -> None:
        """Args:
        engine: one that is open, and stays so for longer than the application runs; None: it opens its own.
        """
        self.catalog = catalog
        self._settings = settings
        self._engine = engine
        self._service: EpisodeService | None = None
        self.asgi = FastAPI(title="subworlds", version="1.0.0", lifespan=self._lifespan)
        self.asgi.add_middleware(Gate, access=settings.access)
        self._openenv = _EnvServer(
            partial(SubworldsEnvironment, lambda: self.service, settings.weights),
            SubworldsAction,
            StepObservation,
            concurrency_config=ConcurrencyConfig(
                max_concurrent_envs=settings.manager.capacity, session_timeout=settings.manager.idle_timeout_s
            ),
            env_name=ENVIRONMENT,
            state_cls=SubworldsState,
            reset_observation_cls=ResetObservation,
        )
        self.asgi.add_api_route("/stats", self._stats, tags=["Environment Info"])
        self._openenv.register_routes(self.asgi, ServerMode.SIMULATION)

    @property
    def service(self) -> EpisodeService:
        """The episodes of the running server."""
        if self._service is None:
            raise RuntimeError("the server is not running")
        return self._service

    @asynccontextmanager
    async def _lifespan(self, app: FastAPI) -> AsyncGenerator[None]:
        async with nullcontext(self._engine) if self._engine else self._opened() as engine:
            self._service = EpisodeService(self.catalog, engine.manager, engine.verification)
            plane = AgentPlane(self._service)
            app.router.routes.append(plane.route())
            async with plane.sessions.run(), self._openenv.running(app):
                yield
        self._service = None

    def _opened(self) -> AbstractAsyncContextManager[Engine]:
        settings = self._settings
        return opened_engine(self.catalog.scenario, settings.manager, settings.verifier, settings.judge)

    async def _stats(self) -> dict[str, Any]:
        """How many sessions live, of how many that may; what is loaded."""
        manager = self.service.manager
        return {
            "sessions": len(manager.sessions),
            "capacity": manager.settings.capacity,
            "connections": self._openenv.active_sessions,
            "templates": manager.template_names(),
            "scenarios": len(self.catalog.scenarios),
            "tasks": len(self.catalog.served),
            "withheld": len(self.catalog.withheld),
        }


class _EnvServer(HTTPEnvServer):
    """OpenEnv's server, told of what agents do on the agent plane so that it does not take them for idle."""

    @asynccontextmanager
    async def running(self, app: FastAPI) -> AsyncGenerator[None]:
        """Run the hooks that OpenEnv registered (its reaper), which a lifespan of our own replaces."""
        for start in app.router.on_startup:
            await start()
        try:
            yield
        finally:
            for stop in app.router.on_shutdown:
                await stop()

    async def _create_session(self) -> tuple[str, Environment[Any, Any, Any]]:
        created: Any = await super()._create_session()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        session_id, environment = created
        if isinstance(environment, SubworldsEnvironment):
            environment.on_activity = partial(self._update_session_activity, session_id)
        return session_id, environment
