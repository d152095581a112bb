"""One line of a native tasks.jsonl: a task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .fields import (
    Fields,
    Place,
    Reader,
    array,
    expected,
    filled,
    flag,
    is_list,
    is_number,
    is_object,
    number,
    obj,
    text,
)
from .native_checks import read_check, tool_calls
from .task import JSON, Answer, Check, Difficulty, StateCheck, Task

_FIELDS = ("id", "prompt", "difficulty", "split", "tags", "solution", "answer", "verify", "template")
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]*")
_DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "medium", "hard")


def read_task(fields: Fields, scenario: str, index: int, folder: Path) -> Task | None:
    """The task of one line; None if it could not be read (reported). `folder` holds its verifier's code."""
    fields.only(_FIELDS)
    task_id = fields.required("id", _task_id(scenario))
    prompt = fields.required("prompt", filled)
    difficulty = _difficulty(fields)
    split = fields.optional("split", _slug)
    tags = fields.optional("tags", array(filled))
    template = fields.optional("template", _slug)
    solution = fields.optional("solution", tool_calls)
    answer = fields.optional("answer", _answer)
    check = _check(fields, folder)
    for idle in _without_a_call(fields):
        idle.report("is empty, and the task has no answer: an agent that does nothing would pass")
    if task_id is None or prompt is None or check is None:
        return None
    return Task(
        task_id,
        scenario,
        index,
        prompt,
        check,
        answer,
        solution,
        difficulty,
        split or "train",
        tags or (),
        template,
    )


def _check(fields: Fields, folder: Path) -> Check | None:
    check: Check | None = StateCheck()
    if "verify" in fields:
        check = read_check(fields.values["verify"], fields.place.key("verify"), folder)
    if isinstance(check, StateCheck) and "solution" not in fields:
        fields.place.key("solution").report("is missing: the state verifier compares with what it reaches")
    return check


def _without_a_call(fields: Fields) -> Iterator[Place]:
    """Where the task accepts doing nothing at all, and asks for no answer either."""
    if "answer" in fields:
        return
    if fields.values.get("solution") == []:
        yield fields.place.key("solution")
    verify = fields.values.get("verify")
    alternatives = verify.get("alternatives") if is_object(verify) else None
    for index, calls in enumerate(alternatives if is_list(alternatives) else ()):
        if calls == []:
            yield fields.place.key("verify").key("alternatives").item(index)


def _difficulty(fields: Fields) -> Difficulty | None:
    written = fields.optional("difficulty", text)
    for difficulty in _DIFFICULTIES:
        if written == difficulty:
            return difficulty
    if written is not None:
        expected("'easy', 'medium' or 'hard'", written, fields.place.key("difficulty"))
    return None


def _task_id(scenario: str) -> Reader[str]:
    def read(value: JSON, place: Place) -> str | None:
        task_id = filled(value, place)
        if task_id is None:
            return None
        prefix, _, slug = task_id.partition("/")
        if prefix == scenario and _SLUG.fullmatch(slug):
            return task_id
        expected(f"'{scenario}/' and then small letters, digits, - or _", task_id, place)
        return None

    return read


def _slug(value: JSON, place: Place) -> str | None:
    name = filled(value, place)
    if name is not None and not _SLUG.fullmatch(name):
        expected("small letters, digits, - or _", name, place)
        return None
    return name


def _answer(value: JSON, place: Place) -> Answer | None:
    fields = obj(value, place)
    if fields is None:
        return None
    kinds = [kind for kind in _ANSWERS if kind in fields]
    if len(kinds) != 1:
        found = " and ".join(map(repr, kinds)) or "none of them"
        place.report(f"expected exactly one of 'number', 'text' and 'list', found {found}")
        return None
    return _ANSWERS[kinds[0]](fields)


def _number_answer(fields: Fields) -> Answer | None:
    fields.only(("number", "tolerance"))
    value = fields.required("number", number)
    tolerance = fields.optional("tolerance", _distance)
    return None if value is None else Answer("number", value, tolerance=tolerance or 0.0)


def _text_answer(fields: Fields) -> Answer | None:
    fields.only(("text",))
    value = fields.required("text", filled)
    return None if value is None else Answer("text", value)


def _list_answer(fields: Fields) -> Answer | None:
    fields.only(("list", "ordered"))
    value = fields.required("list", array(_item))
    ordered = fields.optional("ordered", flag)
    return None if value is None else Answer("list", list(value), ordered=ordered or False)


_ANSWERS = {"number": _number_answer, "text": _text_answer, "list": _list_answer}


def _distance(value: JSON, place: Place) -> float | None:
    distance = number(value, place)
    if distance is not None and distance < 0:
        expected("a number from 0", distance, place)
        return None
    return None if distance is None else float(distance)


def _item(value: JSON, place: Place) -> str | int | float | None:
    if isinstance(value, str):
        return filled(value, place)
    if is_number(value):
        return number(value, place)
    expected("a text or a number", value, place)
    return None
