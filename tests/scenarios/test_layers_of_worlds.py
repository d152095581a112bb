"""What a world's processes look like from outside: who they are, and what they share with us."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from subworlds.sandbox import Layers, probe_layers
from subworlds.sandbox.identity import WORLD_USERS, can_step_down
from subworlds.scenarios.manager import ManagerSettings
from subworlds.scenarios.session import Session

from .toys import Worlds, ask, gone, hold, open_worlds

READ_EVERYTHING = 1 << 2
NAMESPACES = {"user": "user", "pid": "pid", "ipc": "ipc", "net": "net", "uts": "uts"}


def status(pid: int) -> dict[str, str]:
    """What the kernel says of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def shared(pid: int) -> set[str]:
    """The namespaces that a process shares with us."""
    links = {name: f"ns/{link}" for name, link in NAMESPACES.items()}
    return {
        name
        for name, link in links.items()
        if os.readlink(f"/proc/{pid}/{link}") == os.readlink(f"/proc/self/{link}")
    }


def processes(worlds: Worlds, session: Session) -> list[int]:
    return [worlds.manager.processes()["toy"], session.pid]


async def test_templates_and_sessions_are_nobody_and_can_nothing() -> None:
    async with open_worlds() as worlds:
        session = await worlds.start()
        for pid in processes(worlds, session):
            told = status(pid)
            users = set(map(int, told["Uid"].split() + told["Gid"].split()))
            assert users <= set(WORLD_USERS) if can_step_down() else users == {os.getuid(), os.getgid()}
            assert int(told["CapEff"], 16) & ~READ_EVERYTHING == 0
            assert int(told["CapBnd"], 16) == 0 or not can_step_down()
            assert (told["NoNewPrivs"], told["Seccomp"]) == ("1", "2")


async def test_they_share_no_namespace_that_can_be_had() -> None:
    missing = {finding.layer.name.split()[0] for finding in probe_layers() if not finding.present}
    async with open_worlds() as worlds:
        session = await worlds.start()
        for pid in processes(worlds, session):
            assert shared(pid) <= missing


@pytest.mark.parametrize("layers", [Layers(namespaces=False), Layers(unprivileged=False), Layers(landlock=1)])
async def test_a_world_works_without_the_optional_layers(layers: Layers) -> None:
    async with open_worlds(settings=ManagerSettings(layers=layers)) as worlds:
        session = await worlds.start()
        assert await ask(session, "add_note", text="butter") == {"id": 3}
        await session.finish()


async def test_two_worlds_are_two_users() -> None:
    if not can_step_down():
        pytest.skip("this takes root")
    async with open_worlds() as worlds:
        one, other = await worlds.start(), await worlds.start(worlds.scenarios["toy"])
        assert status(one.pid)["Uid"] != status(other.pid)["Uid"]


async def test_a_zygote_that_is_killed_takes_everything_with_it() -> None:
    async with open_worlds() as worlds:
        session = await worlds.start()
        held = [hold(pid) for pid in (session.pid, *worlds.manager.processes().values())]
        os.kill(worlds.manager.processes()["zygote"], 9)
        await asyncio.gather(*map(gone, held))
