"""An agent whose model is behind an OpenAI-compatible endpoint, and calls tools through its `tools` field."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from .agents import AgentFailed
from .chat_endpoint import ChatEndpoint, Completion, EndpointFailed, Fault, FunctionCall
from .experts import Counsel
from .exposure import Exposure
from .limits import Limits
from .model_agent import ModelAgent, Said
from .tool_calls import Malformed, Request, ToolRequest, Turn, read_turn


class EndpointAgent(ModelAgent):
    """Plays one episode."""

    def __init__(
        self,
        endpoint: ChatEndpoint,
        exposure: Exposure = Exposure.FULL,
        limits: Limits | None = None,
        *,
        most_tokens: int | None = None,
        counsel: Counsel | None = None,
    ) -> None:
        """Args:
        endpoint: it stays open as long as the episode lasts.
        exposure: full or meta: compact has no `tools` field.
        limits: of turns, calls, seconds and output; tokens are the endpoint's business.
        most_tokens: the most it may write in a turn; None leaves that to the endpoint.
        counsel: the expert that it may ask, if any.

        Raises:
            ValueError: for compact.
        """
        if exposure is Exposure.COMPACT:
            raise ValueError("an endpoint's model is shown tools by their schemas: full or meta, not compact")
        super().__init__(f"openai:{endpoint.model}", exposure, limits or Limits(), counsel)
        self._endpoint = endpoint
        self._most_tokens = most_tokens
        self._messages: list[dict[str, Any]] = []
        self._asked: list[str] = []
        """Ids of the calls that wait for an answer; none where a turn broke the format in its text."""

    def _open(self, messages: Sequence[dict[str, str]]) -> None:
        self._messages = list(messages)

    def _hear(self, results: Sequence[str]) -> bool:
        if self._asked:
            self._messages += [
                {"role": "tool", "tool_call_id": number, "content": result}
                for number, result in zip(self._asked, results, strict=True)
            ]
        else:
            self._messages.append({"role": "user", "content": "\n".join(results)})
        return True

    async def _write(self) -> Said:
        try:
            completion = await self._endpoint.complete(
                self._messages, self._shown.functions, most_tokens=self._most_tokens
            )
        except EndpointFailed as failure:
            if failure.fault is Fault.CONTEXT_FULL and self._account.turns:
                return Said(Turn((), None), cut=True)
            raise AgentFailed(failure.fault, str(failure), hopeless=failure.hopeless) from failure
        self._count(completion)
        said = _read(completion)
        self._asked = [call.id for call in completion.calls]
        self._messages.append(_as_message(completion, said.turn.requests))
        self._account.transcript.append(_as_said(completion))
        if not completion.calls and said.turn.requests and not said.turn.malformed:
            self._refuse_texts()
        return said

    def _count(self, completion: Completion) -> None:
        account = self._account
        account.read_tokens = _sum(account.read_tokens, completion.read_tokens)
        account.written_tokens = _sum(account.written_tokens, completion.written_tokens)

    def _refuse_texts(self) -> NoReturn:
        raise AgentFailed(
            Fault.UNREADABLE,
            f"{self._endpoint.model} wrote a tool call, and the endpoint passed it on as text: start the "
            "endpoint with the model's tool-call parser",
            hopeless=True,
        )


def _read(completion: Completion) -> Said:
    if completion.calls:
        return Said(Turn(tuple(map(_read_call, completion.calls)), None), completion.cut)
    return Said(read_turn(completion.content), completion.cut)


def _read_call(call: FunctionCall) -> Request:
    """The call, read as strictly as in training, but that no arguments at all are none."""
    arguments = call.arguments
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments.strip() or "{}", parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            return Malformed(f"not JSON: {error}")
    if not isinstance(arguments, dict):
        return Malformed('"arguments" must be a JSON object')
    return ToolRequest(call.name, cast("dict[str, Any]", arguments))


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _as_message(completion: Completion, requests: Sequence[Request]) -> dict[str, Any]:
    """The model's turn as the endpoint is reminded of it.

    Arguments that are no JSON object are left out: endpoints parse them again, and refuse the whole
    conversation if they cannot. The model is told of its mistake by the answer.
    """
    if not completion.calls:
        return {"role": "assistant", "content": completion.content}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": "{}" if isinstance(request, Malformed) else json.dumps(request.arguments),
            },
        }
        for call, request in zip(completion.calls, requests, strict=True)
    ]
    return {"role": "assistant", "content": completion.content or None, "tool_calls": calls}


def _as_said(completion: Completion) -> dict[str, Any]:
    """The model's turn as it was, for the record."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in completion.calls]
    return {"role": "assistant", "content": completion.content, **({"tool_calls": calls} if calls else {})}


def _sum(so_far: int | None, more: int | None) -> int | None:
    return None if so_far is None or more is None else so_far + more
