"""Indexes of AWM folders, kept between starts. Any of them may be deleted at any time.

An index is used only if it is whole (a digest says so) and if every file of its folder still has the size,
times and inode that it had. A file written so shortly before it was indexed that a later write may not show
in its times is compared by content.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import Problem
from ..task import ScenarioEntry
from .index import Index, ScenarioRecord, TaskRecord
from .lines import Span, Stamp, stamps
from .names import FILES

_FORMAT = 2
"""To be raised with every change to what an index holds, or to what is found wrong with a folder."""

_RACY_NS = 2_000_000_000
"""Files whose times are no older than this when they are indexed are compared by content later: clocks of
file systems are coarse, up to two seconds."""


class IndexCache:
    """A folder of indexes."""

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        """Args:
        tell: told, in one line, why an index cannot be kept.
        """
        self._folder = folder
        self._tell = tell

    def load(self, folder: Path) -> tuple[Index, dict[str, Stamp]] | None:
        """The index of an AWM folder and the stamps of its files; None if there is none that still holds."""
        try:
            header, _, body = self._file(folder).read_bytes().partition(b"\n")
            if header.decode() != _seal(body):
                return None
            data = json.loads(body)
            known = {file: Stamp(*stamp) for file, stamp in data["stamps"].items()}
            if stamps(folder, FILES) != known or not _same_content(folder, data["digests"]):
                return None
            return _decode(data["index"]), known
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def store(self, folder: Path, index: Index, known: Mapping[str, Stamp], indexed_at_ns: int) -> None:
        """Keep an index. Where that cannot be done it is told, and the next start reads the folder again.

        Args:
            indexed_at_ns: the time when the folder began to be read.
        """
        racy = [file for file, stamp in known.items() if _is_racy(stamp, indexed_at_ns)]
        try:
            data = {
                "stamps": {file: dataclasses.astuple(stamp) for file, stamp in known.items()},
                "digests": {file: _digest(folder / file) for file in racy},
                "index": dataclasses.asdict(index),
            }
            body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
            self._replace(self._file(folder), f"{_seal(body)}\n".encode() + body)
        except OSError as error:
            self._tell(
                f"the index of {folder} cannot be kept in {self._folder}: {error.strerror}; the next start "
                "reads the folder to its end again (set XDG_CACHE_HOME to a folder that can be written)"
            )

    def _file(self, folder: Path) -> Path:
        name = hashlib.blake2b(os.fsencode(os.path.realpath(folder)), digest_size=12).hexdigest()
        return self._folder / f"awm-{name}.index"

    def _replace(self, file: Path, content: bytes) -> None:
        """Write the file at once or not at all: two who do so do not mix."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, unfinished = tempfile.mkstemp(prefix=".awm-", dir=self._folder)
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
            os.replace(unfinished, file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            raise


def now_ns() -> int:
    """The time, as files are stamped."""
    return time.time_ns()


def _is_racy(stamp: Stamp, indexed_at_ns: int) -> bool:
    return max(stamp.mtime_ns, stamp.ctime_ns) > indexed_at_ns - _RACY_NS


def _same_content(folder: Path, digests: Mapping[str, str]) -> bool:
    return all(_digest(folder / file) == digest for file, digest in digests.items())


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "blake2b").hexdigest()


def _seal(body: bytes) -> str:
    return f"subworlds awm index {_FORMAT} {hashlib.blake2b(body).hexdigest()}"


def _decode(data: Mapping[str, Any]) -> Index:
    lists = {
        name: tuple(Problem(**problem) for problem in data[name])
        for name in ("problems", "repairs", "left_out")
    }
    return Index(tuple(_decode_scenario(record) for record in data["scenarios"]), **lists)


def _decode_scenario(data: Mapping[str, Any]) -> ScenarioRecord:
    lines = {file: Span(*span) for file, span in data["lines"].items()}
    return ScenarioRecord(
        ScenarioEntry(**data["entry"]), lines, tuple(_decode_task(task) for task in data["tasks"])
    )


def _decode_task(data: Mapping[str, Any]) -> TaskRecord:
    code, judged = (None if data[kind] is None else Span(*data[kind]) for kind in ("code", "judged"))
    return TaskRecord(data["index"], data["prompt"], code, judged)
