"""Who a confined process is: where the server runs as root, a user of its own that owns nothing else.

Each world has a user of its own (their numbers lie in a range that no distribution hands out), and a verifier
run is the user whose databases it reads. Files that it must read may lie where it cannot go (a Python in
root's home). Then it keeps one capability, CAP_DAC_READ_SEARCH: to read, wherever Landlock lets it, but to
write only what is its own. That is stronger than uid 0 without capabilities, who still owns, and so may
write, all of root's files.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from .capabilities import (
    Capability,
    has_capabilities,
    keep_capabilities,
    keep_capabilities_when_stepping_down,
    permitted_capabilities,
)

WORLD_USERS = range(61_000, 61_184)
"""Users (and groups) that worlds and verifiers run as where the server runs as root."""

_READ_EVERYTHING = 1 << Capability.DAC_READ_SEARCH
_NEEDED = (
    Capability.CHOWN,
    Capability.DAC_OVERRIDE,
    Capability.KILL,
    Capability.SETGID,
    Capability.SETUID,
)
"""What we must be able to do with what belongs to another user: give, remove, end, become."""


def can_step_down() -> bool:
    """Whether this process is root, and root enough."""
    return os.geteuid() == 0 and has_capabilities(*_NEEDED)


def entrust(paths: Iterable[str], number: int) -> None:
    """Give files or folders to the user of world `number`, if we are root. Links are not followed."""
    if can_step_down():
        user = WORLD_USERS[number % len(WORLD_USERS)]
        for path in paths:
            os.chown(path, user, user, follow_symlinks=False)


def entrust_like_parent(folder: str | os.PathLike[str]) -> None:
    """Give a new folder to whoever owns the one it lies in. Links are not followed."""
    owner = os.stat(os.path.dirname(folder))
    if owner.st_uid != os.geteuid():
        os.chown(folder, owner.st_uid, owner.st_gid, follow_symlinks=False)


def step_down(readable: Collection[str], writable: Collection[str]) -> None:
    """Root becomes the user whose files it works on. Whoever must write what is root's own stays uid 0.

    What is permitted stays so, until `give_up_capabilities`.
    """
    user = next(filter(WORLD_USERS.__contains__, map(_owner, (*writable, *readable))), WORLD_USERS[0])
    if not can_step_down() or any(_owner(path) != user for path in writable):
        return
    keep_capabilities_when_stepping_down(keep=True)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    keep_capabilities_when_stepping_down(keep=False)


def give_up_capabilities(needed: Iterable[str]) -> None:
    """Give up every capability, for good, but the one that reading `needed` takes where it is still held."""
    permitted = permitted_capabilities() & _READ_EVERYTHING if os.geteuid() in WORLD_USERS else 0
    keep_capabilities(0 if not permitted or _reaches_all(needed) else permitted)


def _reaches_all(paths: Iterable[str]) -> bool:
    """Whether this user may read them without help; what is not there needs none."""
    return all(map(_is_reachable, paths))


def _owner(path: str) -> int:
    try:
        return os.stat(path).st_uid
    except OSError:
        return -1


def _is_reachable(path: str) -> bool:
    if os.access(path, os.R_OK):
        return True
    try:
        os.stat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False
