"""Reading the files of a pack. Whatever is wrong with one is reported; nothing here raises on bad input."""

from __future__ import annotations

import json
import math
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from .errors import Problem
from .fields import Fields, Place, described, obj
from .task import JSON

MAX_BYTES = 64 * 2**20
"""The largest text file, and the longest line of a JSONL file, that is read."""

_SPREAD = "is only part of JSON: each line holds one whole object, with no comma or bracket between them"


def read_text(path: Path, place: Place) -> str | None:
    """The file's text, or None (reported) if it cannot be read as UTF-8 text of a sane size."""
    size = _size(path, place)
    if size is None:
        return None
    if size > MAX_BYTES:
        place.unreadable(f"has {size} bytes, more than {MAX_BYTES}")
        return None
    try:
        return _decoded(path.read_bytes(), place)
    except OSError as error:
        place.unreadable(_unreadable(error))
        return None


def read_json(path: Path, place: Place) -> Fields | None:
    """The one JSON object that the file holds, or None (reported)."""
    content = read_text(path, place)
    return None if content is None else _json_object(content, place)


def read_json_lines(path: Path, place: Place) -> Iterator[Fields]:
    """The JSON object of each line that is not blank; a line that holds none is reported and skipped."""
    for _, _, fields in locate_json_lines(path, place):
        yield fields


def locate_json_lines(path: Path, place: Place) -> Iterator[tuple[int, int, Fields]]:
    """As read_json_lines, with the bytes before each line and the bytes it has."""
    spread = False
    for number, offset, line in _lines(path, place):
        problems: list[Problem] = []
        fields = read_json_line(line, replace(place, problems=problems, line=number))
        told, spread = spread, fields is None and (spread or _is_part(line))
        if not spread:
            place.problems.extend(problems)
        elif not told:
            place.at_line(number).unreadable(_SPREAD)
        if fields is not None:
            yield offset, len(line), replace(fields, place=place.at_line(number))


def read_json_line(line: bytes, place: Place) -> Fields | None:
    """The JSON object of one line; None if the line is blank, or holds none (reported)."""
    content = _decoded(line, place)
    return _json_object(content, place) if content and not content.isspace() else None


def _is_part(line: bytes) -> bool:
    """Whether a line that is no object begins a pretty-printed one, or stands in a list."""
    text = line.strip()
    return text in (b"{", b"[") or text.endswith(b",")


def _lines(path: Path, place: Place) -> Iterator[tuple[int, int, bytes]]:
    """Each line with its number, from 1, and the bytes before it."""
    if _size(path, place) is None:
        return
    try:
        with path.open("rb") as file:
            number, offset = 0, 0
            while line := file.readline(MAX_BYTES + 1):
                number += 1
                if len(line) > MAX_BYTES:
                    place.at_line(number).unreadable(f"is longer than {MAX_BYTES} bytes")
                    _skip_line(file, line)
                    offset = file.tell()
                else:
                    yield number, offset, line
                    offset += len(line)
    except OSError as error:
        place.unreadable(_unreadable(error))


def _skip_line(file: BinaryIO, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(MAX_BYTES)


def _size(path: Path, place: Place) -> int | None:
    """Bytes of a regular file. Anything else (a folder, or a pipe that would block) is reported."""
    try:
        status = path.stat()
    except FileNotFoundError:
        place.unreadable("is missing")
        return None
    except OSError as error:
        place.unreadable(_unreadable(error))
        return None
    if not stat.S_ISREG(status.st_mode):
        place.unreadable("is not a regular file")
        return None
    return status.st_size


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {error.strerror}"


def _decoded(content: bytes, place: Place) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = place.line or content.count(b"\n", 0, error.start) + 1
        column = error.start - (content.rfind(b"\n", 0, error.start) + 1) + 1
        place.at_line(line).unreadable(f"is not UTF-8: {error.reason} at byte {column} of the line")
        return None


def _json_object(content: str, place: Place) -> Fields | None:
    try:
        value = _StrictDecoder(place).decode(content)
        _refuse_lone_surrogates(content, value)
    except json.JSONDecodeError as error:
        line = place.line or error.lineno
        place.at_line(line).unreadable(f"is not JSON: {error.msg} at column {error.colno}")
        return None
    except RecursionError:
        place.unreadable("is not usable JSON: nested too deeply")
        return None
    except UnicodeEncodeError as error:  # half a surrogate pair
        place.unreadable(f"is not usable JSON: {error}")
        return None
    return obj(value, place)


class _StrictDecoder(json.JSONDecoder):
    """JSON as the standard has it, in numbers that a float can hold. NaN and repeated keys are reported."""

    def __init__(self, place: Place) -> None:
        self._place = place
        super().__init__(
            object_pairs_hook=self._unique,
            parse_constant=self._not_a_number,
            parse_float=self._finite,
            parse_int=self._whole,
        )

    def _unique(self, pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
        unique = dict(pairs)
        if len(unique) < len(pairs):
            self._report_repeated([key for key, _ in pairs])
        return unique

    def _report_repeated(self, keys: list[str]) -> None:
        for key, times in Counter(keys).items():
            if times > 1:
                self._place.key(key).report(f"appears {times} times in one object")

    def _not_a_number(self, name: str) -> float:
        self._place.unreadable(f"is not JSON: {name} is no JSON number")
        return 0.0

    def _finite(self, digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            self._place.unreadable(f"is not usable JSON: {described(digits)} is too large a number")
        return value

    def _whole(self, digits: str) -> int:
        return 0 if math.isinf(self._finite(digits)) else int(digits)


def _refuse_lone_surrogates(content: str, value: JSON) -> None:
    r"""Raises UnicodeEncodeError if a text has half a pair ("\ud83d"): no UTF-8 has it."""
    if "\\ud" in content or "\\uD" in content:
        json.dumps(value, ensure_ascii=False).encode()
