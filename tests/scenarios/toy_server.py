"""A server of its own process, for tests that end it the hard way: opens sessions, says which, and waits."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType


def load_toys() -> ModuleType:
    """The module beside this one, which no package holds."""
    spec = importlib.util.spec_from_file_location("toys", Path(__file__).with_name("toys.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def serve(media: tuple[Path, ...]) -> None:
    toys = load_toys()
    settings = replace(toys.SETTINGS, workspace=media or None)
    async with toys.open_worlds(settings=settings) as worlds:
        sessions = [await worlds.start() for _ in range(3)]
        count = len(await toys.ask(sessions[0], "list_notes"))
        busy = [asyncio.create_task(session.call("wait", {"how": "spin"})) for session in sessions[1:]]
        await worlds.manager.settle()
        report = {
            "notes": count,
            "confined": worlds.manager.enforced,
            "processes": [*worlds.manager.processes().values(), *(session.pid for session in sessions)],
            "folders": [str(folder) for folder in worlds.manager.workspace.folders],
        }
        print(json.dumps(report), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        for call in busy:
            call.cancel()


if __name__ == "__main__":
    asyncio.run(serve(tuple(map(Path, sys.argv[1:]))))
