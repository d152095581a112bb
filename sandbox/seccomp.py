"""Seccomp: an allow-list of system calls, as a hand-assembled BPF program.

Two programs. `LEAF` is for a process that runs a world or a verifier: it computes, reads and writes files it
can already reach, and talks over descriptors it already holds; it cannot make a socket, a process, or a
signal. `FORKSERVER` is for a template, which has run untrusted code at import and must still fork, confine
its children, pass descriptors and give each child an event loop (which wants a socket pair). Calls that are
not listed fail with EPERM; nothing is killed, so that untrusted code meets an exception it can understand.

Landlock watches no metadata, so what changes it (chmod, chown, utimes, also by descriptor) is left out here.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Mapping
from enum import Enum
from functools import cache

from .kernel import AUDIT_ARCH, syscall, syscall_numbers

_SET_MODE_FILTER = 1
_LOAD_WORD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000
_OFFSET_NUMBER, _OFFSET_ARCHITECTURE, _OFFSET_ARGUMENTS = 0, 4, 16
_X32_BIT = 0x40000000

_AF_UNIX = 1
_STREAMS = (1, 1 | 0o4000, 1 | 0o2000000, 1 | 0o2004000)
"""SOCK_STREAM, with SOCK_NONBLOCK and SOCK_CLOEXEC or not: a datagram socket could address strangers."""
_CLONE_THREAD = 0x00010000
_CLONE_ELSEWHERE = 0x7E028000
"""Into new namespaces, or as a child of somebody else (CLONE_PARENT)."""

_LEAF = """
read write sendto recvfrom pread64 pwrite64 lseek fstat newfstatat statx stat lstat openat open close
mmap munmap mprotect brk madvise mremap futex clock_gettime clock_nanosleep nanosleep gettimeofday time
clock_getres epoll_wait epoll_pwait epoll_ctl epoll_create1 poll ppoll select pselect6 readv writev
rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack getrandom getpid gettid getppid getuid geteuid getgid
getegid getgroups access faccessat faccessat2 unlink unlinkat ftruncate truncate fsync fdatasync fallocate
rename renameat renameat2 mkdir mkdirat rmdir getdents64 getcwd readlink readlinkat dup dup2 dup3 pipe pipe2
eventfd2 flock umask sched_yield sched_getaffinity sysinfo uname getrusage times setitimer getitimer
alarm exit exit_group restart_syscall rseq set_robust_list get_robust_list set_tid_address arch_prctl
membarrier getrlimit statfs fstatfs chdir fchdir msync mincore getpgrp
""".split()  # noqa: SIM905 - names are easier to read without quotes

_FORKSERVER_ONLY = """
sendmsg recvmsg wait4 waitid prctl seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
close_range copy_file_range sendfile setrlimit capget capset pidfd_open getsockname getsockopt
""".split()  # noqa: SIM905 - names are easier to read without quotes

_FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)
"""Duplicate, flags and locks. Not F_SETOWN and F_SETSIG, which make the kernel send signals to others."""

_IOCTL_REQUESTS = (0x5401, 0x5421, 0x541B, 0x5450, 0x5451, 0x40049409)
"""TCGETS (isatty), FIONBIO, FIONREAD, FIONCLEX, FIOCLEX, FICLONE."""


class Profile(Enum):
    """Which allow-list a process lives under."""

    LEAF = "leaf"
    FORKSERVER = "forkserver"


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def restrict_syscalls(profile: Profile) -> None:
    """Install the filter, for good, on this thread. Needs no_new_privs.

    Raises:
        OSError: the kernel refused the filter.
        SandboxUnavailable: unknown architecture.
    """
    code = _assemble(profile)
    program = _Program(len(code) // 8, code)
    syscall(
        syscall_numbers()["seccomp"], ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(0), ctypes.byref(program)
    )


def assemble_filters() -> None:
    """Assemble every program once, for the children of this process to inherit."""
    for profile in Profile:
        _assemble(profile)


@cache
def _assemble(profile: Profile) -> bytes:
    numbers = syscall_numbers()
    machine = platform.machine()
    code = [
        _op(_LOAD_WORD, _OFFSET_ARCHITECTURE),
        _op(_JUMP_EQUAL, AUDIT_ARCH[machine], 1, 0),
        _refuse(errno.EPERM),
        _op(_LOAD_WORD, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        code += [_op(_JUMP_AT_LEAST, _X32_BIT, 0, 1), _refuse(errno.EPERM)]
    code += _allow_plain(profile, numbers)
    code += _allow_where(numbers["fcntl"], (_low(1), _FCNTL_COMMANDS))
    code += _allow_where(numbers["ioctl"], (_low(1), _IOCTL_REQUESTS))
    if profile is Profile.FORKSERVER:
        code += _allow_where(numbers["socketpair"], (_low(0), (_AF_UNIX,)), (_low(1), _STREAMS))
        code += _allow_where(numbers["prlimit64"], (_low(0), (0,)))
    else:
        code += _allow_where(numbers["prlimit64"], (_low(0), (0,)), (_low(2), (0,)), (_high(2), (0,)))
    code += _clone(profile, numbers["clone"])
    code += [_op(_JUMP_EQUAL, numbers["clone3"], 0, 1), _refuse(errno.ENOSYS), _refuse(errno.EPERM)]
    return b"".join(code)


def _low(argument: int) -> int:
    """Where a filter finds the low half of an argument; most calls look at no more."""
    return _OFFSET_ARGUMENTS + 8 * argument


def _high(argument: int) -> int:
    return _low(argument) + 4


def _allow_plain(profile: Profile, numbers: Mapping[str, int]) -> list[bytes]:
    names = _LEAF + (_FORKSERVER_ONLY if profile is Profile.FORKSERVER else [])
    code: list[bytes] = []
    for name in names:
        if name in numbers:
            code += [_op(_JUMP_EQUAL, numbers[name], 0, 1), _op(_RETURN, _ALLOW)]
    return code


def _allow_where(number: int, *conditions: tuple[int, tuple[int, ...]]) -> list[bytes]:
    """Allow call `number` where the word at each offset is one of those accepted there, else refuse it."""
    body: list[bytes] = []
    for offset, accepted in conditions:
        body.append(_op(_LOAD_WORD, offset))
        body += [_op(_JUMP_EQUAL, value, len(accepted) - place) for place, value in enumerate(accepted)]
        body.append(_refuse(errno.EPERM))
    body.append(_op(_RETURN, _ALLOW))
    return [_op(_JUMP_EQUAL, number, 0, len(body)), *body]


def _clone(profile: Profile, number: int) -> list[bytes]:
    """Threads for everybody, processes for a fork server, other namespaces and parents for nobody."""
    body = [
        _op(_LOAD_WORD, _low(0)),
        _op(_JUMP_ANY_BIT, _CLONE_ELSEWHERE, 0, 1),
        _refuse(errno.EPERM),
    ]
    if profile is Profile.LEAF:
        body += [_op(_JUMP_ANY_BIT, _CLONE_THREAD, 1, 0), _refuse(errno.EPERM)]
    body.append(_op(_RETURN, _ALLOW))
    return [_op(_JUMP_EQUAL, number, 0, len(body)), *body]


def _op(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)


def _refuse(code: int) -> bytes:
    return _op(_RETURN, _REFUSE | code)
