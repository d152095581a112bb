"""Control groups: what all worlds of a server may use together, so that none of them can starve the machine.

A zygote enters a group of its own; what it forks is inside. Where the server may not make one (in most
containers, and for most ordinary users) there is none: the container's own limits are what holds there.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PREFIX = "subworlds-"
_NAME = re.compile(re.escape(_PREFIX) + r"(\d+)")
_CONTROLLERS = ("memory", "pids")
_MEMORY_SHARE = 0.8
_MEMORY_FILES = ("memory.max", "memory.limit_in_bytes")
_PROCESSES_FILE = "pids.max"
_DIES_FIRST = "500"


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """What the processes of a group may use together."""

    memory_bytes: int | None = None
    """Files in /dev/shm included. None: four fifths of what the machine, or our own group, has."""
    processes: int = 8_192


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a group can be made."""

    parent: Path
    """What it is made in."""
    before: Path
    """Where this process is."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups that this process entered: one with version 2 of the kernel's interface, one each with 1."""

    controllers: frozenset[str]
    """Of memory and pids, those that are limited."""
    _entered: dict[Path, Path] = field(repr=False)
    """Each group, and where we were before."""

    def leave(self) -> None:
        """Go back, and remove what is empty then."""
        for group, before in self._entered.items():
            with contextlib.suppress(OSError):
                _move_to(before)
            with contextlib.suppress(OSError):
                group.rmdir()


def enter_groups(limits: GroupLimits) -> Groups:
    """Enter groups that limit memory and the number of processes, as far as they can be had."""
    entered: dict[Path, Path] = {}
    limited: set[str] = set()
    for controller in _CONTROLLERS:
        for place in _places(controller):
            group = place.parent / f"{_PREFIX}{os.getpid()}"
            try:
                _sweep(place.parent)
                group.mkdir(exist_ok=True)
                _limit(group, controller, limits)
                _move_to(group)
            except OSError:
                with contextlib.suppress(OSError):
                    group.rmdir()
                continue
            entered[group] = place.before
            limited.add(controller)
            break
    return Groups(frozenset(limited), entered)


def _limit(group: Path, controller: str, limits: GroupLimits) -> None:
    if controller == "pids":
        (group / _PROCESSES_FILE).write_text(str(limits.processes))
        return
    file = next(name for name in _MEMORY_FILES if (group / name).exists())
    most = limits.memory_bytes or int(_MEMORY_SHARE * _memory_here(group.parent / file))
    (group / file).write_text(str(most))


def _memory_here(parent: Path) -> int:
    """What the parent group may use at most, in bytes."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(int(parent.read_text()), machine)
    except (OSError, ValueError):  # the topmost has no limit, or its limit is "max"
        return machine


def _move_to(group: Path) -> None:
    (group / "cgroup.procs").write_text("0")


def _sweep(parent: Path) -> None:
    """Remove the empty groups of zygotes that were killed."""
    for group in parent.glob(f"{_PREFIX}*"):
        name = _NAME.fullmatch(group.name)
        if name is not None and not Path("/proc", name[1]).exists():
            with contextlib.suppress(OSError):
                group.rmdir()


def _places(controller: str) -> Iterator[_Place]:
    """Where a group with this controller might be made, nearest first."""
    for line in _lines("/proc/self/cgroup"):
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            where = _mounted("cgroup", controller, path)
            if where is not None:
                yield _Place(where[1], where[1])
        elif not names:
            where = _mounted("cgroup2", None, path)
            if where is not None:
                yield from _delegated(controller, *where)


def _delegated(controller: str, top: Path, ours: Path) -> Iterator[_Place]:
    """Version 2: our group or one around it whose children this controller is handed to."""
    for parent in (ours, *ours.parents):
        with contextlib.suppress(OSError):
            if controller in (parent / "cgroup.subtree_control").read_text().split():
                yield _Place(parent, ours)
        if parent == top:
            return


def _mounted(kind: str, controller: str | None, path: str) -> tuple[Path, Path] | None:
    """The folders of a hierarchy and, in it, of the group at `path`, where they can be seen."""
    for line in _lines("/proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        root, mount_point = before.split()[3:5]
        found, _, options = after.split(" ", 2)
        if found != kind or (controller is not None and controller not in options.split(",")):
            continue
        relative = os.path.relpath(path, root)
        if not relative.startswith(".."):
            return Path(mount_point), Path(mount_point, relative)
    return None


def _lines(path: str) -> list[str]:
    """None where this kernel has no such file."""
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def prefer_to_die() -> None:
    """Should memory run out, let the kernel take this process and what it forks before the server."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_DIES_FIRST)
