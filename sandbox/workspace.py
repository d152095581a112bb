"""Where databases live while they are used: the fastest medium there is, and nothing left behind.

A workspace is a folder `subworlds-<pid>-<random>` on /dev/shm, and a second one in the temporary folder for
what does not fit. Its lock file is held for the life of the server, so that the next server can tell an
abandoned workspace from a live one and remove it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from .errors import SandboxError
from .identity import can_step_down

_PREFIX = "subworlds-"
_LOCK = "lock"
_FICLONE = 0x40049409
_SHARED_MEMORY = Path("/dev/shm")
_RESERVE_BYTES = 32 * 1024 * 1024


class WorkspaceFull(SandboxError):
    """No medium has room for another copy of a database."""


class Workspace:
    """The folders of one server, removed on exit. Use as a context manager."""

    def __init__(self, bases: tuple[Path, ...] | None = None) -> None:
        """Args:
        bases: folders to work in, fastest first. Default: /dev/shm, then the temporary folder.
        """
        self._bases = bases or _default_bases()
        self._locks: list[int] = []
        self.folders: tuple[Path, ...] = ()

    def __enter__(self) -> Workspace:
        for base in self._bases:
            _sweep(base)
        try:
            for base in self._bases:
                self.folders += (self._create(base),)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for folder in self.folders:
            remove_tree(folder)
        for lock in self._locks:
            os.close(lock)
        self._locks.clear()
        self.folders = ()

    def place(self, size: int) -> Path:
        """The fastest folder that has room for several copies of a database of `size` bytes.

        Raises:
            WorkspaceFull: none has.
        """
        for folder in self.folders:
            if has_room(folder, 8 * size):
                return folder
        raise WorkspaceFull(f"no room for databases of {size} bytes in {', '.join(map(str, self._bases))}")

    def _create(self, base: Path) -> Path:
        """A folder that carries its visible name only once its lock is held, so that no sweep takes it."""
        unnamed = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=base))
        lock = os.open(unnamed / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self._locks.append(lock)
        if can_step_down():
            unnamed.chmod(0o711)  # worlds, with users of their own, pass through to their folders
        return unnamed.rename(base / f"{_PREFIX}{os.getpid()}-{unnamed.name.rpartition('-')[2]}")


def remove_tree(folder: str | os.PathLike[str]) -> None:
    """Remove a folder that untrusted code filled, however deep and with whatever rights; quiet if it is gone.

    Subfolders are moved to the top before they are emptied, so that no path and no stack grows with depth.
    Nothing may still be writing there.
    """
    with contextlib.suppress(OSError):
        moved = itertools.count()
        while found := list(os.scandir(folder)):
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry, 0o700)
                    _empty(entry, os.fspath(folder), moved)
                else:
                    os.unlink(entry)
        os.rmdir(folder)


def _empty(folder: os.DirEntry[str], top: str, moved: Iterator[int]) -> None:
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            os.rename(entry, os.path.join(top, f".removed-{os.getpid()}-{next(moved)}"))
        else:
            os.unlink(entry)
    os.rmdir(folder)


def has_room(folder: Path, size: int) -> bool:
    """Whether `size` more bytes fit beside a reserve."""
    free = os.statvfs(folder)
    return free.f_bavail * free.f_frsize >= size + _RESERVE_BYTES


def clone_file(source: str, target: str) -> None:
    """Copy a file by the cheapest means its file system has: shared blocks, else a copy inside the kernel.

    Raises:
        OSError: no room, or the source cannot be read.
    """
    read = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        write = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            if not _share_blocks(read, write):
                _copy_in_kernel(read, write)
        finally:
            os.close(write)
    finally:
        os.close(read)


def _share_blocks(read: int, write: int) -> bool:
    try:
        fcntl.ioctl(write, _FICLONE, read)
    except OSError as error:
        if error.errno in (
            errno.EOPNOTSUPP,
            errno.EXDEV,
            errno.EINVAL,
            errno.ENOTTY,
            errno.EPERM,
            errno.ENOSYS,
        ):
            return False
        raise
    return True


def _copy_in_kernel(read: int, write: int) -> None:
    size = os.fstat(read).st_size
    copied = 0
    while copied < size:
        step = os.sendfile(write, read, copied, size - copied)
        if step == 0:
            raise OSError(errno.EIO, "the source shrank while it was copied")
        copied += step


def _default_bases() -> tuple[Path, ...]:
    temporary = Path(tempfile.gettempdir())
    shared = os.access(_SHARED_MEMORY, os.W_OK) and _SHARED_MEMORY.is_dir() and has_room(_SHARED_MEMORY, 0)
    return (_SHARED_MEMORY, temporary) if shared and temporary != _SHARED_MEMORY else (temporary,)


def _sweep(base: Path) -> None:
    """Remove workspaces of ours whose server is gone: their lock is free."""
    for folder in base.glob(f"{_PREFIX}*-*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid() and _abandoned(folder):
                remove_tree(folder)


def _abandoned(folder: Path) -> bool:
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
