"""The layers of confinement: what each gives, and which of them are to be used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of confinement."""

    name: str
    gives: str
    mandatory: bool = False
    """Whether untrusted code is refused where it is missing."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Which optional layers to use where the machine has them. All, but for tests that do without some."""

    namespaces: bool = True
    """Own user, pid, ipc, net and uts namespaces."""
    unprivileged: bool = True
    """Started as root, run worlds and verifiers as nobody in particular."""
    landlock: int | None = None
    """The newest version of Landlock to speak; None: the kernel's own."""
    groups: bool = True
    """Own control groups, where the server may make them."""


NO_NEW_PRIVILEGES = Layer("no_new_privs", "no program run later has more rights than its caller", True)
SECCOMP = Layer("seccomp", "no sockets, programs, processes, signals, tracing: an allow-list of calls", True)
LANDLOCK_FILES = Layer("landlock files", "sees and writes only the files it was given", True)
LANDLOCK_TCP = Layer("landlock tcp", "no TCP, even if a system call slipped through")
LANDLOCK_SCOPES = Layer("landlock scopes", "no signals and no abstract sockets to the outside")
RESOURCE_LIMITS = Layer("rlimits", "bounded memory, CPU time, file size and descriptors, per process")
PROCESS_LIMIT = Layer("process limit", "bounded number of processes and threads, per world")
CONTROL_GROUPS = Layer("control groups", "bounded memory and processes of all worlds together")
NO_CAPABILITIES = Layer("capabilities", "none of root's powers over the machine")
UNPRIVILEGED_USER = Layer("unprivileged user", "owns nothing but what it made")
USER_NAMESPACE = Layer("user namespace", "its user has no rights outside")
PID_NAMESPACE = Layer("pid namespace", "no process outside has a number; none of a world's outlives it")
IPC_NAMESPACE = Layer("ipc namespace", "no shared memory or queues with the outside")
NET_NAMESPACE = Layer("net namespace", "no network device but a loopback of its own")
UTS_NAMESPACE = Layer("uts namespace", "host name of its own")

LAYERS = (
    NO_NEW_PRIVILEGES,
    SECCOMP,
    LANDLOCK_FILES,
    LANDLOCK_TCP,
    LANDLOCK_SCOPES,
    RESOURCE_LIMITS,
    PROCESS_LIMIT,
    CONTROL_GROUPS,
    NO_CAPABILITIES,
    UNPRIVILEGED_USER,
    USER_NAMESPACE,
    PID_NAMESPACE,
    IPC_NAMESPACE,
    NET_NAMESPACE,
    UTS_NAMESPACE,
)
