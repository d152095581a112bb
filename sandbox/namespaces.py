"""Namespaces: a view of users, processes, network and shared memory that holds nothing of the machine's.

Entered once, by a zygote: what it forks is inside. The zygote itself stays in the server's pid namespace, so
that process ids mean the same to both. Process 1 of the new one only reaps, and ends with the zygote.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Generator
from pathlib import Path

from .capabilities import Capability, has_capabilities, keep_capabilities
from .kernel import close_all_descriptors_except, setns, unshare

_USER = 0x10000000
_PID = 0x20000000
_OTHERS = {"ipc": 0x08000000, "net": 0x40000000, "uts": 0x04000000}


def enter_user_namespace() -> None:
    """Enter a user namespace in which users keep their numbers: all, if we may map them, else only our own.

    Raises:
        OSError: the machine forbids it, possibly half-way: try it in a fork first (`works_in_a_fork`).
    """
    if has_capabilities(Capability.SETUID, Capability.SETGID):
        with _mapped_from_outside():
            unshare(_USER)
        return
    user, group = os.geteuid(), os.getegid()
    unshare(_USER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def enter_namespaces() -> int | None:
    """Enter what namespaces there are to be had; what is missing is missing.

    An ordinary user gives up, once inside, the powers that a user namespace brings.

    Returns:
        A descriptor of process 1 of the new pid namespace, where there is one: when it dies, all die.
    """
    ordinary = os.geteuid() != 0
    if works_in_a_fork(enter_user_namespace):
        enter_user_namespace()
    for flag in _OTHERS.values():
        with contextlib.suppress(OSError):
            unshare(flag)
    init = _enter_pid_namespace()
    if ordinary:
        keep_capabilities(0)
    return init


@contextlib.contextmanager
def _mapped_from_outside() -> Generator[None]:
    """Have a fork, which stays outside, map the users of the namespace that the block enters."""
    us = f"/proc/{os.getpid()}"
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _map_users(us, reading, writing)
    try:
        yield
        os.write(writing, b"x")
    finally:
        os.close(reading)
        os.close(writing)
        _, status = os.waitpid(pid, 0)
    if status != 0:
        raise PermissionError("the users of a new namespace could not be mapped")


def _map_users(namespace: str, entered: int, theirs: int) -> None:
    try:
        os.close(theirs)
        if os.read(entered, 1):
            for kind in ("uid_map", "gid_map"):
                Path(namespace, kind).write_text(_identity(Path("/proc/self", kind).read_text()))
            os._exit(0)
    finally:
        os._exit(1)


def _identity(known: str) -> str:
    """The map of the same users, each to itself."""
    ranges = [line.split() for line in known.splitlines()]
    return "\n".join(f"{first} {first} {count}" for first, _, count in ranges)


def works_in_a_fork(attempt: Callable[[], None]) -> bool:
    """Whether something that cannot be undone succeeds, tried by a process that ends thereupon."""
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return status == 0


def _enter_pid_namespace() -> int | None:
    """Have what we fork from now on live in a pid namespace, while our own numbers stay the server's.

    Whoever makes one must fork its process 1 first. A fork does that and ends, so that process 1 is nobody's
    child, and we join.
    """
    told, tell = os.pipe()
    alive, lifeline = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _make_pid_namespace(tell, alive)
    os.close(tell)
    os.close(alive)
    with os.fdopen(told, "rb") as pipe:
        first = pipe.read()
    os.waitpid(pid, 0)
    try:
        init = os.pidfd_open(int(first))
        setns(init, _PID)
    except (OSError, ValueError):
        os.close(lifeline)
        return None
    return init


def _make_pid_namespace(tell: int, alive: int) -> None:
    try:
        unshare(_PID)
        pid = os.fork()
        if pid == 0:
            _become_init(alive)
        os.write(tell, str(pid).encode())
        os._exit(0)
    finally:
        os._exit(1)


def _become_init(alive: int) -> None:
    """Reap orphans until the zygote ends, or ends us: the kernel then ends all the rest."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        close_all_descriptors_except({alive})
        os.read(alive, 1)
    finally:
        os._exit(0)
