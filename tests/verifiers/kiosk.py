"""Verification as a server has it: a manager over the toy world, a verifier zygote, and episodes to judge."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from subworlds.scenarios.manager import ManagerSettings, ScenarioManager
from subworlds.scenarios.pack import Catalog
from subworlds.scenarios.task import Check, PythonCheck, Task
from subworlds.verifiers.service import Verification, VerifierLimits
from subworlds.verifiers.verdict import Verdict

LIMITS = VerifierLimits(wall_s=60.0)
SELL_PEAR = ("sell", {"good_id": 2})


@dataclass(frozen=True)
class Kiosk:
    """The toy world's tasks, played and judged."""

    catalog: Catalog
    manager: ScenarioManager
    verification: Verification
    initial: Path
    final: Path
    """What is left when one pear was sold."""

    def task(self, name: str, **changed: Any) -> Task:
        """A task of the pack, or one made from it."""
        return replace(self.catalog.task(f"kiosk/{name}"), **changed)

    async def judge(
        self,
        check: Check | Task,
        final: Path | None = None,
        *,
        answer: str | None = None,
        verification: Verification | None = None,
    ) -> Verdict:
        """Judge the sale of one pear (or another final database)."""
        task = check if isinstance(check, Task) else self.task("sell-pear-by-code", check=check)
        return await (verification or self.verification).verify(
            task, initial=self.initial, final=final or self.final, answer=answer, calls=1
        )

    async def run(self, code: str, answer: str | None = None) -> Verdict:
        """Judge by an author's code, which defines `verify`."""
        return await self.judge(PythonCheck(code, "verify"), answer=answer)

    async def play(self, task: Task, *calls: tuple[str, Mapping[str, Any]]) -> Verdict:
        """Play a whole episode."""
        session = await self.manager.start_session(task.scenario)
        try:
            for tool, arguments in calls:
                await session.call(tool, arguments)
            final = await session.finish()
            return await self.verification.verify(
                task, initial=session.snapshot, final=final, answer=None, calls=len(calls)
            )
        finally:
            await session.close()


@asynccontextmanager
async def open_kiosk(packs: Path) -> AsyncGenerator[Kiosk]:
    """Everything started, one pear sold."""
    catalog = Catalog.load([packs])
    async with (
        ScenarioManager(catalog.scenario, ManagerSettings()) as manager,
        Verification(manager, LIMITS) as verification,
    ):
        session = await manager.start_session("kiosk")
        await session.call(*SELL_PEAR)
        yield Kiosk(catalog, manager, verification, session.snapshot, await session.finish())


def runs(verification: Verification) -> list[psutil.Process]:
    """The verifier processes that run."""
    assert verification.pid is not None
    return psutil.Process(verification.pid).children(recursive=True)


async def all_gone(verification: Verification) -> None:
    """Wait until no verifier process runs."""
    while runs(verification):
        await asyncio.sleep(0)


async def a_run(
    kiosk: Kiosk, check: Check, verification: Verification | None = None
) -> tuple[asyncio.Task[Verdict], psutil.Process]:
    """Start one verification and wait for its process."""
    verification = verification or kiosk.verification
    await all_gone(verification)
    judging = asyncio.create_task(kiosk.judge(check, verification=verification))
    while not (found := runs(verification)):
        await asyncio.sleep(0)
    return judging, found[0]


def descriptors(pid: int) -> int:
    """How many descriptors a process holds."""
    return len(os.listdir(f"/proc/{pid}/fd"))
