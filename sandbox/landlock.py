"""Landlock: this process and its children may touch the named paths and nothing else.

Not promised: metadata. `stat` and the existence of files outside stay visible. The kernel's interface is
documented in Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from .errors import SandboxUnavailable
from .kernel import syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_DIR, _MAKE_REG = 1 << 7, 1 << 8
_TRUNCATE = 1 << 14

_READ = _READ_FILE | _READ_DIR
_WRITE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE

_HANDLED_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_HANDLED_FILE_RIGHTS_SINCE_5 = (1 << 16) - 1
_ALL_TCP = 0b11
_ALL_SCOPES = 0b11


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def landlock_version() -> int:
    """The Landlock ABI of the running kernel, 0 where there is none."""
    try:
        return syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_CREATE_RULESET_VERSION))
    except OSError:
        return 0


def restrict_files(*, readable: Iterable[str], writable: Iterable[str], version: int) -> None:
    """Confine this process, for good, to reading `readable` and to reading and writing beneath `writable`.

    A path that does not exist is skipped: there is nothing to allow. Where the kernel can, TCP, signals and
    abstract Unix sockets to the outside are cut off as well.

    Args:
        version: what `landlock_version` returned; asked once, not per process.

    Raises:
        SandboxUnavailable: the kernel has no Landlock.
    """
    if version < 1:
        raise SandboxUnavailable("this kernel has no Landlock (Linux 5.13 or newer, enabled at boot)")
    handled = _HANDLED_FILE_RIGHTS.get(version, _HANDLED_FILE_RIGHTS_SINCE_5)
    ruleset = _create_ruleset(handled, version)
    try:
        for path in readable:
            _allow(ruleset, path, _READ & handled)
        for path in writable:
            _allow(ruleset, path, (_WRITE | _TRUNCATE) & handled)
        syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _create_ruleset(handled: int, version: int) -> int:
    attributes = _RulesetAttributes(
        handled, _ALL_TCP if version >= 4 else 0, _ALL_SCOPES if version >= 6 else 0
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    return syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            access &= _FILE_RIGHTS
        rule = _PathBeneath(access, descriptor)
        syscall(
            _ADD_RULE,
            ctypes.c_int(ruleset),
            ctypes.c_int(_RULE_PATH_BENEATH),
            ctypes.byref(rule),
            ctypes.c_uint32(0),
        )
    finally:
        os.close(descriptor)
