"""One server under stress: full, idle, killed in parts, stopped, and after a thousand episodes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import psutil
import pytest

from subworlds.envs import ErrorType, ServerBusy, SubworldsEnv
from subworlds.envs.app import ServerSettings
from subworlds.scenarios.manager import ManagerSettings

WORLDS = str(Path(__file__).parents[1] / "worlds")
TASK = "kiosk/sell-apples"


class Served:
    """A `subworlds serve` in a process of its own."""

    def __init__(self, popen: subprocess.Popen[str], url: str) -> None:
        self.popen = popen
        self.url = url
        self.process = psutil.Process(popen.pid)

    def descendants(self) -> list[psutil.Process]:
        return self.process.children(recursive=True)

    def zygote(self, module: str) -> psutil.Process:
        return next(child for child in self.process.children() if module in child.cmdline())

    def template(self) -> psutil.Process:
        return self.zygote("subworlds.scenarios.template").children()[0]

    def footprint(self) -> dict[str, int]:
        """What would grow if something leaked."""
        return {
            "processes": len(self.descendants()),
            "descriptors": self.process.num_fds(),
            "threads": self.process.num_threads(),
            "zygote descriptors": self.zygote("subworlds.scenarios.template").num_fds(),
            "template descriptors": self.template().num_fds(),
            "files": sum(len(files) + len(folders) for _, folders, files in os.walk(self.workspace())),
        }

    def workspace(self) -> Path:
        return next(Path("/dev/shm").glob(f"subworlds-{self.popen.pid}-*"))


@pytest.fixture
def served() -> Iterator[Served]:
    command = [str(Path(sys.executable).parent / "subworlds"), "serve", "--port", "0", "--pack", WORLDS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as popen:
        try:
            assert popen.stdout is not None
            ready = popen.stdout.readline()
            yield Served(popen, next(word for word in ready.split() if word.startswith("http")))
        finally:
            popen.terminate()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is bound to happen; the test's own time limit is the only deadline."""
    while not condition():
        await asyncio.sleep(0.02)


async def stats(url: str) -> dict[str, int]:
    async with httpx.AsyncClient() as http:
        return (await http.get(f"{url}/stats")).json()


async def play_gold(env: SubworldsEnv) -> float | None:
    await env.reset(task=TASK)
    await env.call_tool("sell", good_id=1, quantity=3)
    return (await env.done()).reward


async def test_a_full_server_says_so_and_recovers(serve: Callable[..., AbstractContextManager[str]]) -> None:
    with serve([Path(WORLDS)], ServerSettings(manager=ManagerSettings(capacity=1))) as url:
        async with SubworldsEnv(base_url=url) as one:
            await one.reset(task=TASK)
            with pytest.raises(ServerBusy) as busy:
                async with SubworldsEnv(base_url=url) as two:
                    await two.reset(task=TASK)
            assert busy.value.code == "CAPACITY_REACHED"
            assert (await one.call_tool("list_goods")).observation.error is None
        async with SubworldsEnv(base_url=url) as three:
            assert await play_gold(three) == 1.0


async def test_an_idle_session_is_ended_and_its_client_is_told(
    serve: Callable[..., AbstractContextManager[str]],
) -> None:
    with serve([Path(WORLDS)], ServerSettings(manager=ManagerSettings(idle_timeout_s=0.2, prefork=0))) as url:
        async with SubworldsEnv(base_url=url) as env:
            await env.reset(task=TASK)
            while (await stats(url))["sessions"]:
                await asyncio.sleep(0.05)
            assert (await env.state()).phase == "expired"
            assert (
                await env.call_tool("list_goods")
            ).observation.error.error_type is ErrorType.SESSION_EXPIRED
            assert (await env.done()).observation.error.error_type is ErrorType.SESSION_EXPIRED
            assert (await env.reset(task=TASK)).observation.error is None


async def test_a_vanished_client_does_not_hold_its_session(served: Served) -> None:
    env = SubworldsEnv(base_url=served.url)
    await env.connect()
    await env.reset(task=TASK)
    assert (await stats(served.url))["sessions"] == 1
    env._ws.transport.abort()
    while (await stats(served.url))["sessions"]:
        await asyncio.sleep(0.02)


async def test_a_half_open_connection_holds_no_session(served: Served) -> None:
    port = int(served.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as half_open:
        half_open.sendall(b"GET /ws HTTP/1.1\r\nHost: x\r\n")
        assert (await stats(served.url))["sessions"] == 0
        async with SubworldsEnv(base_url=served.url) as env:
            assert await play_gold(env) == 1.0


@pytest.mark.parametrize("victim", ["session", "template", "world zygote", "verifier zygote"])
async def test_killing_any_process_gets_a_typed_answer_and_the_server_serves_on(
    served: Served, victim: str
) -> None:
    async with SubworldsEnv(base_url=served.url) as env:
        await env.reset(task=TASK)
        await env.call_tool("list_goods")
        victims = {
            "session": served.template().children()[0],
            "template": served.template(),
            "world zygote": served.zygote("subworlds.scenarios.template"),
            "verifier zygote": served.zygote("subworlds.verifiers.process"),
        }
        if victim == "session":  # of all sessions, the one in play and the one in reserve
            for session in served.template().children():
                session.send_signal(signal.SIGKILL)
        else:
            victims[victim].send_signal(signal.SIGKILL)
        await until(lambda: not _runs(victims[victim]))
        result = await env.call_tool("list_goods")
        if victim == "verifier zygote":
            assert result.observation.error is None
        else:
            assert result.observation.error.error_type is ErrorType.WORLD_CRASHED
            end = await env.done()
            assert (end.reward, end.observation.verdict.outcome) == (None, "world_error")
        assert await play_gold(env) == 1.0


async def test_killing_the_server_leaves_no_process_and_no_file(served: Served) -> None:
    async with SubworldsEnv(base_url=served.url) as env:
        await env.reset(task=TASK)
        await env.call_tool("list_goods")
        family, workspace = served.descendants(), served.workspace()
        assert len(family) >= 4
        served.popen.kill()
        await until(lambda: not any(_runs(process) for process in family))
        await until(lambda: not workspace.exists())


async def test_a_stopping_server_answers_what_is_under_way(served: Served) -> None:
    async with SubworldsEnv(base_url=served.url) as env:
        await env.reset(task=TASK)
        nap = asyncio.create_task(env.call_tool("nap", seconds=1.0))
        family = served.descendants()
        session = served.template().children()
        await until(lambda: any(process.status() == psutil.STATUS_SLEEPING for process in session))
        await asyncio.sleep(0.2)
        served.popen.terminate()
        assert (await nap).observation.result == "awake"
        assert await asyncio.to_thread(served.popen.wait) == 0
        await until(lambda: not any(_runs(process) for process in family))


async def test_a_thousand_episodes_leave_nothing_behind(served: Served) -> None:
    async def play(episodes: int) -> None:
        async with SubworldsEnv(base_url=served.url) as env:
            for number in range(episodes):
                await env.reset(task=TASK, seed=number)
                await env.call_tool("sell", good_id=1, quantity=3)
                if number % 3:
                    assert (await env.done()).reward == 1.0

    async def settled() -> dict[str, int]:
        while (await stats(served.url))["sessions"] or len(served.template().children()) > 1:
            await asyncio.sleep(0.02)
        await until(lambda: not served.zygote("subworlds.verifiers.process").children())
        return served.footprint()

    await asyncio.gather(*(play(10) for _ in range(8)))
    before = await settled()
    await asyncio.gather(*(play(125) for _ in range(8)))
    after = await settled()
    assert all(after[name] <= before[name] for name in before), (before, after)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
