"""Which layers of confinement this machine has: processes put one on and try to get past it.

Run as `python -m subworlds.sandbox.probe` it prints a finding for every layer as JSON. Each is tried alone,
for a layer that another one covers would not show.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from . import layers as known
from .capabilities import effective_capabilities, empty_bounding_set
from .cgroups import GroupLimits, enter_groups, prefer_to_die
from .confinement import Confinement, Limits, confine, prepare_confinement
from .identity import WORLD_USERS, can_step_down, give_up_capabilities, step_down
from .kernel import die_with, no_new_privileges
from .landlock import landlock_version, restrict_files
from .layers import LAYERS, Layer
from .namespaces import enter_namespaces
from .seccomp import Profile, restrict_syscalls

_TIMEOUT_S = 60
_PROCESSES = 8
_GROUP_BYTES = 64 * 1024 * 1024
_SPACES = {
    known.USER_NAMESPACE: "user",
    known.PID_NAMESPACE: "pid_for_children",
    known.IPC_NAMESPACE: "ipc",
    known.NET_NAMESPACE: "net",
    known.UTS_NAMESPACE: "uts",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What trying a layer showed."""

    layer: Layer
    present: bool
    reason: str
    """What was refused, or why the layer is not to be had."""


class _Missing(Exception):
    """The layer is not to be had. The text says why."""


def probe_layers() -> list[Finding]:
    """Try every layer, in processes of their own."""
    command = [sys.executable, "-P", "-m", __name__]
    ran = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=True)
    found = {name: (present, reason) for name, present, reason in json.loads(ran.stdout)}
    return [Finding(layer, *found[layer.name]) for layer in LAYERS]


def _try_no_new_privileges() -> str:
    no_new_privileges()
    with open("/proc/self/status") as status:
        if "NoNewPrivs:\t1\n" not in status:
            raise _Missing("the kernel does not keep it")
    return "kept by the kernel"


