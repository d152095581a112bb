"""The formats of a native world's files as JSON Schemas, from the words that their readers go by.

A schema says what can be said about one file by itself. Readers know more: that an id begins with the world's
name and is there once, that files and functions which are named exist, that queries are queries.
"""

from __future__ import annotations

from typing import Any, TypeAlias, get_args

from .certificate import CERTIFICATE, FORMAT, Finding
from .native_about import ABOUT
from .task import RESERVED_TOOL_NAMES, Difficulty

Schema: TypeAlias = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_FILLED: Schema = {"type": "string", "pattern": r"\S"}
_SLUG: Schema = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]*$"}
_WHOLE: Schema = {"type": "integer", "minimum": 0}
_RATE: Schema = {"type": ["number", "null"]}
_CELL: Schema = {"type": ["null", "boolean", "number", "string"]}
_ROW: Schema = {"type": "array", "items": _CELL}


def _said(schema: Schema, description: str) -> Schema:
    return {"description": description, **schema}


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _object(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_CALL = _object(
    ("tool",),
    tool=_said({**_FILLED, "not": {"enum": sorted(RESERVED_TOOL_NAMES)}}, "A tool of the world."),
    arguments=_said({"type": "object"}, "Its arguments."),
)
_CALLS = _list(_CALL)
_ANSWER: Schema = {
    "oneOf": [
        _object(("number",), number={"type": "number"}, tolerance={"type": "number", "minimum": 0}),
        _object(("text",), text=_FILLED),
        _object(
            ("list",),
            list=_list({"anyOf": [_FILLED, {"type": "number"}]}),
            ordered={"type": "boolean"},
        ),
    ]
}
_ASSERTION = _object(
    ("sql", "equals"),
    sql=_said(_FILLED, "One SELECT or WITH statement over the final database; the first one is `initial`."),
    equals=_said({"anyOf": [_CELL, _ROW, _list(_ROW)]}, "The rows it must give: or one row, or one value."),
)
_CHOICES = _said(
    _list({"type": "string", "pattern": r"^[^.]+\.[\s\S]+$"}),
    "Arguments (tool.argument) that the prompt leaves to the agent.",
)
_CODE = {"code": _FILLED, "file": _FILLED, "function": _FILLED}


def _kind(name: str) -> Schema:
    return {"const": name}


_VERIFY: Schema = {
    "oneOf": [
        _object(
            ("kind",),
            kind=_kind("state"),
            ignore=_said(
                {"type": "object", "additionalProperties": _list(_FILLED)},
                "Table to columns whose values do not count.",
            ),
            alternatives=_said(_list(_CALLS), "Other solutions whose end state is as good."),
            natural_keys=_said(_list(_FILLED), "Tables whose numbers of inserted rows count, too."),
        ),
        {
            **_object(
                ("kind", "assert"),
                kind=_kind("sql"),
                **{"assert": _list(_ASSERTION, minItems=1)},
                unchanged=_said(_list(_FILLED), "Tables in which nothing may change."),
                may_change=_said(_list(_FILLED), "The only tables in which something may change."),
                choices=_CHOICES,
            ),
            "oneOf": [{"required": ["unchanged"]}, {"required": ["may_change"]}],
        },
        {
            **_object(("kind",), kind=_kind("python"), choices=_CHOICES, **_CODE),
            "oneOf": [{"required": ["code"]}, {"required": ["file"]}],
        },
        {
            **_object(("kind",), kind=_kind("judge"), criteria=_FILLED, **_CODE),
            "anyOf": [{"required": [name]} for name in ("criteria", *_CODE)],
            "not": {"required": ["code", "file"]},
        },
    ]
}
_IS_STATE: Schema = {"properties": {"verify": {"properties": {"kind": _kind("state")}}}}
"""So it is without a verify."""
_IDLE: Schema = {
    "anyOf": [
        {"properties": {"solution": {"maxItems": 0}}, "required": ["solution"]},
        {
            "properties": {
                "verify": {
                    "properties": {"alternatives": {"contains": {"maxItems": 0}}},
                    "required": ["alternatives"],
                }
            },
            "required": ["verify"],
        },
    ]
}

TASK: Schema = {
    "$schema": _DRAFT,
    "title": "One line of tasks.jsonl",
    **_object(
        ("id", "prompt"),
        id=_said(
            {"type": "string", "pattern": "^[a-z][a-z0-9_]*/[a-z0-9][a-z0-9_-]*$"},
            "The world's name, a slash, and a name of its own.",
        ),
        prompt=_said(_FILLED, "What the agent is asked, in a person's words."),
        difficulty={"enum": list(get_args(Difficulty))},
        split=_said(_SLUG, "train (if left out), validation, test or another."),
        tags=_list(_FILLED),
        template=_said(_SLUG, "The generator's template; lines written by hand go without."),
        solution=_said(_CALLS, "The gold solution: every call succeeds."),
        answer=_said(_ANSWER, "What the agent must say at the end."),
        verify=_said(_VERIFY, "How the task is checked; without it, by the state that the solution leaves."),
    ),
    "allOf": [
        {"if": _IS_STATE, "then": {"required": ["solution"]}},
        {"if": _IDLE, "then": {"required": ["answer"]}},
    ],
}
SCENARIO: Schema = {
    "$schema": _DRAFT,
    "title": ABOUT,
    **_object(
        ("name", "title", "description"),
        name=_said({"type": "string", "pattern": "^[a-z][a-z0-9_]*$"}, "The folder's name."),
        title=_FILLED,
        description=_FILLED,
        clock=_said(
            {"type": "string", "pattern": "([zZ]|[+-][0-9]{2}(:?[0-9]{2}){0,2})$"},
            "When an episode starts: an ISO time with its zone.",
        ),
        generated=_said(
            _object(("seed", "count"), seed=_WHOLE, count=_WHOLE),
            "How the lines with a template can be generated again; written by `subworlds generate --write`.",
        ),
        strict_references=_said(
            {"type": "boolean"}, "Whether a seed row that points at a missing row stops the world (it does)."
        ),
    ),
}
CERTIFICATES: Schema = {
    "$schema": _DRAFT,
    "title": CERTIFICATE,
    **_object(
        ("format", "tasks"),
        format={"const": FORMAT},
        kill_rate=_said(_RATE, "Share of the wrong episodes that were judged incomplete."),
        false_reject_rate=_said(_RATE, "Share of the right episodes that were judged incomplete."),
        tasks={
            "type": "object",
            "additionalProperties": _object(
                ("content", "standing"),
                content=_said(_FILLED, "A hash of all that was certified."),
                standing={"enum": list(get_args(Finding))},
                reasons=_list(_FILLED),
                **dict.fromkeys(
                    ("mutants", "killed", "equivalent", "choices", "harmless", "rejected"), _WHOLE
                ),
            ),
        },
    ),
}
FORMATS: dict[str, Schema] = {"scenario": SCENARIO, "task": TASK, "certificate": CERTIFICATES}
"""By name, as in docs/schemas/NAME.json."""
