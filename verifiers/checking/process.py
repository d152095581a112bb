"""The confined process that reads databases for a checker: forked from a warm zygote, one answer, gone."""

from __future__ import annotations

import dataclasses
import json
import socket
from collections.abc import Callable, Mapping
from typing import Any

from ...sandbox.confinement import Confinement, Limits, confine, silence_standard_streams
from ...sandbox.errand import read_request
from ...sandbox.messages import Message
from ...sandbox.seccomp import Profile
from ..changes import difference
from ..database import DamagedDatabase, FirstDatabaseError, open_database, open_pair
from ..rehearsal import rehearse
from ..schema import comparable_tables
from ..wire import receipt


def warm_up() -> None:
    """Runs once in the zygote: forks start warm."""
    rehearse()


def run(_: Message, descriptors: list[int]) -> None:
    """Runs in a fresh fork of the zygote: read one request, answer once."""
    silence_standard_streams()
    with socket.socket(fileno=descriptors[0]) as channel:
        channel.sendall(json.dumps(_answer(json.loads(read_request(channel)))).encode())


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    limits = Limits(memory_bytes=request["memory_bytes"], cpu_seconds=request["cpu_seconds"])
    databases = tuple(request["databases"])
    confine(Confinement(Profile.LEAF, databases, (), limits, enforced=request["enforced"]))
    try:
        return _ERRANDS[request["kind"]](*databases)
    except DamagedDatabase as error:
        return {"error": str(error)}


def _tables(database: str) -> dict[str, Any]:
    with open_database(database, FirstDatabaseError) as connection:
        tables = comparable_tables(connection).values()
        return {
            "tables": [[table.name, list(table.columns), table.surrogate_key is not None] for table in tables]
        }


def _difference(first: str, second: str) -> dict[str, Any]:
    """The first row that differs; None where none does."""
    with open_pair(first, second) as connection:
        found = difference(connection)
    shown = receipt(unsorted=found.changes[:1]).unsorted
    return {"change": dataclasses.asdict(shown[0]) if shown else None}


_ERRANDS: Mapping[str, Callable[..., dict[str, Any]]] = {"tables": _tables, "difference": _difference}
