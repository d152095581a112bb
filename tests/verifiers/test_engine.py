"""An engine: worlds and verifiers, opened together and gone together."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from subworlds.scenarios.manager import ManagerSettings
from subworlds.scenarios.pack import Catalog
from subworlds.verifiers.engine import opened_engine


def children() -> set[int]:
    return {process.pid for process in psutil.Process().children()}


async def test_engine_plays_and_judges_and_leaves_no_process(worlds: Path) -> None:
    before = children()
    catalog = Catalog.load([worlds])
    task = catalog.task("kiosk/sell-apples")
    assert task.solution is not None
    async with opened_engine(catalog.scenario, ManagerSettings()) as engine:
        assert len(children() - before) == 2
        session = await engine.manager.start_session("kiosk")
        for call in task.solution:
            await session.call(call.tool, call.arguments)
        final = await session.finish()
        verdict = await engine.verification.verify(
            task, initial=session.snapshot, final=final, answer=None, calls=len(task.solution)
        )
        assert verdict.outcome == "complete"
    assert children() <= before


async def test_engine_that_cannot_open_leaves_no_process(worlds: Path, tmp_path: Path) -> None:
    before = children()
    settings = ManagerSettings(workspace=(tmp_path / "is" / "missing",))
    with pytest.raises(OSError, match="missing"):
        async with opened_engine(Catalog.load([worlds]).scenario, settings):
            pass
    assert children() <= before
