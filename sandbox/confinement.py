"""Confinement: what a process that runs untrusted code may do, and how it gives up the rest.

Covered: files (Landlock), system calls (seccomp: no sockets, no exec, no ptrace, no signals), memory, CPU,
file size, descriptor and (where it has a user or a user namespace of its own) process limits, root and its
capabilities, inherited descriptors, and life beyond the parent's. Namespaces are entered by the zygote.

Not covered: reading metadata of files outside, timing, the CPU time it may use up to its limit, and how many
files it fills.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Set
from dataclasses import dataclass, field
from functools import cache

from .capabilities import empty_bounding_set
from .errors import SandboxUnavailable
from .identity import WORLD_USERS, give_up_capabilities, step_down
from .kernel import close_all_descriptors_except, die_with, dies_with_parent, no_new_privileges
from .landlock import landlock_version, restrict_files
from .layers import Layers
from .namespaces import enter_user_namespace, works_in_a_fork
from .seccomp import Profile, assemble_filters, restrict_syscalls


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of one process."""

    memory_bytes: int | None = 1024 * 1024 * 1024
    """Address space on top of what is mapped when the process is confined; None: what the parent set."""
    cpu_seconds: int = 120
    file_bytes: int = 1024 * 1024 * 1024
    """The largest file it may write."""
    descriptors: int = 256
    processes: int | None = None
    """Processes and threads of its user; None: what the parent set. Unlimited where it is root, or an
    ordinary user who cannot have a user namespace of its own to be counted in."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one process keeps. Everything else is given up for good."""

    profile: Profile
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    enforced: bool = True
    """False only where the user accepted in words to run without Landlock and seccomp."""


_layers = Layers()
_can_count_alone = False
"""Whether an ordinary user can have a user namespace, in which only its own processes count."""


def use_layers(layers: Layers) -> None:
    """Confine this process, and those it will fork, with these layers. Called before untrusted code runs."""
    global _layers
    _layers = layers


def confine(confinement: Confinement) -> None:
    """Confine this process, for good, in the order in which each step still permits the next.

    Raises:
        SandboxUnavailable: the kernel lacks a layer and `enforced` is True.
    """
    _set_limits(confinement.limits)
    _give_up_powers(confinement)
    no_new_privileges()
    if not confinement.enforced:
        return
    restrict_files(readable=confinement.readable, writable=confinement.writable, version=_version_in_use())
    restrict_syscalls(confinement.profile)


def _give_up_powers(confinement: Confinement) -> None:
    parent, bound = os.getppid(), dies_with_parent()
    if _layers.unprivileged:
        step_down(confinement.readable, confinement.writable)
    if confinement.limits.processes is not None:
        _limit_processes(confinement.limits.processes)
    give_up_capabilities((*confinement.readable, *confinement.writable))
    if bound:
        die_with(parent)  # a change of user set us free


def _limit_processes(most: int) -> None:
    """Limit them where they are counted by themselves: not with everything that an ordinary user runs."""
    if os.geteuid() not in WORLD_USERS:
        if not _can_count_alone:
            return
        enter_user_namespace()
    _lower(resource.RLIMIT_NPROC, most)


def enter_child(parent: int, kept: Set[int]) -> None:
    """First steps of every forked child: die with the parent, hold only the descriptors in `kept`.

    stdin, stdout and stderr are expected to be harmless (see `silence_standard_streams`).
    """
    die_with(parent)
    close_all_descriptors_except(kept)


def silence_standard_streams() -> None:
    """Point stdin, stdout and stderr at /dev/null: untrusted code has nobody to talk to there."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    if null > 2:
        os.close(null)


def numb_descriptors(spared: Set[int]) -> frozenset[int]:
    """Point every descriptor but the standard streams and those spared at where stdin points.

    For a process that has run untrusted code and will fork: closed, the numbers would soon be those of other
    files, and code that still holds them would write there. Returns them, to be kept by every child.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    numbed = frozenset(fd for fd in range(3, limit) if fd not in spared and _is_open(fd))
    for descriptor in numbed:
        os.dup2(0, descriptor)
    return numbed


def prepare_confinement() -> None:
    """Do once, in a process that forks many, what each of its children would otherwise do for itself."""
    global _can_count_alone
    empty_bounding_set()
    _can_count_alone = _layers.namespaces and os.geteuid() != 0 and works_in_a_fork(enter_user_namespace)
    if _landlock_version() >= 1 and _seccomp_available():
        assemble_filters()


def require_confinement() -> None:
    """Refuse to go on where untrusted code could not be confined.

    Raises:
        SandboxUnavailable: says which layer is missing and which flag accepts the risk.
    """
    if _landlock_version() < 1:
        raise SandboxUnavailable(
            "worlds and verifiers are untrusted code, and this kernel cannot confine them: it has no "
            "Landlock (Linux 5.13 or newer with landlock among its security modules). "
            "To run them unconfined all the same, pass --allow-unconfined."
        )
    if not _seccomp_available():
        raise SandboxUnavailable(
            "worlds and verifiers are untrusted code, and this kernel cannot confine them: it has no seccomp "
            "filters. To run them unconfined all the same, pass --allow-unconfined."
        )


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _version_in_use() -> int:
    """The version of Landlock that the kernel and we both speak."""
    return min(_landlock_version(), _landlock_version() if _layers.landlock is None else _layers.landlock)


@cache
def _landlock_version() -> int:
    return landlock_version()


def _seccomp_available() -> bool:
    return os.path.exists("/proc/sys/kernel/seccomp/actions_avail")


def _set_limits(limits: Limits) -> None:
    if limits.memory_bytes is not None:
        _lower(resource.RLIMIT_AS, _mapped_bytes() + limits.memory_bytes)
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.descriptors)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (ceiling, ceiling))


def _mapped_bytes() -> int:
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()
