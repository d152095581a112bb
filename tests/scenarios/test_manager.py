"""Starting and ending sessions: how many, for how long, and what is left when they are gone: nothing."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from subworlds.sandbox import SandboxError, SandboxUnavailable
from subworlds.scenarios import manager as manager_module
from subworlds.scenarios import template_handle
from subworlds.scenarios.errors import ScenarioError
from subworlds.scenarios.manager import ManagerSettings, ScenarioManager, ServerFull
from subworlds.scenarios.session import Session
from subworlds.scenarios.tool import FailureKind

from .toys import SETTINGS, Worlds, ask, fail, gone, hold, make_scenario, open_worlds, toy

pytestmark = pytest.mark.asyncio(loop_scope="module")

APP = """
from fastapi import FastAPI
app = FastAPI()

@app.get("/", operation_id="look")
def look() -> int:
    return 1
"""


def descendants(pid: int | None = None) -> set[int]:
    """Every process below `pid`, or below this one. Those that have ended are their parent's to reap."""
    below = psutil.Process(pid).children(recursive=True)
    return {process.pid for process in below if process.is_running() and not is_zombie(process)}


def is_zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def reaped(pid: int) -> None:
    """Wait until no process below `pid` has ended without being reaped: of that there is no event."""
    while any(map(is_zombie, psutil.Process(pid).children(recursive=True))):
        await asyncio.sleep(0.001)


def sessions_on_disk(worlds: Worlds) -> list[Path]:
    """The folders of sessions, those in reserve included."""
    return [path for base in worlds.manager.workspace.folders for path in base.glob("*/*") if path.is_dir()]


async def test_many_sessions_leave_nothing_behind(worlds: Worlds) -> None:
    await (await worlds.start()).close()
    await worlds.manager.settle()
    zygote = worlds.manager.processes()["zygote"]
    before = (
        len(descendants(zygote)),
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
        len(asyncio.all_tasks()),
        len(sessions_on_disk(worlds)),
    )
    for _ in range(10):
        sessions = await asyncio.gather(*(worlds.start() for _ in range(20)))
        await asyncio.gather(*(session.call("list_notes", {}) for session in sessions))
        await asyncio.gather(*(session.finish() for session in sessions[:10]))
        await asyncio.gather(*(session.close() for session in sessions))
    await worlds.manager.settle()
    assert len(descendants(zygote)) == before[0]
    await reaped(zygote)
    assert len(os.listdir("/proc/self/fd")) == before[1]
    assert threading.active_count() == before[2]
    assert len(asyncio.all_tasks()) == before[3]
    assert len(sessions_on_disk(worlds)) == before[4]
    assert not worlds.manager.sessions


async def test_sessions_that_crash_leave_nothing_behind(worlds: Worlds) -> None:
    await (await worlds.start()).close()
    await worlds.manager.settle()
    before = (len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks()), len(sessions_on_disk(worlds)))
    for _ in range(5):
        session = await worlds.start()
        assert (await fail(session, "exit_process", how="os._exit"))[0] is FailureKind.WORLD_CRASHED
        await session.close()
    await worlds.manager.settle()
    after = (len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks()), len(sessions_on_disk(worlds)))
    assert after == before


async def test_a_closed_manager_leaves_nothing_behind() -> None:
    before = (descendants(), len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks()))
    async with open_worlds() as worlds:
        folders = worlds.manager.workspace.folders
        session = await worlds.start()
        await ask(session, "add_note", text="butter")
        assert all(folder.exists() for folder in folders)
    assert not any(folder.exists() for folder in folders)
    assert (descendants(), len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())) == before


async def test_a_manager_closed_amid_starts_leaves_nothing_behind() -> None:
    before = (descendants(), len(os.listdir("/proc/self/fd")))
    async with open_worlds() as worlds:
        starts = [asyncio.create_task(worlds.start()) for _ in range(4)]
        await asyncio.sleep(0)
    ended = await asyncio.gather(*starts, return_exceptions=True)
    assert all(isinstance(end, SandboxError) or (isinstance(end, Session) and end.closed) for end in ended)
    assert (descendants(), len(os.listdir("/proc/self/fd"))) == before


