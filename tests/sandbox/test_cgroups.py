"""What all worlds of a server use together is limited, where the machine lets the server do so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from subworlds.sandbox import Layers, Zygote
from subworlds.sandbox.cgroups import GroupLimits, enter_groups

from ..scenarios.toys import open_worlds

ZYGOTE = "subworlds.scenarios.template"


def groups_of(pid: int | str) -> set[str]:
    """The control groups of a process, those that are ours, by their last name."""
    paths = (line.rpartition("/")[2] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines())
    return {name for name in paths if name.startswith("subworlds-")}


@pytest.fixture(scope="module", autouse=True)
def can_be_had() -> None:
    """Skip where the machine has none for us; tried by a process of its own."""
    pid = os.fork()
    if pid == 0:
        groups = enter_groups(GroupLimits())
        groups.leave()
        os._exit(0 if groups.controllers else 1)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        pytest.skip("this machine lets us make no control group")


async def test_worlds_are_in_a_group_of_their_own_and_the_server_is_not() -> None:
    async with open_worlds() as worlds:
        session = await worlds.start()
        zygote = worlds.manager.processes()["zygote"]
        assert groups_of(session.pid) == groups_of(zygote) == {f"subworlds-{zygote}"}
        assert groups_of("self") == set()
    assert not exists(zygote)


async def test_no_group_is_left_by_a_zygote_that_is_stopped_or_by_one_that_was_killed() -> None:
    killed = await Zygote.start(ZYGOTE)
    assert exists(killed.pid)
    os.kill(killed.pid, 9)
    await killed.stop()
    stopped = await Zygote.start(ZYGOTE)
    assert not exists(killed.pid)
    await stopped.stop()
    assert not exists(stopped.pid)


async def test_groups_can_be_done_without() -> None:
    zygote = await Zygote.start(ZYGOTE, layers=Layers(groups=False))
    assert groups_of(zygote.pid) == set()
    await zygote.stop()


async def test_worlds_die_before_the_server_when_memory_runs_out() -> None:
    async with open_worlds() as worlds:
        session = await worlds.start()
        assert _badness(session.pid) > _badness("self")


def _badness(pid: int | str) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


def exists(zygote: int) -> bool:
    """Whether a zygote's group is there."""
    return any(Path("/sys/fs/cgroup").glob(f"**/subworlds-{zygote}"))
