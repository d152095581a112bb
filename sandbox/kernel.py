"""The few system calls that the standard library does not wrap, through ctypes."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping, Set

from .errors import SandboxUnavailable
from .syscalls import AARCH64, X86_64

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Architecture tokens that seccomp filters see (linux/audit.h)."""

_PR_SET_PDEATHSIG = 1
_PR_GET_PDEATHSIG = 2
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SIGKILL = 9
_CLOSE_RANGE_NR = 436

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.restype = ctypes.c_int


def syscall_numbers() -> Mapping[str, int]:
    """Syscall numbers of this machine by name.

    Raises:
        SandboxUnavailable: on an architecture that the sandbox does not know.
    """
    machine = platform.machine()
    if machine == "x86_64":
        return X86_64
    if machine == "aarch64":
        return AARCH64
    raise SandboxUnavailable(f"no syscall table for '{machine}': the sandbox knows x86_64 and aarch64")


def syscall(number: int, *arguments: object) -> int:
    """Call the kernel and return its result.

    Raises:
        OSError: with the kernel's errno.
    """
    result = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def prctl(option: int, argument: int) -> None:
    """`prctl(2)` with one argument."""
    unsigned = ctypes.c_ulong
    if _libc.prctl(ctypes.c_int(option), unsigned(argument), unsigned(0), unsigned(0), unsigned(0)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def no_new_privileges() -> None:
    """Give up, for good, every way of gaining privileges through exec."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def unshare(flags: int) -> None:
    """`unshare(2)`: leave what this process shares with others, such as namespaces."""
    syscall(syscall_numbers()["unshare"], ctypes.c_ulong(flags))


def setns(descriptor: int, kind: int) -> None:
    """`setns(2)`: join a namespace of the process that `descriptor` holds."""
    syscall(syscall_numbers()["setns"], ctypes.c_int(descriptor), ctypes.c_int(kind))


def dies_with_parent() -> bool:
    """Whether `die_with` is in force."""
    death = ctypes.c_int(0)
    prctl(_PR_GET_PDEATHSIG, ctypes.addressof(death))
    return death.value == _SIGKILL


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, so that they are reaped in any container."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies; exit now if it already has.

    Must be called after any change of user id, which clears the setting. A parent in another pid namespace
    has the number 0 here; once it is dead, the number is another.
    """
    prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() not in (parent, 0):
        os._exit(1)


def close_all_descriptors_except(kept: Set[int]) -> None:
    """Close every descriptor but stdin, stdout, stderr and those in `kept`."""
    first = 3
    for descriptor in sorted(fd for fd in kept if fd >= first):
        _close_range(first, descriptor - 1)
        first = descriptor + 1
    _close_range(first, 0xFFFFFFFF)


def _close_range(first: int, last: int) -> None:
    if first <= last:
        syscall(_CLOSE_RANGE_NR, ctypes.c_uint(first), ctypes.c_uint(last), ctypes.c_uint(0))
