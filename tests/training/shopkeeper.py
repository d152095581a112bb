"""A stand-in for a language model that knows the kiosk: chat completions with tool calls."""

from __future__ import annotations

import json
import re
from typing import Any

from ..verifiers.judge_server import Reply

LOOK = ("list_goods", {})
SELL = ("sell", {"good_id": 1, "quantity": 3})


def calls(*wanted: tuple[str, Any], content: str | None = None, tokens: int = 7) -> Reply:
    """One turn with these calls. Arguments that are a text are sent as they are."""
    return turn(
        {
            "role": "assistant",
            "content": content,
            "tool_calls": [
                {
                    "id": f"id-{number}",
                    "type": "function",
                    "function": {
                        "name": name,
                        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                    },
                }
                for number, (name, arguments) in enumerate(wanted)
            ],
        },
        "tool_calls",
        tokens,
    )


def answers(content: str, finish_reason: str = "stop", tokens: int = 2) -> Reply:
    """One turn without a call."""
    return turn({"role": "assistant", "content": content}, finish_reason, tokens)


def turn(message: dict[str, Any], finish_reason: str, tokens: int) -> Reply:
    usage = {"prompt_tokens": 100, "completion_tokens": tokens}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return Reply(body={"choices": [choice], "usage": usage})


def shopkeeper(body: dict[str, Any]) -> Reply:
    """Solves kiosk/sell-apples and kiosk/price-of-pear."""
    messages = body["messages"]
    prompt, results = messages[1]["content"], [each for each in messages if each["role"] == "tool"]
    if not results:
        return calls(LOOK)
    if "apples" in prompt:
        return calls(SELL) if len(results) == 1 else answers("Done.")
    return answers("70")


def obedient(body: dict[str, Any]) -> Reply:
    """Asks the expert before every move, if there is one, and does what it says."""
    tools = [tool["function"]["name"] for tool in body["tools"]]
    last, before = body["messages"][-1], body["messages"][-2]
    asked = last["role"] == "tool" and before["tool_calls"][0]["function"]["name"] == "ask_expert"
    if "ask_expert" not in tools:
        return answers("I do not know.")
    if not asked:
        return calls(("ask_expert", {"question": "What now?"}))
    if told := re.fullmatch(r"Call (\w+) with (.*)\.", last["content"]):
        return calls((told[1], json.loads(told[2])))
    return answers(last["content"].rpartition("Answer: ")[2])
