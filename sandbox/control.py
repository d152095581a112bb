"""The server's side of a fork server: asyncio handles on the processes that run untrusted code."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import ProcessDied, SandboxError
from .layers import Layers
from .messages import MAX_DESCRIPTORS, MAX_MESSAGE, Message, send_message

_START_TIMEOUT_S = 60.0
_REPLY_TIMEOUT_S = 60.0


class ForkControl:
    """Asks a fork server for children, over the control socket. One owner; `close` ends the fork server.

    A template has run untrusted code: whatever it sends that is no answer counts as its death.
    """

    def __init__(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self._channel = channel
        self._replies: dict[int, asyncio.Future[Message]] = {}
        self._next_id = 0
        self._sending = asyncio.Lock()
        self._reader = asyncio.create_task(self._read())
        self.closed = asyncio.Event()
        """Set when the fork server is gone."""
        self.ready: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        """Its first message that answers nothing."""

    async def fork(self, request: Message, descriptors: Sequence[int]) -> int:
        """Have a child forked that gets `request` and `descriptors`. Returns its process id.

        A caller that is cancelled leaves nothing behind: the child it would have had is killed.

        Raises:
            ProcessDied: the fork server is gone, or so stuck that it might as well be.
            SandboxError: it could not fork.
        """
        if self.closed.is_set():
            raise ProcessDied("the fork server is gone")
        self._next_id += 1
        reply: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._replies[self._next_id] = reply
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_S):
                await self._send({**request, "id": self._next_id}, list(descriptors))
                answer = await reply
        except TimeoutError as error:
            self._reader.cancel()
            raise ProcessDied("the fork server does not answer") from error
        if "error" in answer:
            raise SandboxError(str(answer["error"]))
        return int(answer["pid"])

    async def kill(self, pid: int) -> None:
        """Kill a child and everything it started; quiet if the fork server is gone."""
        with contextlib.suppress(ProcessDied):
            await self._send({"kill": pid}, [])

    async def close(self) -> None:
        """Close our end, which ends the fork server."""
        self._reader.cancel()
        await asyncio.wait([self._reader])
        self._channel.close()

    async def _send(self, message: Message, descriptors: list[int]) -> None:
        async with self._sending:
            while True:
                try:
                    return send_message(self._channel, message, descriptors)
                except BlockingIOError:
                    await _writable(self._channel)
                except OSError as error:
                    raise ProcessDied("the fork server is gone") from error

    async def _read(self) -> None:
        try:
            while message := await self._receive():
                self._take(message)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        finally:
            self._fail_all()

    async def _receive(self) -> Message | None:
        """The next message. Raises what reading one raises that makes no sense."""
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._channel, MAX_MESSAGE, MAX_DESCRIPTORS)
            except BlockingIOError:
                await _readable(self._channel)
            else:
                return _read_message(data, descriptors)

    def _take(self, message: Message) -> None:
        """Raises ValueError, KeyError or TypeError for what is neither the first message nor an answer."""
        if "ready" in message and not self.ready.done():
            self.ready.set_result({**message})
            return
        reply = self._replies[message["id"]]
        pid = None if "error" in message else int(message["pid"])
        del self._replies[message["id"]]
        if not reply.done():
            reply.set_result(message)
        elif pid is not None:
            self._kill_unwanted(pid)

    def _kill_unwanted(self, pid: int) -> None:
        """Its fork was cancelled meanwhile. A full channel is no loss: the child's own channel is closed."""
        with contextlib.suppress(OSError):
            send_message(self._channel, {"kill": pid})

    def _fail_all(self) -> None:
        self.closed.set()
        waiting = [*self._replies.values(), self.ready]
        self._replies.clear()
        for future in waiting:
            if not future.done():
                future.set_exception(ProcessDied("the fork server died"))
                future.exception()


