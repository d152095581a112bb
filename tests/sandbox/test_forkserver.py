"""A fork server and the server's hold on it: children on request, and none left when it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from subworlds.sandbox import ForkControl, ProcessDied, ProcessHandle, SandboxError, Zygote
from subworlds.sandbox import control as control_module
from subworlds.sandbox.messages import Message, send_message

TOY = Path(__file__).with_name("toy_forkserver.py")


@dataclass
class Running:
    """A fork server of its own process."""

    process: subprocess.Popen[bytes]
    control: ForkControl

    async def ask(self, do: str) -> dict[str, Any]:
        """Have a child forked that does something and tells about it."""
        reading, writing = os.pipe()
        try:
            await self.control.fork({"do": do}, [writing])
        finally:
            os.close(writing)
        told = await asyncio.to_thread(os.read, reading, 10_000)
        os.close(reading)
        return dict(json.loads(told))


def start(channel: socket.socket) -> subprocess.Popen[bytes]:
    """The process of a toy fork server."""
    command = [sys.executable, str(TOY), str(channel.fileno())]
    return subprocess.Popen(command, pass_fds=[channel.fileno()], stderr=subprocess.DEVNULL)


@asynccontextmanager
async def fork_server() -> AsyncGenerator[Running]:
    """A toy fork server, ready."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = start(theirs)
    control = ForkControl(ours)
    try:
        await control.ready
        yield Running(process, control)
    finally:
        await control.close()
        await asyncio.to_thread(process.wait, 30)


async def gone(descriptor: int) -> None:
    """Wait until a held process has ended, and let go of it."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    await ended.wait()
    loop.remove_reader(descriptor)
    os.close(descriptor)


def hold(*pids: int) -> list[int]:
    """Descriptors of processes, each readable for good once its process has ended."""
    return [os.pidfd_open(pid) for pid in pids]


async def all_gone(held: list[int]) -> None:
    await asyncio.gather(*map(gone, held))


async def test_a_child_leads_a_group_and_holds_only_what_it_was_given() -> None:
    async with fork_server() as server:
        told = await server.ask("tell")
        assert told["leads"]
        assert told["held"] == [0, 1, 2, *told["given"]]
        assert psutil.Process(told["pid"]).ppid() == server.process.pid


async def test_killing_a_child_kills_what_it_started() -> None:
    async with fork_server() as server:
        told = await server.ask("multiply")
        bystander = await server.ask("tell")
        held = hold(told["pid"], told["child"])
        await server.control.kill(told["pid"])
        await all_gone(held)
        assert psutil.Process(bystander["pid"]).is_running()


async def test_what_a_child_started_dies_with_it() -> None:
    async with fork_server() as server:
        told = await server.ask("multiply")
        held = hold(told["pid"], told["child"])
        os.kill(told["pid"], signal.SIGKILL)
        await all_gone(held)


async def test_children_that_end_are_reaped_and_the_server_goes_on() -> None:
    async with fork_server() as server:
        pids = [await server.control.fork({"do": "fail"}, []) for _ in range(3)]
        while any(map(psutil.pid_exists, pids)):
            await asyncio.sleep(0.001)
        assert (await server.ask("tell"))["pid"] not in pids


async def test_nothing_is_left_when_the_control_socket_closes() -> None:
    async with fork_server() as server:
        told = await server.ask("multiply")
        held = hold(told["pid"], told["child"])
    await all_gone(held)
    assert server.process.returncode == 0


async def test_nothing_is_left_when_the_server_dies_with_answers_unread() -> None:
    """The kernel then resets the channel instead of closing it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, ours:
        process = start(theirs)
        assert json.loads(ours.recv(1000)) == {"ready": True}
        send_message(ours, {"do": "tell", "id": 1}, [2])
        pid = json.loads(ours.recv(1000, socket.MSG_PEEK))["pid"]
        held = hold(pid)
    assert await asyncio.to_thread(process.wait, 30) == 0
    await all_gone(held)


async def test_many_forks_at_once_are_all_answered() -> None:
    async with fork_server() as server:
        pids = await asyncio.gather(
            *(server.control.fork({"do": "fail", "x": "y" * 500}, []) for _ in range(400))
        )
        assert len(set(pids)) == 400


async def test_a_child_that_nobody_waits_for_any_more_is_killed() -> None:
    async with fork_server() as server:
        os.kill(server.process.pid, signal.SIGSTOP)
        reading, writing = os.pipe()
        forking = asyncio.create_task(server.control.fork({"do": "tell"}, [writing]))
        await asyncio.sleep(0)
        os.close(writing)
        forking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await forking
        os.kill(server.process.pid, signal.SIGCONT)
        while await asyncio.to_thread(os.read, reading, 10_000):
            pass  # until the child, which would wait for ever, is gone
        os.close(reading)