@pytest.mark.parametrize("warm", [False, True])
async def test_a_start_that_is_cancelled_at_any_point_leaves_nothing_behind(warm: bool) -> None:
    async with open_worlds(settings=replace(SETTINGS, prefork=0)) as worlds:
        if warm:
            await (await worlds.start()).close()
        for steps in range(0, 40, 3):
            starting = asyncio.create_task(worlds.start())
            for _ in range(steps):
                await asyncio.sleep(0.0005)
            starting.cancel()
            outcome = (await asyncio.gather(starting, return_exceptions=True))[0]
            if isinstance(outcome, Session):
                await outcome.close()
        await worlds.manager.settle()
        assert not worlds.manager.sessions
        assert not sessions_on_disk(worlds)
        zygote, *templates = worlds.manager.processes().values()
        assert descendants(zygote) == set(templates)


async def test_a_server_takes_as_many_sessions_as_it_may() -> None:
    async with open_worlds(settings=replace(SETTINGS, capacity=2)) as worlds:
        outcomes = await asyncio.gather(*(worlds.start() for _ in range(3)), return_exceptions=True)
        (refusal,) = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        assert isinstance(refusal, ServerFull)
        assert str(refusal).startswith("all 2 sessions are in use")
        sessions = [outcome for outcome in outcomes if isinstance(outcome, Session)]
        await sessions[0].close()
        assert (await worlds.start()).alive


async def test_a_start_that_fails_takes_no_place() -> None:
    async with open_worlds(make_scenario("broken("), settings=replace(SETTINGS, capacity=1)) as worlds:
        for _ in range(2):
            with pytest.raises(ScenarioError):
                await worlds.start()
        worlds.scenarios["toy"] = toy()
        assert (await worlds.start()).alive


async def test_a_medium_without_room_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    media = (tmp_path / "fast", tmp_path / "slow")
    for medium in media:
        medium.mkdir()
    settings = replace(SETTINGS, prefork=0, workspace=media)
    async with open_worlds(settings=settings) as worlds:
        first = await worlds.start()
        full = {media[0]}

        def has_room(folder: Path, _: int) -> bool:
            return not full.intersection(folder.parents)

        monkeypatch.setattr(template_handle, "has_room", has_room)
        second = await worlds.start()
        assert first.database.is_relative_to(media[0])
        assert second.database.is_relative_to(media[1])
        assert await ask(second, "add_note", text="butter") == {"id": 3}
        await second.finish()
        full.add(media[1])
        with pytest.raises(ServerFull, match="no room for another database of 'toy'"):
            await worlds.start()
        await asyncio.gather(first.close(), second.close())


async def test_a_server_without_descriptors_is_full(worlds: Worlds, monkeypatch: pytest.MonkeyPatch) -> None:
    await worlds.manager.template("toy")

    def refuse() -> None:
        raise OSError(24, "Too many open files")

    held = [await worlds.start() for _ in range(2)]
    await worlds.manager.settle()
    monkeypatch.setattr("socket.socketpair", refuse)
    held.append(await worlds.start())
    with pytest.raises(ServerFull, match="Too many open files"):
        await worlds.start()
    monkeypatch.undo()
    await asyncio.gather(*(session.close() for session in held))


async def test_idle_sessions_are_ended_and_used_ones_are_not(worlds: Worlds) -> None:
    idle, used = await worlds.start(), await worlds.start()
    timeout = worlds.manager.settings.idle_timeout_s
    idle.last_activity = time.monotonic() - timeout - 1
    assert await worlds.manager.reap_idle() == [idle.id]
    assert (idle.closed, used.closed) == (True, False)
    assert not idle.database.exists()
    later = time.monotonic() + timeout + 1
    assert used.id in await worlds.manager.reap_idle(later)
    assert (await fail(used, "list_notes"))[0] is FailureKind.WORLD_CRASHED