class Zygote:
    """A running zygote (see forkserver.py): trusted, warm, and the janitor of the given folders."""

    def __init__(self, process: subprocess.Popen[bytes], control: ForkControl) -> None:
        self._process = process
        self.control = control

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can still fork."""
        return not self.control.closed.is_set()

    @classmethod
    async def start(
        cls, module: str, folders: Sequence[Path] = (), *, layers: Layers | None = None
    ) -> Zygote:
        """Start `module` as a zygote in a clean environment; it removes `folders` when we are gone.

        Args:
            layers: which optional layers of confinement to use; None: all that the machine has.

        Raises:
            SandboxError: it did not come up.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        chosen = json.dumps(dataclasses.asdict(layers or Layers()))
        arguments = [module, str(theirs.fileno()), chosen, *map(str, folders)]
        with theirs:
            process = subprocess.Popen(  # noqa: ASYNC220 - waits for the exec, not for the process
                [sys.executable, "-P", "-m", "subworlds.sandbox.forkserver", *arguments],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_clean_environment(),
                start_new_session=True,
            )
        zygote = cls(process, ForkControl(ours))
        try:
            await asyncio.wait_for(asyncio.shield(zygote.control.ready), _START_TIMEOUT_S)
        except BaseException as error:
            await zygote.stop()
            if isinstance(error, TimeoutError | ProcessDied):
                raise SandboxError(f"the zygote for {module} did not start") from error
            raise
        return zygote

    async def stop(self) -> None:
        """End the zygote and, through it, every process it started. Returns when it is gone."""
        await self.control.close()
        try:
            await asyncio.to_thread(self._process.wait, 10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)


class ProcessHandle:
    """A process that an untrusted fork server says it started for us, held by a pidfd: never a stranger."""

    def __init__(self, pid: int, parent: int) -> None:
        """Take hold of `pid`.

        Raises:
            ProcessDied: it is gone already, or it is not a child of `parent`.
        """
        try:
            self._descriptor = os.pidfd_open(
                max(pid, 1)
            )  # below 1 is no process, and process 1 is nobody's child
        except (ProcessLookupError, OverflowError) as error:
            raise ProcessDied(f"process {pid} is gone") from error
        self.pid = pid
        self._ended: asyncio.Future[None] | None = None
        if _parent_of(pid) != parent:
            self.release()
            raise ProcessDied(f"process {pid} is not a child of {parent}")

    def kill(self) -> None:
        """SIGKILL; quiet if it is gone."""
        if self._descriptor >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    async def gone(self) -> None:
        """Wait until the process has ended, then let go of it. Any number of tasks may wait."""
        if self._ended is None and self._descriptor >= 0:
            loop = asyncio.get_running_loop()
            self._ended = loop.create_future()
            loop.add_reader(self._descriptor, self.release)
        if self._ended is not None:
            await asyncio.shield(self._ended)

    def release(self) -> None:
        """Let go of the process without waiting."""
        if self._descriptor < 0:
            return
        if self._ended is not None:
            self._ended.get_loop().remove_reader(self._descriptor)
            self._ended.set_result(None)
        os.close(self._descriptor)
        self._descriptor = -1


def _read_message(data: bytes, descriptors: Sequence[int]) -> Message | None:
    """A child comes as a descriptor: its number in our pid namespace replaces what the sender calls it.

    One that has ended has no number any more, and the sender's is as good as any.
    """
    try:
        if not data:
            return None
        message = json.loads(data)
        pid = _pid_of(descriptors[0]) if descriptors else 0
        return {**message, "pid": pid} if pid > 0 else message
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _pid_of(descriptor: int) -> int:
    """The process that a descriptor holds. Raises ValueError or KeyError if it holds none."""
    with open(f"/proc/self/fdinfo/{descriptor}") as info:
        return int(dict(line.split(":", 1) for line in info)["Pid"])


def _parent_of(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None


def _clean_environment() -> dict[str, str]:
    """What a zygote sees: nothing of ours, and a fixed hash seed so that sets iterate alike in every run.

    The numeric libraries are told to start no threads: a thread started by an import, before a process is
    confined, would stay unconfined, and no fork takes it along. Bytecode is kept where we keep ours: nobody
    else imports the libraries of worlds, so they would be compiled anew at every start.
    """
    return {
        **({"PYTHONDONTWRITEBYTECODE": "1"} if sys.dont_write_bytecode else {}),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONSAFEPATH": "1",
        "MALLOC_ARENA_MAX": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }


async def _readable(channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(channel, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(channel)


async def _writable(channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    free = asyncio.Event()
    loop.add_writer(channel, free.set)
    try:
        await free.wait()
    finally:
        loop.remove_writer(channel)
