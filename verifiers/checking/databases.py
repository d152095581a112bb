"""What a checker asks of databases that worlds left: answered by confined processes, never read here."""

from __future__ import annotations

import filecmp
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from ...sandbox import SandboxError, Zygote, run_errand
from ...scenarios.checking.references import TableNames, Tables
from ...scenarios.json_values import is_object
from ..verdict import Change

_ZYGOTE = "subworlds.verifiers.checking.process"
_LIMITS = {"memory_bytes": 512 * 2**20, "cpu_seconds": 15}
_WALL_S = 20.0
_MOST_BYTES = 16 * 2**20
_JOURNALS = ("-wal", "-journal", "-shm")


class UnreadableDatabase(Exception):
    """A database gave no answer."""


class Databases:
    """Owns the zygote of these processes. An async context manager."""

    def __init__(self, *, enforced: bool) -> None:
        self._enforced = enforced
        self._zygote: Zygote

    async def __aenter__(self) -> Databases:
        self._zygote = await Zygote.start(_ZYGOTE)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._zygote.stop()

    async def tables(self, database: Path) -> Tables:
        """The tables of a database. Raises UnreadableDatabase."""
        answer = await self._ask("tables", [database])
        try:
            tables = [
                TableNames(str(name), tuple(map(str, columns)), bool(numbered))
                for name, columns, numbered in answer["tables"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableDatabase(_NONSENSE) from error
        return {table.name.lower(): table for table in tables}

    async def first_difference(self, first: Path, second: Path) -> Change | None:
        """A row in which two databases differ; None where they are the same. Raises UnreadableDatabase."""
        if is_whole(first) and is_whole(second) and filecmp.cmp(first, second, shallow=False):
            return None
        answer = await self._ask("difference", [first, second])
        try:
            return None if answer["change"] is None else Change(**answer["change"])
        except (KeyError, TypeError) as error:
            raise UnreadableDatabase(_NONSENSE) from error

    async def _ask(self, kind: str, databases: Sequence[Path]) -> dict[str, Any]:
        request = {
            "kind": kind,
            "databases": [str(database) for database in databases],
            "enforced": self._enforced,
            **_LIMITS,
        }
        try:
            answer = json.loads(
                await run_errand(
                    self._zygote, json.dumps(request).encode(), wall_s=_WALL_S, most_bytes=_MOST_BYTES
                )
            )
        except (OSError, TimeoutError, ValueError, RecursionError, SandboxError) as error:
            raise UnreadableDatabase("the database could not be read in time") from error
        if not is_object(answer) or "error" in answer:
            raise UnreadableDatabase(str(answer["error"]) if is_object(answer) else _NONSENSE)
        return answer


def is_whole(database: Path) -> bool:
    """Whether no journal lies beside the file, so that it holds everything."""
    return not any(os.path.lexists(f"{database}{suffix}") for suffix in _JOURNALS)


_NONSENSE = "the database's reader answered nonsense"