async def test_a_session_amid_a_call_is_not_idle(worlds: Worlds) -> None:
    session = await worlds.start()
    call = asyncio.create_task(session.call("wait", {"how": "sleep"}))
    await asyncio.sleep(0)
    assert session.id not in await worlds.manager.reap_idle(time.monotonic() + 1_000_000)
    await session.close()
    assert (await call).failure is not None


async def test_closing_twice_is_closing_once(worlds: Worlds) -> None:
    session = await worlds.start()
    await asyncio.gather(session.close(), session.close())
    await session.close()
    assert not session.database.exists()


async def test_templates_least_recently_used_make_room_and_those_in_use_stay() -> None:
    scenarios = [make_scenario(APP, name=name) for name in "abcd"]
    async with open_worlds(*scenarios, settings=replace(SETTINGS, templates=2)) as worlds:
        kept = await worlds.start("a")
        for name in "bc":
            await worlds.manager.tools(name)
        assert worlds.manager.template_names() == ("a", "c")
        await worlds.manager.tools("d")
        assert worlds.manager.template_names() == ("a", "d")
        assert await ask(kept, "look") == 1
        await kept.close()
        await worlds.manager.tools("b")
        assert worlds.manager.template_names() == ("d", "b")


async def test_more_worlds_than_templates_can_start_at_once() -> None:
    scenarios = [make_scenario(APP, name=name) for name in "abcdef"]
    async with open_worlds(*scenarios, settings=replace(SETTINGS, templates=2)) as worlds:
        sessions = await asyncio.gather(*(worlds.start(name) for name in "abcdef" * 2))
        assert [await ask(session, "look") for session in sessions] == [1] * 12
        await asyncio.gather(*(session.close() for session in sessions))
        await worlds.manager.tools("a")
        await asyncio.gather(*(worlds.manager.tools(name) for name in "abcdef"))
        await worlds.manager.settle()
        assert len(worlds.manager.template_names()) == 2


async def test_one_template_serves_all_names_of_a_scenario() -> None:
    scenario = make_scenario(APP, name="shop")
    async with ScenarioManager(lambda _: scenario, ManagerSettings()) as manager:
        session = await manager.start_session("The Shop")
        await manager.tools("THE SHOP")
        assert manager.template_names() == ("shop",)
        assert session.scenario == "shop"
        assert await ask(session, "look") == 1


async def test_a_scenario_is_built_once_however_many_ask_for_it() -> None:
    async with open_worlds() as worlds:
        templates = await asyncio.gather(*(worlds.manager.template("toy") for _ in range(8)))
        assert len(set(templates)) == 1


async def test_a_process_that_dies_in_reserve_is_replaced(worlds: Worlds) -> None:
    await (await worlds.start()).close()
    await worlds.manager.settle()
    template = psutil.Process(worlds.manager.processes()["toy"])
    spares = [hold(child.pid) for child in template.children()]
    assert spares
    for child in template.children():
        child.kill()
    await asyncio.gather(*map(gone, spares))
    session = await worlds.start()
    assert await ask(session, "elder_twin") == "elder"
    await session.close()
    await worlds.manager.settle()
    assert len(sessions_on_disk(worlds)) == worlds.manager.settings.prefork


async def test_a_machine_that_cannot_confine_is_refused_unless_the_risk_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise SandboxUnavailable("no Landlock")

    monkeypatch.setattr(manager_module, "require_confinement", refuse)
    with pytest.raises(SandboxUnavailable):
        async with open_worlds():
            pass
    async with open_worlds(settings=replace(SETTINGS, allow_unconfined=True)) as worlds:
        assert not worlds.manager.enforced
        session = await worlds.start()
        assert await ask(session, "add_note", text="butter") == {"id": 3}
        await session.finish()
