"""Capabilities: which of root's powers this process has, and giving them up."""

from __future__ import annotations

import contextlib
import ctypes
from enum import IntEnum

from .kernel import prctl, syscall, syscall_numbers

_VERSION = 0x20080522
_PR_CAPBSET_DROP = 24
_PR_SET_KEEPCAPS = 8
_LAST = 63


class Capability(IntEnum):
    """The few that are spoken of here, by number (linux/capability.h)."""

    CHOWN = 0
    DAC_OVERRIDE = 1
    DAC_READ_SEARCH = 2
    KILL = 5
    SETGID = 6
    SETUID = 7
    SYS_ADMIN = 21


def effective_capabilities() -> int:
    """Those in force, as a bit mask."""
    low, high = _get()[0], _get()[3]
    return low | high << 32


def permitted_capabilities() -> int:
    """Those that may be put in force, as a bit mask."""
    low, high = _get()[1], _get()[4]
    return low | high << 32


def has_capabilities(*wanted: Capability) -> bool:
    """Whether all of them are in force."""
    mask = effective_capabilities()
    return all(mask & 1 << capability for capability in wanted)


def keep_capabilities(kept: int) -> None:
    """Give up, for good, all but those in the mask `kept`, which must be permitted."""
    low, high = kept & 0xFFFFFFFF, kept >> 32
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    syscall(syscall_numbers()["capset"], ctypes.byref(header), ctypes.byref(data))


def keep_capabilities_when_stepping_down(*, keep: bool) -> None:
    """Whether a change from uid 0 to another leaves what is permitted (it never leaves what is in force)."""
    prctl(_PR_SET_KEEPCAPS, int(keep))


def empty_bounding_set() -> None:
    """Let no program that is run later gain a capability; quiet where that is not ours to do."""
    with contextlib.suppress(OSError):
        for number in range(_LAST + 1):
            prctl(_PR_CAPBSET_DROP, number)


def _get() -> tuple[int, ...]:
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    data = (ctypes.c_uint32 * 6)()
    syscall(syscall_numbers()["capget"], ctypes.byref(header), ctypes.byref(data))
    return tuple(data)
