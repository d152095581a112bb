"""What an agent is told about wrong arguments, in its own terms."""

from __future__ import annotations

from typing import Any

import pytest

from subworlds.scenarios.arguments import ArgumentChecker
from subworlds.scenarios.tool import Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "copies": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
        "author": {"type": "object", "properties": {"born": {"type": "integer"}}, "required": ["born"]},
    },
    "required": ["title"],
    "additionalProperties": False,
}


def explain(schema: dict[str, Any], **arguments: Any) -> str | None:
    return ArgumentChecker(Tool("add_book", "", schema)).explain(arguments)


def test_arguments_that_fit_need_no_word() -> None:
    assert explain(SCHEMA, title="Emma", copies=2, tags=["novel"], author={"born": 1775}) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "add_book: 'title' is a required property"),
        ({"title": ""}, "add_book: title: '' should be non-empty"),
        ({"title": "Emma", "copies": "2"}, "add_book: copies: '2' is not of type 'integer'"),
        ({"title": "Emma", "copies": 0}, "add_book: copies: 0 is less than the minimum of 1"),
        ({"title": "Emma", "tags": ["a", 1]}, "add_book: tags.1: 1 is not of type 'string'"),
        ({"title": "Emma", "author": {}}, "add_book: author: 'born' is a required property"),
        (
            {"title": "Emma", "pages": 3},
            "add_book: Additional properties are not allowed ('pages' was unexpected); "
            "its arguments are: title, copies, tags, author",
        ),
    ],
)
def test_a_message_names_the_tool_and_the_argument(arguments: dict[str, Any], message: str) -> None:
    assert explain(SCHEMA, **arguments) == message


def test_a_message_stays_short() -> None:
    wrong = explain(SCHEMA, title="Emma", tags=[*range(7)], copies="x" * 10_000)
    assert wrong is not None
    assert wrong.endswith("(and 3 more)")
    assert len(wrong) < 1_000


def test_arguments_nested_too_deeply_are_refused() -> None:
    deep: Any = 1
    for _ in range(63):
        deep = [deep]
    assert explain({"type": "object"}, value=deep) is None
    message = "add_book: the arguments are nested more than 64 levels deep"
    assert explain({"type": "object"}, value=[deep]) == message
    for _ in range(900):
        deep = {"a": deep}
    assert explain({"type": "object"}, value=deep) == message


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"title": {"pattern": "^(a+)+$"}}},
        {"type": "object", "patternProperties": {"^(t|ti|tit|title)+$": {"type": "null"}}},
        {"type": "object", "properties": {"title": {"$ref": "https://example.invalid/schema.json"}}},
        {"type": "object", "properties": {"title": {"$ref": "#/$defs/nowhere"}}},
        {"type": "object", "properties": {"title": {"$ref": "#/properties/title"}}},
        {"type": "object", "properties": {"title": {"minLength": "x"}}},
        {"type": "object", "properties": {"title": {"type": 5}}},
        {"type": "object", "properties": 5},
    ],
)
def test_what_only_the_world_can_judge_is_left_to_the_world(schema: dict[str, Any]) -> None:
    assert explain(schema, title="a" * 60 + "!") is None
