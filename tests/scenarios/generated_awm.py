"""A generated AWM folder in the proportions of the real one: 1,000 scenarios are about 520 MB of JSONL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TASKS_EACH = 10
_ROUTES, _TABLES, _ROWS = 35, 18, 110
_PADDING = 2600
"""Characters that bring a route's source to the real ones' size."""

_APP = """from fastapi import FastAPI
from sqlalchemy import create_engine, text

app = FastAPI()
engine = create_engine("sqlite:///world.db")
"""
_TOOL = '''

@app.get("/api/{name}", summary="{summary}", operation_id="{name}")
async def {name}() -> dict:
    """{about}"""
    with engine.connect() as connection:
        return {{"rows": connection.execute(text("SELECT count(*) FROM {table}")).scalar_one()}}
'''
_CODE = '''def verify_task_completion(initial_db_path, final_db_path, final_answer=None):
    """{about}"""
    import sqlite3
    query = "SELECT count(*) FROM t0"
    paths = initial_db_path, final_db_path
    first, last = (sqlite3.connect(path).execute(query).fetchone()[0] for path in paths)
    return {{"result": "complete" if last > first else "others"}}
'''
_EVIDENCE = '''def verify_task(initial_db_path, final_db_path):
    """{about}"""
    return {{"judgment_summary": {{"rows": 1}}}}
'''


def write_awm_folder(folder: Path, scenarios: int) -> int:
    """Write a folder of so many scenarios; all of them start. Returns its size in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, lines in _files(scenarios).items():
        with (folder / file).open("w") as opened:
            opened.writelines(f"{json.dumps(line)}\n" for line in lines)
    return sum(path.stat().st_size for path in folder.iterdir())


def title_of(number: int) -> str:
    return f"Generated World {number}"


def name_of(number: int) -> str:
    return f"generated_world_{number}"


def _files(scenarios: int) -> dict[str, Iterator[dict[str, Any]]]:
    numbers = range(scenarios)
    return {
        "gen_scenario.jsonl": ({"name": title_of(n), "description": _about(n, 1200)} for n in numbers),
        "gen_tasks.jsonl": (
            {"scenario": title_of(n), "tasks": [_prompt(n, i) for i in range(TASKS_EACH)]} for n in numbers
        ),
        "gen_db.jsonl": ({"scenario": title_of(n), "db_schema": {"tables": _tables()}} for n in numbers),
        "gen_sample.jsonl": ({"scenario": title_of(n), "sample_data": {"tables": _rows()}} for n in numbers),
        "gen_spec.jsonl": ({"scenario": title_of(n), "api_spec": _about(n, 68_000)} for n in numbers),
        "gen_envs.jsonl": ({"scenario": title_of(n), "full_code": _app(n)} for n in numbers),
        "gen_verifier.pure_code.jsonl": _verifiers(scenarios, _CODE, 1_500, 2_000),
        "gen_verifier.jsonl": _verifiers(scenarios, _EVIDENCE, 9_000, 15_000),
    }


def _app(number: int) -> str:
    tools = (
        _TOOL.format(
            name=f"tool_{i}", summary=f"Tool {i}", table=f"t{i % _TABLES}", about=_about(number, _PADDING)
        )
        for i in range(_ROUTES)
    )
    return _APP + "".join(tools)


def _tables() -> list[dict[str, Any]]:
    columns = ", ".join(f"column_{i} TEXT NOT NULL DEFAULT 'none'" for i in range(12))
    return [
        {"name": f"t{i}", "ddl": f"CREATE TABLE t{i} (id INTEGER PRIMARY KEY, {columns});", "indexes": []}
        for i in range(_TABLES)
    ]


def _rows() -> list[dict[str, Any]]:
    return [
        {
            "table_name": f"t{i}",
            "reasoning": _about(i, 300),
            "insert_statements": [
                f"INSERT INTO t{i} (column_0, column_1) VALUES ('{_about(row, 200)}', 'It''s row {row}.');"
                for row in range(_ROWS // _TABLES)
            ],
        }
        for i in range(_TABLES)
    ]


def _verifiers(scenarios: int, code: str, code_size: int, response_size: int) -> Iterator[dict[str, Any]]:
    for number in range(scenarios):
        for index in range(TASKS_EACH):
            yield {
                "scenario": name_of(number),
                "task_idx": index,
                "task": _prompt(number, index),
                "verification": {
                    "code": code.format(about=_about(index, code_size)),
                    "raw_response": _about(number, response_size),
                },
            }


def _prompt(number: int, index: int) -> str:
    return f"Task {index}: {_about(number, 250)}"


def _about(number: int, size: int) -> str:
    """A text of that many characters."""
    sentence = f"Scenario {number} has a line of prose that is neither read nor true. "
    return (sentence * (size // len(sentence) + 1))[:size]
