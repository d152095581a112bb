"""The verifier of the baseline: a fresh interpreter that opens both databases and compares every row.

Run by path, `python baseline_verifier.py INITIAL FINAL`; prints one JSON object.
"""

import json
import sqlite3
import sys
from contextlib import closing
from typing import Any


def read(path: str) -> dict[str, list[Any]]:
    """Every row of every table."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in tables}


def main(initial: str, final: str) -> None:
    """Print in which tables the two differ."""
    before, after = read(initial), read(final)
    print(json.dumps({"changed": [name for name in after if before.get(name) != after[name]]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
