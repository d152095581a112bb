"""What to do about a problem that the loader reports, by the file and the field it is in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..errors import Problem
from ..manual import SCHEMAS

_FILES: Mapping[str, str] = {
    "scenario.json": "Write one JSON object with name, title, description and clock; "
    f"{SCHEMAS / 'scenario.json'} says what each field holds.",
    "schema.sql": "Correct the SQL: statements that SQLite accepts, each ended by a semicolon.",
    "seed.sql": "Correct the SQL: INSERT statements that SQLite accepts, each ended by a semicolon; "
    "or write it anew with `subworlds generate WORLD --seed-rows`.",
    "app.py": "Correct the Python: a FastAPI app whose routes have operation_ids that are not reserved.",
    "certificate.json": "Remove it, and run `subworlds certify` again.",
    "tasks.jsonl": f"Write one JSON object a line; {SCHEMAS / 'task.json'} says what each field holds.",
}
_FIELDS: Mapping[str, str] = {
    "name": "Give the folder and the field the same name.",
    "clock": "Write a time with its zone, such as 2026-03-02T09:00:00Z.",
    "generated": "Run `subworlds generate WORLD --write` again.",
    "id": "Give each task an id of its own: the world's name, a slash, and small letters, digits, - or _.",
    "prompt": "Write what the agent is asked to do.",
    "difficulty": "Write easy, medium or hard, or leave the field out.",
    "split": "Write train, validation or test, or another name in small letters.",
    "solution": "Write the calls that solve the task, each with a tool and its arguments.",
    "answer": "Write one of number, text and list.",
    "verify": "Write one of the kinds state, sql, python and judge, with the fields of that kind.",
}


def remedy_of(problem: Problem) -> str | None:
    """What to do; None where no more can be said than for any problem."""
    field = re.match(r"\w+", problem.field or "")
    if field is not None and field[0] in _FIELDS:
        return _FIELDS[field[0]]
    return _FILES.get(Path(problem.file).name)
