"""Scenarios made for the benchmark: one small world, its database as large as one likes."""

from __future__ import annotations

import json
from pathlib import Path

_ROW_BYTES = 4000

_SCHEMA = """\
CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE padding (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
"""

_SEED = """\
INSERT INTO notes (id, text) VALUES (1, 'first'), (2, 'second');
INSERT INTO padding (id, body)
    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {rows})
    SELECT n, zeroblob({row_bytes}) FROM number;
"""

_APP = """\
from fastapi import FastAPI
from sqlalchemy import create_engine, text

engine = create_engine("sqlite:///notes.db")
app = FastAPI()


@app.get("/notes/{note_id}", operation_id="get_note", description="Read a note.")
def get_note(note_id: int) -> str:
    with engine.connect() as connection:
        return connection.execute(text("SELECT text FROM notes WHERE id = :id"), {"id": note_id}).scalar_one()


@app.put("/notes/{note_id}", operation_id="set_note", description="Write a note.")
def set_note(note_id: int, content: str) -> None:
    with engine.begin() as connection:
        changed = text("UPDATE notes SET text = :text WHERE id = :id")
        connection.execute(changed, {"id": note_id, "text": content})
"""


def write_scenario(pack: Path, name: str, megabytes: float) -> str:
    """Write a scenario whose database has about `megabytes`; returns the id of its task."""
    folder = pack / name
    folder.mkdir(parents=True)
    rows = max(1, round(megabytes * 1_000_000 / _ROW_BYTES))
    about = {"name": name, "title": name, "description": f"Notes beside {megabytes:g} MB of padding."}
    task = {
        "id": f"{name}/set-note",
        "prompt": "Change the second note to 'third'.",
        "solution": [
            {"tool": "get_note", "arguments": {"note_id": 2}},
            {"tool": "set_note", "arguments": {"note_id": 2, "content": "third"}},
        ],
    }
    (folder / "scenario.json").write_text(json.dumps(about))
    (folder / "schema.sql").write_text(_SCHEMA)
    (folder / "seed.sql").write_text(_SEED.format(rows=rows, row_bytes=_ROW_BYTES))
    (folder / "app.py").write_text(_APP)
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    return str(task["id"])
