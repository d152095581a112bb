"""A session of the baseline: a fresh interpreter imports everything, builds its database and serves HTTP.

Run by path, `python baseline_world.py SPEC FOLDER`, so that it imports nothing of ours. So works an
environment that starts a process per session from nothing; this one is as quick as that way can be.
"""

import contextlib
import json
import os
import socket
import sqlite3
import sys
import threading
import types
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy
import sqlalchemy.engine
import time_machine
import uvicorn
from fastapi import FastAPI

DATABASE, INITIAL = "world.db", "initial.db"


def build(spec: dict[str, Any], path: str) -> None:
    """Run schema and seed; a statement that fails is skipped."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for statement in (*spec["schema"], *spec["seed"]):
            with contextlib.suppress(sqlite3.Error):
                connection.execute(statement["sql"])
        connection.execute("COMMIT")


def load_app(spec: dict[str, Any], database: str) -> FastAPI:
    """Execute the app on its database, whatever URL it asks for."""
    create_engine = sqlalchemy.create_engine

    def create(_url: Any, **options: Any) -> sqlalchemy.Engine:
        return create_engine(f"sqlite:///{database}", **options)

    for module in (sqlalchemy, sqlalchemy.engine):
        module.__dict__["create_engine"] = create
    world = types.ModuleType("world_app")
    sys.modules[world.__name__] = world
    exec(compile(spec["app_source"], spec["app_file"], "exec"), world.__dict__)
    return next(value for value in world.__dict__.values() if isinstance(value, FastAPI))


def main(spec_file: str, folder: str) -> None:
    """Serve until stdin ends or we are killed; prints the port first."""
    spec = json.loads(Path(spec_file).read_text())
    time_machine.travel(datetime.fromisoformat(spec["clock"])).start()
    database = os.path.join(folder, DATABASE)
    build(spec, database)
    Path(folder, INITIAL).write_bytes(Path(database).read_bytes())
    app = load_app(spec, database)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    listener = socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # or asyncio leaves Nagle on
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    server.run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
