"""A warm, single-threaded process that forks children on request.

Run as `python -m subworlds.sandbox.forkserver MODULE CONTROL_FD LAYERS [FOLDER...]` it is a *zygote*: it
calls `MODULE.warm_up()` once, enters namespaces, and then forks a child for each request, which runs
`MODULE.run(request, descriptors)`.
When the server's end of the control socket closes, however the server ended, the zygote kills what it
started, removes the folders and exits. A template is a second level of the same loop, in a confined process.

The zygote itself only ever runs trusted code and never receives what a child must keep secret: a child reads
its job from a descriptor of its own. An answer to a request carries a descriptor of the new child, which
tells its number in whichever pid namespace it is read.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from .cgroups import GroupLimits, enter_groups, prefer_to_die
from .confinement import enter_child, prepare_confinement, use_layers
from .kernel import adopt_orphans
from .layers import Layers
from .messages import Message, receive_message, send_message
from .namespaces import enter_namespaces
from .workspace import remove_tree

RunChild: TypeAlias = Callable[[Message, list[int]], None]


@dataclass(slots=True)
class ForkServer:
    """The loop: fork on request, reap what ends, end when the control socket closes."""

    control: socket.socket
    run_child: RunChild
    own_groups: bool
    """Whether each child leads a process group, to be killed as one (zygote), or shares ours (template)."""
    inherited: frozenset[int] = frozenset()
    """Descriptors that every child keeps, besides those it is given."""
    init: int | None = None
    """A descriptor of process 1 of the pid namespace that children live in, where they have one."""
    _children: set[int] = field(default_factory=set[int])

    def serve(self) -> None:
        """Serve until the other end closes; then no child of ours is left."""
        wake, signalled = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, _wake_up)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(wake, select.POLLIN)
        if self.init is not None:
            poll.register(self.init, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if wake in ready:
                _drain(wake)
                self._reap()
            if self.init in ready:
                break  # nothing can be forked any more, and nothing of ours is left
            if self.control.fileno() in ready and not self._answer():
                break
        self._kill_all()

    def _answer(self) -> bool:
        try:
            received = receive_message(self.control)
        except ConnectionResetError:
            return False  # it ended without having read all that we told it
        if received is None:
            return False
        request, descriptors = received
        if "kill" in request:
            self._kill(request["kill"])
        else:
            self._fork(request, descriptors)
        return True

    def _fork(self, request: Message, descriptors: list[int]) -> None:
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            self._tell({"id": request["id"], "error": f"cannot fork: {error.strerror}"})
            return
        finally:
            if os.getpid() == parent:
                for descriptor in descriptors:
                    os.close(descriptor)
        if pid == 0:
            self._become_child(parent, request, descriptors)
        self._children.add(pid)
        child = os.pidfd_open(pid)
        self._tell({"id": request["id"], "pid": pid}, [child])
        os.close(child)

    def _become_child(self, parent: int, request: Message, descriptors: list[int]) -> None:
        """Run the child and end: nothing of the loop above may go on in this process."""
        try:
            if self.own_groups:
                os.setsid()
                prefer_to_die()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.control.detach()
            enter_child(parent, self.inherited.union(descriptors))
            self.run_child(request, descriptors)
        except BaseException:
            traceback.print_exc()
            os._exit(70)
        os._exit(0)

    def _reap(self) -> None:
        """Reap what has ended, orphans of our children included (the zygote adopts them)."""
        with contextlib.suppress(ChildProcessError):
            while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                self._kill(found.si_pid)
                os.waitpid(found.si_pid, 0)
                self._children.discard(found.si_pid)

    def _kill(self, pid: int) -> None:
        """Kill a child and all that it started. It is still ours: not reaped, so its number is not reused."""
        if pid in self._children and self.own_groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _kill_all(self) -> None:
        """Kill what a zygote started, to the last. A template may not kill: its children die with it."""
        if self.own_groups:
            for pid in sorted(self._children):
                self._kill(pid)
            if self.init is None:
                for pid in sorted(self._children):
                    _await_group(pid)
            else:
                _end_namespace(self.init)

    def _tell(self, message: Message, descriptors: list[int] | None = None) -> None:
        with contextlib.suppress(OSError):
            send_message(self.control, message, descriptors)


def _wake_up(_signal: int, _frame: object) -> None:
    """What interrupts is the wake-up descriptor; a handler there must be."""


def _await_group(leader: int) -> None:
    """Reap a killed process group to the last: whose own parent died has become our child."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-leader, 0)


def _end_namespace(init: int) -> None:
    """Kill process 1 of a pid namespace, and with it all; reap every child. Process 1 is gone last."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(init, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    select.select([init], [], [])


def _drain(descriptor: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(descriptor, 512):
            pass


def _zygote(module_name: str, control_fd: int, layers: Layers, folders: list[str]) -> None:
    control = socket.socket(fileno=control_fd)
    use_layers(layers)
    groups = enter_groups(GroupLimits()) if layers.groups else None
    try:
        module = importlib.import_module(module_name)
        module.warm_up()
        sys.dont_write_bytecode = True  # of what children import, nothing is kept
        init = enter_namespaces() if layers.namespaces else None
        adopt_orphans()
        prepare_confinement()
        gc.collect()
        gc.freeze()
        with contextlib.suppress(BrokenPipeError):
            send_message(control, {"ready": True})
        ForkServer(control, module.run, own_groups=True, init=init).serve()
    finally:
        for folder in folders:
            remove_tree(folder)
        if groups is not None:
            groups.leave()


if __name__ == "__main__":
    _zygote(sys.argv[1], int(sys.argv[2]), Layers(**json.loads(sys.argv[3])), sys.argv[4:])
