"""Plays all attacks under one mode of confinement, in a process of its own, and prints how each ended.

Run as `python player.py MODE OUTSIDE`, where MODE is `Layers` as JSON and OUTSIDE a folder with a secret.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from catalog import ANYWHERE, IN_SESSIONS

from subworlds.sandbox import Layers
from subworlds.scenarios.manager import ManagerSettings, ScenarioManager
from subworlds.scenarios.session import Session, SessionLimits
from subworlds.scenarios.task import Scenario, Statement

HERE = Path(__file__).parent


def scenario(name: str, attacks: dict[str, str], names: dict[str, object]) -> Scenario:
    """The hostile world; it tries `attacks` at import."""
    source = (HERE / "attacker.py").read_text()
    source = source.replace("ATTACKS: dict[str, str] = {}", f"ATTACKS = {attacks!r}")
    source = source.replace("NAMES: dict[str, object] = {}", f"NAMES = {names!r}")
    table = Statement("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)", "schema.sql", 1)
    row = Statement("INSERT INTO notes (text) VALUES ('milk')", "seed.sql", 1)
    return Scenario(name, name, "", (table,), (row,), source, "app.py", datetime(2026, 3, 1, tzinfo=UTC))


async def play(layers: Layers, outside: Path) -> dict[str, dict[str, str]]:
    """How each attack ended, by where it was tried."""
    worlds: dict[str, Scenario] = {"quiet": scenario("quiet", {}, {})}
    settings = ManagerSettings(layers=layers, prefork=0, limits=SessionLimits(call_timeout_s=60.0))
    async with ScenarioManager(worlds.__getitem__, settings) as manager:
        attacker, sibling = [await manager.start_session("quiet") for _ in range(2)]
        names = {
            "SECRET": str(outside / "secret"),
            "OUTSIDE": str(outside),
            "SIBLING": str(sibling.database),
            "SIBLING_PID": sibling.pid,
            "SNAPSHOT": str(attacker.snapshot),
            "SERVER": os.getpid(),
            "PACKS": str(HERE.parents[1] / "scenarios" / "packs"),
        }
        worlds["hostile"] = scenario("hostile", ANYWHERE, names)
        hostile = await manager.start_session("hostile")
        return {
            "tool": await _ask(attacker, "attack", {"attacks": IN_SESSIONS, "names": names}),
            "import": await _ask(hostile, "tell_import", {}),
            "sibling": await _ask(sibling, "attack", {"attacks": {"live": ""}, "names": {}}),
        }


async def _ask(session: Session, tool: str, arguments: Any) -> dict[str, str]:
    outcome = await session.call(tool, arguments)
    if outcome.failure is not None:
        raise RuntimeError(f"{tool}: {outcome.failure}")
    return dict(outcome.result)


if __name__ == "__main__":
    mode = Layers(**json.loads(sys.argv[1]))
    print(json.dumps(asyncio.run(play(mode, Path(sys.argv[2])))))
