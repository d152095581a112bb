"""Lines of the files of an AWM folder, read from where an index says they lie."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import NamedTuple

from ..errors import Problem
from ..fields import Fields, Place
from ..files import read_json_line


class Span(NamedTuple):
    """Where a line lies in its file."""

    offset: int
    """Bytes before it."""
    length: int
    """Bytes, its newline included."""
    line: int
    """Its number, from 1."""


class FolderChanged(Exception):
    """A file is no longer the one that was indexed."""

    def __init__(self, file: Path, line: int | None) -> None:
        reason = "has changed since the folder was loaded; load it again (restart the server)"
        self.problem = Problem(str(file), line, None, reason)
        super().__init__(str(self.problem))


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells a file from another, and from itself after a change, without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)

    def same_content(self, other: Stamp) -> bool:
        """Whether no write came between them (a change of name or permissions may have)."""
        return astuple(self)[:2] == astuple(other)[:2] and self.inode == other.inode


def stamps(folder: Path, files: Iterable[str]) -> dict[str, Stamp]:
    """The stamp of each file that is there, links followed."""
    found: dict[str, Stamp] = {}
    for file in files:
        try:
            status = (folder / file).stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            found[file] = Stamp.of(status)
    return found


class AwmFiles:
    """The files of one folder as they were at one time."""

    def __init__(self, folder: Path, known: dict[str, Stamp]) -> None:
        self.folder = folder
        self.stamps = known

    def read(self, file: str, span: Span, problems: list[Problem]) -> Fields:
        """The JSON object of a line.

        Raises:
            FolderChanged: the file is another one by now, or the line is no longer there.
        """
        path = self.folder / file
        try:
            with path.open("rb", buffering=0) as opened:
                now = Stamp.of(os.fstat(opened.fileno()))
                content = os.pread(opened.fileno(), span.length, span.offset)
        except OSError as error:
            raise FolderChanged(path, span.line) from error
        if not now.same_content(self.stamps[file]) or len(content) != span.length:
            raise FolderChanged(path, span.line)
        fields = read_json_line(content, Place(problems, str(path), span.line))
        if fields is None:
            raise FolderChanged(path, span.line)
        return fields
