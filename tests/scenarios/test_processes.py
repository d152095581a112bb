"""Processes that are killed: what they take with them, and what goes on."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from subworlds.sandbox import Workspace
from subworlds.scenarios import session as session_module
from subworlds.scenarios.session import Session, WorldCrashed
from subworlds.scenarios.tool import FailureKind

from .toys import Worlds, ask, dump, fail, gone, hold, open_worlds

pytestmark = pytest.mark.asyncio(loop_scope="module")

SERVER = Path(__file__).with_name("toy_server.py")


def found_in(folder: Path) -> tuple[Path, ...]:
    """What a folder holds."""
    return tuple(folder.iterdir())


def existing(folders: Iterable[str]) -> list[str]:
    """Those of the folders that exist."""
    return [folder for folder in folders if os.path.exists(folder)]


async def kill(pid: int) -> None:
    """Kill a process and wait until it is gone."""
    held = hold(pid)
    os.kill(pid, signal.SIGKILL)
    await gone(held)


async def crashed(session: Session) -> None:
    """Wait until a session's process is gone, and see that the session says so."""
    assert (await fail(session, "elder_twin"))[0] is FailureKind.WORLD_CRASHED
    assert not session.alive
    with pytest.raises(WorldCrashed):
        await session.finish()


async def test_a_session_killed_amid_a_call_is_a_crash_of_its_own_only(worlds: Worlds) -> None:
    session, bystander = await worlds.start(), await worlds.start()
    call = asyncio.create_task(session.call("wait", {"how": "spin"}))
    await asyncio.sleep(0)
    await kill(session.pid)
    failure = (await call).failure
    assert failure is not None
    assert failure.kind is FailureKind.WORLD_CRASHED
    await crashed(session)
    assert await ask(bystander, "elder_twin") == "elder"
    assert (await worlds.start()).alive


async def test_a_session_killed_while_it_finishes_is_a_crash(worlds: Worlds) -> None:
    session = await worlds.start()
    os.kill(session.pid, signal.SIGSTOP)
    finishing = asyncio.create_task(session.finish())
    await asyncio.sleep(0)
    await kill(session.pid)
    with pytest.raises(WorldCrashed):
        await finishing


async def test_a_session_that_does_not_finish_in_time_is_a_crash(
    worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "_FINISH_TIMEOUT_S", 0.1)
    session = await worlds.start()
    held = hold(session.pid)
    os.kill(session.pid, signal.SIGSTOP)
    with pytest.raises(WorldCrashed):
        await session.finish()
    await gone(held)


async def test_sessions_die_with_their_template_and_the_next_start_builds_another() -> None:
    async with open_worlds() as worlds:
        session = await worlds.start()
        template = worlds.manager.processes()["toy"]
        held = hold(session.pid)
        await kill(template)
        await gone(held)
        await crashed(session)
        successor = await worlds.start()
        assert worlds.manager.processes()["toy"] != template
        assert session.snapshot.exists(), "it is needed until the session is closed"
        await session.close()
        await worlds.manager.settle()
        assert not session.snapshot.exists()
        assert await ask(successor, "elder_twin") == "elder"


async def test_everything_dies_with_the_zygote_and_the_next_start_has_another(worlds: Worlds) -> None:
    session = await worlds.start()
    before = worlds.manager.processes()
    held = [hold(pid) for pid in (session.pid, before["toy"])]
    await kill(before["zygote"])
    await asyncio.gather(*map(gone, held))
    await crashed(session)
    started = await asyncio.gather(*(worlds.start() for _ in range(4)))
    assert [await ask(successor, "elder_twin") for successor in started] == ["elder"] * 4
    after = worlds.manager.processes()
    assert after["zygote"] != before["zygote"]
    await session.close()


async def test_a_zygote_killed_while_a_world_is_built_is_replaced() -> None:
    async with open_worlds() as worlds:
        starting = asyncio.create_task(worlds.start())
        zygote = psutil.Process(worlds.manager.processes()["zygote"])
        while not zygote.children():
            await asyncio.sleep(0)
        await kill(zygote.pid)
        assert await ask(await starting, "elder_twin") == "elder"


@asynccontextmanager
async def server(*media: Path, prefix: tuple[str, ...] = ()) -> AsyncGenerator[tuple[Any, dict[str, Any]]]:
    """A server process with three sessions, two of them amid a call, and what it says of itself."""
    command = [*prefix, sys.executable, str(SERVER), *map(str, media)]
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    assert process.stdout is not None
    try:
        line = await process.stdout.readline()
        assert line, "the server did not start"
        yield process, json.loads(line)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_a_server_that_ends_well_leaves_nothing(tmp_path: Path) -> None:
    async with server(tmp_path) as (process, report):
        assert report["notes"] == 2
        held = [hold(pid) for pid in report["processes"]]
        await process.communicate(b"")
        assert process.returncode == 0
        await asyncio.gather(*map(gone, held))
        assert not found_in(tmp_path)


async def test_a_server_that_is_killed_leaves_no_process_and_no_folder() -> None:
    async with server() as (process, report):
        assert report["confined"]
        assert len(report["processes"]) == 5
        below = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        assert set(report["processes"]) <= set(below)
        held = [hold(pid) for pid in below]
        assert existing(report["folders"]) == report["folders"]
        process.kill()
        await asyncio.gather(*map(gone, held))
        assert not existing(report["folders"])


async def test_a_workspace_whose_server_and_zygote_were_killed_is_swept_by_the_next(tmp_path: Path) -> None:
    async with server(tmp_path) as (process, report):
        zygote = report["processes"][0]
        held = [hold(pid) for pid in report["processes"]]
        os.kill(zygote, signal.SIGKILL)
        process.kill()
        await asyncio.gather(*map(gone, held))
    assert [str(path) for path in found_in(tmp_path)] == report["folders"]
    with Workspace((tmp_path,)) as workspace:
        assert found_in(tmp_path) == workspace.folders


async def test_a_server_of_an_ordinary_user_confines_its_worlds_as_well() -> None:
    setpriv = shutil.which("setpriv")
    if os.getuid() != 0 or setpriv is None:
        pytest.skip("needs root, to become somebody else")
    prefix = (setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all")
    question = f"import os, sys; open({str(SERVER)!r}); assert os.access(sys.executable, os.X_OK)"
    probe = await asyncio.create_subprocess_exec(*prefix, sys.executable, "-c", question)
    if await probe.wait() != 0:
        pytest.skip("this checkout and its interpreter cannot be read by an ordinary user")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chown(folder, 65534, 65534)
        async with server(folder, prefix=prefix) as (process, report):
            assert (report["notes"], report["confined"]) == (2, True)
            assert {psutil.Process(pid).uids().real for pid in report["processes"]} == {65534}
            await process.communicate(b"")
            assert process.returncode == 0
        assert not found_in(folder)


async def test_a_database_of_a_finished_session_outlives_every_process(worlds: Worlds) -> None:
    session = await worlds.start()
    await ask(session, "add_note", text="butter")
    database = await session.finish()
    before = dump(database)
    await kill(worlds.manager.processes()["zygote"])
    assert dump(database) == before
    await session.close()
