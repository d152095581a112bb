"""certificate.json: what certification found of a folder's tasks, and whether it still holds.

It lies in a scenario's folder (of an AWM folder: in the folder). Each task is known by a hash of all that
matters to it; where that has changed since, the certificate says nothing of the task any more.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from .fields import Place, array, expected, filled, number, obj, table, whole
from .files import read_json
from .task import JSON, Scenario, Task

CERTIFICATE = "certificate.json"
FORMAT = 1

Finding: TypeAlias = Literal["certified", "failed", "floor-checked"]
Standing: TypeAlias = Literal["certified", "failed", "floor-checked", "outdated", "unknown"]
"""floor-checked: it has no gold solution, and no agent that does nothing or nonsense completes it.
outdated: its certificate is of something else by now. unknown: it has none."""

_FINDINGS: tuple[Finding, ...] = ("certified", "failed", "floor-checked")
_COUNTS = ("mutants", "killed", "equivalent", "choices", "harmless", "rejected")


@dataclasses.dataclass(frozen=True, slots=True)
class TaskCertificate:
    """What certification found of one task."""

    content: str
    """The hash of what was certified (see content_of)."""
    standing: Finding
    reasons: tuple[str, ...] = ()
    """Why it failed."""
    mutants: int = 0
    """Wrong episodes that were judged; of these `killed` were judged incomplete."""
    killed: int = 0
    equivalent: int = 0
    """Mutants that ended as the solution does, and so were none."""
    choices: int = 0
    """Mutants that passed in what the author leaves to the agent."""
    harmless: int = 0
    """Right episodes that were judged; of these `rejected` were judged incomplete."""
    rejected: int = 0


def read_certificate(folder: Path, place: Place) -> dict[str, TaskCertificate]:
    """The certificates of a folder by task id; none where there is no file. What is wrong is reported."""
    path = folder / CERTIFICATE
    if not os.path.lexists(path):
        return {}
    fields = read_json(path, place)
    if fields is None:
        return {}
    fields.only(("format", "kill_rate", "false_reject_rate", "tasks"))
    written = fields.required("format", whole)
    if written is not None and written != FORMAT:
        expected(f"{FORMAT}, the format of this version", written, place.key("format"))
    for rate in ("kill_rate", "false_reject_rate"):
        fields.optional(rate, _rate)
    return fields.required("tasks", table(_task)) or {}


def certificate_json(tasks: Mapping[str, TaskCertificate]) -> dict[str, Any]:
    """The file of these certificates, with the rates over all of them."""
    rows = tasks.values()
    return {
        "format": FORMAT,
        "kill_rate": _share(sum(row.killed for row in rows), sum(row.mutants for row in rows)),
        "false_reject_rate": _share(sum(row.rejected for row in rows), sum(row.harmless for row in rows)),
        "tasks": {
            task: {**dataclasses.asdict(row), "reasons": list(row.reasons)} for task, row in tasks.items()
        },
    }


def write_certificate(folder: Path, tasks: Mapping[str, TaskCertificate]) -> Path:
    """Write the file whole or not at all, and return its path. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / CERTIFICATE
    written = path.with_name(f".{CERTIFICATE}.{os.getpid()}")
    try:
        written.write_text(json.dumps(certificate_json(tasks), indent=1, ensure_ascii=False) + "\n")
        written.replace(path)
    finally:
        written.unlink(missing_ok=True)
    return path


def world_hash(scenario: Scenario) -> str:
    """A hash of the world: its schema, its seed, its app and its clock, wherever they lie."""
    return _hash(
        {
            "schema": [statement.sql for statement in scenario.schema],
            "seed": [statement.sql for statement in scenario.seed],
            "app": scenario.app_source,
            "clock": scenario.clock.isoformat(),
        }
    )


def content_of(world: str, task: Task) -> str:
    """A hash of all that a task's certificate depends on.

    Args:
        world: the `world_hash` of its scenario.
    """
    written = dataclasses.asdict(task)
    for field in ("index", "template"):  # where a task stands, and where it was drawn from, is not what it is
        del written[field]
    return _hash({"world": world, "kind": type(task.check).__name__, "task": written})


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=_sorted)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _sorted(value: Iterable[Any]) -> list[Any]:
    """Sets have no order of their own."""
    return sorted(value)


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _task(value: JSON, place: Place) -> TaskCertificate | None:
    fields = obj(value, place)
    if fields is None:
        return None
    fields.only(("content", "standing", "reasons", *_COUNTS))
    content = fields.required("content", filled)
    standing: Finding | None = fields.required("standing", _standing)
    reasons = fields.optional("reasons", array(filled)) or ()
    counts = {name: fields.optional(name, whole) or 0 for name in _COUNTS}
    return (
        None if content is None or standing is None else TaskCertificate(content, standing, reasons, **counts)
    )


def _standing(value: JSON, place: Place) -> Finding | None:
    written = filled(value, place)
    for standing in _FINDINGS:
        if written == standing:
            return standing
    if written is not None:
        expected("'certified', 'failed' or 'floor-checked'", written, place)
    return None


def _rate(value: JSON, place: Place) -> float | None:
    return None if value is None else number(value, place)
