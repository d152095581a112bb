"""`subworlds new`: a complete small world, to change into one's own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..scenarios.manual import AUTHORING
from ..scenarios.native import STARTER, STARTER_NAME, is_name
from .failure import BadInput, CommandFailed

_NEXT = """wrote {folder}: a small world that works. Try next, and then make it yours:

subworlds show {name} --pack {folder}
                              its tools and tasks
subworlds check {folder:<20}  whether anything is wrong with it
subworlds certify {folder:<18}  whether its tasks' checks can be believed
subworlds generate {folder:<17}  more tasks, drawn by generator.py

{authoring}
goes from here to a world of your own, step by step."""


def new_world(name: str, parent: Path) -> None:
    """Write the world called `name` into `parent`, whole or not at all.

    Raises:
        BadInput: no such name, no such folder, or something lies there already.
        CommandFailed: it cannot be written.
    """
    if not is_name(name):
        raise BadInput(f"{name!r} is no name for a world: small letters, digits and _, a letter first")
    folder = parent / name
    if not parent.is_dir():
        raise BadInput(f"{parent}: is no folder to put {name} into")
    if os.path.lexists(folder):
        raise BadInput(f"{folder}: is there already; choose another name, or remove it")
    try:
        with _unfinished(folder) as unfinished:
            _write(unfinished, name)
            unfinished.rename(folder)
    except OSError as error:
        raise CommandFailed(f"{folder}: cannot be written: {error.strerror}") from error
    print(_NEXT.format(folder=str(folder), name=name, authoring=AUTHORING))


@contextmanager
def _unfinished(folder: Path) -> Generator[Path]:
    """A folder beside `folder`, gone afterwards unless it was put in place."""
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name[:100]}-", dir=folder.parent))
    try:
        yield unfinished
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(folder: Path, name: str) -> None:
    for file in sorted(STARTER.iterdir()):
        if file.is_file():
            text = file.read_text(encoding="utf-8").replace(STARTER_NAME, name)
            (folder / file.name).write_text(text, encoding="utf-8", newline="\n")
    folder.chmod(0o755)
