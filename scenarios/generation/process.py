"""The confined process in which a generator runs: forked from a warm zygote, one answer, gone.

It sees the standard library, its world's folder and the seeded database, all read-only. What it answers is
the author's word: the other side reads it as it would read a file of theirs.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import random
import socket
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from ...sandbox.confinement import Confinement, Limits, confine, silence_standard_streams
from ...sandbox.errand import read_request
from ...sandbox.messages import Message
from ...sandbox.seccomp import Profile
from ...sandbox.timezones import time_zone_folders
from ..chance import install_chance, install_sqlite_chance, seed_chance
from ..clock import WorldClock, connect_to_sqlite, install_clock
from ..imports import standard_library
from .author_code import AuthorCode, AuthorFailed
from .authoring import World
from .drawing import Seen, draw_tasks, split_of

_WARM = "random datetime decimal fractions string textwrap collections itertools math statistics dataclasses"
_READABLE = (*standard_library(), *time_zone_folders())
_ROWS = "rows"
"""The seed of the one stream that all seed rows are drawn from."""


def warm_up() -> None:
    """Runs once in the zygote: imports what generators import."""
    for name in _WARM.split():
        importlib.import_module(name)
    install_chance()


def run(_: Message, descriptors: list[int]) -> None:
    """Runs in a fresh fork of the zygote: read one request, answer once."""
    silence_standard_streams()
    with socket.socket(fileno=descriptors[0]) as channel:
        request = json.loads(read_request(channel))
        channel.sendall(json.dumps(_answer(request)).encode())


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    limits = Limits(memory_bytes=request["memory_bytes"], cpu_seconds=request["cpu_seconds"])
    database = (request["database"],) if "database" in request else ()
    readable = (*_READABLE, request["folder"], *database)
    os.chdir("/")
    confine(Confinement(Profile.LEAF, readable, (), limits, enforced=request["enforced"]))
    author = AuthorCode(request["file"], request["draw_s"], request["load_s"])
    WorldClock(datetime.fromisoformat(request["clock"]))
    seed_chance(0)
    try:
        author.load(request["source"], request["folder"])
        if "database" in request:
            return {"drafts": _drafts(author, request)}
        return {"rows": author.rows(random.Random(_ROWS))}
    except AuthorFailed as error:
        return {"failed": {"line": error.line, "field": error.field, "reason": str(error)}}


def _drafts(author: AuthorCode, request: dict[str, Any]) -> list[dict[str, Any]]:
    templates = author.templates()
    wanted = request["template"]
    if wanted is not None:
        names = ", ".join(template.name for template in templates)
        templates = [template for template in templates if template.name == wanted]
        if not templates:
            raise AuthorFailed(f"has no template '{wanted}': there are {names}")
    seen = Seen()
    for taken in request["taken"]:
        seen.add(*taken)
    uri = f"{Path(request['database']).as_uri()}?mode=ro&immutable=1"
    with closing(connect_to_sqlite(uri, uri=True)) as connection:
        install_clock(connection)
        install_sqlite_chance(connection)
        world = World(connection, datetime.fromisoformat(request["clock"]))
        drawn = draw_tasks(templates, lambda one, rng: author.draw(one, world, rng), request["seed"], seen)
        return [
            {
                "template": template.name,
                "difficulty": template.difficulty,
                "tags": list(template.tags if draft.tags is None else draft.tags),
                "split": split_of(template.name, draft),
                "prompt": draft.prompt,
                "solution": list(draft.solution),
                "answer": draft.answer,
                "verify": draft.verify,
            }
            for template, draft in itertools.islice(drawn, request["count"])
        ]