def _try_seccomp() -> str:
    no_new_privileges()
    restrict_syscalls(Profile.LEAF)
    _expect(errno.EPERM, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    _expect(errno.EPERM, lambda: os.kill(os.getpid(), 0))
    _expect(errno.EPERM, os.fork)
    return "a socket, a signal and a process were refused"


def _try_landlock_files() -> str:
    version = _require_landlock(1)
    with tempfile.TemporaryDirectory(prefix="subworlds-doctor-") as folder:
        mine, outside = Path(folder, "mine"), Path(folder, "outside")
        mine.mkdir()
        outside.touch()
        pid = os.fork()
        if pid == 0:
            _leave(lambda: _try_files(mine, outside, version))
        _, status = os.waitpid(pid, 0)
    if status != 0:
        raise _Missing("a file outside could be read or written")
    return f"reading and writing outside were refused (version {version})"


def _try_files(mine: Path, outside: Path, version: int) -> None:
    no_new_privileges()
    restrict_files(readable=(), writable=(str(mine),), version=version)
    (mine / "file").touch()
    _expect(errno.EACCES, outside.read_bytes)
    _expect(errno.EACCES, lambda: outside.write_bytes(b""))


def _try_landlock_tcp() -> str:
    version = _require_landlock(4)
    with socket.create_server(("127.0.0.1", 0)) as server:
        no_new_privileges()
        restrict_files(readable=(), writable=(), version=version)
        _expect(errno.EACCES, lambda: socket.create_connection(server.getsockname()))
        _expect(errno.EACCES, lambda: socket.create_server(("127.0.0.1", 0)))
    return "connecting and listening were refused"


def _try_landlock_scopes() -> str:
    version = _require_landlock(6)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind("")  # the kernel chooses an abstract name
        server.listen()
        no_new_privileges()
        restrict_files(readable=(), writable=(), version=version)
        _expect(errno.EPERM, lambda: os.kill(os.getppid(), 0))
        _expect(errno.EPERM, lambda: client.connect(server.getsockname()))
    return "a signal and an abstract socket were refused"


def _try_resource_limits() -> str:
    confine(Confinement(Profile.LEAF, limits=Limits(memory_bytes=1 << 26), enforced=False))
    try:
        bytearray(1 << 28)
    except MemoryError:
        return "memory past the limit was refused"
    raise _Missing("memory past the limit was given")


def _try_process_limit() -> str:
    prepare_confinement()
    confine(Confinement(Profile.FORKSERVER, limits=Limits(processes=_PROCESSES), enforced=False))
    if resource.getrlimit(resource.RLIMIT_NPROC)[0] != _PROCESSES:
        raise _Missing("it counts nothing for root, and for a user only with user namespaces")
    parent = os.getpid()
    for _ in range(_PROCESSES):
        try:
            if os.fork() == 0:
                _leave(lambda: _stay_with(parent))
        except BlockingIOError:
            return "a process past the limit was refused"
    raise _Missing("processes past the limit were started")


def _try_control_groups() -> str:
    groups = enter_groups(GroupLimits(memory_bytes=_GROUP_BYTES, processes=_PROCESSES))
    try:
        if groups.controllers != frozenset(("memory", "pids")):
            only = f" for anything but {', '.join(groups.controllers)}" if groups.controllers else ""
            raise _Missing(
                f"the server may not make any{only}; limit its container, or run it with a delegated one"
            )
        if _ending(_use_memory) != -signal.SIGKILL:
            raise _Missing("memory past the limit was given")
        if _ending(_fork_too_often) != 0:
            raise _Missing("processes past the limit were started")
        return "memory and processes past the limit were refused"
    finally:
        groups.leave()


def _use_memory() -> None:
    prefer_to_die()
    bytearray(4 * _GROUP_BYTES)


def _fork_too_often() -> None:
    parent, children = os.getpid(), list[int]()
    try:
        for _ in range(_PROCESSES):
            if (pid := os.fork()) == 0:
                _leave(lambda: _stay_with(parent))
            children.append(pid)
    except BlockingIOError:
        return
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    raise _Missing("nothing was refused")


def _ending(work: Callable[[], None]) -> int:
    """The exit status of a process that does the work, below zero for a signal."""
    pid = os.fork()
    if pid == 0:
        _leave(work)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _try_no_capabilities() -> str:
    empty_bounding_set()
    give_up_capabilities(())
    if effective_capabilities():
        raise _Missing("some are left")
    return "none is left"


def _try_unprivileged_user() -> str:
    if os.geteuid() != 0:
        return "the server does not run as root"
    if not can_step_down():
        raise _Missing("this root lacks what that takes (chown, setuid, setgid, kill, dac_override)")
    step_down((), ())
    give_up_capabilities(sys.path)
    if os.getresuid() != (WORLD_USERS[0],) * 3:
        raise _Missing("the user did not change")
    _expect(errno.EPERM, lambda: os.setuid(0))
    left = (
        "; it may read what root may, for Python lies where only root can go"
        if effective_capabilities()
        else ""
    )
    return f"was user {os.getuid()}, and could not go back{left}"


def _try_namespace(layer: Layer) -> str:
    link = f"/proc/self/ns/{_SPACES[layer]}"
    ours = os.readlink(link)
    enter_namespaces()
    if os.readlink(link) == ours:
        raise _Missing("the machine does not let this user have one")
    return "entered"


def _require_landlock(version: int) -> int:
    spoken = landlock_version()
    if spoken < version:
        raise _Missing(f"the kernel has version {spoken} of Landlock, and this takes {version}")
    return spoken


def _expect(code: int, attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except OSError as error:
        if error.errno == code:
            return
        raise
    raise _Missing("what should have been refused was possible")


def _stay_with(parent: int) -> None:
    die_with(parent)
    signal.pause()


_TRIALS: dict[Layer, Callable[[], str]] = {
    known.NO_NEW_PRIVILEGES: _try_no_new_privileges,
    known.SECCOMP: _try_seccomp,
    known.LANDLOCK_FILES: _try_landlock_files,
    known.LANDLOCK_TCP: _try_landlock_tcp,
    known.LANDLOCK_SCOPES: _try_landlock_scopes,
    known.RESOURCE_LIMITS: _try_resource_limits,
    known.PROCESS_LIMIT: _try_process_limit,
    known.CONTROL_GROUPS: _try_control_groups,
    known.NO_CAPABILITIES: _try_no_capabilities,
    known.UNPRIVILEGED_USER: _try_unprivileged_user,
}


def _trials() -> Iterator[tuple[Layer, Callable[[], str]]]:
    for layer in LAYERS:
        yield layer, _TRIALS.get(layer) or partial(_try_namespace, layer)


def _run(trial: Callable[[], str]) -> tuple[bool, str]:
    """Run a trial in a fork. Whatever goes wrong there says that the layer is missing."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _leave(lambda: _report(trial, writing))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.readline()
    os.waitpid(pid, 0)
    present, reason = json.loads(told or b'[false, "the process that tried it died"]')
    return bool(present), str(reason)


def _report(trial: Callable[[], str], told: int) -> None:
    try:
        found = (True, trial())
    except _Missing as missing:
        found = (False, str(missing))
    except Exception as error:
        found = (False, f"{type(error).__name__}: {error}")
    os.write(told, json.dumps(found).encode() + b"\n")


def _leave(work: Callable[[], None]) -> None:
    """Do the work and end this process, whose parent's code goes no further in it."""
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    print(json.dumps([(layer.name, *_run(trial)) for layer, trial in _trials()]))
