"""What plays episodes and judges them, for as long as a server or a command lasts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from ..scenarios.manager import ManagerSettings, ScenarioManager
from ..scenarios.task import Scenario
from .judge import JudgeSettings
from .service import Verification, VerifierLimits


@dataclass(frozen=True, slots=True)
class Engine:
    """The processes of worlds and of verifiers, up and running. See opened_engine."""

    manager: ScenarioManager
    verification: Verification


@asynccontextmanager
async def opened_engine(
    find_scenario: Callable[[str], Scenario],
    settings: ManagerSettings,
    limits: VerifierLimits | None = None,
    judge: JudgeSettings | None = None,
) -> AsyncGenerator[Engine]:
    """Both zygotes at once: each takes a while to start, and neither needs the other.

    Args:
        find_scenario: a scenario by its name; raises UnknownScenario.

    Raises:
        SandboxError: worlds cannot be confined here, or a zygote did not come up.
    """
    manager = ScenarioManager(find_scenario, settings)
    verification = Verification(manager, limits or VerifierLimits(), judge)
    warming = asyncio.create_task(verification.warm_up())
    try:
        async with manager, verification:
            yield Engine(manager, verification)
    finally:
        await asyncio.gather(warming, return_exceptions=True)
        await verification.stop()
