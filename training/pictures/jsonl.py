"""Files of JSON objects, one a line, as runs and evaluations leave them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast


class LogUnreadable(Exception):
    """A file that was to be drawn cannot be; says which, where and why."""


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object with the number of its line, from 1.

    The last line of a run that was killed may be unfinished; without a line break, it is left out.

    Raises:
        LogUnreadable: the file is not there, is empty, or has a line that is no JSON object.
    """
    try:
        text = path.read_text()
    except FileNotFoundError as error:
        raise LogUnreadable(f"{path}: there is no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise LogUnreadable(f"{path} cannot be read: {error}") from error
    lines = text.split("\n")
    if not text.strip():
        raise LogUnreadable(f"{path} is empty: nothing was logged")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = _object(line)
        if found is not None:
            yield number, found
        elif number < len(lines):
            raise LogUnreadable(f"{path}:{number}: not a JSON object: {line[:60]}")


def _object(line: str) -> dict[str, Any] | None:
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None