async def test_a_fork_server_that_is_killed_is_noticed() -> None:
    async with fork_server() as server:
        told = await server.ask("tell")
        held = hold(told["pid"])
        server.process.kill()
        await server.control.closed.wait()
        await all_gone(held)
        with pytest.raises(ProcessDied):
            await server.control.fork({"do": "tell"}, [])
        await server.control.kill(told["pid"])


async def test_a_fork_that_is_under_way_when_the_server_dies_fails() -> None:
    async with fork_server() as server:
        os.kill(server.process.pid, signal.SIGSTOP)
        forking = asyncio.create_task(server.control.fork({"do": "tell"}, []))
        await asyncio.sleep(0)
        server.process.kill()
        with pytest.raises(ProcessDied):
            await forking


async def test_a_fork_server_that_does_not_answer_counts_as_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_module, "_REPLY_TIMEOUT_S", 0.05)
    async with fork_server() as server:
        os.kill(server.process.pid, signal.SIGSTOP)
        with pytest.raises(ProcessDied, match="does not answer"):
            await server.control.fork({"do": "tell"}, [])
        await server.control.closed.wait()
        server.process.kill()


@pytest.mark.parametrize(
    "answer",
    [
        b"nonsense",
        b"\xff",
        b"7",
        b"null",
        b"[]",
        b'["id"]',
        b'{"id": 1}',
        b'{"id": [], "pid": 1}',
        b'{"id": 1, "pid": "many"}',
        b'{"id": 1, "pid": null}',
        b"[" * 50_000,
    ],
)
async def test_a_fork_server_that_sends_nonsense_counts_as_dead(answer: bytes) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        control = ForkControl(ours)
        forking = asyncio.create_task(control.fork({"do": "tell"}, []))
        await asyncio.sleep(0)
        theirs.send(answer)
        theirs.send(b"{}")
        with pytest.raises((ProcessDied, SandboxError)):
            await asyncio.wait_for(forking, 10)
        await control.close()


async def test_a_fork_server_that_cannot_fork_says_why() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        control = ForkControl(ours)
        forking = asyncio.create_task(control.fork({}, []))
        await asyncio.sleep(0)
        answer: Message = {"id": 1, "error": "cannot fork: no more processes"}
        send_message(theirs, answer)
        with pytest.raises(SandboxError, match="no more processes"):
            await forking
        assert not control.closed.is_set()
        await control.close()


async def test_a_handle_is_taken_only_of_a_child_of_the_named_parent() -> None:
    async with fork_server() as server:
        told = await server.ask("multiply")
        before = len(os.listdir("/proc/self/fd"))
        ProcessHandle(told["pid"], server.process.pid).release()
        for pid in (told["child"], os.getpid(), 1, 0, -1, 2**22 + 1, 2**70):
            with pytest.raises(ProcessDied):
                ProcessHandle(pid, server.process.pid)
        assert len(os.listdir("/proc/self/fd")) == before


async def test_any_number_of_tasks_may_wait_for_a_process() -> None:
    async with fork_server() as server:
        told = await server.ask("tell")
        handle = ProcessHandle(told["pid"], server.process.pid)
        waiting = [asyncio.create_task(handle.gone()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        handle.kill()
        await asyncio.gather(*waiting, return_exceptions=True)
        await handle.gone()
        handle.kill()
        handle.release()


async def test_a_handle_let_go_of_wakes_those_who_wait() -> None:
    async with fork_server() as server:
        told = await server.ask("tell")
        handle = ProcessHandle(told["pid"], server.process.pid)
        waiting = asyncio.create_task(handle.gone())
        await asyncio.sleep(0)
        handle.release()
        await waiting


@pytest.mark.parametrize("module", ["no_such_module", "json"])
async def test_a_zygote_that_cannot_start_is_an_error_and_leaves_nothing(
    module: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(SandboxError, match=f"the zygote for {module} did not start"):
        await Zygote.start(module, [folder])
    assert not folder.exists()
    assert len(os.listdir("/proc/self/fd")) == before
    assert module in capfd.readouterr().err


async def test_a_zygote_whose_start_is_cancelled_is_stopped() -> None:
    before = set(psutil.Process().children())
    starting = asyncio.create_task(Zygote.start("subworlds.scenarios.template"))
    await asyncio.sleep(0)
    (process,) = set(psutil.Process().children()) - before
    held = hold(process.pid)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await all_gone(held)
