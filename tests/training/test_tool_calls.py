"""What a model writes is read to the letter, and each way to break the format is named."""

from __future__ import annotations

import pytest

from subworlds.training.tool_calls import Malformed, ToolRequest, read_turn, write_request


def call(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def test_a_call_is_read_as_it_was_written() -> None:
    request = ToolRequest("renew_loan", {"loan_id": 17, "note": "größer als <b>", "deep": {"a": [1, None]}})
    assert read_turn(write_request(request)).requests == (request,)


def test_calls_of_one_turn_keep_their_order() -> None:
    first, second = call('{"name": "a"}'), call('{"name": "b", "arguments": {"x": 1}}')
    turn = read_turn(f"First this. {first} Then {second}")
    assert turn.requests == (ToolRequest("a", {}), ToolRequest("b", {"x": 1}))
    assert turn.answer is None
    assert not turn.malformed


def test_a_turn_without_a_call_is_the_answer() -> None:
    turn = read_turn("  42\n")
    assert (turn.requests, turn.answer) == ((), "42")


def test_thoughts_are_no_part_of_the_answer_and_make_no_calls() -> None:
    thought = call('{"name": "a"}')
    assert read_turn(f"<think>{thought}</think>\n\n42").answer == "42"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (call("{name: a}"), "not JSON"),
        (call("{'name': 'a'}"), "not JSON"),
        (call('{"name": "a", "arguments": {"x": 1}'), "not JSON"),
        (call('{"name": "a", "arguments": {"x": NaN}}'), "NaN is no number"),
        (call('{"name": "a", "arguments": {"x": Infinity}}'), "Infinity is no number"),
        (call('{"name": "a", "name": "b"}'), "a key is there twice"),
        (call("[" * 100_000), "not JSON"),
        (call('"a"'), "not a JSON object"),
        (call('[{"name": "a"}]'), "not a JSON object"),
        (call('{"arguments": {}}'), '"name" must be'),
        (call('{"name": "", "arguments": {}}'), '"name" must be'),
        (call('{"name": 7}'), '"name" must be'),
        (call('{"name": "a", "arguments": "{}"}'), '"arguments" must be'),
        (call('{"name": "a", "arguments": null}'), '"arguments" must be'),
        (call('{"name": "a", "parameters": {}}'), "not parameters"),
        (call(""), "not JSON"),
        ('<tool_call>\n{"name": "a"}', "one </tool_call> of its own"),
        ('{"name": "a"}\n</tool_call>', "one </tool_call> of its own"),
        ("<tool_call><tool_call>{}</tool_call>", "one </tool_call> of its own"),
        ("</tool_call><tool_call>", "one </tool_call> of its own"),
    ],
)
def test_a_broken_call_is_told_and_not_guessed_at(written: str, reason: str) -> None:
    turn = read_turn(written)
    (mistake,) = turn.requests
    assert isinstance(mistake, Malformed)
    assert reason in str(mistake)
    assert str(mistake).startswith("invalid_tool_call: ")
    assert turn.malformed
    assert turn.answer is None


def test_a_broken_call_does_not_hide_a_good_one() -> None:
    good, bad = read_turn(call('{"name": "a"}') + call("{}")).requests
    assert good == ToolRequest("a", {})
    assert isinstance(bad, Malformed)
