"""Tools as a model is shown them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from subworlds.envs import Tool
from subworlds.training.exposure import Exposure, Listing, Shown
from subworlds.training.tool_calls import Malformed, ToolRequest

SELL = ToolRequest("sell", {"good_id": 1})


def test_full_shows_every_tool_with_its_schema(kiosk_tools: tuple[Tool, ...]) -> None:
    shown = Shown(Exposure.FULL, kiosk_tools)
    assert [each["function"]["name"] for each in shown.functions or ()] == [tool.name for tool in kiosk_tools]
    assert all(each["function"]["parameters"]["type"] == "object" for each in shown.functions or ())
    assert shown.resolve(SELL) == SELL


def test_compact_shows_a_line_for_each_tool(kiosk_tools: tuple[Tool, ...]) -> None:
    shown = Shown(Exposure.COMPACT, kiosk_tools)
    assert shown.functions is None
    assert "\nlist_goods(at_most_cents?: integer) All goods with price and stock." in shown.system
    assert "\nsell(good_id: integer, quantity?: integer) Sell a good" in shown.system
    assert len(shown.system) < len(json.dumps(Shown(Exposure.FULL, kiosk_tools).functions)) / 2
    assert shown.resolve(SELL) == SELL


def test_compact_names_choices_formats_and_lists() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "state": {"enum": ["open", "done"]},
            "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "odd": {},
        },
        "required": ["state", "due", "tags", "odd"],
    }
    tool = Tool(name="plan", description="Plan it. At length.", input_schema=schema)
    assert Shown(Exposure.COMPACT, (tool,)).system.endswith(
        'plan(state: "open"|"done", due: date, tags: [string], odd: any) Plan it'
    )


def test_meta_shows_the_same_two_tools_for_every_world(kiosk_tools: tuple[Tool, ...]) -> None:
    assert Shown(Exposure.META, kiosk_tools).functions == Shown(Exposure.META, ()).functions


def test_meta_lists_and_calls(kiosk_tools: tuple[Tool, ...]) -> None:
    shown = Shown(Exposure.META, kiosk_tools)
    listing = shown.resolve(ToolRequest("list_tools", {}))
    assert isinstance(listing, Listing)
    assert len(listing.text.splitlines()) == len(kiosk_tools)
    wrapped = ToolRequest("call_tool", {"name": "sell", "arguments": {"good_id": 1}})
    assert shown.resolve(wrapped) == SELL


@pytest.mark.parametrize(
    "request_",
    [
        SELL,
        ToolRequest("call_tool", {}),
        ToolRequest("call_tool", {"name": 7}),
        ToolRequest("call_tool", {"name": "sell", "arguments": "good_id=1"}),
    ],
)
def test_meta_tells_what_it_takes(kiosk_tools: tuple[Tool, ...], request_: ToolRequest) -> None:
    assert isinstance(Shown(Exposure.META, kiosk_tools).resolve(request_), Malformed)


@pytest.mark.parametrize("exposure", Exposure)
def test_a_mistake_stays_a_mistake(exposure: Exposure) -> None:
    assert Shown(exposure, ()).resolve(Malformed("not JSON")) == Malformed("not JSON")
